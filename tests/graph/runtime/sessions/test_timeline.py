"""The times of a run as a trace for Chrome."""

import json

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.runtime.sessions.timeline import Timeline


def test_a_run_and_each_of_its_stages_is_a_span():
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as sess:
        sess.run(tf.constant(1.0) + 1.0, options=options, run_metadata=metadata)
    trace = Timeline(metadata.step_stats, graph=tf.get_default_graph()).generate_chrome_trace_format()
    process, span, *stages = json.loads(trace)["traceEvents"]
    assert all(span["ts"] <= stage["ts"] for stage in stages)
    assert process["ph"] == "M"
    assert process["args"]["name"].endswith("Compute")
    stats = metadata.step_stats.dev_stats[0].node_stats[0]
    assert (span["ph"], span["name"], span["pid"]) == ("X", "Session.run", process["pid"])
    assert (span["ts"], span["dur"]) == (stats.all_start_micros, stats.all_end_rel_micros)


def test_costs_are_those_of_the_compiled_programs():
    x = tf.placeholder(tf.float32, [8, 16], name="x")
    w = tf.get_variable("weights", [16, 4])
    doubled = tf.py_func(lambda a: a * 2, [x], tf.float32, name="doubled")
    doubled.set_shape([8, 16])
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as sess:
        sess.run(w.initializer)
        given = {x: np.ones([8, 16])}
        result = sess.run(tf.matmul(doubled, w), given, options, metadata)
        np.testing.assert_array_equal(result, sess.run(tf.matmul(doubled, w), given))
    (node,) = metadata.cost_graph.node
    assert node.compute_cost >= 2 * 8 * 16 * 4
    assert node.output_info[0].size >= 8 * 4 * 4
    assert node.persistent_memory_size == (8 * 16 + 16 * 4) * 4
    labels = [stats.timeline_label for stats in metadata.step_stats.dev_stats[0].node_stats]
    assert labels[:2] == ["Session.run", "doubled = PyFunc"]
    assert f"{node.compute_cost} flops" in labels[-1]
    trace = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True))
    used = [event["args"]["bytes"] for event in trace["traceEvents"] if event["ph"] == "C"]
    assert used == [node.temporary_memory_size + node.output_info[0].size, 0]


def test_a_traced_step_loop_and_an_update_without_fetches():
    v = tf.get_variable("v", initializer=0.0)
    loop = tf.while_loop(lambda i: i < 3, lambda i: i + tf.cast(v.assign_add(1.0) > 0, tf.int32), [0])
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as sess:
        sess.run(v.initializer, options=options, run_metadata=metadata)
        assert not metadata.cost_graph.node
        sess.run(loop.op, options=options, run_metadata=metadata)
        sess.run(v.assign_add(1.0).op, options=options, run_metadata=metadata)
        assert len(metadata.cost_graph.node) == 1
        assert sess.run(v) == 4.0


def test_a_run_that_is_not_traced_has_no_spans():
    metadata = tf.RunMetadata()
    with tf.Session() as sess:
        sess.run(tf.constant(1.0), run_metadata=metadata)
    trace = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True))
    assert trace == {"traceEvents": []}


def test_times_that_are_not_in_order_are_refused():
    stats = tf.RunMetadata().step_stats
    stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="late", op_end_rel_micros=2, all_end_rel_micros=1)
    with pytest.raises(ValueError, match="late are not in order"):
        Timeline(stats)
