"""What sessions with hooks do besides what 1.12.3 shows: refusals, sessions inside of others, towers."""

import os

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.training.saving import resumed
from towerstrat.graph.eager.mode import eager_mode


class Asks(tf.train.SessionRunHook):
    """A hook that leaves the session alone for a number of runs."""

    def __init__(self, runs):
        self.runs = runs

    def steps_until_session_use(self, step):
        return None if self.runs is None else self.runs - step


class Stops(tf.train.SessionRunHook):
    def after_run(self, run_context, run_values):
        run_context.request_stop()


def counting():
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("weight", initializer=0.0)
    with tf.control_dependencies([step.assign_add(1)]):
        return weight, weight.assign_add(2.0)


@pytest.mark.parametrize("name", [
    "MonitoredSession", "SingularMonitoredSession", "MonitoredTrainingSession", "Supervisor",
])  # fmt: skip
def test_eagerly_they_say_what_to_do(name):
    with eager_mode(), pytest.raises(RuntimeError, match=r"with tf\.Graph\(\)\.as_default\(\)"):
        getattr(tf.train, name)()


def test_programs_reach_the_session_inside():
    weight, up = counting()
    with tf.train.MonitoredSession() as session:
        inside = session._sess._sess._sess._sess
        assert isinstance(inside, tf.Session)
        assert inside is session._tf_sess()
        assert inside is session.run_step_fn(lambda step_context: step_context.session)
        assert not session._is_closed()
        assert session._coordinated_creator.coord.should_stop() is False
        inside.run(up)
        assert session.run(weight) == 2
    assert session._is_closed()
    for use in (lambda: session.run(weight), lambda: session.run_step_fn(lambda step_context: 1)):
        with pytest.raises(RuntimeError, match="closed"):
            use()


def test_a_program_may_wrap_the_session():
    _, up = counting()
    ran = []

    class Wrapper:
        def __init__(self, session):
            self.session, self.graph, self.sess_str = session, session.graph, session.sess_str

        def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
            ran.append(fetches)
            return self.session.run(fetches, feed_dict, options, run_metadata)

        def close(self):
            ran.append("closed")
            self.session.close()

    class Creator(tf.train.ChiefSessionCreator):
        def create_session(self):
            return Wrapper(super().create_session())

    with tf.train.MonitoredSession(Creator(), [Stops()]) as session:
        assert session.run(up) == 2
        assert session.should_stop()
    assert ran == [{"caller": up}, "closed"]


def test_how_far_hooks_let_a_session_run_ahead():
    counting()

    def limit(*hooks):
        session = tf.train.SingularMonitoredSession(hooks)
        return session._sess._sess.steps_until_session_use(3)

    assert limit() is None
    assert limit(Asks(None)) is None
    assert limit(Asks(20), Asks(None), Asks(10)) == 7
    assert limit(Asks(20), Stops()) == 1


def test_a_monitored_session_saves_and_restores_objects(tmp_path):
    weight, up = counting()
    checkpoint = tf.train.Checkpoint(weight=weight)
    checkpoint.save_counter  # noqa: B018  (made before the graph is final)
    with tf.train.MonitoredSession() as session:
        session.run(up)
        path = checkpoint.save(str(tmp_path / "model"), session=session)
        session.run(up)
        checkpoint.restore(path).assert_consumed().run_restore_ops(session)
        assert session.run(weight) == 2


def test_restoring_by_a_monitored_session_goes_on_exactly(tmp_path):
    noise = tf.random_normal([3], seed=1)
    weight, up = counting()
    saver = tf.train.Saver()
    with tf.train.SingularMonitoredSession() as session:
        session.run([up, noise])
        path = saver.save(session.raw_session(), str(tmp_path / "model"))
        wanted = session.run(noise)
        session.run([up, noise])
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(noise), wanted)
        assert session.run(weight) == 2


