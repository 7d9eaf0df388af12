"""A run that goes on from a checkpoint ends with the bits of one that was never stopped, however steps run at once.

With ``--long`` XLA optimizes as it does for users: a step without a loop has other bits there than one of a scan.
"""

import shutil

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.runtime.programs.limits import LIMITS

ROWS = np.random.RandomState(0).randn(503, 12).astype(np.float32)
LABELS = (ROWS[:, 0] * ROWS[:, 1] > 0).astype(np.int32)
STEPS = 30


def dataset():
    data = tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).shuffle(97, seed=5)
    data = data.map(lambda x, y: (x + 0.1 * tf.random_normal([12], seed=3), y))
    return data.repeat().batch(16, drop_remainder=True).prefetch(2)


def training(features, labels):
    """(loss, training operation) of a model with statistics, random numbers and a branch."""
    hidden = tf.layers.dense(features, 32, activation=tf.nn.relu)
    hidden = tf.layers.batch_normalization(hidden, training=True)
    hidden = tf.layers.dropout(hidden, 0.3, training=True)
    noise = tf.random_normal(tf.shape(hidden), stddev=0.01)
    hidden = tf.cond(tf.random_uniform([]) > 0.5, lambda: hidden + noise, lambda: hidden)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(hidden, 2))
    tf.summary.scalar("its_loss", loss)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(1e-2, step, 20, 0.9)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return loss, tf.train.AdamOptimizer(rate).minimize(loss, step)


def monitored(folder):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        _, train = training(*dataset().make_one_shot_iterator().get_next())
        kept = Kept(folder)
        saver = tf.train.CheckpointSaverHook(folder, save_steps=5, listeners=[kept])
        hooks = [tf.train.StopAtStepHook(last_step=STEPS), saver]
        options = {"save_checkpoint_secs": None, "save_summaries_steps": 7, "log_step_count_steps": 4}
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, **options) as session:
            while not session.should_stop():
                session.run(train)


def estimator(folder):
    def model_fn(features, labels, mode):
        loss, train = training(features, labels)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    config = tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=7, save_summary_steps=5)
    made = tf.estimator.Estimator(model_fn, folder, config)
    made.train(dataset, max_steps=STEPS, saving_listeners=[Kept(folder)])


class Kept(tf.train.CheckpointSaverListener):
    """Keeps the folder as it is after each checkpoint, as whoever is killed then leaves it."""

    def __init__(self, folder):
        self.folder = folder

    def after_save(self, session, global_step_value):
        shutil.copytree(self.folder, f"{self.folder}_at_{global_step_value}", dirs_exist_ok=True)


def variables(folder):
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.mark.parametrize(("way", "stopped"), [(monitored, 10), (estimator, 7)])
@pytest.mark.parametrize("at_once", [None, 1])
def test_resumed_is_equal_to_the_bit(way, stopped, at_once, tmp_path, monkeypatch):
    whole = str(tmp_path / "run")
    way(whole)
    monkeypatch.setattr(LIMITS, "steps_per_return", at_once)
    left = f"{whole}_at_{stopped}"
    assert variables(left)["global_step"] == stopped
    way(left)
    found, wanted = variables(left), variables(whole)
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if not np.array_equal(found[name], wanted[name])] == []
