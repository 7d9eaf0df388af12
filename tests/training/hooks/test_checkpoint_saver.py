"""Saving while training: in a thread, without the graph, and what is refused."""

import os
import threading

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.training.saving import save_restore_ops


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def halving():
    """A training step that halves w, which begins as 64."""
    w = tf.get_variable("w", initializer=64.0)
    return tf.group(w.assign(w / 2), tf.train.get_or_create_global_step().assign_add(1))


def train(hooks, runs, each=lambda run: None):
    operation = halving()
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(), hooks) as session:
        for run in range(1, runs + 1):
            session.run(operation)
            each(run)


def test_checkpoints_from_a_thread_have_the_values_of_their_step(tmp_path, monkeypatch, caplog):
    go_on, write, told = threading.Event(), save_restore_ops.captured, []

    class Listener(tf.train.CheckpointSaverListener):
        def before_save(self, session, step):
            told.append(("before", step))

        def after_save(self, session, step):
            told.append(("after", step, tf.train.latest_checkpoint(str(tmp_path))[-1]))
            return True  # changes nothing

        def end(self, session, step):
            told.append(("end", step))

    def late(*args):
        do = write(*args)
        return lambda: go_on.wait(60) and do()

    monkeypatch.setattr(save_restore_ops, "captured", late)
    tf.train.get_or_create_global_step()
    hook = tf.contrib.tpu.AsyncCheckpointSaverHook(str(tmp_path), save_steps=3, listeners=[Listener()])
    scaffold = tf.train.Scaffold()
    hook._scaffold = scaffold

    def each(run):
        if run == 2:
            assert not os.path.exists(tmp_path / "model.ckpt-0.index")
            go_on.set()

    with caplog.at_level("INFO", logger="tensorflow"):
        train([hook], 7, each)
    for step in (0, 3, 6, 7):
        assert tf.train.load_variable(str(tmp_path / f"model.ckpt-{step}"), "w") == 64 / 2**step
    assert told[-1] == ("end", 7)
    assert [t for t in told if t[0] == "after"] == [("after", n, str(n)) for n in (0, 3, 6, 7)]
    assert [t for t in told if t[0] == "before"] == [("before", n) for n in (0, 3, 6, 7)]
    assert "Triggering checkpoint. 3" in caplog.messages
    assert f"Checkpoint finished for 7 into {tmp_path / 'model.ckpt'}." in caplog.messages
    (events,) = tmp_path.glob("events*")
    logs = [e.step for e in tf.train.summary_iterator(str(events)) if e.HasField("session_log")]
    assert logs == [0, 3, 6, 7]


def test_what_a_thread_could_not_write_is_raised_at_the_next_checkpoint(tmp_path, monkeypatch):
    def full():
        raise OSError("no space left")

    tf.train.get_or_create_global_step()
    hook = tf.contrib.tpu.AsyncCheckpointSaverHook(str(tmp_path), save_steps=2, scaffold=tf.train.Scaffold())
    monkeypatch.setattr(save_restore_ops, "captured", lambda *args: full)
    runs = []
    with pytest.raises(OSError, match="no space left"):
        train([hook], 5, runs.append)
    assert runs == [1]


def test_without_the_graph(tmp_path):
    tf.train.get_or_create_global_step()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, scaffold=tf.train.Scaffold(), save_graph_def=False)
    train([hook], 2)
    assert not (tmp_path / "graph.pbtxt").exists()
    assert (tmp_path / "model.ckpt-2.index").exists()
    assert not list(tmp_path.glob("*.meta"))


def test_savers_with_fewer_arguments(tmp_path):
    saved = []

    class Own:
        saver_def = None

        def save(self, session, path, global_step):
            saved.append((os.path.basename(path), global_step))

    tf.train.get_or_create_global_step()
    train([tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, saver=Own())], 3)
    assert saved == [("model.ckpt", 0), ("model.ckpt", 2), ("model.ckpt", 3)]
