"""Means of integers whose sums do not fit their type, with the values of TensorFlow 1.12.3 and 2.15.1."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.ir.numerics_version import ORIGINAL

ROWS = [
    ("uint8", [200, 200, 200, 200, 200, 3], 39, 167), ("int8", [100, 100, 100, -128, 127, 90], -20, 64),
    ("int16", [30000, 30000, 30000, 30000, 30000, -7], 3153, 24998), ("int32", [2**31 - 1] * 4, -1, 2**31 - 1),
    ("int64", [2**63 - 1] * 4, -1, -1), ("int32", [-7, -8], -7, -7), ("uint16", [60000] * 6, 5386, 60000),
]  # fmt: skip


@pytest.fixture(params=[False, True], ids=["1.x", "2.x"])
def later(request, monkeypatch):
    monkeypatch.setattr(ORIGINAL, "later", request.param)
    return request.param


@pytest.mark.parametrize(("dtype", "values", "before", "after"), ROWS)
def test_reduce_mean(later, dtype, values, before, after):
    wanted = after if later else before
    x = np.array(values, dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(dtype, [None])
        assert session.run(tf.reduce_mean(fed), {fed: x}) == wanted
        assert session.run(tf.reduce_mean(tf.constant(x), 0)) == wanted
    with eager_mode():
        assert tf2.reduce_mean(tf2.constant(x)).numpy() == wanted
        assert tf2.function(tf2.reduce_mean)(tf2.constant(x)).numpy() == wanted


def test_a_count_that_is_zero_in_the_type(later):
    ones = np.ones(256, "uint8")
    with tf.Graph().as_default(), tf.Session() as session:
        mean = tf.reduce_mean(tf.placeholder("uint8", [256], "x"))
        if later:
            assert session.run(mean, {"x:0": ones}) == 1
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="256 elements cannot be computed in uint8"):
                session.run(mean, {"x:0": ones})


def test_means_of_segments_and_ragged_rows_divide_wrapped_sums():
    x = np.array([200, 200, 200, 200, 200, 3], "uint8")
    with eager_mode():
        of_segments = tf2.math.unsorted_segment_mean(x, [0, 0, 1, 1, 1, 2], 3)
        rows = tf2.RaggedTensor.from_row_splits(x, [0, 2, 6])
        np.testing.assert_allclose(of_segments, np.array([72, 88 / 3, 3], "float32"), rtol=1e-6)
        np.testing.assert_allclose(tf2.reduce_mean(rows, axis=1), [72, 22.75])
        np.testing.assert_allclose(tf2.reduce_mean(rows), 235 / 6, rtol=1e-6)
        least = tf2.math.segment_mean(np.array([2**62, 2**62, -(2**63), 0]), [0, 0, 1, 1])
        np.testing.assert_array_equal(least, [-(2**62), -(2**62)])
        wide = tf2.math.unsorted_segment_mean(np.array([1, 2], "uint32"), [0, 0], 1)
        assert wide.dtype is tf2.float64
        assert wide.numpy() == [1.5]
