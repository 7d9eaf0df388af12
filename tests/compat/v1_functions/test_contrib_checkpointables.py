"""What ``tf.contrib.checkpoint`` and ``tf.contrib.eager`` had of their own for checkpoints of objects."""

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.eager import mode


@pytest.fixture
def eagerly():
    with mode.eager_mode():
        yield


@pytest.mark.usefixtures("eagerly")
def test_names_are_made_unique():
    tracker = tf.contrib.checkpoint.UniqueNameTracker()
    first, second, third = (tracker.track(tf.Variable(float(i)), name) for i, name in enumerate("xyx"))
    assert tracker._trackable_children() == {"x": first, "y": second, "x_1": third}
    assert tracker.variables == [first, second, third]
    tracker.track(tf.Variable(0.0), "x")
    assert "x_2" in tracker._trackable_children()
    with pytest.raises(ValueError, match="Only trackable objects"):
        tracker.track(3, "x")


@pytest.mark.usefixtures("eagerly")
def test_savers_of_eager_variables(tmp_path):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    saver = tf.contrib.eager.Saver([a, b])
    path = saver.save(str(tmp_path / "ck"), global_step=7)
    assert path.endswith("ck-7")
    a.assign(0.0)
    saver.restore(path)
    assert float(a) == 1.0
    with tf.contrib.eager.restore_variables_on_create(path, lambda name: {"c": "b"}.get(name, name)):
        assert [float(tf.Variable(0.0, name=name)) for name in "ac"] == [1.0, 2.0]
        with pytest.raises(tf.errors.NotFoundError, match="d not found in checkpoint"):
            tf.Variable(0.0, name="d")
    with tf.contrib.eager.restore_variables_on_create(None):
        assert float(tf.Variable(5.0, name="a")) == 5.0
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.apply_gradients([(tf.constant(1.0), a)])
    assert tf.contrib.eager.get_optimizer_variables(optimizer) == [optimizer.get_slot(a, "momentum")]


def test_eager_ones_are_refused_in_graphs():
    with pytest.raises(RuntimeError, match=r"tfe.Saver can only be used when eager"):
        tf.contrib.eager.Saver([])
    with pytest.raises(ValueError, match="eager execution enabled"), tf.contrib.eager.restore_variables_on_create("x"):
        pass


def test_a_saver_of_one_object_and_its_frozen_form(tmp_path):
    root = tf.contrib.checkpoint.Checkpointable()
    root.parts = [tf.Variable(1.0), tf.Variable(2.0)]
    number = tf.Variable(3)
    saver = tf.contrib.eager.CheckpointableSaver(root)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(str(tmp_path / "ck"), number)
        assert path == str(tmp_path / "ck-3")
        assert saver.save(str(tmp_path / "plain"), session=session) == str(tmp_path / "plain")
        frozen = saver.freeze()
        session.run(root.parts[0].assign(5.0))
        other = frozen.save(session, str(tmp_path / "frozen"), write_meta_graph=False)
        frozen.restore(session, path)
        assert session.run(root.parts[0]) == 1.0
        saver.restore(other).assert_consumed().run_restore_ops()
        assert session.run(root.parts[0]) == 5.0
    assert tf.contrib.checkpoint.list_objects(root) == [root, root.parts, *root.parts]
    assert tf.contrib.checkpoint.object_metadata(other) == tf.contrib.checkpoint.object_metadata(path)


def test_a_checkpoint_of_variables_by_name_has_no_objects(tmp_path):
    variable = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        path = tf.train.Saver().save(session, str(tmp_path / "names"))
    with pytest.raises(ValueError, match="does not appear to be object-based"):
        tf.contrib.checkpoint.object_metadata(path)


@pytest.mark.usefixtures("eagerly")
def test_what_numpy_state_refuses():
    state = tf.contrib.checkpoint.NumpyState()
    with pytest.raises(NotImplementedError, match="not a NumPy array"):
        state.x = [1, 2]
