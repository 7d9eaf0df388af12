"""Branches, loops and checks inside of a compiled step loop, against the same training written in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import tpu

DATA = np.arange(1, 65, dtype=np.float32).reshape(-1, 2)
RATE = 0.001


def loss_of(v, x):
    y = x
    for _ in range(3):
        y = jnp.where(jnp.sum(y) > 3.0, y * v * 0.5, y + v)
    rows = [x[0]]
    for element in x[1:]:
        rows.append(rows[-1] * 0.5 + element * v)
    return jnp.mean(y * v) + sum(rows)


def by_hand(towers, steps):
    v = jnp.float32(1.0)
    for step in range(steps):
        batches = [DATA[step * towers + k] for k in range(towers)]
        found = [jax.value_and_grad(loss_of)(v, x) for x in batches]
        v = v - RATE * sum(g for _, g in found) / towers
    return np.mean([float(loss) for loss, _ in found]), v


def tower(x, v, optimizer, limit):
    def body(i, a):
        return i + 1, tf.cond(tf.reduce_sum(a) > 3.0, lambda: a * v * 0.5, lambda: a + v)

    _, y = tf.while_loop(lambda i, a: i < 3, body, [0, x])
    made = tf.map_fn(lambda e: tf.check_numerics(e * v, "bad rows"), y)
    with tf.control_dependencies([tf.assert_less(x, limit, message="too large")]):
        loss = tf.reduce_mean(made) + tf.reduce_sum(tf.scan(lambda a, e: a * 0.5 + e * v, x))
    return optimizer.minimize(loss), loss


def training(towers, limit):
    strategy = tpu(towers)
    with strategy.scope():
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        dataset = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(DATA))
        iterator = dataset.make_initializable_iterator()
        optimizer = tf.train.GradientDescentOptimizer(RATE)

        def step(context, x):
            op, loss = strategy.call_for_each_tower(tower, x, v, optimizer, limit)
            context.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
            return strategy.group(op)

        context = strategy.run_steps_on_dataset(step, iterator, iterations=4)
    return v, iterator, context


@spread("towers", [4, 1], every=2)
def test_a_step_of_loops_and_branches_trains_as_by_hand(towers):
    v, iterator, context = training(towers, 1e9)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initializer])
        for run in (1, 2):
            _, loss = session.run([context.run_op, context.last_step_outputs["loss"]])
            np.testing.assert_allclose([loss, session.run(v)], by_hand(towers, 4 * run), rtol=2e-6)


def test_a_failed_check_keeps_the_steps_before_it():
    v, iterator, context = training(2, 12.0)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initializer])
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            session.run(context.run_op)
        np.testing.assert_allclose(session.run(v), by_hand(2, 2)[1], rtol=2e-6)
