"""Values whose shape differs by position, in programs run by the tower surface."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.ops import collectives
from towerstrat.graph.plan import Plan
from towerstrat.graph.uneven import Uneven

SUM = tf.VariableAggregation.SUM


def carried_out(session, fetches, fed):
    """What a run of the session's graph gives, each value as it leaves the run."""
    targets = [f if isinstance(f, tf.Operation) else tf.convert_to_tensor(f) for f in fetches]
    plan = Plan(session.graph, targets, fed)
    with jax.enable_x64(True):
        return session.carry_out(
            plan.stages, fed, lambda run: [plan.value(t, run) for t in targets if not isinstance(t, tf.Operation)]
        )


@pytest.mark.parametrize("towers", [1, 2])
def test_an_input_gives_each_position_its_own_value(towers):
    strategy = tpu(towers)
    x = collectives.position_input(strategy.axis, tf.float32, [2], "x")
    with strategy.scope():
        doubled = strategy.call_for_each_tower(lambda: x * 2.0)
        total = strategy.unwrap(strategy.reduce(SUM, doubled, "/cpu:0"))[0]
    value = np.arange(2 * towers, dtype=np.float32).reshape(towers, 2)
    with tf.Session() as session:
        (found,) = carried_out(session, [total], {x: value if towers > 1 else value[0]})
    np.testing.assert_array_equal(found, 2 * value.sum(axis=0))


def rows(sizes, width, seed=0):
    """A batch of rows for each position."""
    random = np.random.default_rng(seed)
    return [random.normal(size=(n, width)).astype(np.float32) for n in sizes]


@pytest.mark.parametrize("sizes", [(2, 2, 0), (4, 4, 3, 0), (1, 0), (5, 2), (3, 3, 3, 3, 3, 3, 2, 0)])
def test_training_is_as_by_hand(sizes):
    batches, labels = rows(sizes, 3), rows(sizes, 1, 1)
    strategy = tpu(len(sizes))
    x = collectives.position_input(strategy.axis, tf.float32, [None, 3], "x")
    y = collectives.position_input(strategy.axis, tf.float32, [None, 1], "y")

    def tower():
        hidden = tf.nn.relu(tf.matmul(x, w) + b)
        errors = tf.square(tf.matmul(hidden, v) - y)
        loss = tf.reduce_sum(errors) / float(sum(sizes))
        return loss, tf.gradients(loss, [w, b, v]), tf.shape(x)[0]

    with strategy.scope():
        w = tf.get_variable("w", initializer=np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
        b = tf.get_variable("b", initializer=np.full(4, 0.1, np.float32))
        v = tf.get_variable("v", initializer=np.linspace(-1, 1, 4, dtype=np.float32).reshape(4, 1))
        loss, grads, count = strategy.call_for_each_tower(tower)
        loss = strategy.unwrap(strategy.reduce(SUM, loss, "/cpu:0"))[0]
        counts = strategy.unwrap(count)
        totals = [strategy.reduce(SUM, g, "/cpu:0") for g in grads]
        steps = [
            strategy.group(strategy.update(var, lambda var, g: var.assign_sub(0.5 * g), g))
            for var, g in zip([w, b, v], totals, strict=True)
        ]

    def by_hand(parameters):
        w, b, v = parameters
        total = 0.0
        for x, y in zip(batches, labels, strict=True):
            total += jnp.sum((jax.nn.relu(x @ w + b) @ v - y) ** 2)
        return total / sum(sizes)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run([w, b, v])
        for _ in range(2):
            value, gradients = jax.value_and_grad(by_hand)(expected)
            expected = [p - 0.5 * g for p, g in zip(expected, gradients, strict=True)]
            found, *found_counts = carried_out(
                session, [loss, *counts, *steps], {x: Uneven.of(batches), y: Uneven.of(labels)}
            )
            np.testing.assert_allclose(found, value, rtol=1e-5)
            assert found_counts == list(sizes)
        for one, other in zip(session.run([w, b, v]), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
