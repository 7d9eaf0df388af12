"""Summary operations: the messages of 1.12, in branches, loops, towers and step loops, and without a session."""

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.summaries_cases import CASES, outcome
from towerstrat.graph.eager import mode
from towerstrat.training.summaries.png_wav import png

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "summaries.json").read_text())


def pixels(data):
    """What an image of ours shows; of its lines none is filtered."""
    width, height, depth, color, *_ = struct.unpack(">IIBBBBB", data[16:29])
    assert (data[:8], depth) == (b"\x89PNG\r\n\x1a\n", 8)
    (size,) = struct.unpack(">I", data[33:37])
    lines = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(height, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, {0: 1, 2: 3, 6: 4}[color])


def values(data):
    return {v.tag: v.simple_value for v in tf.Summary.FromString(data).value}


@pytest.mark.parametrize("case", CASES)
def test_summaries_are_those_of_the_original(case):
    found, wanted = outcome(tf, case, pixels), GOLDEN[case]
    assert json.loads(json.dumps(found)) == wanted


def test_every_chunk_of_an_image_has_its_checksum():
    data = png(np.zeros((2, 3, 4), np.uint8))[8:]
    kinds = []
    while data:
        (size,) = struct.unpack(">I", data[:4])
        kinds.append(data[4:8])
        assert struct.unpack(">I", data[8 + size : 12 + size])[0] == zlib.crc32(data[4 : 8 + size])
        data = data[12 + size :]
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_tags_are_names_with_their_scopes():
    with tf.name_scope("train"):
        first, second = tf.summary.scalar("loss", 1.0), tf.summary.scalar("loss", 2.0)
    with tf.Session() as session:
        assert [*values(session.run(first)), *values(session.run(second))] == ["train/loss", "train/loss_1"]
    assert (first.op.name, first.op.type) == ("train/loss", "ScalarSummary")
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [first, second]


def test_values_that_are_fed_and_those_of_variables():
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(2.0)
    merged = tf.summary.merge([tf.summary.scalar("x", x * 2), tf.summary.scalar("v", v)])
    with tf.Session() as session:
        session.run(v.initializer)
        for fed in (1.0, 3.0):
            assert values(session.run([v.assign_add(0.0), merged], {x: fed})[1]) == {"x": 2 * fed, "v": 2.0}


def test_a_summary_does_not_divide_the_device_program():
    x = tf.placeholder(tf.float32, [3])
    loss = tf.reduce_sum(x * x)
    summary = tf.summary.scalar("loss", loss)
    later = tf.exp(loss)
    with tf.Session() as session:
        data, after = session.run([summary, later], {x: [1.0, 0.5, 0.0]})
        assert values(data) == {"loss": 1.25}
        np.testing.assert_allclose(after, np.exp(1.25), rtol=1e-5)


@pytest.mark.parametrize("taken", [True, False])
def test_in_a_branch(taken):
    summary = tf.cond(tf.placeholder_with_default(taken, []), lambda: tf.summary.scalar("s", 1.0), lambda: "")
    with tf.Session() as session:
        assert values(session.run(summary)) == ({"cond/s": 1.0} if taken else {})


def test_what_a_branch_or_loop_collects_cannot_be_merged_outside_of_it():
    tf.while_loop(lambda i: i < 2, lambda i: (tf.summary.scalar("s", i), i + 1)[1:], [0])
    with pytest.raises(ValueError, match="inside the body"):
        tf.summary.merge_all()


def test_eagerly_a_summary_has_its_value_at_once():
    with mode.eager_mode():
        assert values(tf.summary.scalar("loss", 2.0).numpy()) == {"loss": 2.0}
        with pytest.raises(RuntimeError, match="not compatible with eager execution"):
            tf.summary.merge_all()


def test_merging_nothing_is_nothing():
    assert tf.summary.merge_all() is None


def test_descriptions_are_those_of_an_older_type():
    node = tf.NodeDef(op="TensorSummary", attr={"description": {"s": b'{"typeHint": "words"}'}})
    assert tf.summary.get_summary_description(node).type_hint == "words"
    with pytest.raises(ValueError, match="Can't get_summary_description on ScalarSummary"):
        tf.summary.get_summary_description(tf.summary.scalar("a", 1.0).op.node_def)


def test_gradients_are_summarized():
    v, w = tf.Variable([3.0, 4.0], name="v"), tf.Variable(1.0, name="w")
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = tf.contrib.training.create_train_op(tf.reduce_sum(v * v) / 2, optimizer, summarize_gradients=True)
    merged = tf.summary.merge_all()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        loss, data = session.run([train, merged])
        assert loss == 12.5
        found = {value.tag: value for value in tf.Summary.FromString(data).value}
    assert sorted(found) == ["summarize_grads/v_gradient", "summarize_grads/v_gradient_norm"]
    assert found["summarize_grads/v_gradient_norm"].simple_value == 5.0
    assert found["summarize_grads/v_gradient"].histo.sum == 7.0
    assert w.op.name == "w"


def test_gradients_of_rows_are_summarized():
    table = tf.Variable([[1.0], [2.0], [3.0]], name="table")
    gradient = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 2]))
    with tf.Session() as session:
        found = session.run(tf.contrib.training.add_gradients_summaries([(gradient, table), (None, table)]))
    assert values(found[1]) == {"table_gradient_norm": 5.0}
    assert len(found) == 2


# ---- towers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("towers", [1, 2])
def test_what_a_step_collects_has_the_values_of_the_last_step_on_the_first_tower(towers):
    strategy = tf.contrib.distribute.TPUStrategy(num_cores=towers)
    with strategy.scope():
        data = tf.data.Dataset.range(100).map(lambda x: tf.cast(x, tf.float32)).batch(2, drop_remainder=True)
        iterator = strategy.distribute_dataset(lambda: data).make_initializable_iterator()

        def tower(x):
            loss = tf.reduce_sum(x)
            tf.summary.scalar("loss", loss)
            tf.summary.merge([tf.summary.scalar("twice", loss * 2.0, ["own"])], ["own"])
            return tf.identity(loss)

        def step(context, x):
            loss = strategy.call_for_each_tower(tower, x)
            context.set_last_step_output("loss", loss, tf.VariableAggregation.SUM)
            return strategy.group(loss)

        context = strategy.run_steps_on_dataset(step, iterator, iterations=3, initial_loop_values={"loss": 0.0})
        merged = tf.summary.merge_all()
        with tf.Session() as session:
            session.run(iterator.initializer)
            _, whole, data, own = session.run(
                [context.run_op, context.last_step_outputs["loss"], merged, tf.get_collection("own")]
            )
    first = {1: 4.0 + 5.0, 2: 8.0 + 9.0}[towers]
    assert whole == {1: first, 2: first + 10.0 + 11.0}[towers]
    assert values(data) == {"loss": first}
    assert [values(summary) for summary in own] == [{"twice": 2 * first}] * 2


def test_a_summary_in_tower_context_is_that_of_the_first_tower():
    strategy = tf.contrib.distribute.TPUStrategy(num_cores=2)
    with strategy.scope(), tf.Session() as session:

        def tower():
            x = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32) + 5.0
            return tf.summary.scalar("x", x)

        summary = strategy.call_for_each_tower(tower)
        assert values(session.run(tf.summary.merge_all())) == values(session.run(summary)) == {"x": 5.0}
