"""Replicas that meet inside of a branch or loop whose condition is the same for all: values by hand, and refusals."""

import threading

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from towerstrat.errors import UnsupportedError

pytestmark = [pytest.mark.usefixtures("later_behavior")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def context():
    return tf.distribute.get_replica_context()


def number():
    """The replica's, as a tensor."""
    return tf.cast(context().replica_id_in_sync_group, tf.float32)


def total(x):
    return context().all_reduce("SUM", x)


class Run:
    """A function of a predicate or count and a number, on replicas with a mirrored variable of 2.

    Args:
      fn: (weight, choice, x) -> a number.
    """

    def __init__(self, fn, replicas=2):
        self.strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
        with self.strategy.scope():
            self.weight = tf.Variable(2.0)
        self._call = tf.function(lambda choice, x: self.strategy.run(lambda c, v: fn(self.weight, c, v), (choice, x)))

    def __call__(self, choice, x):
        results = self.strategy.experimental_local_results(self._call(tf.constant(choice), tf.constant(x)))
        return [float(r) for r in results]


def sums(_, choice, x):
    return tf.cond(choice, lambda: total(x * (number() + 1)) + number(), lambda: total(x) - number())


def meets_twice(_, choice, x):
    def twice():
        return total(total(x + number()) * (number() + 2)) + number()

    return tf.cond(choice, twice, lambda: -x) + total(x)


def nested(_, choice, x):
    def outer():
        own = x * (number() + 1)
        return tf.cond(x > 2, lambda: total(own) + number(), lambda: own) * 10

    return tf.cond(choice, outer, lambda: x)


def written(weight, choice, x):
    def write():
        weight.assign_add(total(x * (number() + 1)))
        return weight.read_value()

    return tf.cond(choice, write, lambda: 0 * x)


def gradient_through(weight, choice, x):
    with tf.GradientTape() as tape:
        loss = tf.cond(
            choice, lambda: total(weight * x * (number() + 1)) * (number() + 1), lambda: weight * x * (number() + 1)
        )
    return tape.gradient(loss, weight)


def gradient_inside(weight, choice, x):
    def inside():
        with tf.GradientTape() as tape:
            loss = weight * weight * x * (number() + 1)
        return total(tape.gradient(loss, weight)) + number()

    return tf.cond(choice, inside, lambda: x)


@tf.custom_gradient
def doubled(y):
    return y * 2, lambda of_result: total(of_result) * 10


def own_gradient_function(weight, choice, x):
    with tf.GradientTape() as tape:
        loss = tf.cond(choice, lambda: doubled(weight * x * (number() + 1)), lambda: weight)
    return tape.gradient(loss, weight)


def statement(weight, choice, x):
    result = x
    if choice:
        result = total(x * (number() + 1)) + number()
        weight.assign_add(total(result))
    else:
        result = result * 100
    return result + total(x)


def early_return(_, choice, x):
    if choice:
        return x + number()
    return total(x) + number()


def conditions_around(_, choice, x):
    before = tf.cond(choice, lambda: x + 1, lambda: x - 1)
    middle = tf.cond(choice, lambda: total(before * (number() + 1)), lambda: before)
    after = tf.cond(choice, lambda: middle * 2, lambda: middle)
    return tf.cond(choice, lambda: total(after + number()), lambda: after) + number()


def cases(_, choice, x):
    first = (x < 2, lambda: x + number())
    return tf.case([first, (choice, lambda: total(x * (number() + 1)))], default=lambda: total(x) + number())


VALUES = [
    (sums, 3, [(True, 3.0, [18, 19, 20]), (False, 4.0, [12, 11, 10])]),
    (sums, 1, [(True, 3.0, [3]), (False, 4.0, [4])]),
    (meets_twice, 2, [(True, 3.0, [41, 42]), (False, 4.0, [4, 4])]),
    (nested, 2, [(True, 3.0, [90, 100]), (True, 2.0, [20, 40]), (False, 5.0, [5, 5])]),
    (written, 2, [(True, 3.0, [11, 11]), (False, 4.0, [0, 0]), (True, 5.0, [26, 26])]),
    (gradient_through, 2, [(True, 3.0, [9, 18]), (False, 4.0, [4, 8])]),
    (gradient_inside, 3, [(True, 3.0, [72, 73, 74]), (False, 4.0, [4, 4, 4])]),
    (own_gradient_function, 2, [(True, 2.0, [40, 80]), (False, 3.0, [1, 1])]),
    (statement, 2, [(True, 3.0, [15, 16]), (False, 4.0, [408, 408])]),
    (early_return, 2, [(True, 3.0, [3, 4]), (False, 4.0, [8, 9])]),
    (conditions_around, 2, [(True, 3.0, [49, 50]), (False, 4.0, [3, 4])]),
    (cases, 2, [(True, 1.0, [1, 2]), (True, 4.0, [12, 12]), (False, 5.0, [10, 11])]),
]


@pytest.mark.parametrize(("fn", "replicas", "calls"), VALUES, ids=[f"{v[0].__name__} of {v[1]}" for v in VALUES])
def test_branches(fn, replicas, calls):
    run = Run(fn, replicas)
    for choice, x, wanted in calls:
        np.testing.assert_allclose(run(choice, x), wanted)


def loop(_, count, x):
    return tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, total(y * (number() + 1)) + number()), (0, x))[1]


