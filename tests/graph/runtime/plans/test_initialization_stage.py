"""Runs that initialize variables: what they compile, and that their values are those of whole programs."""

import itertools

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from towerstrat.graph.ops.random import host_draws
from towerstrat.graph.runtime.plans.initialization_stage import InitializationStage
from towerstrat.graph.runtime.programs import eager_programs

COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def compilations():
    """The names of what was compiled, anew."""
    found = []

    def note(event, seconds, **about):
        if event == COMPILED:
            found.append(about.get("fun_name", event))

    host_draws._program.cache_clear()
    jax.clear_caches()
    jax.monitoring.register_event_duration_secs_listener(note)
    yield found
    jax.monitoring.unregister_event_duration_listener(note)


def stages(session, fetches):
    return [type(s) for s in session._plan(fetches, {})[1].stages]


def test_one_draw_per_distribution_serves_all_shapes(compilations):
    for i, shape in enumerate([[3], [4, 5], [128, 128], [50000], [2, 3, 4]]):
        tf.get_variable(f"t{i}", shape, initializer=tf.truncated_normal_initializer(stddev=0.02 * (i + 1)))
        tf.get_variable(f"u{i}", shape, initializer=tf.glorot_uniform_initializer())
        tf.get_variable(f"z{i}", shape, initializer=tf.zeros_initializer())
        tf.get_variable(f"o{i}", shape, initializer=tf.ones_initializer())
        tf.get_variable(f"c{i}", initializer=np.full(shape, 3.5, np.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert len(compilations) == 2, compilations


def test_a_second_initializer_compiles_nothing(compilations):
    makers = [tf.truncated_normal_initializer(), tf.zeros_initializer(), tf.orthogonal_initializer()]
    for i, maker in enumerate(makers):
        tf.get_variable(f"v{i}", [20, 30], initializer=maker)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        compilations.clear()
        session.run(tf.variables_initializer(tf.global_variables()))
        for i, maker in enumerate(makers):
            tf.get_variable(f"w{i}", [20, 30], initializer=maker)
        session.run(tf.global_variables_initializer())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
    assert compilations == []


INITIALIZERS = {
    "uniform": tf.random_uniform_initializer(-0.3, 1.7),
    "normal": tf.random_normal_initializer(1.5, 0.02),
    "truncated": tf.truncated_normal_initializer(stddev=0.02),
    "glorot uniform": tf.glorot_uniform_initializer(),
    "glorot normal": tf.glorot_normal_initializer(),
    "scaled": tf.variance_scaling_initializer(2.0, "fan_out", "uniform"),
    "unit scaled": tf.uniform_unit_scaling_initializer(1.4),
    "orthogonal": tf.orthogonal_initializer(1.3),
    "identity": tf.initializers.identity(0.7),
    "zeros": tf.zeros_initializer(),
    "ones": tf.ones_initializer(),
    "constant": tf.constant_initializer(0.1),
    "sum": lambda shape, dtype, partition_info: (
        tf.random_normal(shape, 0.0, 0.1, dtype) + tf.random_uniform(shape, dtype=dtype)
    ),
    "integers": lambda shape, dtype, partition_info: tf.cast(tf.random_uniform(shape, 0, 99, tf.int32), dtype),
}
COMPILED_TOGETHER = ("sum", "integers")


def value_bytes(arrays):
    return [array.tobytes() for array in arrays]


@spread(("name", "dtype"), itertools.product(INITIALIZERS, (tf.float32, tf.float64)), every=15)
def test_values_are_those_of_one_compiled_program(name, dtype):
    tf.set_random_seed(3)
    shapes = [[40, 30], [30, 40], [200, 100]]
    variables = [tf.get_variable(f"v{i}", s, dtype, INITIALIZERS[name]) for i, s in enumerate(shapes)]
    values, initialize = [v.initial_value for v in variables], tf.global_variables_initializer()
    with tf.Session() as whole, tf.Session() as session:
        for _ in range(2):
            expected = whole.run(values)
            session.run(initialize)
            assert value_bytes(session.run(variables)) == value_bytes(expected)
        # Fetched without their variables, initial values are no initialization: one program computes them.
        assert InitializationStage not in stages(whole, values)
        assert (InitializationStage in stages(session, initialize)) == (name not in COMPILED_TOGETHER)


def test_what_depends_on_initialized_values_is_compiled_after_them():
    a = tf.Variable(tf.random_normal([5, 5]))
    b = tf.Variable(tf.matmul(a.initialized_value(), a.initialized_value()) + 1.0)
    initialize = tf.global_variables_initializer()
    with tf.Session() as session:
        session.run(initialize)
        x, y = session.run([a, b])
    np.testing.assert_allclose(y, x @ x + 1, rtol=1e-5)


def test_a_step_is_one_program():
    v, noise = tf.Variable(tf.ones([3])), tf.Variable(tf.zeros([3]))
    step = tf.group(noise.assign(tf.random_normal([3])), v.assign(v * 2.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert InitializationStage not in stages(session, step)
        np.testing.assert_array_equal(session.run(v), [2, 2, 2])


def test_a_failed_check_leaves_all_variables_as_they_were():
    v = tf.Variable(tf.ones([3]))
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.Assert(x > 0, [x])]):
        w = tf.Variable(tf.ones([2]))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(v.assign_add([1.0, 1.0, 1.0]))
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([v.initializer, tf.Assert(x > 0, [x])], {x: -1.0})
        np.testing.assert_array_equal(session.run(v), [2, 2, 2])
        session.run(w.initializer, {x: 1.0})


def test_order_among_assignments_is_kept():
    v = tf.Variable(0.0)
    drawn = tf.random_uniform([])
    first = v.assign(tf.sqrt(drawn))  # compiled
    with tf.control_dependencies([first]):
        second = v.assign(5.0)
    with tf.Session() as session:
        assert session.run([second])[0] == 5.0
        assert session.run(v) == 5.0


def test_variables_that_share_a_draw_are_trained_apart():
    drawn = tf.random_normal([64])
    a, b = tf.Variable(drawn), tf.Variable(drawn)
    train = a.assign_sub(a)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(b)
        session.run(train)
        np.testing.assert_array_equal(session.run(a), np.zeros(64))
        np.testing.assert_array_equal(session.run(b), before)
        assert np.any(before != 0)


def test_a_constant_is_copied():
    start = np.ones(1 << 16, np.float32)
    v = tf.Variable(start)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(v.assign_add(start))
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(v), np.ones(1 << 16))
        np.testing.assert_array_equal(start, np.ones(1 << 16))


def test_initial_values_may_be_fed_and_fetched():
    v = tf.Variable(tf.random_normal([3]))
    w = tf.Variable(tf.zeros([3]))
    given = np.array([1, 2, 3], np.float32)
    with tf.Session() as session:
        session.run(v.initializer, {v.initial_value: given})
        np.testing.assert_array_equal(session.run(v), given)
        given[:] = 0
        np.testing.assert_array_equal(session.run(v), [1, 2, 3])
        _, drawn, assigned = session.run([w.initializer, v.initial_value, w.assign(v.initial_value + 0.0)])
        np.testing.assert_array_equal(drawn, assigned)


def test_a_draw_of_another_run_is_another():
    v = tf.Variable(tf.random_normal([4]))
    with tf.Session() as session:
        drawn = []
        for _ in range(2):
            session.run(v.initializer)
            drawn.append(session.run(v))
    assert not np.array_equal(*drawn)


def test_the_shape_of_a_draw_may_be_computed():
    v = tf.Variable(tf.random_normal(tf.constant([2, 3]) + 1))
    with tf.Session() as session:
        session.run(v.initializer)
        assert InitializationStage in stages(session, v.initializer)
        assert session.run(v).shape == (3, 4)


def test_eager_draws_share_a_program_too(compilations, later_behavior):
    for rows in range(1, 6):
        tf.random_normal([rows, 7], stddev=0.1 * rows)
    assert len(compilations) == 1, compilations


def test_eager_draws_of_one_shape_are_compiled_in_the_end_and_stay_what_they_are(later_behavior):
    def drawn(count):
        tf.set_random_seed(5)
        return [tf.random_normal([3, 3], 1.0, 0.3).numpy().tobytes() for _ in range(count)]

    count = eager_programs.EARLY_DRAWS + 4
    by_blocks = drawn(count)
    assert len(set(by_blocks)) == count
    assert drawn(count) == by_blocks  # now by the program of the shape


@pytest.mark.parametrize("initial", [1.0, np.zeros(2), lambda: tf.zeros([2])], ids=["number", "array", "function"])
def test_initializers_have_no_control_inputs_from_scopes(initial):
    element = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.control_dependencies([element]):
        v = tf.Variable(initial)
    with tf.Session() as session:
        session.run([v.initializer, v.initialized_value()])
        session.run(v)
        assert session.run(element) == 0
