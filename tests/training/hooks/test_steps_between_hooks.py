"""How long hooks leave the session alone: the promise is kept, and it is not shorter than it need be."""

import itertools

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given

import towerstrat.compat.v1 as tf
from towerstrat.training.hooks.steps_between_hooks import steps_until_session_use
from towerstrat.training.hooks.stop_at_step import MultiStepStopAtStepHook


class Session:
    """Answers every run with the global step, and notes that it was used."""

    def __init__(self, step):
        self.step, self.used = step, False

    def run(self, fetches, feed_dict=None):
        self.used = True
        return self.step


class Nothing:
    """A writer or saver for which every call does nothing."""

    saver_def = None

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def around_runs(hook, session, runs, by):
    """(promise, what was fetched, whether the session was used after the run, whether a stop was requested) of runs."""
    found = []
    for _ in range(runs):
        context = tf.train.SessionRunContext(tf.train.SessionRunArgs(None), session)
        session.used = False
        asked = hook.before_run(context) or tf.train.SessionRunArgs(None)
        if found and session.used:
            found[-1][2] = True
        promise = steps_until_session_use([hook], session.step, {})
        results = asked.fetches
        if isinstance(results, dict):
            results = dict.fromkeys(results, 0.0) | {"global_step": session.step}
        elif results is not None:
            results = session.step
        if isinstance(asked.fetches, dict) and "summary" in asked.fetches:
            results["summary"] = []
        session.step += by
        session.used = False
        hook.after_run(context, tf.train.SessionRunValues(results, None, tf.RunMetadata()))
        found.append([promise, (asked.fetches, asked.feed_dict, asked.options), session.used, context.stop_requested])
        if context.stop_requested:
            break
    return found


def step():
    return tf.train.get_or_create_global_step()


HOOKS = {
    "stop": lambda n, by: tf.train.StopAtStepHook(num_steps=n),
    "log": lambda n, by: tf.train.LoggingTensorHook([step()], every_n_iter=n),
    "log at the end": lambda n, by: tf.train.LoggingTensorHook([step()], at_end=True),
    "count": lambda n, by: tf.train.StepCounterHook(n, summary_writer=Nothing()),
    "count, not writing": lambda n, by: tf.train.StepCounterHook(n),
    "summaries": lambda n, by: tf.train.SummarySaverHook(n, summary_writer=Nothing(), summary_op="s"),
    "summaries to nowhere": lambda n, by: tf.train.SummarySaverHook(n, summary_op="s"),
    "nan": lambda n, by: tf.train.NanTensorHook(step()),
    "final": lambda n, by: tf.train.FinalOpsHook(step()),
    "wait": lambda n, by: tf.train.GlobalStepWaiterHook(0),
}


def kept_and_tight(found):
    """Nothing happens before the run that was promised, and something after it."""
    for i, (promise, fetched, _, _) in enumerate(found):
        until = len(found) if promise is None else i + promise
        for j in range(i, min(until, len(found))):
            used, stopped = found[j][2:]
            same = j + 1 == len(found) or found[j + 1][1] == fetched
            if j + 1 < until:
                assert same, (i, j)
                assert (used, stopped) == (False, False), (i, j)
            elif j + 1 < len(found) or stopped:
                assert not same or used or stopped, (i, j)


@pytest.mark.parametrize("kind", HOOKS)
@given(n=st.integers(1, 7), begin=st.integers(0, 9))
def test_promises_are_kept_and_tight(kind, n, begin):
    with tf.Graph().as_default():
        step()
        hook, session = HOOKS[kind](n, 1), Session(begin)
        hook.begin()
        hook.after_create_session(session, None)
        kept_and_tight(around_runs(hook, session, 25, 1))


@given(n=st.integers(1, 9), by=st.integers(1, 4), begin=st.integers(0, 9))
def test_promises_count_runs_of_several_steps(n, by, begin):
    with tf.Graph().as_default():
        step()
        hook, session = tf.train.StepCounterHook(n), Session(begin)
        hook._set_steps_per_run(by)
        hook.begin()
        kept_and_tight(around_runs(hook, session, 25, by))


def test_saving_is_promised(tmp_path):
    with tf.Graph().as_default():
        step()
        for n in (1, 2, 5):
            hook, session = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=n, saver=Nothing()), Session(3)
            hook._summary_writer = Nothing()
            hook._global_step_tensor = "step"
            hook.after_create_session(session, None)
            found = around_runs(hook, session, 12, 1)
            kept_and_tight(found)
            assert [used for _, _, used, _ in found] == [i % n == 0 for i in range(1, 13)]
    tf.summary.FileWriterCache.clear()


def test_profiling_is_promised(tmp_path, monkeypatch):
    monkeypatch.setattr(jax.profiler, "start_trace", lambda folder: None)
    monkeypatch.setattr(jax.profiler, "stop_trace", lambda: None)
    with tf.Graph().as_default():
        step()
        for n in (1, 2, 5):
            hook = tf.train.ProfilerHook(save_steps=n, output_dir=str(tmp_path / str(n)))
            hook.begin()
            found = around_runs(hook, Session(3), 12, 1)
            kept_and_tight(found[1:])
            assert any(used for _, _, used, _ in found)
    tf.summary.FileWriterCache.clear()


def test_the_clock_and_unknown_hooks():
    class Unknown(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            pass

    class Silent(tf.train.SessionRunHook):
        def end(self, session):
            pass

    class Watching(tf.train.NanTensorHook):
        def after_run(self, run_context, run_values):
            super().after_run(run_context, run_values)

    class Duck:
        def before_run(self, run_context):
            return None

    class Promising(Unknown):
        def steps_until_session_use(self, step):
            return 7 - step

    with tf.Graph().as_default():
        step()
        clock = tf.train.StepCounterHook(None, every_n_secs=1000.0)
        clock.begin()
        session = Session(0)
        promises = [promise for promise, *_ in around_runs(clock, session, 3, 1)]
        assert promises == [1, None, None]
    hooks = {Unknown: 1, Silent: None, Duck: 1}
    assert [steps_until_session_use([kind()], 2, {}) for kind in hooks] == list(hooks.values())
    assert steps_until_session_use([Watching("loss")], 2, {}) == 1
    assert steps_until_session_use([Promising()], 2, {}) == 5
    assert steps_until_session_use([Promising(), Unknown()], 2, {}) == 1
    assert steps_until_session_use([Silent(), Promising()], 2, {}) == 5
    assert steps_until_session_use([], 2, {}) is None
    assert steps_until_session_use([MultiStepStopAtStepHook(3)], 2, {}) == 1
    counter = itertools.count()
    assert steps_until_session_use([tf.train.FeedFnHook(lambda: {"x": next(counter)})], 2, {}) == 1
    assert isinstance(steps_until_session_use([tf.train.StopAtStepHook(last_step=np.int64(5))], np.int64(2), {}), int)


def test_a_hook_that_fetches_at_times_what_others_fetch_sets_no_limit():
    loss, other = tf.constant(1.0), tf.constant(2.0)
    hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10)
    hook.begin()
    hook.before_run(None)
    assert steps_until_session_use([hook], 0, {hook: {"loss": loss}, "caller": [other]}) == 1
    assert steps_until_session_use([hook], 0, {hook: {"loss": loss}, "caller": [other, {"l": loss}]}) is None