def statement_loop(weight, count, x):
    y = x * 1.0
    for _ in tf.range(count):
        y = total(y) * (number() + 1) * 0.25
        weight.assign_add(total(y))
    return y


def gradient_of_loop(weight, count, x):
    def step(i, y):
        return i + 1, total(y * weight) * (number() + 1)

    with tf.GradientTape() as tape:
        y = tf.while_loop(lambda i, y: i < count, step, (0, x), maximum_iterations=4)[1]
    return tape.gradient(y, weight)


def branch_of_loop(_, count, x):
    def step(i, y):
        return i + 1, tf.cond(i % 2 == 0, lambda: total(y * (number() + 1)), lambda: y + 1)

    return tf.while_loop(lambda i, y: i < count, step, (0, x))[1]


def array_of_loop(_, count, x):
    found = tf.TensorArray(tf.float32, count)
    for i in tf.range(count):
        found = found.write(i, total(x * (number() + 1)) + number())
    return tf.reduce_sum(found.stack())


def mapped(_, count, x):
    return tf.reduce_sum(tf.map_fn(lambda row: total(row * (number() + 1)) + number(), tf.fill([count], x)))


LOOPS = [
    (loop, [(3, 1.0, [35, 36]), (0, 4.0, [4, 4])]),
    (statement_loop, [(2, 4.0, [1.5, 3])]),
    (gradient_of_loop, [(2, 1.0, [30, 42]), (1, 4.0, [12, 12])]),
    (branch_of_loop, [(3, 1.0, [12, 12]), (1, 4.0, [12, 12])]),
    (array_of_loop, [(3, 2.0, [18, 21])]),
    (mapped, [(2, 2.0, [12, 14])]),
]


@pytest.mark.parametrize(("fn", "calls"), LOOPS, ids=[case[0].__name__ for case in LOOPS])
def test_loops_of_equally_many_steps(fn, calls):
    run = Run(fn)
    for count, x, wanted in calls:
        np.testing.assert_allclose(run(count, x), wanted)


def test_numbers_of_branches():
    def fn(_, choice, x):
        return tf.switch_case(choice, [lambda: x, lambda: total(x * (number() + 1)), lambda: total(x) + number()])

    run = Run(fn)
    assert [run(i, 3.0) for i in (0, 1, 2, 7)] == [[3, 3], [9, 9], [6, 7], [6, 7]]


