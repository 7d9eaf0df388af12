"""Functions under an eager tape: one operation, whose forward keeps what the backward needs."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.bounds import close
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import context


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def test_gradients_agree_with_jax():
    x, w, b = random(8, 5), random(5, 3), random(3)
    weights, bias = tf.Variable(w), tf.Variable(b)
    forward = tf.function(lambda x: tf.reduce_sum(tf.nn.softmax(tf.tanh(x @ weights) + bias) ** 2))
    source = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(source)
        loss = forward(source)
    found = tape.gradient(loss, [weights, bias, source])
    want = jax.grad(lambda w, b, x: jnp.sum(jax.nn.softmax(jnp.tanh(x @ w) + b) ** 2), argnums=(0, 1, 2))(w, b, x)
    for one, two in zip(found, want, strict=True):
        close(one.numpy(), two, 8 * 3 + 5 + 8, 8.0)


def test_a_call_is_one_record():
    variable = tf.Variable(2.0)
    function = tf.function(lambda x: tf.exp(x) * variable + tf.sin(x))
    with tf.GradientTape() as tape:
        function(tf.constant(1.0))
        assert len(tape._records) == 1


def test_nothing_is_computed_twice():
    """The backward program has no dot but the two of a matrix product's gradient, and no exponential."""
    x, w = tf.constant(random(64, 64) / 8.0), tf.Variable(random(64, 64))
    function = tf.function(lambda x: tf.reduce_sum(tf.exp(x @ w)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    (record,) = tape._records
    program, residuals = record.residuals
    text = program.backward.lower(residuals, [jnp.ones(())]).as_text()
    assert text.count("dot_general") == 2
    assert "exponential" not in text
    gx, gw = tape.gradient(y, [x, w])
    want = jax.grad(lambda x, w: jnp.sum(jnp.exp(x @ w)), argnums=(0, 1))(x.numpy(), w.numpy())
    # Exponents, and gradients, are sums of 64 terms; the magnitudes of an exponent's add up to less than 16.
    for found, expected, other in ((gx, want[0], w), (gw, want[1], x)):
        close(found.numpy(), expected, 64 * 16 + 64, 64 * tf.exp(x @ w).numpy().max() * np.abs(other).max())


def test_effects_happen_once():
    count, weight = tf.Variable(0), tf.Variable(3.0)

    @tf.function
    def work(x):
        count.assign_add(1)
        return weight * x

    with tf.GradientTape() as tape:
        y = work(tf.constant(2.0))
    assert float(tape.gradient(y, weight)) == 2.0
    assert int(count) == 1


def test_the_value_at_the_time_of_the_call_counts():
    weight = tf.Variable(3.0)
    square = tf.function(lambda: weight * weight)
    with tf.GradientTape() as tape:
        y = square()
    weight.assign(100.0)
    assert float(tape.gradient(y, weight)) == 6.0


def test_random_numbers_are_those_of_the_call():
    x = tf.ones([50])
    drop = tf.function(lambda x: tf.nn.dropout(x, 0.5))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = drop(x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), y.numpy())


def test_second_order_draws_the_same_numbers():
    x = tf.ones([50])
    drop = tf.function(lambda x: tf.reduce_sum(tf.nn.dropout(x, 0.5) ** 2))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = drop(x)
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    assert set(np.unique(first.numpy())) == {0.0, 8.0}


def test_structures_and_outputs_without_gradient():
    x = tf.constant([1.0, 2.0])
    function = tf.function(lambda x: {"y": x * x, "n": tf.size(x), "z": (tf.stop_gradient(x), x + 1.0)})
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = function(x)
    np.testing.assert_array_equal(tape.gradient(found["y"], x).numpy(), [2.0, 4.0])
    np.testing.assert_array_equal(tape.gradient(found["z"][1], x).numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(tape.gradient([found["y"], found["z"][1]], x).numpy(), [3.0, 5.0])
    assert tape.gradient(found["n"], x) is None


def test_captured_values_are_sources():
    scale = tf.constant(4.0)
    function = tf.function(lambda x: x * scale)
    assert float(function(tf.constant(1.0))) == 4.0
    with tf.GradientTape() as tape:
        tape.watch(scale)
        y = function(tf.constant(3.0))
    assert float(tape.gradient(y, scale)) == 3.0


def test_rows_of_tables():
    table = tf.Variable(np.ones((5, 2), np.float32))
    look = tf.function(lambda ids: tf.reduce_sum(tf.nn.embedding_lookup(table, ids)))
    with tf.GradientTape() as tape:
        y = look(tf.constant([0, 3, 3]))
    found = tape.gradient(y, table)
    assert isinstance(found, tf.IndexedSlices)
    np.testing.assert_array_equal(tf.convert_to_tensor(found).numpy()[:, 0], [1, 0, 0, 2, 0])


def test_where_a_part_runs_on_the_host_the_tape_sees_the_operations():
    seen = []

    def note(x):
        seen.append(float(x))
        return np.float32(2.0)

    @tf.function
    def work(x):
        factor = tf.numpy_function(note, [x], tf.float32)
        y = x * x
        if y > 3.0:
            y = y * 2.0
        for _ in tf.range(3):
            y = y + x
        return y * tf.reshape(factor, [])

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = work(x)
    assert float(y) == (4 * 2 + 6) * 2
    assert float(tape.gradient(y, x)) == (8 + 3) * 2
    assert seen == [2.0]


def test_loops_and_branches():
    x = tf.constant(1.5)

    @tf.function
    def work(x, n):
        y = x
        for i in tf.range(n):
            if i % 2 == 0:
                y = y * x
            else:
                y = y + x
        return y

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = work(x, tf.constant(4))

    def twin(x):
        return ((x * x + x) * x) + x

    np.testing.assert_allclose(float(y), twin(1.5), rtol=1e-6)
    np.testing.assert_allclose(float(tape.gradient(y, x)), jax.grad(twin)(1.5), rtol=1e-6)


def test_a_size_that_depends_on_a_value():
    """Known only when it is traced, so the operations run one by one; effects happen once all the same."""
    count = tf.Variable(0)

    @tf.function
    def work(x):
        count.assign_add(1)
        return tf.reduce_sum(tf.ones([tf.cast(x * 2.0, tf.int32)]) * x)

    x = tf.constant(3.0)
    for calls in (1, 2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = work(x)
        assert float(y) == 18.0
        assert float(tape.gradient(y, x)) == 6.0
        assert int(count) == calls


def test_no_record_where_nothing_is_watched():
    function = tf.function(lambda x: x * 2.0)
    with tf.GradientTape() as tape:
        function(tf.constant(1.0))
        assert not tape._records
    assert not context().tapes.active


@pytest.mark.parametrize("traced", [False, True])
def test_check_numerics_checks_the_gradient_too(traced):
    def root(x):
        return tf.sqrt(tf.debugging.check_numerics(x, "x"))

    function = tf.function(root) if traced else root
    for values, fails in (([1.0, 4.0], False), ([1.0, 0.0], True), ([4.0, 16.0], False)):
        x = tf.constant(values)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        if fails:
            with pytest.raises(tf.errors.InvalidArgumentError, match="detected in gradient. : Tensor had NaN") as error:
                tape.gradient(y, x)
            assert "test_under_tape" in str(error.value)
        else:
            np.testing.assert_allclose(tape.gradient(y, x), 0.5 / np.sqrt(values))


@pytest.mark.parametrize("traced", [False, True])
def test_checks_in_a_gradient_function(traced):
    @tf.custom_gradient
    def double(x):
        return 2.0 * x, lambda dy: tf.debugging.check_numerics(dy / x, "its own")

    function = tf.function(lambda x: double(x)) if traced else double
    for values, fails in (([1.0, 2.0], False), ([1.0, 0.0], True)):
        x = tf.constant(values)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        if fails:
            with pytest.raises(tf.errors.InvalidArgumentError, match="its own : Tensor had NaN"):
                tape.gradient(y, x)
        else:
            assert tape.gradient(y, x).numpy().tolist() == [1.0, 0.5]


def test_stopped_gradients_inside_of_branches_and_loops():
    stop = tf.stop_gradient

    @tf.function
    def function(x):
        power = x
        for _ in tf.range(3):
            power = power * stop(power)
        if x > 0.0:
            power = power + x * stop(x)
        return power

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = function(x)
    assert tape.gradient(y, x) == 2.0 * 4.0 * 16.0 + 2.0


def printed(x):
    return tf.compat.v1.Print(x, [x], first_n=0) * 2.0


def test_a_call_of_python_with_what_is_known_before_the_program_runs():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: printed(x) + x * x)(x)
    assert tape.gradient(y, x).numpy().tolist() == [4.0, 6.0]


def test_a_gradient_inside_of_what_runs_one_by_one_is_refused():
    def slope(x):
        return tf.gradients(tf.square(x), x)[0] + printed(x)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(UnsupportedError, match="inside of the tf.function"):
            tf.function(slope)(x)


def test_gradients_of_gradients_of_what_is_read_after_it_was_written():
    """The gradient as an outer tape records it needs the write too, each time; the variable has it once."""
    w, s, x = tf.Variable(0.5), tf.Variable(2.0), tf.constant(0.75)

    @tf.function
    def function(x):
        s.assign_add(x)
        return tf.sin(x * w) * s

    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x)
        (first, by_w, by_s), (again,) = tape.gradient(y, [x, w, s]), tape.gradient(y, [x])
    cosine, sine = np.cos(0.375), np.sin(0.375)
    wanted = [0.5 * cosine * 2.75, 0.5 * cosine * 2.75, 0.75 * cosine * 2.75, sine]
    np.testing.assert_allclose([first, again, by_w, by_s], wanted, 1e-6)
    np.testing.assert_allclose(outer.gradient(first, [x, s]), [-0.25 * sine * 2.75, 0.5 * cosine], 1e-6)
    assert s == 2.75


GRADIENT_FUNCTIONS = {
    "square": (lambda d, a: d * d * tf.cos(a), 11.608379364013672),
    "masked": (lambda d, a: tf.where(a > 0.0, d, 2.0 * d) * tf.cos(a), 6.308971405029297),
    "clipped": (lambda d, a: tf.clip_by_value(d, -0.5, 0.5) * tf.cos(a), -0.43459632992744446),
}


@pytest.mark.parametrize("name", GRADIENT_FUNCTIONS)
def test_a_gradient_function_gets_the_cotangents_of_two_tapes_together(name):
    """Values of 2.15.1."""
    rule, wanted = GRADIENT_FUNCTIONS[name]
    sine = tf.custom_gradient(lambda a: (tf.sin(a), lambda d: rule(d, a)))
    function, x = tf.function(lambda x: sine(x) * sine(x)), tf.constant(0.75)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x) * x
        slope = tape.gradient(y, x)
        z = slope * slope + y
    np.testing.assert_allclose(outer.gradient(z, x), wanted, rtol=1e-5)


