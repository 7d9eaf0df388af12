"""``tpu.repeat`` and ``tpu.while_loop``: values, effects, gradients, and one program for it all."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import run
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager import mode

tpu = tf.contrib.tpu


def test_loops_in_loops_count_in_a_variable():
    count = tf.get_variable("count", initializer=0, use_resource=True)
    inner = lambda: tpu.repeat(2, lambda: count.assign_add(1).op)  # noqa: E731
    outside = tpu.repeat(3, inner)
    (inside,) = tpu.shard(lambda: tpu.repeat(3, inner), num_shards=2)
    until = tpu.while_loop(lambda: count < 100, lambda: (count.assign_add(7).op,))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for loop, total in ((outside, 6), (inside, 12), (until, 103)):
            session.run(loop)
            assert session.run(count) == total
        assert not count.cell.is_varying


@spread("how", ["fed", "constant", "variable"], every=3)
def test_values_and_gradients(how):
    """x -> x ** 8 by three squares, the number of times known or not."""
    start = np.float32([0.5, 1.5, -1.0])
    placeholder, times = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.int32, [])
    x = {"constant": tf.constant(start), "fed": placeholder, "variable": tf.get_variable("x", initializer=start)}[how]

    def computation(value, n):
        (power,) = tpu.repeat(n, lambda y: y * y, [value])
        return power, tf.gradients(power, value)[0]

    found = run(tpu.rewrite(lambda value: computation(value, 3), [tf.identity(x)]), {placeholder: start})
    for power, gradient in (found, run(computation(tf.identity(x), times), {placeholder: start, times: 3})):
        np.testing.assert_allclose(power, start**8, rtol=1e-6)
        np.testing.assert_allclose(gradient, 8 * start**7, rtol=1e-6)


def test_in_functions_and_eagerly():
    def doubled(x):
        return tpu.repeat(4, lambda y: 2 * y, x)[0]

    assert run(tf.contrib.eager.defun(doubled)(tf.constant(1.0))) == 16.0
    with mode.eager_mode():
        assert float(doubled(tf.constant(1.0))) == 16.0
        assert [float(x) for x in tpu.while_loop(lambda x: x < 10.0, lambda x: 3.0 * x, [1.0])] == [27.0]


def test_each_shard_goes_its_own_number_of_times():
    (power,) = tpu.shard(lambda x: tpu.while_loop(lambda y: y[0] < 100.0, lambda y: 2 * y, [x]), [[1.0, 30.0]], 2)
    np.testing.assert_array_equal(run(power), [128.0, 120.0])


def test_infeed_is_refused():
    for loop in (lambda: tpu.repeat(2, lambda x: x, [1.0], infeed_queue=object()),
                 lambda: tpu.while_loop(lambda x: True, lambda x: x, [1.0], infeed_queue=object())):  # fmt: skip
        with pytest.raises(UnsupportedError, match="hand-driven infeed"):
            loop()
