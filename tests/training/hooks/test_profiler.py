"""Profiles of runs: what is written where, and programs that take profiles themselves."""

import json

import jax
import pytest

import towerstrat.compat.v1 as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def train(hook, runs):
    w = tf.get_variable("w", [64, 64])
    step = tf.train.get_or_create_global_step()
    train_op = tf.group(w.assign(tf.matmul(w, w)), step.assign_add(1))
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(), [hook]) as session:
        for _ in range(runs):
            session.run(train_op)


def test_each_profile_is_a_timeline_metadata_and_a_trace(tmp_path):
    train(tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path)), 3)
    trace = json.loads((tmp_path / "timeline-2.json").read_text())
    spans = {event["name"]: event for event in trace["traceEvents"] if event["ph"] == "X"}
    (program,) = (name for name in spans if name.endswith("bytes"))
    assert int(program.split()[-4]) >= 2 * 64**3
    assert spans["Session.run"]["dur"] >= spans[program]["dur"]
    assert len(list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))) == 1
    (events,) = tmp_path.glob("events*")
    found = [e for e in tf.train.summary_iterator(str(events)) if e.HasField("tagged_run_metadata")]
    assert [(e.tagged_run_metadata.tag, e.step) for e in found] == [("step_2", 0)]
    metadata = tf.RunMetadata.FromString(found[0].tagged_run_metadata.run_metadata)
    assert metadata.cost_graph.node[0].compute_cost >= 2 * 64**3


def test_a_program_may_profile_itself(tmp_path):
    (tmp_path / "own").mkdir()
    with jax.profiler.trace(str(tmp_path / "own")):
        train(tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path / "hook")), 3)
    assert (tmp_path / "hook" / "timeline-2.json").exists()
    assert not list((tmp_path / "hook").glob("plugins/**/*.xplane.pb"))
    assert list((tmp_path / "own").glob("plugins/**/*.xplane.pb"))


def test_a_run_that_fails_does_not_keep_the_next_from_its_profile(tmp_path):
    class Fails(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            assert run_values.options.trace_level == tf.RunOptions.NO_TRACE

    w = tf.get_variable("w", initializer=0.0)
    train_op = tf.group(w.assign_add(1.0), tf.train.get_or_create_global_step().assign_add(1))
    hooks = [Fails(), tf.train.ProfilerHook(save_steps=1, output_dir=str(tmp_path / "fails"))]
    with pytest.raises(AssertionError), tf.train.MonitoredSession(tf.train.ChiefSessionCreator(), hooks) as session:
        for _ in range(3):
            session.run(train_op)
    with tf.Graph().as_default():
        train(tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path / "next")), 3)
    assert len(list((tmp_path / "next").glob("plugins/profile/*/*.xplane.pb"))) == 1
