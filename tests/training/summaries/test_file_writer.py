"""Writers of event files through the names that programs know."""

import glob

import pytest

import towerstrat.compat.v1 as tf
from tests.locks import is_free
from towerstrat.graph.eager import mode
from towerstrat.training.summaries import file_writer


def events_of(folder):
    return [event for path in sorted(glob.glob(f"{folder}/*")) for event in tf.train.summary_iterator(path)]


def scalar(tag, value):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def test_no_file_before_the_first_event(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path / "run"))
    writer.flush()
    writer.close()
    assert events_of(tmp_path / "run") == []
    assert (tmp_path / "run").is_dir()


def test_summaries_as_messages_and_as_bytes(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(scalar("loss", 2.0), 7)
        writer.add_summary(scalar("loss", 1.0).SerializeToString(), global_step=8)
        writer.add_summary(scalar("loss", 0.5))
    assert writer.get_logdir() == str(tmp_path)
    found = [(e.step, e.summary.value[0].tag, e.summary.value[0].simple_value) for e in events_of(tmp_path)[1:]]
    assert found == [(7, "loss", 2.0), (8, "loss", 1.0), (0, "loss", 0.5)]


def test_the_metadata_of_a_tag_are_kept_once(tmp_path):
    def described():
        value = tf.Summary.Value(tag="t", simple_value=1.0, metadata=tf.SummaryMetadata(display_name="shown"))
        return tf.Summary(value=[value])

    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(described(), 1)
        writer.add_summary(described(), 2)
    assert [e.summary.value[0].metadata.display_name for e in events_of(tmp_path)[1:]] == ["shown", ""]


def test_graphs_have_names_and_shapes(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.add(tf.constant([1.0, 2.0], name="a"), 1.0, name="sum")
    with tf.summary.FileWriter(str(tmp_path), graph):
        pass
    _, first, second = events_of(tmp_path)
    nodes = {node.name: node for node in tf.GraphDef.FromString(first.graph_def).node}
    assert nodes["sum"].op == "Add"
    assert [d.size for d in nodes["sum"].attr["_output_shapes"].list.shape[0].dim] == [2]
    assert tf.MetaGraphDef.FromString(second.meta_graph_def).graph_def.node[0].name == "a"


def test_a_graph_def_is_taken_too_and_both_are_refused(tmp_path, caplog):
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="c")
    writer = tf.summary.FileWriter(str(tmp_path), graph_def=graph.as_graph_def())
    assert "Passing a `GraphDef` to the SummaryWriter is deprecated" in caplog.text
    with pytest.raises(ValueError, match="Please pass only graph"):
        writer.add_graph(graph, graph_def=graph.as_graph_def())
    with pytest.raises(TypeError, match="must be an instance of `Graph`"):
        writer.add_graph("graph")
    assert len(events_of(tmp_path)) == 3


def test_session_logs_run_metadata_and_meta_graphs(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 5)
    writer.add_run_metadata(tf.RunMetadata(), "step1", 6)
    with pytest.raises(ValueError, match="already used"):
        writer.add_run_metadata(tf.RunMetadata(), "step1", 7)
    with pytest.raises(TypeError, match="must be type MetaGraphDef"):
        writer.add_meta_graph(tf.GraphDef())
    _, log, run = events_of(tmp_path)
    assert (log.session_log.status, log.step) == (tf.SessionLog.START, 5)
    assert (run.tagged_run_metadata.tag, run.step) == ("step1", 6)


def test_a_closed_writer_drops_events_until_it_is_reopened(tmp_path, caplog):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.add_summary(scalar("a", 1.0), 1)
    writer.close()
    writer.add_summary(scalar("a", 2.0), 2)
    assert "closed FileWriter" in caplog.text
    writer.reopen()
    writer.add_summary(scalar("a", 3.0), 3)
    writer.close()
    assert [e.step for e in events_of(tmp_path) if e.summary.value] == [1, 3]
    assert len(glob.glob(f"{tmp_path}/*")) == 2


def test_one_writer_for_a_folder(tmp_path):
    try:
        writer = tf.summary.FileWriterCache.get(str(tmp_path))
        assert tf.summary.FileWriterCache.get(str(tmp_path)) is writer
    finally:
        tf.summary.FileWriterCache.clear()
    assert len(events_of(tmp_path)) == 3  # the version, and the default graph twice


def test_not_where_operations_are_executed_eagerly(tmp_path):
    with mode.eager_mode(), pytest.raises(RuntimeError, match="not compatible with eager execution"):
        tf.summary.FileWriter(str(tmp_path))


def test_threads_wait_while_the_cache_makes_or_closes_writers(tmp_path, monkeypatch):
    free = []

    class Writer:
        def __init__(self, *args, **kwargs):
            free.append(is_free(tf.summary.FileWriterCache._lock))

        def close(self):
            free.append(is_free(tf.summary.FileWriterCache._lock))

    monkeypatch.setattr(file_writer, "FileWriter", Writer)
    tf.summary.FileWriterCache.get(str(tmp_path))
    tf.summary.FileWriterCache.clear()
    assert free == [False, False]
    assert is_free(tf.summary.FileWriterCache._lock)
