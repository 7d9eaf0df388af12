"""The parts of distributed elements that a process makes, without other processes."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.data.files.file_sharding import of_files
from towerstrat.data.pipeline.nodes import IteratorContext
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.engine.batch_splitting import BatchSplit, ElementPerReplica, Shares
from towerstrat.training.saving import resume_state

OWN = [(0, 1), (2, 3), (1,), (0, 3), ()]


def elements(node):
    """The elements of a pipeline, components as lists; of an ``UnevenShards`` value its shapes besides."""
    with tf.Session() as session:
        tensors = node.inputs()
        values = session.run(tensors) if tensors else []
        opening = IteratorContext(session, node, dict(zip(tensors, values, strict=True)), (1, 2))
        return [[listed(part) for part in element] for element in node.open(opening)]


def listed(part):
    return (part.padded.tolist(), part.shapes) if isinstance(part, UnevenShards) else part.tolist()


def rows_of(element, own):
    """The parts of an element for some positions."""

    def of(part):
        return ([part[0][i] for i in own], part[1]) if isinstance(part, tuple) else [part[i] for i in own]

    return [of(part) for part in element]


def numbers(length, batch):
    return tf.data.Dataset.range(length).shuffle(4, seed=1).map(lambda x: (x, [x, x])).batch(batch).node


@pytest.mark.parametrize("own", OWN, ids=str)
@pytest.mark.parametrize("length", [0, 3, 4, 8, 11, 12])
def test_a_share_is_the_rows_of_its_positions(own, length):
    for make in (
        lambda share: BatchSplit(numbers(length, 4), share),
        lambda share: ElementPerReplica([numbers(length, 2)], share),
        lambda share: ElementPerReplica([numbers(length, 2)] * 4, share, drops=False),
    ):
        whole = elements(make(LocalIndices(4)))
        assert elements(make(LocalIndices(4, own))) == [rows_of(element, own) for element in whole]


def test_texts_are_whole_in_each_process():
    node = tf.data.Dataset.from_tensor_slices(([b"a", b"b"], [1, 2])).batch(2).node
    assert elements(BatchSplit(node, LocalIndices(2, [1]))) == [[[[b"a"], [b"b"]], [[2]]]]


def test_shares_are_the_parts_of_a_batch_one_after_the_other():
    node = tf.data.Dataset.range(11).batch(4).node
    parts = [part for (element,) in elements(BatchSplit(node, LocalIndices(2))) for part in unpadded(element)]
    assert [x for (x,) in elements(Shares(node, 2))] == parts
    assert Shares(node, 2).cardinality() == 6


def test_shares_divide_each_component_by_its_own_size():
    node = tf.data.Dataset.from_tensors((np.arange(5), np.arange(9))).node
    assert elements(Shares(node, 2)) == [[[0, 1, 2], [0, 1, 2, 3, 4]], [[3, 4], [5, 6, 7, 8]]]


def unpadded(part):
    if not isinstance(part, tuple):
        return part
    return [row[: shape[0]] for row, shape in zip(*part, strict=True)]


def test_files_are_divided_where_they_are_read(tmp_path):
    names = [str(tmp_path / str(i)) for i in range(5)]
    for i, name in enumerate(names):
        (tmp_path / name).write_text(f"{i}\n")
    whole = tf.data.Dataset.from_tensor_slices(names)
    for data in (
        tf.data.TextLineDataset(names).repeat(2),
        whole.flat_map(tf.data.TextLineDataset).repeat(2),
        whole.interleave(tf.data.TextLineDataset, cycle_length=1).batch(1).repeat(2),
        tf.data.TextLineDataset(names).concatenate(tf.data.TextLineDataset(names)).prefetch(1),
    ):
        found = [sorted(np.ravel(elements(of_files(data.node, 2, i))).tolist()) for i in range(2)]
        assert found == [sorted([b"0", b"2", b"4"] * 2), sorted([b"1", b"3"] * 2)]
    assert of_files(tf.data.Dataset.range(3).node, 2, 0) is None


def test_states_of_another_number_of_processes_are_not_taken(monkeypatch, caplog):
    states = {"one": {"initializations": 1}, "own of process 0": {"a": 1}, "own of process 1": {"a": 2}}
    assert resume_state.of_this_process(states) == {"one": {"initializations": 1}}
    monkeypatch.setattr(PROCESSES, "count", 2)
    monkeypatch.setattr(PROCESSES, "index", 1)
    assert resume_state.of_this_process(states) == {"one": {"initializations": 1}, "own": {"a": 2}}
    plain = {"one": {"initializations": 1}}
    assert resume_state.of_this_process(plain) == plain
    assert resume_state.of_all_processes(plain, set()) == plain
