"""A training that can be looked at: each value of its table is the number of steps that were made."""

import logging
from pathlib import Path

import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat.checkpoints import checkpoint_state, side_files
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.platform import logs

SIZE = 1 << 17


class Training:
    """A graph of its own with a table, a random number and a data set, and a session; to be entered.

    Attributes:
      steps: how many were made by ``step``. saved: how many are in the checkpoint that was saved last.
      more: the operation of a step.
    """

    def __init__(self, folder, keep=3):
        self._folder = str(folder)
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._step = tf.train.get_or_create_global_step()
            self._table = tf.get_variable("table", [1000], initializer=tf.zeros_initializer(), trainable=False)
            one = tf.data.Dataset.range(1, 1000).map(lambda x: x // x).make_one_shot_iterator().get_next()
            draw = tf.cast(tf.random_uniform([]) >= 0, tf.float32)
            change = tf.assign_add(self._table, tf.fill([1000], draw * tf.cast(one, tf.float32)))
            tf.summary.scalar("first", self._table[0])
            self.more = tf.group(change, tf.assign_add(self._step, 1))
            self.saver = tf.train.Saver(max_to_keep=keep)
            self._begin = tf.global_variables_initializer()
        self.steps = self.saved = 0
        self._session = None

    def __enter__(self):
        self._entered = self._graph.as_default()
        self._entered.__enter__()
        return self

    def __exit__(self, *error):
        if self._session is not None:
            self._session.close()
        self._entered.__exit__(*error)

    @property
    def session(self):
        if self._session is None:
            self._session = tf.Session()
            self._session.run(self._begin)
        return self._session

    def step(self):
        self.session.run(self.more)
        self.steps += 1

    def save(self):
        self.saver.save(self.session, f"{self._folder}/model.ckpt", self._step)
        self.saved = self.steps

    def restore(self, folder):
        """Restores the latest checkpoint of a folder."""
        self.saver.restore(self.session, tf.train.latest_checkpoint(str(folder)))
        self.steps = self.saved = self.value()

    def value(self, session=None):
        """The number of steps, as all variables have it."""
        table, step = (session or self.session).run([self._table, self._step])
        assert (table == step).all(), (table, step)
        return int(step)

    def monitored(self, hooks=(), save_checkpoint_steps=2, **how):
        """A ``MonitoredTrainingSession`` of this graph."""
        how = {"save_checkpoint_secs": None, "save_summaries_steps": 2, "log_step_count_steps": 2, **how}
        return tf.train.MonitoredTrainingSession(
            checkpoint_dir=self._folder, hooks=list(hooks), save_checkpoint_steps=save_checkpoint_steps,
            scaffold=tf.train.Scaffold(saver=self.saver), **how,
        )  # fmt: skip


def restored(folder):
    """The number of steps in the latest checkpoint of a folder, of which every value, and its side file, is read."""
    prefix = checkpoint_state.latest(str(folder))
    bundle = Bundle(prefix)
    values = {name: bundle.read(name) for name in bundle.entries}
    step = int(values["global_step"])
    np.testing.assert_array_equal(values["table"], np.full(1000, step, np.float32))
    assert side_files.read(prefix) is not None or step == 0, "before the first step there is nothing to go on with"
    return step


def temporary_files(folder):
    """Files that no finished save leaves."""
    return [path.name for path in Path(folder).rglob("*") if path.suffix in (".tmp", ".part")]


class Lines(logging.Handler):
    """The log while it is entered, as one text."""

    def __enter__(self):
        self._lines = []
        self._level = logs.get_logger().level
        logs.get_logger().addHandler(self)
        logs.get_logger().setLevel("INFO")
        return self

    def __exit__(self, *error):
        logs.get_logger().removeHandler(self)
        logs.get_logger().setLevel(self._level)

    def emit(self, record):
        self._lines.append(record.getMessage())

    @property
    def text(self):
        return "\n".join(self._lines)
