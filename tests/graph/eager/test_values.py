"""Tensors with values: what Python, numpy and JAX see of them. Texts are the original's (2.15)."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode
from towerstrat.graph.ops.math import equality


@pytest.fixture(autouse=True)
def eager():
    with mode.eager_mode():
        yield


@pytest.fixture
def by_value():
    equality.enable_tensor_equality()
    yield
    equality.disable_tensor_equality()


@pytest.mark.parametrize(
    ("value", "text", "representation"),
    [
        (np.float32([1, 2]), "tf.Tensor([1. 2.], shape=(2,), dtype=float32)",
         "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>"),
        ("x", "tf.Tensor(b'x', shape=(), dtype=string)", "<tf.Tensor: shape=(), dtype=string, numpy=b'x'>"),
        (["x", "y"], "tf.Tensor([b'x' b'y'], shape=(2,), dtype=string)", None),
        (np.float32([[1, 2], [3, 4]]), "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)",
         "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>"),
        (True, "tf.Tensor(True, shape=(), dtype=bool)", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
        (3, "tf.Tensor(3, shape=(), dtype=int32)", "<tf.Tensor: shape=(), dtype=int32, numpy=3>"),
    ],
)  # fmt: skip
def test_texts(value, text, representation):
    tensor = tf.constant(value)
    assert str(tensor) == text
    assert representation is None or repr(tensor) == representation


def test_python_values():
    assert f"{tf.constant(3.14159):.2f}" == "3.14"
    assert f"{tf.constant([1.0, 2.0])}" == "[1. 2.]"
    assert [10, 20, 30][tf.constant(1)] == 20
    assert float(tf.constant(2)) == 2.0
    assert int(tf.constant(2.7)) == 2
    assert len(tf.constant([1, 2])) == 2
    assert [int(x) for x in tf.constant([1, 2])] == [1, 2]
    assert bool(tf.constant(1.0))
    assert not tf.constant(False)
    with pytest.raises(TypeError, match="Scalar tensor has no `len"):
        len(tf.constant(1))
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        iter(tf.constant(1))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="index"):
        [1, 2][tf.constant(1.0)]


def test_a_loop_condition_reads_the_value():
    n, total = tf.constant(5), tf.constant(0)
    while n > 0:
        total += n
        n -= 1
    assert total.numpy() == 15


def test_interchange_with_numpy():
    tensor = tf.constant([1.0, 2.0])
    assert isinstance(np.add(tensor, 1), np.ndarray)
    left, right = np.ones(2) + tensor, tensor + np.ones(2)
    for found in (left, right):
        assert isinstance(found, tf.Tensor)
        assert found.dtype == tf.float32
        np.testing.assert_array_equal(found.numpy(), [2, 3])
    np.testing.assert_array_equal(np.asarray(tensor, np.float64), [1.0, 2.0])
    assert tf.constant("x").numpy() == b"x"
    assert tf.constant(2).numpy() == 2
    assert isinstance(tf.constant(2).numpy(), np.int32)


def test_a_numpy_copy_is_the_callers_own():
    tensor = tf.constant([1.0, 2.0]) + 0.0
    tensor.numpy()[0] = 9.0
    np.testing.assert_array_equal(tensor.numpy(), [1.0, 2.0])
    array = np.zeros(2, np.float32)
    held = tf.constant(array)
    array[0] = 5.0
    np.testing.assert_array_equal(held.numpy(), [0.0, 0.0])


def test_interchange_with_jax():
    made = tf.constant(jnp.arange(3.0)) * 2.0
    np.testing.assert_array_equal(made.numpy(), [0.0, 2.0, 4.0])
    assert float(jnp.sum(jnp.asarray(made))) == 6.0


def test_64_bit_types_stay():
    assert (tf.constant(2**40) + 1).numpy() == 2**40 + 1
    assert (tf.constant(np.float64(1) / 3) * 3).dtype == tf.float64
    big = tf.zeros([80, 80], tf.int64) + 2**40
    assert big.dtype == tf.int64
    assert big.numpy()[3, 3] == 2**40


def test_copies_and_pickles():
    tensor = tf.constant([1, 2])
    assert copy.copy(tensor) is tensor
    for other in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        np.testing.assert_array_equal(other.numpy(), tensor.numpy())
        assert other.dtype is tensor.dtype


def test_equality_is_of_values_where_that_is_chosen(by_value):
    tensor = tf.constant([1, 2])
    np.testing.assert_array_equal((tensor == [1, 3]).numpy(), [True, False])
    np.testing.assert_array_equal((tensor != [1, 3]).numpy(), [False, True])
    assert not bool(tensor == tf.constant([1, 2, 3]))
    assert bool(tensor != tf.constant([1, 2, 3]))
    assert (tensor == None) is False  # noqa: E711
    assert {tensor.ref(): 1}[tensor.ref()] == 1
    assert tensor.ref().deref() is tensor
    variable = tf.Variable([1, 2])
    np.testing.assert_array_equal((variable == tensor).numpy(), [True, True])


def test_equality_is_identity_otherwise():
    tensor = tf1.constant([1, 2])
    assert (tensor == tensor) is True
    assert (tensor == tf1.constant([1, 2])) is False


def test_what_does_not_fit_is_an_invalid_argument_and_a_value_error():
    for call in (
        lambda: tf.add([1, 2], [1, 2, 3]),
        lambda: tf.matmul(tf.constant([1.0]), tf.constant([1.0])),
        lambda: tf.reshape(tf.constant([1.0, 2.0]), [3]),
        lambda: tf.constant([1, 2])[5],
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="test_values.py"):
            call()
        with pytest.raises(ValueError):
            call()


def test_mixed_types_are_refused():
    with pytest.raises(TypeError, match="float"):
        tf.constant(1) + tf.constant(1.0)


def test_graph_tensors_and_values_do_not_mix():
    value = tf.constant([1.0])
    graph = tf.Graph()
    with graph.as_default():
        made = tf1.placeholder(tf.float32)
        with pytest.raises(RuntimeError, match="Attempting to capture an EagerTensor without building a function"):
            value + made
    with pytest.raises(TypeError, match="belongs to a graph and has no value here"):
        made + 1.0


def test_random_numbers_advance_and_repeat_from_the_seed():
    tf.random.set_seed(3)
    first = [tf.random.normal([4]).numpy() for _ in range(3)]
    tf.random.set_seed(3)
    again = [tf.random.normal([4]).numpy() for _ in range(3)]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    tf.random.set_seed(4)
    assert not np.array_equal(tf.random.normal([4]).numpy(), first[0])


def test_the_operation_seed_has_a_stream_of_its_own():
    tf.random.set_seed(3)
    first = [tf.random.uniform([2], seed=7).numpy() for _ in range(2)]
    tf.random.set_seed(3)
    tf.random.normal([5])
    np.testing.assert_array_equal([tf.random.uniform([2], seed=7).numpy() for _ in range(2)], first)


def test_a_result_that_is_too_large_is_a_resource_that_is_exhausted():
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Unable to allocate"):
        tf.fill([2**30, 2**30], 1.0)
