"""Which values can be fed, for each element type: as the original has it."""

import json
import warnings
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import feeds_cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "feeds.json").read_text())
CAST_BY_THE_PROCESSOR = {"1e10", "[1e10]"}
"""The original takes floats beyond an integer type and casts them somehow: here an OverflowError."""
READ_BY_NEWER_NUMPY = {
    "complex64": {"'12'", "['1', '2']", "np.array(['1'], object)"},
    "complex128": {"'12'", "['1', '2']", "np.array(['1'], object)"},
    "bool": {"np.array(['a'])", "np.array([b'a'])"},
    "bfloat16": {"np.bool_(True)", "np.array([True, False])", "np.array([1, 2], object)"},
}
"""Values that the numpy of those days could not convert."""
REFUSED_HERE = {"bfloat16": {"257", "2**24 + 1"}, "bool": {"[[1], [1, 2]]"}}
"""Integers that are not exact, refused for bfloat16 as for all others; nested lists of unequal lengths."""


@spread("dtype", feeds_cases.DTYPES, every=7)
def test_values_are_taken_and_refused_as_in_the_original(dtype):
    for value, wanted in GOLDEN[dtype].items():
        found = feeds_cases.outcome(tf, dtype, value)
        if value in READ_BY_NEWER_NUMPY.get(dtype, ()):
            assert wanted[0] == "error" != found[0], value
        elif wanted[0] == "error" or value in REFUSED_HERE.get(dtype, ()):
            assert found in (["error", "TypeError"], ["error", "ValueError"], ["error", "OverflowError"]), value
        elif value in CAST_BY_THE_PROCESSOR and "int" in dtype and found != wanted:
            assert found == ["error", "OverflowError"], value
        else:
            assert found == wanted, value


def test_a_refused_feed_names_the_tensor_its_line_and_the_value():
    narrow = tf.placeholder(tf.uint8, [], name="narrow")
    with tf.Session() as session:
        with pytest.raises(
            TypeError, match=r"narrow:0(.|\n)*test_feeds.py(.|\n)*feed value 300 .* uint8 does not hold"
        ):
            session.run(narrow, {narrow: 300})
        with pytest.raises(ValueError, match=r"Cannot feed .*narrow:0(.|\n)*test_feeds.py(.|\n)*'red'"):
            session.run(narrow, {narrow: "red"})
        with pytest.raises(TypeError, match="feed cannot be a tf.Tensor"):
            session.run(narrow, {narrow: tf.constant(1)})
        assert session.run(narrow, {narrow: jnp.ones((), jnp.int32)}) == 1


def test_complex_arrays_are_narrowed_with_numpys_warning():
    x = tf.placeholder(tf.float32, [1])
    with tf.Session() as session, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert session.run(x, {x: np.array([1 + 2j])}) == [1]
    assert "ComplexWarning" in [w.category.__name__ for w in said]


def test_indexed_slices_are_fed_by_their_parts():
    parts = (np.array([1.0, 2.0], np.float32), np.array([0, 3]))
    rows = tf.IndexedSlices(tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [2]))
    with_shape = tf.IndexedSlices(rows.values, rows.indices, tf.placeholder(tf.int64, [1]))
    with tf.Session() as session:
        found = session.run(rows, {rows: parts})
        assert (found.values.tolist(), found.indices.tolist()) == ([1, 2], [0, 3])
        dense = tf.convert_to_tensor(with_shape)
        assert session.run(dense, {with_shape: (*parts, [5])}).tolist() == [1, 0, 0, 2, 0]
        assert session.run(dense, {with_shape: session.run(with_shape, {with_shape: (*parts, [4])})}).tolist() == [
            1, 0, 0, 2]  # fmt: skip


def test_sparse_tensors_are_fed_and_fetched_as_values():
    places, values = tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.float32, [None])
    sparse = tf.SparseTensor(places, values, tf.placeholder(tf.int64, [2]))
    dense = tf.sparse_tensor_to_dense(sparse)
    value = tf.SparseTensorValue(np.array([[0, 1], [1, 0]]), np.array([5.0, 6.0], np.float32), np.array([2, 2]))
    with tf.Session() as session:
        for fed in (value, tuple(value), ([[0, 1], [1, 0]], [5, 6], [2, 2]), session.run(sparse, {sparse: value})):
            found, table = session.run([sparse, dense], {sparse: fed})
            assert isinstance(found, tf.SparseTensorValue)
            for part, wanted in zip(found, value, strict=True):
                np.testing.assert_array_equal(part, wanted)
            np.testing.assert_array_equal(table, [[0, 5], [6, 0]])
        assert session.make_callable(sparse.values, [sparse])(value).tolist() == [5, 6]
        assert sparse.eval({sparse: value}).dense_shape.tolist() == [2, 2]
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            session.run(dense, {sparse: (value.indices, value.values, [2])})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(dense, {sparse: value[:2]})