def test_gradients_of_two_batches_are_applied_together():
    """tf.cond around apply_gradients: replicas of half of the batch train as one replica that has all of it."""

    def trained(replicas):
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
        sync = tf.VariableSynchronization.ON_READ
        with strategy.scope():
            weight, count = tf.Variable(1.0), tf.Variable(0)
            optimizer = tf.keras.optimizers.Adam(0.1)
            optimizer.build([weight])
            kept = tf.Variable(0.0, trainable=False, synchronization=sync, aggregation=tf.VariableAggregation.SUM)

        def step(rows):
            count.assign_add(1)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((weight * rows - 3) ** 2)
            kept.assign_add(tape.gradient(loss, weight))

            def apply():
                optimizer.apply_gradients([(tf.convert_to_tensor(kept), weight)])
                kept.assign(0.0)
                return 1

            return tf.cond(count % 2 == 0, apply, lambda: 0)

        run = tf.function(lambda rows: strategy.run(step, (rows,)))
        rows = np.linspace(0, 1, 24, dtype=np.float32).reshape(6, 4)
        for row in rows:
            parts = np.split(row, replicas)
            given = strategy.experimental_distribute_values_from_function(
                lambda c, parts=parts: tf.constant(parts[c.replica_id_in_sync_group])
            )
            run(given)
        return float(weight.numpy())

    assert trained(1) != 1.0
    np.testing.assert_allclose(trained(2), trained(1), rtol=1e-6)


# ---- what is refused -----------------------------------------------------------------------------------------------


class Turns:
    """Which replica's function runs: they are called in turns."""

    def __init__(self):
        self._calls = 0

    def __call__(self):
        self._calls += 1
        return (self._calls - 1) % 2


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda turn, x: tf.cond(number() > 0, lambda: total(x), lambda: x), "its condition may differ"),
        (lambda turn, x: tf.while_loop(lambda i: i < number() + 1, lambda i: i + total(x), (0.0,)),
         "its condition may differ"),
        (lambda turn, x: tf.cond(x > 0, lambda: total(tf.exp(x) if turn() else x), lambda: x), "they differ: Exp"),
        (lambda turn, x: tf.cond(x > 0, lambda: total(x) + (tf.exp(x) if turn() else x), lambda: x), "differ: Exp"),
        (lambda turn, x: tf.cond(x > 0, lambda: total(x if turn() else tf.exp(x)), lambda: x), "they differ"),
        (lambda turn, x: tf.cond(x > 0 if turn() else x > 1, lambda: total(x), lambda: x), "they differ"),
        (lambda turn, x: tf.cond(x > 0, lambda: total(x), lambda: x) if turn() else total(x), "not meet at the same"),
        (lambda turn, x: total(x) if turn() else tf.cond(x > 0, lambda: total(x), lambda: x), "meet"),
        (lambda turn, x: x if turn() else tf.cond(x > 0, lambda: total(x), lambda: x), "meet"),
    ],
)  # fmt: skip
def test_replicas_that_differ_where_they_meet(fn, said):
    turn = Turns()
    with pytest.raises(RuntimeError, match=said):
        Run(tf.autograph.experimental.do_not_convert(lambda weight, choice, x: fn(turn, x)))(True, 1.0)


def test_a_count_that_comes_to_differ():
    def fn(_, count, x):
        return tf.while_loop(lambda i: i < 3, lambda i: i + total(x) + number(), (0.0,))

    with pytest.raises(UnsupportedError, match="differs by tower"):
        Run(fn)(1, 1.0)


def test_a_meeting_in_a_function_of_its_own():
    inner = tf.function(lambda x: total(x))
    with pytest.raises(RuntimeError, match="Call it outside of a tf.function"):
        Run(lambda weight, choice, x: inner(x))(True, 1.0)


def test_an_error_where_replicas_meet():
    def fails(strategy, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Run(lambda weight, choice, x: tf.cond(choice, lambda: context().merge_call(fails, (x,)), lambda: x))(True, 1.0)
