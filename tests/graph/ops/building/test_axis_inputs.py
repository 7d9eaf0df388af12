"""An axis that only a run knows: the values and gradients of the same axis as a number, by every route."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.fuzz.routes import eager_mode
from tests.spread import spread

X = (np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7.5) / 4
ALONG = {
    "argmax": lambda x, axis: tf.argmax(x, axis),
    "argmin": lambda x, axis: tf.argmin(x, axis, output_type=tf.int32),
    "concat": lambda x, axis: tf.concat([x, 2 * x, x], axis),
    "split": lambda x, axis: tf.split(x[:, :2, :], 2, axis)[1],
    "split_v": lambda x, axis: tf.split(x, [1, -1], axis)[1],
    "expand_dims": lambda x, axis: tf.expand_dims(x, axis),
    "cumsum": lambda x, axis: tf.cumsum(x, axis, reverse=True),
    "cumprod": lambda x, axis: tf.cumprod(x, axis, exclusive=True),
    "gather": lambda x, axis: tf.gather(x, [1, 0, 1], axis=axis),
    "softmax": lambda x, axis: tf.nn.softmax(x, axis),
    "log_softmax": lambda x, axis: tf.nn.log_softmax(x, axis),
    "l2_normalize": lambda x, axis: tf.nn.l2_normalize(x, axis),
    "reduce_logsumexp": lambda x, axis: tf.reduce_logsumexp(x, axis),
    "reduce_max": lambda x, axis: tf.reduce_max(x, axis, keepdims=True),
    "tensordot": lambda x, axis: tf.tensordot(x, x, tf.stack([[axis], [axis]])),
    "reverse": lambda x, axis: tf.reverse(x, [axis]),
    "roll": lambda x, axis: tf.roll(x, 1, axis),
}  # fmt: skip
AXES = (0, 1, -1)


def wanted(name, axis):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X)
        y = ALONG[name](x, axis)
        return session.run([y, *with_gradient(y, x)])


def with_gradient(y, x):
    found = tf.gradients(y, x, tf.cos(tf.cumsum(tf.ones_like(y), 0))) if y.dtype.is_floating else []
    return [tf.convert_to_tensor(g) for g in found]


def check(found, name, axis):
    for got, want in zip(found, wanted(name, axis), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)


@spread("name", ALONG, every=7)
def test_fed(name):
    """One graph serves all axes; the value of unknown rank too."""
    for dims in ([2, 3, 4], None):
        with tf.Graph().as_default(), tf.Session() as session:
            x, axis = tf.placeholder(tf.float32, dims), tf.placeholder(tf.int32, [])
            y = ALONG[name](x, axis)
            fetches = [y, *with_gradient(y, x)]
            for value in AXES:
                check(session.run(fetches, {x: X, axis: value}), name, value)


def test_all_take_a_variable():
    """Whatever Python compares of an axis must be known."""
    with tf.Graph().as_default():
        x, axis = tf.placeholder(tf.float32, [2, 3, 4]), tf.Variable(1)
        for build in ALONG.values():
            assert build(x, axis).graph is tf.get_default_graph()


@spread("name", ALONG, every=3)
def test_of_a_variable_in_a_branch_and_in_a_loop(name):
    with tf.Graph().as_default(), tf.Session() as session:
        x, variable, pick = tf.placeholder(tf.float32, [2, 3, 4]), tf.Variable(1), tf.placeholder(tf.bool, [])
        y = ALONG[name](x, variable)
        fed = tf.placeholder(tf.int32, [])
        inner = lambda: tf.cast(tf.reduce_sum(ALONG[name](x, fed)), tf.float32)  # noqa: E731
        branch = tf.cond(pick, inner, lambda: 0.0)
        loop = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + inner()), [0, 0.0])[1]
        session.run(variable.initializer)
        check(session.run([y, *with_gradient(y, x)], {x: X}), name, 1)
        total = np.sum(wanted(name, 1)[0], dtype=np.float32)
        found = session.run([branch, loop], {x: X, fed: 1, pick: True})
        np.testing.assert_allclose(found, [total, 3 * total], rtol=1e-5, atol=1e-5)


@spread("name", ALONG, every=7)
def test_eagerly_and_as_an_argument(name):
    with eager_mode():
        function = tf2.function(lambda x, axis: ALONG[name](x, axis), autograph=False)
        for axis in AXES:
            for made in (ALONG[name], function):
                x = tf.constant(X)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = made(x, tf.constant(axis))
                    weighted = y * tf.cos(tf.cumsum(tf.ones_like(y), 0)) if y.dtype.is_floating else None
                found = [y] if weighted is None else [y, tf.convert_to_tensor(tape.gradient(weighted, x))]
                check([t.numpy() for t in found], name, axis)


@spread("name", ALONG, every=3)
def test_on_two_towers(name):
    with tf.Graph().as_default(), tf.Session() as session:
        resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
        distribution = tf.contrib.distribute.TPUStrategy(resolver, 1, num_cores=2)
        x, axis = tf.placeholder(tf.float32, [2, 3, 4]), tf.placeholder(tf.int32, [])
        with distribution.scope():
            y = distribution.unwrap(distribution.call_for_each_tower(lambda: ALONG[name](x, axis)))
        for value in (1, -1):
            for found in session.run(y, {x: X, axis: value}):
                np.testing.assert_allclose(found, wanted(name, value)[0], rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", sorted(ALONG.keys() - {"reverse", "roll", "tensordot"}))
def test_no_such_axis(name):
    with tf.Graph().as_default(), tf.Session() as session:
        axis = tf.placeholder(tf.int32, [])
        y = ALONG[name](tf.constant(X), axis)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected .*axis in \[-[34], [34]\).*got 7"):
            session.run(y, {axis: 7})


def test_static_shapes():
    """What all axes have in common."""
    with tf.Graph().as_default():
        axis, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [3, 3, None])
        assert tf.concat([x, x], axis).shape.as_list() == [None, None, None]
        assert tf.expand_dims(x, axis).shape.as_list() == [None] * 4
        assert tf.cumsum(x, axis).shape.as_list() == [3, 3, None]
        assert tf.argmax(tf.ones([3, 3, 3]), axis).shape.as_list() == [3, 3]
        assert tf.gather(x, [[0, 1]], axis=axis).shape.ndims == 4
        with pytest.raises(ValueError, match="rank 1 or higher"):
            tf.argmax(tf.constant(1.0), axis)
        with pytest.raises(TypeError, match="integer axis"):
            tf.concat([x, x], tf.placeholder(tf.float32, []))
        with pytest.raises(ValueError, match="single integer"):
            tf.argmax(x, tf.placeholder(tf.int32, [2]))
        with pytest.raises(ValueError, match="0 and 1|evenly divisible"):
            tf.split(tf.ones([3, 3]), 2, axis)


def test_indices_are_checked_against_the_axis():
    with tf.Graph().as_default(), tf.Session() as session:
        axis = tf.placeholder(tf.int32, [])
        y = tf.gather(tf.constant(X), [0, 2], axis=axis)
        assert session.run(y, {axis: 1}).shape == (2, 2, 4)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 2 is not in \[0, 2\)"):
            session.run(y, {axis: 0})


def test_a_bound_of_a_slice_of_unknown_shape():
    with tf.Graph().as_default(), tf.Session() as session:
        end = tf.placeholder(tf.int32)
        np.testing.assert_array_equal(session.run(tf.constant(X)[:, :end], {end: 2}), X[:, :2])


def test_the_operation_as_a_message():
    """The axis is the input that the original has for it."""
    with tf.Graph().as_default():
        axis, x = tf.placeholder(tf.int32, []), tf.ones([2, 3])
        joined = tf.concat([x, x], axis).op
        assert (joined.get_attr("N"), joined.get_attr("T"), joined.get_attr("Tidx")) == (2, tf.float32, tf.int32)
        assert tf.split(x, 1, axis)[0].op.get_attr("T") is tf.float32
        assert tf.gather(x, [0], axis=tf.cast(axis, tf.int64)).op.get_attr("Taxis") is tf.int64
