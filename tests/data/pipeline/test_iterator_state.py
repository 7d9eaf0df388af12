"""Pipelines that go on in another opening: what is left after the state is what was left before it."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from tests.data.test_properties import source
from tests.spread import spread
from towerstrat.checkpoints.state_codec import decoded, encoded
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.pipeline.iterator_state import Resumable, taken_again
from towerstrat.data.pipeline.nodes import ElementIterator, Part
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.data.pipeline.table_rows import Order
from towerstrat.platform.checksums import masked_crc
from towerstrat.towers.engine.batch_splitting import BatchSplit, ElementPerReplica, Filled

MANY = 3000
"""Enough rows that functions are compiled for many of them at once."""


def rest(resource, limit=10_000):
    """The next elements, as plain lists."""
    found = []
    while len(found) < limit:
        try:
            found.append([np.asarray(x).tolist() for x in resource.next()])
        except StopIteration:
            break
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    return found


def positions(make):
    """The positions of two runs of a program with the pipeline that ``make`` makes."""
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            iterator = make().make_initializable_iterator()
            session.run(iterator.initializer)
            yield iterator.position.resource(session)


def check(make, taken, left=10_000, returned=0):
    """After ``taken`` elements (and as many ``returned`` ones) another run goes on as the first does."""
    first, second = positions(make)
    for _ in range(taken):
        rest(first, 1)
    ahead = rest(first, returned) if returned else []
    ahead = [element for element in ahead if not isinstance(element, str)]
    first.push_back([[np.asarray(x) for x in element] for element in ahead])
    state = decoded(encoded(first.state()))
    wanted = rest(first, left)
    if "place" not in state:
        assert wanted == []
        return state
    second.resume(state)
    assert rest(second, left) == wanted
    return state


def changes():
    """Transformations of datasets of int64 scalars to such datasets."""
    random = lambda x: x + tf.random_uniform([], 0, 50, tf.int64)  # noqa: E731
    return st.sampled_from(
        [
            lambda d: d.take(7),
            lambda d: d.skip(2),
            lambda d: d.shard(2, 1),
            lambda d: d.repeat(2),
            lambda d: d.shuffle(4).repeat(2),
            lambda d: d.shuffle(3, 1, reshuffle_each_iteration=False).repeat(3),
            lambda d: d.prefetch(2),
            lambda d: d.concatenate(d.take(2)),
            lambda d: d.map(random),
            lambda d: d.map(random, num_parallel_calls=2),
            lambda d: d.filter(lambda x: tf.not_equal(x % 3, 0)),
            lambda d: d.flat_map(lambda x: tf.data.Dataset.range(x % 3).map(random)),
            lambda d: d.interleave(lambda x: tf.data.Dataset.range(x % 4).shuffle(3), 3, 2),
            lambda d: d.batch(3).apply(tf.data.experimental.unbatch()),
            lambda d: d.apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))),
            lambda d: d.apply(tf.data.experimental.unique()),
            lambda d: d.apply(tf.data.experimental.ignore_errors()),
            lambda d: d.apply(
                tf.data.experimental.group_by_window(lambda x: x % 3, lambda k, w: w.shuffle(2).map(random), 3)
            ),
            lambda d: tf.data.experimental.sample_from_datasets([d, d.skip(1)]),
            lambda d: tf.data.experimental.choose_from_datasets([d, d.take(3)], tf.data.Dataset.range(2).repeat(5)),
            lambda d: tf.data.Dataset.zip((d, d.shuffle(2))).map(lambda x, y: x * 100 + y),
            lambda d: d.enumerate().map(lambda i, x: i * 1000 + x),
            lambda d: d.window(2).flat_map(lambda w: w),
            lambda d: d.cache(),
            lambda d: d.map(random).cache().repeat(2),
        ]
    )


@pytest.mark.long
def test_draws_of_a_thread_are_those_of_the_elements_it_has_taken():
    """The state is that of one moment, while a thread goes on."""

    def pipeline():
        return tf.data.Dataset.range(12).map(lambda x: x + tf.random_uniform([], maxval=40, dtype=tf.int64)).prefetch(2)

    for taken in range(6):
        check(pipeline, taken, returned=1)


@pytest.mark.parametrize("rows", [True, False])
@given(st.integers(0, 12), st.lists(changes(), max_size=4), st.integers(0, 12), st.integers(0, 3), st.booleans())
def test_chains_of_transformations(rows, length, chain, taken, returned, batched):
    def make():
        dataset = source(list(range(length)), rows)
        for change in chain:
            dataset = change(dataset)
        return dataset.batch(2) if batched else dataset

    check(make, taken, 60, returned)


def framed(data):
    length = struct.pack("<Q", len(data))
    return b"".join([length, struct.pack("<I", masked_crc(length)), data, struct.pack("<I", masked_crc(data))])


def files(tmp_path_factory):
    """Two files of lines, one of them compressed, and one of records."""
    folder = tmp_path_factory.getbasetemp()
    (folder / "lines").write_text("a\nbb\r\n\nccc")
    (folder / "lines.gz").write_bytes(gzip.compress(b"".join(b"%d\n" % i for i in range(9))))
    (folder / "records").write_bytes(b"".join(framed(b"x" * i) for i in range(9)))
    (folder / "fixed").write_bytes(b"hh" + bytes(range(21)) + b"f")
    return folder


def table(n):
    return tf.data.Dataset.from_tensor_slices((np.arange(n), np.arange(n, dtype=np.float32)))


def grow(x):
    return tf.range(x % 5)


def grid(x):
    """Two unknown sizes: numpy's, and so for threads."""
    return tf.fill([x % 2 + 1, x % 3 + 1], x + tf.random_uniform([], 0, 40, tf.int64))


