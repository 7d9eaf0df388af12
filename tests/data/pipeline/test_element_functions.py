"""Functions of elements: how they are evaluated changes nothing but the time it takes."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.data.common import elements
from tests.spread import spread
from towerstrat.data.pipeline import mapping

ROWS = 40
IMAGES = np.arange(ROWS * 6, dtype=np.uint8).reshape(ROWS, 2, 3)
LABELS = np.arange(ROWS)


def pipelines():
    """Pipelines whose functions can be evaluated for whole batches, and what they are expected to make of a row."""
    table = np.arange(5, dtype=np.float32) * 0.25
    captured = tf.constant(table) * 2.0
    v = tf.Variable(np.float32(3.0), name="scale")
    both = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS))
    yield both.map(lambda x, y: (tf.cast(x, tf.float32) / 4.0, y)), lambda x, y: (x.astype(np.float32) / 4, y)
    yield both.map(lambda x, y: (x, y)), lambda x, y: (x, y)
    yield (
        both.map(lambda x, y: {"y": y + 1, "x": tf.reshape(x, [6])}).map(lambda d: (tf.cast(d["x"], tf.int32), d["y"])),
        lambda x, y: (x.reshape(6).astype(np.int32), y + 1),
    )
    yield (
        both.map(lambda x, y: (tf.constant([1.5, 2.5]), y * 2)),
        lambda x, y: (np.array([1.5, 2.5], np.float32), y * 2),
    )
    yield (
        both.map(lambda x, y: (captured * tf.cast(y, tf.float32), captured)),
        lambda x, y: (table * np.float32(2 * y), table * 2),
    )
    yield both.map(lambda x, y: (tf.cast(x, tf.float32) * v, y)), lambda x, y: (x * np.float32(3), y)
    images = tf.data.Dataset.from_tensor_slices(IMAGES).map(lambda x: tf.cast(x, tf.float32) - 1.0)
    labels = tf.data.Dataset.from_tensor_slices(LABELS).map(lambda y: y - 1)
    yield tf.data.Dataset.zip((images, labels)), lambda x, y: (x.astype(np.float32) - 1, y - 1)
    yield (
        both.map(lambda x, y: (x, y)).map(lambda x, y: (tf.cast(x, tf.float32), y)),
        lambda x, y: (
            x.astype(np.float32),
            y,
        ),
    )


@pytest.mark.parametrize("many", [1, 10**9], ids=["by batches", "one by one"])
@spread("number", range(8), every=3)
def test_batches_of_functions_of_rows(monkeypatch, many, number):
    monkeypatch.setattr(mapping, "MANY_ROWS", many)
    dataset, model = list(pipelines())[number]
    iterator = dataset.skip(1).repeat(2).batch(16).make_initializable_iterator()
    get_next = iterator.get_next()
    rows = [model(x, y) for x, y in zip(IMAGES[1:], LABELS[1:], strict=True)] * 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(iterator.initializer)
        for start in range(0, len(rows), 16):
            for found, wanted in zip(session.run(get_next), zip(*rows[start : start + 16], strict=True), strict=True):
                assert found.dtype == wanted[0].dtype
                np.testing.assert_array_equal(found, np.stack(wanted))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(get_next)


def test_functions_that_cannot_be_had_for_batches(monkeypatch):
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    words = tf.data.Dataset.from_tensor_slices((["a", "b"], [1, 2])).map(lambda s, n: (s, n + 1)).batch(2)
    assert [x.tolist() for x in elements(words)[0]] == [[b"a", b"b"], [2, 3]]
    filled = tf.data.Dataset.from_tensor_slices([3, 3]).map(lambda n: tf.fill([n], n)).batch(2)
    assert elements(filled)[0].tolist() == [[3, 3, 3], [3, 3, 3]]
    drawn = elements(tf.data.Dataset.from_tensor_slices([1, 2]).map(lambda n: tf.random_uniform([])).batch(2))[0]
    assert drawn[0] != drawn[1]


def test_rows_that_were_read_ahead_of_a_batch_come_once(monkeypatch):
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    words = [str(i) for i in range(70)]
    dataset = tf.data.Dataset.from_tensor_slices(words).map(lambda s: tf.strings.join([s, "!"])).batch(10)
    assert [w for batch in elements(dataset) for w in batch.tolist()] == [f"{w}!".encode() for w in words]


def test_cached_functions_run_once_for_each_element(monkeypatch):
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    dataset = tf.data.Dataset.from_tensor_slices([1, 2]).map(lambda n: n * 2).cache().repeat(2).batch(3)
    assert [x.tolist() for x in elements(dataset)] == [[2, 4, 2], [4]]


def test_shapes_may_differ_from_element_to_element():
    dataset = tf.data.Dataset.from_generator(lambda: (np.ones((n, 2)) for n in (1, 3, 0, 1)), tf.float32, [None, 2])
    dataset = dataset.map(lambda x: (tf.matmul(x, tf.ones([2, 3])), tf.shape(x)[0]))
    assert [s.as_list() for s in dataset.output_shapes] == [[None, 3], []]
    found = elements(dataset)
    assert [x.tolist() for x, _ in found] == [[[2.0] * 3] * n for n in (1, 3, 0, 1)]
    assert [n for _, n in found] == [1, 3, 0, 1]


def test_nested_functions_see_what_is_around_them():
    a = tf.constant(100, tf.int64) + 1
    dataset = tf.data.Dataset.range(2).flat_map(
        lambda x: tf.data.Dataset.range(2).flat_map(
            lambda y: tf.data.Dataset.from_tensors(y).map(lambda z: (x * 10 + y) * 1000 + z + a)
        )
    )
    assert elements(dataset) == [101, 1102, 10101, 11102]


def test_tensors_of_a_function_stay_inside():
    leaked = []
    tf.data.Dataset.range(2).map(lambda x: leaked.append(x) or x)
    assert leaked[0].graph is not tf.get_default_graph()
    with pytest.raises(ValueError, match="another graph"):
        leaked[0] + 1


def test_an_error_in_a_function_names_its_line():
    dataset = tf.data.Dataset.range(2).map(lambda x: tf.fill([x - 1], x))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)Fill.*test_element_functions"):
        elements(dataset)


def test_python_functions():
    seen = []

    def double(x):
        seen.append(int(x))
        return x * 2

    def call(x):
        y = tf.py_func(double, [x], tf.int64)
        y.set_shape([])
        return y + 1

    dataset = tf.data.Dataset.range(3).map(call)
    assert dataset.output_shapes.as_list() == []
    assert elements(dataset) == [1, 3, 5]
    assert seen == [0, 1, 2]
    words = tf.data.Dataset.from_tensors("a").map(lambda s: tf.py_func(lambda b: b + b"b", [s], tf.string))
    assert elements(words) == [b"ab"]


def test_a_python_function_cannot_end_the_data():
    def stop(x):
        raise StopIteration

    def fail(x):
        raise KeyError("mine")

    get_next = (
        tf.data.Dataset.range(3).map(lambda x: tf.py_func(stop, [x], tf.int64)).make_one_shot_iterator().get_next()
    )
    with tf.Session() as session, pytest.raises(tf.errors.OutOfRangeError, match="StopIteration"):
        session.run(get_next)
    with pytest.raises((KeyError, tf.errors.OpError), match="mine"):
        elements(tf.data.Dataset.range(3).map(lambda x: tf.py_func(fail, [x], tf.int64)))