@pytest.mark.parametrize("tapes", [1, 2])
def test_a_gradient_function_that_assigns(tapes):
    x, seen = tf.constant(0.75), tf.Variable(0.0)

    @tf.custom_gradient
    def sine(a):
        def gradient(d):
            seen.assign_add(d)
            return d * tf.cos(a)

        return tf.sin(a), gradient

    function = tf.function(lambda x: sine(x))
    with contextlib.ExitStack() as outer:
        if tapes == 2:
            outer.enter_context(tf.GradientTape()).watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        np.testing.assert_allclose(tape.gradient(y, x), np.cos(0.75), 1e-6)
    assert seen == 1.0


@pytest.mark.parametrize("rows", [0, 2])
def test_a_map_of_rows_beside_python_has_gradients_where_there_are_no_rows(rows):
    @tf.function
    def mapped(z, w):
        tf.py_function(lambda: None, [], [])
        return tf.vectorized_map(lambda x: (2.0 * x * w, tf.stack([x, x]), tf.cast(x, tf.int32)), z)

    z, w = tf.ones([rows]), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([z, w])
        products, pairs, integers = mapped(z, w)
        y = tf.reduce_sum(products) + 3.0 * tf.reduce_sum(pairs)
    assert (products.shape, pairs.shape, integers.shape) == ((rows,), (rows, 2), (rows,))
    assert integers.dtype == tf.int32
    by_z, by_w = tape.gradient(y, [z, w])
    assert by_z.numpy().tolist() == [12.0] * rows
    assert by_w.numpy() == 2.0 * rows
