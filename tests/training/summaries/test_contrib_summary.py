"""``tf.contrib.summary``: what 1.12 writes, and in functions, branches, loops, towers and step loops."""

import glob
import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden.summaries_contrib_cases import CASES, events, suffixes
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "summaries_contrib.json").read_text())
s = tf.contrib.summary


def scalars(folder):
    """(step, tag, value) of what was written, in order."""
    return [
        (
            event.step,
            value.tag,
            float(tf.make_ndarray(value.tensor)) if value.HasField("tensor") else value.simple_value,
        )
        for path in sorted(glob.glob(f"{folder}/*"))
        for event in tf.train.summary_iterator(path)
        for value in event.summary.value
    ]


@pytest.mark.parametrize("name", CASES)
def test_events_are_those_of_the_original(name, tmp_path):
    with eager_mode():
        returned = CASES[name](tf, str(tmp_path))
        found = events(tf, str(tmp_path))
    assert json.loads(json.dumps([returned, found, suffixes(str(tmp_path))])) == GOLDEN[name]


def test_events_are_in_order_of_creation(tmp_path):
    with s.create_file_writer(str(tmp_path)).as_default(), s.always_record_summaries():
        for i in range(5):
            s.scalar(f"s{i}", i + 1, step=9)
    with tf.Session() as session:
        session.run(s.all_summary_ops())
    assert [tag for _, tag, _ in scalars(tmp_path)] == [f"s{i}" for i in range(5)]


def test_a_session_writes_a_graph(tmp_path):
    data = tf.get_default_graph().as_graph_def().SerializeToString() + b"\n\x00"
    with s.create_file_writer(str(tmp_path)).as_default():
        written = s.graph(tf.constant(data), step=3)
    with tf.Session() as session:
        session.run(written)
    events = [e for path in glob.glob(f"{tmp_path}/*") for e in tf.train.summary_iterator(path) if e.graph_def]
    assert [(e.step, e.graph_def) for e in events] == [(3, data)]


def test_in_branches_and_loops(tmp_path):
    flag = tf.placeholder(tf.bool, [])
    with s.create_file_writer(str(tmp_path)).as_default(), s.always_record_summaries():

        def body(i):
            with tf.control_dependencies([s.scalar("loop", i + 1, step=tf.cast(i, tf.int64))]):
                return i + 1

        loop = tf.while_loop(lambda i: i < 3, body, [0])
        branch = tf.cond(flag, lambda: s.scalar("yes", 1.0, step=8), lambda: s.scalar("no", 1.0, step=9))
    with tf.Session() as session:
        session.run([loop, branch], {flag: True})
        session.run(branch, {flag: False})
    found = [(step, tag.split("/")[-1], value) for step, tag, value in scalars(tmp_path)]
    assert found == [(0, "loop", 1.0), (1, "loop", 2.0), (2, "loop", 3.0), (8, "yes", 1.0), (9, "no", 1.0)]


def test_a_value_that_cannot_be_shown_is_logged_and_the_program_goes_on(tmp_path, caplog):
    x = tf.placeholder(tf.float32, [1])
    with s.create_file_writer(str(tmp_path)).as_default(), s.always_record_summaries():
        s.histogram("h", x, step=1)
    with tf.Session() as session:
        session.run(s.all_summary_ops(), {x: [np.nan]})
        assert "Nan in summary histogram for: h" in caplog.text
        session.run(s.all_summary_ops(), {x: [1.0]})
    assert [event.step for path in glob.glob(f"{tmp_path}/*") for event in tf.train.summary_iterator(path)] == [0, 1]


def test_what_cannot_be_shown_is_an_error_eagerly(tmp_path):
    with eager_mode(), s.create_file_writer(str(tmp_path)).as_default(), s.always_record_summaries():
        tf.train.get_or_create_global_step()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary histogram for: h"):
            s.histogram("h", [np.nan])
        with pytest.raises(TypeError, match="parameter 'value' has DataType string"):
            s.scalar("s", "text")
        with pytest.raises(tf.errors.InvalidArgumentError, match="not the bytes of a message Event"):
            s.import_event("text")


def test_values_of_types_that_cannot_be_shown_are_refused(tmp_path):
    image, writer = tf.zeros([1, 2, 2, 1], tf.int32), s.create_file_writer(str(tmp_path))
    refused = pytest.raises(TypeError, match="parameter 'tensor' has DataType int32")
    with writer.as_default(), s.always_record_summaries(), refused:
        s.image("i", image, step=1)