def test_a_scaffold_saves_objects(tmp_path):
    """As 1.14 and later have it: the checkpoint has the keys of objects, and the hook keeps five."""
    weight, up = counting()
    step = tf.train.get_global_step()
    objects = tf.train.Checkpoint(weight=weight, step=step)
    objects.save_counter  # noqa: B018
    scaffold = tf.train.Scaffold(saver=objects)
    assert scaffold.saver is objects
    arguments = {"save_checkpoint_steps": 1, "save_checkpoint_secs": None, "save_summaries_steps": None}
    hooks = [tf.train.StopAtStepHook(last_step=7)]
    folder = str(tmp_path)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, scaffold=scaffold, hooks=hooks, **arguments
    ) as session:
        while not session.should_stop():
            session.run(up)
    assert isinstance(scaffold.saver, tf.train.Saver)
    assert len(scaffold.saver.last_checkpoints) == 5
    latest = tf.train.latest_checkpoint(folder)
    assert "weight/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(latest))
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold, checkpoint_dir=folder)) as session:
        assert session.run([weight, step]) == [14, 7]


def test_the_graph_is_written_unless_it_should_not_be(tmp_path):
    for save_graph_def in (True, False):
        folder = tmp_path / str(save_graph_def)
        with tf.Graph().as_default():
            _, up = counting()
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(folder), hooks=[Stops()], save_graph_def=save_graph_def
            ) as session:
                session.run(up)
        found = {name for name in os.listdir(folder) if name.endswith((".pbtxt", ".meta"))}
        assert found == ({"graph.pbtxt", "model.ckpt-0.meta", "model.ckpt-1.meta"} if save_graph_def else set())


def test_local_initializers_are_fed():
    x = tf.placeholder(tf.float32, [])
    local = tf.get_variable("local", initializer=x + 1, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    scaffold = tf.train.Scaffold(local_init_feed_dict={x: 2.0})
    copied = tf.train.Scaffold(copy_from_scaffold=scaffold)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(copied)) as session:
        assert session.run(local) == 3


def test_options_of_local_initializers():
    local = tf.get_variable("local", initializer=1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    op = tf.local_variables_initializer()
    watched = tf.RunOptions()
    watched.debug_options.debug_tensor_watch_opts.add(node_name="local")
    with pytest.raises(NotImplementedError, match="debug_tensor_watch_opts"):
        tf.train.SessionManager(op, local_init_run_options=watched).prepare_session("")
    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session = tf.train.SessionManager(op, local_init_run_options=traced).prepare_session("")
    assert session.run(local) == 1


def test_what_a_hook_raises_is_not_hidden_by_closing():
    _, up = counting()

    class Fails(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            raise KeyboardInterrupt

        def end(self, session):
            raise AssertionError("not called")

    with pytest.raises(KeyboardInterrupt), tf.train.MonitoredSession(hooks=[Fails()]) as session:
        session.run(up)
    assert session.should_stop()


@pytest.mark.long
@pytest.mark.parametrize("towers", [1, 3])
def test_steps_of_towers_that_are_killed_and_go_on(towers, tmp_path):
    """A step loop in a monitored session: its input, dropout on all towers, variables."""

    def train(folder, kill_at=None):
        seen = []
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            run_op, initializer, _ = resumed.training(jax.devices()[:towers])
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, initializer)
            with tf.control_dependencies([run_op]):
                up = tf.train.get_or_create_global_step().assign_add(1)
            session = tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(folder), save_checkpoint_steps=2, save_checkpoint_secs=None,
                save_summaries_steps=None, log_step_count_steps=None, hooks=[tf.train.StopAtStepHook(last_step=6)],
            )  # fmt: skip
            variables = tf.global_variables()
            while not session.should_stop():
                session.run(up)
                values = session.run_step_fn(lambda step_context: step_context.session.run(variables))
                seen.append([np.asarray(value).tolist() for value in values])
                if len(seen) == kill_at:
                    return seen
            session.close()
        return seen

    whole = train(tmp_path / "whole")
    assert len(whole) == 6
    assert train(tmp_path / "parts", kill_at=3) == whole[:3]
    assert train(tmp_path / "parts", kill_at=3) == whole[2:5]
    assert train(tmp_path / "parts") == whole[4:]
