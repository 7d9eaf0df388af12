"""What becomes a tensor of which element type, as the originals have it: graphs, eagerly, in functions."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode

NUMBERS = ["int32", "float32", "uint8", "int64", "float16", "float64", "complex64"]
TRUTHS = [True, [True, False], [[True], [2]], np.bool_(True), np.array([True, False])]


def three_ways(make):
    """What a function of no arguments gives in a graph, eagerly and in a function."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = [session.run(make())]
    with eager_mode():
        return [*found, make().numpy(), tf2.function(make)().numpy()]


@spread(("dtype", "value"), [(d, v) for d in NUMBERS for v in TRUTHS], every=6)
def test_booleans_are_numbers_where_numbers_are_wanted(dtype, value):
    for make in (tf.constant, tf.convert_to_tensor):
        for found in three_ways(lambda make=make: make(value, dtype=dtype)):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.array(value).astype(dtype))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_booleans_take_the_type_of_the_other_operand(dtype):
    for found in three_ways(lambda: tf.constant(3, dtype) + [True, False]):
        assert found.dtype == dtype
        assert found.tolist() == [4, 3]


@pytest.mark.parametrize(("value", "dtype"), [([True, 1], "int32"), ([1, True], "int32"), ([True, 1.5], "float32")])
def test_numbers_among_booleans_decide(value, dtype):
    for found in three_ways(lambda: tf.constant(value)):
        assert found.dtype == dtype
        assert found.tolist() == value


def test_numbers_are_no_booleans_and_booleans_no_strings():
    with pytest.raises(TypeError, match="Expected bool, got 1 of type 'int'"):
        tf.constant([True, 1], tf.bool)
    with pytest.raises(TypeError, match="Expected string"):
        tf.constant(True, tf.string)
