"""Batches of which a process makes its own rows: they are those of one process, whatever is below the batch."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from tests.data.pipeline.test_iterator_state import changes
from tests.data.pipeline.test_process_shards import OWN, elements, rows_of
from tests.data.test_properties import source
from towerstrat.checkpoints.state_codec import decoded, encoded
from towerstrat.data.iterators.iterator_resource import IteratorResource
from towerstrat.data.pipeline import mapping
from towerstrat.data.pipeline.iterator_state import taken_again
from towerstrat.data.pipeline.nodes import IteratorContext
from towerstrat.data.pipeline.prefetch import Prefetch
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.towers.engine.batch_splitting import BatchSplit
from towerstrat.towers.engine.local_batches import split_rows


def written(x):
    """Through texts: by numpy, element by element."""
    return tf.string_to_number(tf.as_string(x), tf.int64) + 1


def in_a_branch(x):
    """Draws in a branch, which one by one are counted where the branch is taken."""
    return tf.cond(x % 2 < 1, lambda: x + tf.random_uniform([], 0, 50, tf.int64), lambda: x)


def waiting():
    """Maps that can wait, and what is around them."""
    return st.sampled_from(
        [
            lambda d: d.map(lambda x: x * 2),
            lambda d: d.map(lambda x: x + tf.random_uniform([], 0, 50, tf.int64)),
            lambda d: d.map(written),
            lambda d: d.map(in_a_branch),
            lambda d: d.map(lambda x: x + tf.random_uniform([], 0, 50, tf.int64, seed=3)).shuffle(4),
            lambda d: tf.data.Dataset.zip((d.map(written), d.skip(1).map(lambda x: x + 5))).map(lambda x, y: x - y),
            lambda d: tf.data.Dataset.zip((d.map(written), tf.data.Dataset.range(9).map(written))).map(
                lambda x, y: x - y
            ),
            lambda d: d.interleave(lambda x: tf.data.Dataset.range(x % 3).map(lambda y: y * 2), 2),
            lambda d: d.interleave(lambda x: tf.data.Dataset.range(x % 3).map(lambda y: y + x), 2),
        ]
    )


def chains():
    return st.lists(st.one_of(waiting(), changes()), max_size=4)


def made(length, rows, chain, batch, drop):
    dataset = source(list(range(length)), rows)
    for change in chain:
        dataset = change(dataset)
    return dataset.map(lambda x: (x, tf.stack([x, x + 1]))).batch(batch, drop_remainder=drop).prefetch(1).node


def paths(node):
    """The nodes on all paths of a pipeline: one that is read by two is there twice."""
    return [node, *(n for child in node.children for n in paths(child))]


def races(node):
    """Whether a thread that reads ahead and another reader share a node, whose draws go to who comes first."""
    below = paths(node.children[0])
    return len(below) > len(set(below)) and any(isinstance(n, Prefetch) for n in below)


@given(
    st.booleans(), st.integers(0, 14), chains(), st.integers(1, 8), st.booleans(), st.booleans(), st.sampled_from(OWN)
)
def test_own_rows_are_those_of_the_whole(rows, length, chain, batch, drop, many, own):
    tf.set_random_seed(1)
    node = made(length, rows, chain, batch, drop)
    assume(not races(node))
    with pytest.MonkeyPatch.context() as patch:
        if many:
            patch.setattr(mapping, "MANY_ROWS", 1)
        whole = elements(BatchSplit(node, LocalIndices(4)))
        assert elements(split_rows(node, LocalIndices(4, own))) == [rows_of(element, own) for element in whole]


@pytest.mark.parametrize("rows", [True, False])
def test_draws_are_those_of_the_places_in_the_whole(rows):
    tf.set_random_seed(1)
    drawn = source(list(range(9)), rows).shuffle(3).map(lambda x: x + tf.random_uniform([], 0, 50, tf.int64))
    again = drawn.shuffle(4).repeat(2).map(lambda x: x * 100 + tf.random_uniform([], 0, 50, tf.int64))
    other = source(list(range(20)), not rows).shuffle(4).map(lambda x: x + tf.random_uniform([], 0, 50, tf.int64))
    node = tf.data.Dataset.zip((again, other)).shuffle(3).batch(4).node
    found = split_rows(node, LocalIndices(4, (1, 2)))
    assert found.meaning is not None
    assert elements(found) == [rows_of(element, (1, 2)) for element in elements(BatchSplit(node, LocalIndices(4)))]


def batched():
    """Maps of batches ``[n, 2]`` of int64, some of which work on each row by itself."""
    return st.sampled_from(
        [
            lambda x: x * 2 - tf.constant([[1, 2]], tf.int64),
            lambda x: tf.stack([x[:, 0], x[:, 1] % 7], axis=1),
            lambda x: tf.reshape(tf.concat([x[:, 1:], x[:, :1]], 1), [-1, 2]),
            lambda x: tf.string_to_number(tf.as_string(x), tf.int64),
            lambda x: tf.cast(tf.reduce_sum(tf.one_hot(x[:, 0] % 2, 2), -1, True), tf.int64) + x,
            lambda x: tf.expand_dims(x, 1)[:, 0, ::-1],
            lambda x: x - tf.reduce_max(x),  # of all rows
            lambda x: x[::-1],
            lambda x: tf.reshape(tf.transpose(x), [-1, 2]),
            lambda x: x + tf.range(tf.shape(x, out_type=tf.int64)[0])[:, tf.newaxis],
            lambda x: tf.map_fn(lambda row: row + x[0], x),
            lambda x: x + tf.random_uniform([2], 0, 9, tf.int64),
        ]
    )


@given(
    st.integers(0, 14),
    st.lists(batched(), max_size=3),
    st.integers(1, 8),
    st.booleans(),
    st.sampled_from(OWN),
    chains(),
)
def test_own_rows_of_batches_that_are_mapped(length, maps, batch, drop, own, chain):
    tf.set_random_seed(1)
    dataset = source(list(range(length)), True)
    for change in chain[:1]:
        dataset = change(dataset)
    dataset = dataset.map(lambda x: tf.stack([x, x + 1])).batch(batch, drop_remainder=drop)
    for function in maps:
        dataset = dataset.map(function)
    whole = elements(BatchSplit(dataset.node, LocalIndices(4)))
    assert elements(split_rows(dataset.node, LocalIndices(4, own))) == [rows_of(element, own) for element in whole]


def test_what_works_on_each_row_by_itself():
    """Texts of a batch are parsed for own rows alone, and what mixes rows is not left to one process."""
    messages = [tf.train.Example(features=tf.train.Features(feature={
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])),
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
    })).SerializeToString() for i in range(10)]  # fmt: skip
    spec = {"x": tf.FixedLenFeature([2], tf.float32), "n": tf.FixedLenFeature([], tf.int64)}
    batches = tf.data.Dataset.from_tensor_slices(messages).batch(4)
    parsed = batches.map(lambda texts: tf.parse_example(texts, spec))
    named = batches.map(lambda texts: tf.parse_example(texts, spec, example_names=texts))
    numbers = tf.data.Dataset.from_tensor_slices([f"{i},{i}.5" for i in range(10)]).batch(4)
    columns = numbers.map(lambda lines: tuple(tf.decode_csv(lines, [[0], [0.0]])))
    for dataset, waits in (
        (parsed, True),
        (parsed.map(lambda found: found["x"] / 2.0), True),
        (columns, True),
        (columns.map(lambda i, x: (i + 1, tf.stack([x, x], 1))), True),
        (parsed.map(lambda found: found["x"] - tf.reduce_mean(found["x"])), False),
        (parsed.map(lambda found: tf.matmul(found["x"], found["x"], transpose_b=True)), False),
        (named, False),
    ):
        found = split_rows(dataset.node, LocalIndices(4, (1, 2)))
        assert (found.meaning is not None) == waits
        whole = elements(BatchSplit(dataset.node, LocalIndices(4)))
        assert elements(found) == [rows_of(element, (1, 2)) for element in whole]


def resource_of(session, node):
    found = IteratorResource(node.structure, session.waiting)
    tensors = node.inputs()
    values = dict(zip(tensors, session.run(tensors) if tensors else [], strict=True))
    found.initialize(IteratorContext(session, node, values, (1, 2)))
    return found


def rest(resource, count=10_000):
    found = []
    while len(found) < count:
        try:
            found.append([np.asarray(x.padded if hasattr(x, "padded") else x).tolist() for x in resource.next()])
        except StopIteration:
            break
    return found


@given(
    st.booleans(),
    st.integers(3, 14),
    chains(),
    st.integers(0, 4),
    st.integers(0, 2),
    *[st.sampled_from([LocalIndices(4, own) for own in ((2, 3), (1,), None)])] * 2,
)
def test_any_number_of_processes_goes_on(rows, length, chain, taken, returned, before, after):
    """From a place of the same share, of another one, and of one process; and one process from that of a share."""
    tf.set_random_seed(1)
    node = made(length, rows, chain, 4, True)
    assume(not races(node))
    with tf.Session() as session:
        saved, wanted, found = (resource_of(session, split_rows(node, share)) for share in (before, after, after))
        rest(saved, taken)
        saved.push_back([[np.asarray(x) for x in element] for element in rest(saved, returned)])
        state = decoded(encoded(saved.state()))
        if "place" in state:
            rest(wanted, taken)
            found.resume(state)
            assert rest(found) == rest(wanted)


def test_a_process_goes_on_from_its_own_place_at_once():
    node = made(14, True, [lambda d: d.filter(lambda x: x > 1).map(written).shuffle(5, 1)], 4, True)
    with tf.Session() as session:
        saved = resource_of(session, split_rows(node, LocalIndices(4, [1])))
        rest(saved, 2)
        assert taken_again(decoded(encoded(saved.state()))) == 0