PIPELINES = {
    "lines": lambda f: tf.data.TextLineDataset([str(f / "lines")] * 3),
    "compressed lines": lambda f: tf.data.TextLineDataset([str(f / "lines.gz")] * 2, "GZIP").shuffle(4),
    "records": lambda f: tf.data.TFRecordDataset(str(f / "records")).repeat(2),
    "records of one length": lambda f: tf.data.FixedLengthRecordDataset([str(f / "fixed")] * 2, 3, 2, 1),
    "files in turn": lambda f: (
        tf.data.Dataset.list_files(str(f / "lines*")).interleave(lambda n: tf.data.TextLineDataset(n), 2)
    ),
    "endless range": lambda f: tf.data.experimental.Counter(3, -2).map(lambda x: x * 2),
    "random numbers": lambda f: tf.data.experimental.RandomDataset(3).batch(2),
    "map of many rows": lambda f: (
        table(MANY).shuffle(50).map(lambda i, x: (i, x + tf.random_normal([]))).repeat().batch(4)
    ),
    "map of many elements": lambda f: (
        tf.data.experimental.Counter().map(lambda x: x + tf.random_uniform([], 0, 9, tf.int64), 4).skip(2050)
    ),
    "sliding windows": lambda f: tf.data.Dataset.range(20).window(4, 2, 2, True).flat_map(lambda w: w.batch(4)),
    "padded batches": lambda f: tf.data.Dataset.range(20).map(grow).shuffle(4).padded_batch(3, [None]),
    "buckets": lambda f: tf.data.Dataset.range(20).map(grow).apply(
        tf.data.experimental.bucket_by_sequence_length(lambda x: tf.size(x), [2, 4], [2, 3, 2])
    ),
    "windows by size": lambda f: tf.data.Dataset.range(20).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 3, lambda k, w: w.batch(3), window_size_func=lambda k: k + 1
        )
    ),
    "one element": lambda f: tf.data.Dataset.from_tensors((1, "two")).repeat(9),
    "elements that raise": lambda f: (
        tf.data.Dataset.range(20).map(lambda x: tf.check_numerics(1 / tf.cast(x % 4, tf.float32), "inf")).prefetch(2)
    ),
    "Python functions": lambda f: tf.data.Dataset.range(20).map(lambda x: tf.py_func(lambda y: y + 1, [x], tf.int64)),
    "lists": lambda f: tf.data.Dataset.from_generator(lambda: iter([[1, 2], [3]] * 6), tf.int32, [None]).shuffle(3),
    "threads of a map": lambda f: tf.data.Dataset.range(20).map(grid, 3).prefetch(2),
    "threads": lambda f: tf.data.Dataset.range(50).shuffle(9).prefetch(3).map(lambda x: x + 1).prefetch(2).repeat(2),
    "rows of replicas": lambda f: DatasetV1(BatchSplit(tf.data.Dataset.range(24).shuffle(5).batch(4).node,
        LocalIndices(2))),
    "filled up": lambda f: DatasetV1(Filled(tf.data.Dataset.zip(
        (tf.data.Dataset.range(10).shuffle(5), tf.data.Dataset.from_tensors(True).repeat())).node, 4)),
    "batches dealt": lambda f: DatasetV1(ElementPerReplica([tf.data.Dataset.range(24).shuffle(5).batch(2).node],
        LocalIndices(3))),
}  # fmt: skip


@spread(("name", "taken"), [(name, taken) for name in PIPELINES for taken in (5, 0)], every=3)
def test_kinds_of_pipelines(tmp_path_factory, name, taken):
    folder = files(tmp_path_factory)
    state = check(lambda: PIPELINES[name](folder), taken, 25, 2)
    by_number = name == "lists" or (name == "sliding windows" and taken > 0)
    if name != "elements that raise":  # an exception that the thread met ahead has no state; it may not be there yet
        assert (taken_again(state.get("place")) > 0) == by_number


@spread("name", ["map of many rows", "map of many elements", "random numbers", "records"], every=3)
def test_a_state_does_not_grow_with_the_position(tmp_path_factory, name):
    folder = files(tmp_path_factory)
    sizes = []
    for taken in (70, 700):
        position, _ = positions(lambda: PIPELINES[name](folder).repeat())
        rest(position, taken)
        sizes.append(len(encoded(position.state())))
    assert abs(sizes[1] - sizes[0]) < 9000  # numbers that were drawn ahead, at most 1,024


def test_every_part_of_a_pipeline_has_a_state():
    kinds, found = [ElementIterator, Order], []
    while kinds:
        kinds += (below := kinds.pop().__subclasses__())
        found += below
    assert len(found) > 30
    for kind in found:
        assert kind.checkpointed is not None or kind.state is not Resumable.state, kind


def test_every_part_has_a_name_in_states_that_is_its_own():
    parts, kinds = [Part], {}
    while parts:
        parts += (below := parts.pop().__subclasses__())
        for part in below:
            if "kind" in vars(part):
                assert kinds.setdefault(part.kind, part) is part
            else:
                assert part.__subclasses__(), f"{part} needs a kind"
    assert len(kinds) > 50
