"""A monitored session that is killed and made again goes on as if it had not been: input, random numbers, variables."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread

STEPS = 9


def one_shot(data):
    return data.make_one_shot_iterator().get_next(), None, []


def with_tables(data):
    iterator = data.make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next(), None, []


def in_scaffold(data):
    iterator = data.make_initializable_iterator()
    local = tf.group(tf.train.Scaffold.default_local_init_op(), iterator.initializer)
    return iterator.get_next(), tf.train.Scaffold(local_init_op=local), []


def by_hook(data):
    iterator = data.make_initializable_iterator()

    class Initializes(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            session.run(iterator.initializer)

    return iterator.get_next(), None, [Initializes()]


def train(folder, feeding, until, kill_at=None, recovering=False):
    """What each step saw, by step; ``kill_at``: the step after which the session is left as it is."""
    seen = {}
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        data = tf.data.Dataset.range(40).shuffle(16, seed=5).repeat().batch(4)
        batch, scaffold, hooks = feeding(data)
        step = tf.train.get_or_create_global_step()
        weight = tf.get_variable("weight", [4])
        noisy = tf.nn.dropout(tf.to_float(batch), 0.5) + tf.random_normal([4])
        with tf.control_dependencies([weight.assign_add(noisy * 0.1)]):
            up = step.assign_add(1)
        lost = [tf.errors.AbortedError(None, None, "lost")]

        class Loses(tf.train.SessionRunHook):
            def before_run(self, run_context):
                if recovering and lost and len(seen) == 5:
                    raise lost.pop()

        session = tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, scaffold=scaffold, save_checkpoint_steps=3, save_checkpoint_secs=None,
            save_summaries_steps=None, log_step_count_steps=None,
            hooks=[*hooks, Loses(), tf.train.StopAtStepHook(last_step=until)],
        )  # fmt: skip
        while not session.should_stop():
            found, values, taken = session.run([up, noisy, batch])
            seen[int(found)] = (values, taken)
            if found == kill_at:
                return seen
        last = session.run_step_fn(lambda step_context: step_context.session.run(weight))
        session.close()
        seen["weight"] = (last, 0)
    return seen


def same(found, wanted):
    assert found.keys() <= wanted.keys()
    for step, values in found.items():
        for one, other in zip(values, wanted[step], strict=True):
            np.testing.assert_array_equal(one, other, err_msg=str(step))


@spread("feeding", [with_tables, one_shot, by_hook, in_scaffold], every=4)
def test_killed_and_started_again(feeding, tmp_path):
    whole = train(str(tmp_path / "whole"), feeding, STEPS)
    assert set(whole) == {*range(1, STEPS + 1), "weight"}
    folder = str(tmp_path / "parts")
    same(train(folder, feeding, STEPS, kill_at=2), whole)  # Nothing but the first checkpoint is there.
    first = train(folder, feeding, STEPS, kill_at=5)
    assert min(first) == 1
    same(first, whole)
    rest = train(folder, feeding, STEPS, kill_at=7)
    assert min(rest) == 4
    same(rest, whole)
    rest = train(folder, feeding, STEPS)
    assert min(k for k in rest if k != "weight") == 7
    same(rest, whole)


@pytest.mark.long
@pytest.mark.parametrize("feeding", [with_tables, one_shot, by_hook])
def test_recovered_in_the_same_process(feeding, tmp_path):
    whole = train(str(tmp_path / "whole"), feeding, STEPS)
    parts = train(str(tmp_path / "parts"), feeding, STEPS, recovering=True)
    assert set(parts) == set(whole)
    same(parts, whole)
