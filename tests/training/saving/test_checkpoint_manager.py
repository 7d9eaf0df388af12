"""``tf.train.CheckpointManager``: the latest few checkpoints of a folder."""

import os

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager import mode
from towerstrat.training.saving import saver_sessions


def numbers(folder):
    """The numbers of the checkpoints that are there."""
    return sorted(int(name[5:-6]) for name in os.listdir(folder) if name.endswith(".index"))


def test_older_ones_are_removed_and_a_later_manager_goes_on(tmp_path):
    with mode.eager_mode():
        checkpoint = tf2.train.Checkpoint(v=tf.Variable(1.0))
        manager = tf2.train.CheckpointManager(checkpoint, tmp_path / "new", max_to_keep=2)
        assert manager.latest_checkpoint is None
        assert manager.restore_or_initialize() is None
        for _ in range(3):
            path = manager.save()
        assert path == manager.latest_checkpoint == manager.checkpoints[-1] == str(tmp_path / "new/ckpt-3")
        assert numbers(tmp_path / "new") == [2, 3]
        checkpoint.v.assign(2.0)
        again = tf2.train.CheckpointManager(checkpoint, str(tmp_path / "new"), max_to_keep=2)
        assert again.checkpoints == manager.checkpoints
        assert again.restore_or_initialize() == path
        assert float(checkpoint.v) == 1.0
        again.save(checkpoint_number=tf.constant(9))
        assert numbers(tmp_path / "new") == [3, 9]
        assert tf2.train.latest_checkpoint(str(tmp_path / "new")) == str(tmp_path / "new/ckpt-9")
        with pytest.raises(ValueError, match="positive integer or `None`"):
            tf2.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=0)


def test_a_state_file_cannot_remove_elsewhere(tmp_path, caplog):
    with mode.eager_mode():
        checkpoint = tf2.train.Checkpoint(v=tf.Variable(1.0))
        theirs = tf2.train.CheckpointManager(checkpoint, tmp_path / "elsewhere", max_to_keep=2).save()
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "checkpoint").write_text(
            'model_checkpoint_path: "ckpt-1"\nall_model_checkpoint_paths: "../elsewhere/ckpt-1"\n'
            "all_model_checkpoint_timestamps: 5.0\n"
        )
        manager = tf2.train.CheckpointManager(checkpoint, mine, max_to_keep=1)
        assert manager.checkpoints == [str(mine / "../elsewhere/ckpt-1")]
        path = manager.save()
        assert manager.checkpoints == [path]
        assert tf2.train.Checkpoint(v=tf.Variable(0.0)).restore(theirs)
        assert "is kept: the state file names it" in caplog.text


def test_one_is_kept_for_good_in_so_many_hours(tmp_path, monkeypatch):
    clock = [1e9]
    monkeypatch.setattr("towerstrat.training.saving.checkpoint_manager.time.time", lambda: clock[0])
    with mode.eager_mode():
        checkpoint = tf2.train.Checkpoint(v=tf.Variable(1.0))
        manager = tf2.train.CheckpointManager(checkpoint, tmp_path, 1, keep_checkpoint_every_n_hours=2)
        for _ in range(6):
            clock[0] += 3600
            manager.save()
        assert numbers(tmp_path) == [2, 4, 6]
        assert manager.checkpoints == [str(tmp_path / "ckpt-6")]


def test_it_saves_when_the_counter_has_grown_enough(tmp_path):
    with mode.eager_mode():
        step = tf.Variable(0, dtype=tf.int64)
        started, written = [], []
        manager = tf2.train.CheckpointManager(
            tf2.train.Checkpoint(step=step), tmp_path, 3, None, "ckpt", step, 5, lambda: started.append(True)
        )
        assert manager.restore_or_initialize() is None
        assert started == [True]
        options = tf2.train.CheckpointOptions(experimental_write_callbacks=[written.append, lambda: written.append(0)])
        assert manager.save(options=options) == str(tmp_path / "ckpt-1")
        assert written == [str(tmp_path / "ckpt-1"), 0]
        step.assign(4)
        assert manager.save() is None
        assert manager.save(check_interval=False) == str(tmp_path / "ckpt-2")
        assert manager.save(check_interval=False) is None
        with pytest.raises(ValueError, match="`step_counter` should be passed"):
            tf2.train.CheckpointManager(manager.checkpoint, tmp_path, 3, checkpoint_interval=5)
        with pytest.raises(ValueError, match="takes the path of the checkpoint or nothing"):
            tf2.train.CheckpointOptions(experimental_write_callbacks=[lambda one, two: None])


def test_in_a_graph_it_uses_a_session(tmp_path, monkeypatch):
    monkeypatch.setattr(saver_sessions._provider, "function", None)  # keras gives one, where a test has loaded it
    variable = tf.Variable(1.0)
    manager = tf.contrib.checkpoint.CheckpointManager(tf.train.Checkpoint(v=variable), str(tmp_path), 1)
    with pytest.raises(RuntimeError, match="needs a session"):
        manager.save()
    with tf.Session() as session:
        session.run(variable.initializer)
        manager.save()
        assert manager.save(session) == str(tmp_path / "ckpt-2")
        assert numbers(tmp_path) == [2]
        session.run(variable.assign(3.0))
        manager.restore_or_initialize()
        assert session.run(variable) == 1.0
