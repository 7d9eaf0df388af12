"""A shuffle draws the same elements, in the same order, whether they come and go one by one or together."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from tests.data.common import pulled
from towerstrat.checkpoints.state_codec import decoded, encoded
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.elements.structure import Structure
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator
from towerstrat.data.pipeline.shuffling import ShuffledPull
from towerstrat.data.pipeline.table_rows import UniformStream
from towerstrat.errors import DataLossError
from towerstrat.graph.ir.types import int64, string

WRONG = 3
"""The number of values of an element that raises."""


class Blocks(ElementIterator):
    """Elements of so many values each, and their numbers; ``at_once`` of one size and more may come together."""

    checkpointed = {"place": "place"}

    def __init__(self, sizes, at_once=1):
        self.sizes = sizes
        self.at_once = at_once
        self.place = 0

    def __next__(self):
        if self.place >= len(self.sizes):
            raise StopIteration
        self.place += 1
        size = self.sizes[self.place - 1]
        if size == WRONG:
            raise DataLossError(None, None, f"element {self.place - 1}")
        name = np.empty((), object)
        name[()] = b"%d" % (self.place - 1)
        return [np.full(size, self.place - 1), name]

    def next_batch_columns(self, count):
        sizes = self.sizes[self.place : self.place + count]
        if not self.at_once <= count == len(sizes) or len(set(sizes)) > 1 or WRONG in sizes:
            return None
        elements = [next(self) for _ in sizes]
        return [np.stack([e[0] for e in elements]), np.array([e[1][()] for e in elements], object)]


class Numbered(DatasetNode):
    """``Blocks`` as a pipeline."""

    kind = "Numbered"
    structure = Structure((None, None), [int64, string], [(None,), ()])

    def __init__(self, sizes, at_once):
        self.sizes = sizes
        self.at_once = at_once

    def open(self, opening):
        return Blocks(self.sizes, self.at_once)


def shuffled(sizes, at_once, size, seed=5):
    return ShuffledPull(Blocks(sizes, at_once), size, UniformStream(np.random.Generator(np.random.PCG64(seed))))


def plain(element):
    return [x.tolist() for x in element]


def taken(pull, count):
    """The next elements, together where they come so; an error as its message."""
    columns = pull.next_batch_columns(count) if count > 1 else None
    if columns is not None:
        return [plain([column[i, ...] for column in columns]) for i in range(count)]
    found = []
    for _ in range(count):
        try:
            found.append(plain(next(pull)))
        except DataLossError as error:
            found.append(error.message)
        except StopIteration:
            break
    return found


SIZES = st.one_of(
    st.integers(0, 40).map(lambda n: [2] * n),
    st.lists(st.integers(1, WRONG), max_size=30),
    st.lists(st.tuples(st.integers(1, 2), st.integers(1, 15)), max_size=4).map(
        lambda x: [s for s, n in x for _ in range(n)]
    ),
)


@example([1] * 2 + [2] * 20, 1, 4, [3, 3, 3], 9)
@example([2] * 12 + [1] * 20, 1, 4, [3, 5, 3, 3], 9)
@given(SIZES, st.integers(1, 4), st.integers(1, 12), st.lists(st.integers(1, 7), max_size=12), st.integers(0, 12))
def test_together_and_one_by_one(sizes, at_once, size, counts, kept):
    """After ``kept`` of the takings another pull goes on from the state."""
    one, many = shuffled(sizes, 100, size), shuffled(sizes, at_once, size)
    for i, count in enumerate([*counts, 100]):
        if i == kept:
            state, many = decoded(encoded(many.state())), shuffled(sizes, at_once, size)
            many.resume(state)
        assert taken(many, count) == [e for _ in range(count) for e in taken(one, 1)]


def test_states_of_before_are_taken():
    """They have no elements that wait."""
    first, second = shuffled([2] * 9, 2, 4), shuffled([2] * 9, 2, 4)
    taken(first, 3)
    state = first.state()
    del state["waiting"]
    second.resume(state)
    assert taken(second, 6) == taken(first, 6)


CHAINS = [
    lambda d: d.shuffle(5, 1).repeat(2),
    lambda d: d.repeat(2).shuffle(5, 1),
    lambda d: d.shuffle(20, 1).take(11),
    lambda d: d.skip(2).shuffle(3, 1).skip(1).map(lambda x, y: (y, x)),
]


@given(st.integers(0, 20), st.integers(1, 6), st.sampled_from(CHAINS))
def test_in_pipelines(length, size, chain):
    one, many = (chain(DatasetV1(Numbered([2] * length, n))).batch(size) for n in (100, 1))
    assert pulled(one) == pulled(many)


def test_parsed_records_are_shuffled_together(tmp_path):
    """Those of files that end within a batch, too."""
    names = [str(tmp_path / name) for name in "ab"]
    for number, name in enumerate(names):
        with tf.python_io.TFRecordWriter(name) as writer:
            for i in range(40):
                feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number * 40 + i]))
                example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
                writer.write(example.SerializeToString())
    parse = lambda x: tf.parse_single_example(x, {"x": tf.FixedLenFeature([], tf.int64)})["x"]  # noqa: E731
    records = tf.data.TFRecordDataset(names)
    numbers = tf.data.Dataset.from_generator(lambda: iter(range(80)), tf.int64, [])
    wanted = pulled(numbers.shuffle(20, 3).batch(16))
    assert pulled(records.map(parse).shuffle(20, 3).batch(16)) == wanted
    assert pulled(records.shuffle(20, 3).map(parse).batch(16)) == wanted
