"""``reduce`` and ``gather`` over batches that end uneven, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v2 as tf
from tests.bounds import close
from tests.spread import spread
from tests.towers.distribute.common import strategy
from towerstrat.errors import InvalidArgumentError

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
NUMPY = {SUM: np.sum, MEAN: np.mean}
ALONG_ROWS = [0, -2, (0,), (0, 1), [1, 0], (-1, 0)]
"""Axes of a matrix that go along what differs in size."""
WIDTH = 3


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def split(batch, replicas):
    """Each replica's part of a batch."""
    share = -(-len(batch) // replicas)
    return [batch[i * share : (i + 1) * share] for i in range(replicas)]


def rows(count, dtype=np.float32):
    return (np.random.default_rng(count).integers(-40, 40, (count, WIDTH)) / 4).astype(dtype)


def batches(array, size):
    """A dataset of batches of rows, the last one smaller, and the batches."""
    dataset = tf.data.Dataset.from_tensor_slices(array).batch(size)
    return dataset, [array[i : i + size] for i in range(0, len(array), size)]


def reductions(made, value):
    """All ops along all axes that go along rows, and the rows of all replicas."""
    found = {f"{op.value} {axis}": made.reduce(op, value, axis=axis) for op in (SUM, MEAN) for axis in ALONG_ROWS}
    return {**found, "gathered": made.gather(value, axis=0), "from the end": made.gather(value, axis=-2)}


def expected(batch):
    found = {f"{op.value} {axis}": NUMPY[op](batch, tuple(axis) if isinstance(axis, list) else axis)
             for op in (SUM, MEAN) for axis in ALONG_ROWS}  # fmt: skip
    return {**found, "gathered": batch, "from the end": batch}


def check(found, batch):
    for key, value in expected(batch).items():
        np.testing.assert_allclose(found[key], value, rtol=1e-6, atol=1e-6, err_msg=key)


@spread("replicas", range(1, 9), every=9)
def test_every_remainder(replicas, compiled):
    """In a function: traced once, and compiled once for each set of shapes."""
    made = strategy(replicas)
    size = 2 * replicas
    traced = []

    def function(value):
        traced.append(value)
        return reductions(made, value)

    for rest in range(size):
        dataset, parts = batches(rows(2 * size + rest), size)
        data = made.experimental_distribute_dataset(dataset)
        if not rest:
            run = tf.function(function, input_signature=[data.element_spec])
        for value, batch in zip(data, parts, strict=True):
            check(run(value), batch)
    assert len(traced) == 1
    shapes = {tuple(len(p) for p in split(np.empty(rest), replicas)) for rest in range(1, size + 1)}
    assert compiled.count("function") == len(shapes)


@spread("replicas", [3, 1, 8], every=3)
def test_eagerly(replicas):
    made = strategy(replicas)
    size = 2 * replicas
    dataset, parts = batches(rows(size + replicas // 2 + 1), size)
    for value, batch in zip(made.experimental_distribute_dataset(dataset), parts, strict=True):
        check(reductions(made, value), batch)


@spread("replicas", range(1, 9), every=5)
def test_loops_in_functions(replicas):
    """Each batch counts once, whole or not."""
    made = strategy(replicas)
    size = 2 * replicas
    wanted = [(SUM, 0), (MEAN, 0), (SUM, (0, 1)), (MEAN, (0, 1))]
    traced = []

    @tf.function
    def function(data):
        traced.append(data)
        sums, means = tf.zeros([WIDTH]), tf.zeros([WIDTH])
        total, mean, gathered = tf.constant(0.0), tf.constant(0.0), tf.constant(0.0)
        for value in data:
            sums += made.reduce(SUM, value, axis=0)
            means += made.reduce(MEAN, value, axis=0)
            total += made.reduce(SUM, value, axis=(0, 1))
            mean += made.reduce(MEAN, value, axis=(0, 1))
            every = made.gather(value, axis=0)
            gathered += tf.reduce_sum(every * tf.cast(tf.range(tf.shape(every)[0]), tf.float32)[:, tf.newaxis])
        return sums, means, total, mean, gathered

    for rest in sorted({0, 1, replicas, size - 1}):
        dataset, parts = batches(rows(2 * size + rest), size)
        *found, gathered = function(made.experimental_distribute_dataset(dataset))
        for (op, axis), value in zip(wanted, found, strict=True):
            np.testing.assert_allclose(value, sum(NUMPY[op](p, axis) for p in parts), rtol=1e-5, atol=1e-5)
        numbered = sum(float((p * np.arange(len(p))[:, None]).sum()) for p in parts)
        np.testing.assert_allclose(gathered, numbered, rtol=1e-5, atol=1e-4)


@spread("dtype", ["int32", "int64", "uint8", "float16", "float64"], every=3)
def test_types(dtype):
    """A mean of whole numbers is real, as a quotient is."""
    made = strategy(3)
    array = np.arange(4 * WIDTH).reshape(4, WIDTH).astype(dtype)
    (value,) = made.experimental_distribute_dataset(tf.data.Dataset.from_tensors(array))
    total, mean = (made.reduce(op, value, axis=0) for op in (SUM, MEAN))
    assert total.dtype == dtype
    assert mean.dtype == {"int32": "float64", "int64": "float64", "uint8": "float32"}.get(dtype, dtype)
    np.testing.assert_array_equal(total, array.sum(axis=0))
    np.testing.assert_allclose(mean, array.mean(axis=0))


@spread("in_function", [True, False], every=2)
def test_a_replica_with_nothing(in_function):
    """The last batch is (2, 2, 0)."""
    made = strategy(3)
    dataset, parts = batches(rows(10), 6)
    given = list(made.experimental_distribute_dataset(dataset))
    assert [len(part) for part in made.experimental_local_results(given[-1])] == [2, 2, 0]
    run = tf.function(reductions) if in_function else reductions
    check(run(made, given[-1]), parts[-1])

    def elementwise(value):
        return made.reduce(SUM, value, axis=None)

    with pytest.raises(InvalidArgumentError, match=r"over replicas.*\[2, 3\], \[2, 3\], \[0, 3\].*axis=0"):
        (tf.function(elementwise) if in_function else elementwise)(given[-1])
    np.testing.assert_allclose(elementwise(given[0]), sum(split(parts[0], 3)), rtol=1e-6)


def test_nothing_anywhere():
    made = strategy(2)
    value = made.experimental_distribute_values_from_function(lambda _: np.zeros((0, WIDTH), np.float32))
    np.testing.assert_array_equal(made.reduce(SUM, value, axis=0), np.zeros(WIDTH))
    assert np.isnan(made.reduce(MEAN, value, axis=0)).all()
    assert made.gather(value, axis=0).shape == (0, WIDTH)


@st.composite
def uneven(draw):
    """The shapes of the replicas' parts, and the axis along which they differ."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=2, max_size=5))
    others = draw(st.lists(st.integers(1, 3), max_size=2))
    axis = draw(st.integers(0, len(others)))
    signed = draw(st.sampled_from([axis, axis - len(others) - 1]))
    return [(*others[:axis], size, *others[axis:]) for size in sizes], signed


@pytest.mark.long
@given(uneven(), st.integers(0, 99), st.booleans())
def test_any_shapes(drawn, seed, in_function):
    """Parts of any rank that differ along any axis: joined, and reduced along it and along all axes."""
    shapes, axis = drawn
    random = np.random.default_rng(seed)
    parts = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    made = strategy(len(parts))
    value = made.experimental_distribute_values_from_function(lambda context: parts[context.replica_id_in_sync_group])
    axes = tuple(range(len(shapes[0])))

    def all_of(value):
        return made.gather(value, axis), [made.reduce(op, value, a) for op in (SUM, MEAN) for a in (axis, axes)]

    gathered, reduced = (tf.function(all_of) if in_function else all_of)(value)
    joined = np.concatenate(parts, axis)
    size = np.abs(joined).sum()
    np.testing.assert_array_equal(gathered, joined)
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = [NUMPY[SUM](joined, a) for a in (axis, axes)]
        count = joined.shape[axis], joined.size
        wanted += [total / np.float32(n) for total, n in zip(wanted, count, strict=True)]
    for found, value in zip(reduced, wanted, strict=True):
        close(found, value, joined.size, size)


@given(st.integers(1, 8), st.integers(0, 20), st.integers(1, 12))
def test_any_batches(replicas, count, size):
    """How many examples each replica gets of each batch, and that none is lost."""
    made = strategy(replicas)
    data = made.experimental_distribute_dataset(tf.data.Dataset.range(count).batch(size))
    steps = [made.experimental_local_results(value) for value in data]
    wanted = [split(np.arange(i, min(i + size, count)), replicas) for i in range(0, count, size)]
    assert [[part.numpy().tolist() for part in step] for step in steps] == [[p.tolist() for p in w] for w in wanted]
