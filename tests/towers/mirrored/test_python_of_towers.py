"""``tf.py_func`` in towers: results of unknown shape, and of types of 64 bits."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from tests.towers.mirrored.test_own_sizes import ROWS, alone, mirrored, together
from towerstrat.errors import UnsupportedError

FORMS = {
    "the whole": lambda h, i: h * tf.py_func(lambda x: x * 2, [tf.stop_gradient(h)], tf.float32),
    "some rows": lambda h, i: tf.reduce_sum(h) * tf.py_func(lambda x: x[:2], [tf.constant(ROWS[0])], tf.float32),
    "as many rows as the values say": lambda h, i: tf.reduce_sum(
        tf.py_func(lambda x: x[: 1 + int(x[0, 0])], [tf.stop_gradient(h)], tf.float32)
    ) * tf.reduce_sum(h),
    "several results": lambda h, i: h + tf.add_n(
        tf.py_func(lambda x: (x.sum(), np.float32(1)), [tf.stop_gradient(h)], [tf.float32] * 2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("strategy", [mirrored, tpu])
@pytest.mark.parametrize("name", FORMS)
def test_results_of_unknown_shape(name, strategy):
    found, _ = together(FORMS[name], strategy(2))
    for ours, wanted in zip(found, alone(FORMS[name], 2), strict=True):
        for value, expected in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5)


def test_each_tower_calls_its_own():
    calls = []

    def form(h, i):
        def own(x):
            calls.append(i)
            return x[: i + 1] * 1.0

        return h[0, 0] * tf.reduce_sum(tf.py_func(own, [tf.constant(ROWS[0])], tf.float32))

    found, _ = together(form, mirrored(3))
    assert sorted(calls) == [0, 1, 2]
    wanted = [ROWS[i, 0, 0] * ROWS[0, : i + 1].sum() for i in range(3)]
    np.testing.assert_allclose([value for value, _ in found], wanted, rtol=1e-5)


@pytest.mark.parametrize("strategy", [mirrored, tpu])
def test_wide_numbers_go_to_python_and_back(strategy):
    """A program calls back in threads in which JAX has no types of 64 bits."""
    given = [np.int64(2**40), np.array([1.0, 2.0]), np.array([[1 + 2j]]), np.array([True, False])]

    def own(number, reals, parts, flags):
        return number + 1, reals * (1 + 2.0**-40), parts * 1j, flags, np.float32(reals.dtype.itemsize)

    def tower():
        made = tf.py_func(own, [tf.constant(g) for g in given], [*(g.dtype for g in given), tf.float32])
        for tensor, shape in zip(made, [[], [2], [1, 1], [2], []], strict=True):
            tensor.set_shape(shape)
        return made

    towers = strategy(2)
    with towers.scope(), tf.Session() as session:
        found = session.run([list(towers.unwrap(value)) for value in towers.call_for_each_tower(tower)])
    for values, wanted in zip(found, own(*given), strict=True):
        for value in values:
            np.testing.assert_array_equal(value, wanted)
            assert value.dtype == wanted.dtype


def test_what_it_raises_is_raised():
    def failing(x):
        raise ValueError("not this")

    with pytest.raises(tf.errors.InvalidArgumentError, match="not this"):
        together(lambda h, i: h[0, 0] * tf.reduce_sum(tf.py_func(failing, [h], tf.float32)), mirrored(2))


def test_in_a_branch_they_need_a_shape():
    def form(h, i):
        return tf.cond(h[0, 1] > 0.0, lambda: tf.reduce_sum(tf.py_func(lambda x: x, [h], tf.float32)), lambda: h[0, 0])

    with pytest.raises(UnsupportedError, match="call set_shape"):
        together(form, mirrored(2))
