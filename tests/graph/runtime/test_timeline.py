"""The times of a run as a trace for Chrome."""

import json

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat.v1names import cloud
from towerstrat.graph.runtime.timeline import Timeline


def test_a_run_is_one_span():
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as sess:
        sess.run(tf.constant(1.0) + 1.0, options=options, run_metadata=metadata)
    trace = Timeline(metadata.step_stats, graph=tf.get_default_graph()).generate_chrome_trace_format()
    process, span = json.loads(trace)["traceEvents"]
    assert process["ph"] == "M"
    assert process["args"]["name"].endswith("Compute")
    stats = metadata.step_stats.dev_stats[0].node_stats[0]
    assert (span["ph"], span["name"], span["pid"]) == ("X", "Session.run", process["pid"])
    assert (span["ts"], span["dur"]) == (stats.all_start_micros, stats.all_end_rel_micros)


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


def test_configure_gcs_says_once_that_it_has_no_effect(caplog):
    with tf.Session() as sess, caplog.at_level("WARNING", logger="tensorflow"):
        for _ in range(2):
            cloud.configure_gcs(sess, credentials={"refresh_token": ""}, block_cache=cloud.BlockCacheParams())
    assert sum("no effect" in record.message for record in caplog.records) == 1
    assert cloud.BlockCacheParams(block_size=3).max_bytes == 6