def test_a_file_writer_of_a_session_shares_the_file(tmp_path):
    writer = s.create_file_writer(str(tmp_path))
    with tf.Session() as session:
        session.run(writer.init())
        shared = tf.summary.FileWriter(str(tmp_path), session=session)
        shared.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1.0)]), 4)
        with writer.as_default(), s.always_record_summaries():
            session.run(s.scalar("b", 2.0, step=5))
    assert scalars(tmp_path) == [(4, "a", 1.0), (5, "b", 2.0)]
    assert len(glob.glob(f"{tmp_path}/*")) == 1


def test_operations_begin_flush_and_end_a_file():
    """A remote one, which is written where it is flushed."""
    pytest.importorskip("fsspec")
    folder = "memory://summaries"
    with s.create_file_writer(folder).as_default() as writer, s.always_record_summaries():
        record, flush, close = s.scalar("a", 1.0, step=3), writer.flush(), writer.close()

        def written():
            files = [f"{folder}/{name}" for name in sorted(tf.gfile.ListDirectory(folder))]
            return [[event.step for event in tf.train.summary_iterator(path)] for path in files]

        with tf.Session() as session:
            session.run(writer.init())
            assert written() == [[0]]
            session.run(record)
            session.run(flush)
            assert written() == [[0, 3]]
            session.run(close)
            session.run(record)
            session.run(close)
            assert written() == [[0, 3], [0, 3]]


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(RuntimeError, match=r"No default tf\.contrib\.summary\.SummaryWriter found"):
        s.initialize()
    with s.create_file_writer(str(tmp_path)).as_default():
        with pytest.raises(ValueError, match="session must be passed"):
            s.initialize()
        with pytest.raises(TypeError, match=r"graph\(\) needs a tf\.Tensor"):
            s.graph(tf.Graph())
    assert s.scalar("nowhere", 1.0).type == "NoOp"
    assert s.eval_dir("m") == "m/eval"
    assert s.eval_dir("m", "b") == "m/eval_b"


@pytest.mark.parametrize("wanted", [True, False])
def test_a_metric_records_its_result(wanted, tmp_path):
    with eager_mode():
        mean = tf.contrib.eager.metrics.Mean("mean")
        mean([1.0, 2.0])
        tf.train.get_or_create_global_step()
        with s.create_file_writer(str(tmp_path)).as_default(), s.always_record_summaries():
            mean.result(write_summary=wanted)
            mean.result(write_summary=tf.constant(wanted))
    assert [(tag, value) for _, tag, value in scalars(tmp_path)] == [("mean", 1.5)] * 2 * wanted


# ---- towers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("towers", [1, 2])
def test_each_step_of_a_loop_is_recorded_by_the_first_tower(towers, tmp_path):
    strategy = tf.contrib.distribute.TPUStrategy(num_cores=towers)
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        data = tf.data.Dataset.range(100).map(lambda x: tf.cast(x, tf.float32)).batch(1, drop_remainder=True)
        iterator = strategy.distribute_dataset(lambda: data).make_initializable_iterator()
        writer = s.create_file_writer(str(tmp_path))

        def tower(x):
            with writer.as_default(), s.record_summaries_every_n_global_steps(2):
                recorded = s.scalar("x", x[0])
            with tf.control_dependencies([recorded]):
                return tf.identity(x)

        def run_step(context, x):
            with tf.control_dependencies([strategy.group(strategy.call_for_each_tower(tower, x))]):
                return tf.assign_add(step, 1)

        context = strategy.run_steps_on_dataset(run_step, iterator, iterations=6)
        with tf.Session() as session:
            session.run([iterator.initializer, tf.global_variables_initializer(), writer.init()])
            session.run(context.run_op)
    assert scalars(tmp_path) == [(n, "x", float(n * towers)) for n in (0, 2, 4)]


def test_replicas_record_once(tmp_path):
    with eager_mode():
        strategy = tf2.distribute.TPUStrategy()
        writer = tf2.summary.create_file_writer(str(tmp_path))

        @tf2.function
        def train(step):
            def replica():
                at = tf2.distribute.get_replica_context().replica_id_in_sync_group
                tf2.summary.scalar("replica", at + 5, step=step)
                return at

            with writer.as_default():
                return strategy.run(replica)

        for step in range(2):
            train(tf2.constant(step, tf2.int64))
    assert strategy.num_replicas_in_sync > 1
    assert scalars(tmp_path) == [(0, "replica", 5.0), (1, "replica", 5.0)]
