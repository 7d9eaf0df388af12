"""Programs of towers whose batches differ in size, against the same computed by hand in JAX."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.bounds import close
from tests.spread import spread
from tests.towers.common import tpu
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.runtime.sessions.stage_table import plan_of
from towerstrat.graph.tapes.custom_gradients import recompute_grad

SUM = tf.VariableAggregation.SUM


def carried_out(session, fetches, fed, runs=1):
    """What the last of some runs of the session's graph gives for tensors, each value as it leaves the run."""
    targets = [f if isinstance(f, tf.Operation) else tf.convert_to_tensor(f) for f in fetches]
    plan = plan_of(session.graph, targets, fed)
    tensors = [t for t in targets if not isinstance(t, tf.Operation)]
    with jax.enable_x64(True):
        for _ in range(runs):
            found = session.execute_plan(plan.stages, fed, lambda run: [plan.value(t, run) for t in tensors])
    return found


@pytest.mark.parametrize("towers", [1, 2])
def test_an_input_gives_each_position_its_own_value(towers):
    strategy = tpu(towers)
    x = all_reduce.position_input(strategy.engine.axis, tf.float32, [2], "x")
    with strategy.scope():
        doubled = strategy.call_for_each_tower(lambda: x * 2.0)
        total = strategy.unwrap(strategy.reduce(SUM, doubled, "/cpu:0"))[0]
    value = np.arange(2 * towers, dtype=np.float32).reshape(towers, 2)
    with tf.Session() as session:
        (found,) = carried_out(session, [total], {x: value if towers > 1 else value[0]})
    np.testing.assert_array_equal(found, 2 * value.sum(axis=0))


TERMS = 2 * (3 + 4 + 20 + 4)
"""That go into a weight in two steps of a model of two layers: products', and a gradient's over all rows."""


def rows(sizes, width, seed=0):
    """A batch of rows for each position."""
    random = np.random.default_rng(seed)
    return [random.normal(size=(n, width)).astype(np.float32) for n in sizes]


@spread("sizes", [(4, 4, 3, 0), (2, 2, 0), (1, 0), (5, 2), (3, 3, 3, 3, 3, 3, 2, 0)], every=5)
def test_training_is_as_by_hand(sizes):
    batches, labels = rows(sizes, 3), rows(sizes, 1, 1)
    strategy = tpu(len(sizes))
    x = all_reduce.position_input(strategy.engine.axis, tf.float32, [None, 3], "x")
    y = all_reduce.position_input(strategy.engine.axis, tf.float32, [None, 1], "y")

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
                session, [loss, *counts, *steps], {x: UnevenShards.of(batches), y: UnevenShards.of(labels)}
            )
            close(found, value, TERMS, 1.0 + value)
            assert found_counts == list(sizes)
        for one, other in zip(session.run([w, b, v]), expected, strict=True):
            close(one, other, TERMS)


class Towers:
    """A strategy, an uneven input on it, and a session to run with."""

    def __init__(self, sizes, width=3):
        self.sizes = sizes
        self.strategy = tpu(len(sizes))
        self.batches = rows(sizes, width)
        self.x = all_reduce.position_input(self.strategy.engine.axis, tf.float32, [None, width], "x")

    def __call__(self, function):
        with self.strategy.scope():
            return self.strategy.call_for_each_tower(function)

    def sum(self, value):
        with self.strategy.scope():
            return self.strategy.unwrap(self.strategy.reduce(SUM, value, "/cpu:0"))[0]

    def run(self, *fetches, session=None, batches=None):
        fetches = [part for f in fetches for part in (self.strategy.unwrap(f) if not hasattr(f, "graph") else [f])]
        fed = {self.x: UnevenShards.of(batches or self.batches)}
        if session is not None:
            return carried_out(session, fetches, fed)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            return carried_out(session, fetches, fed)


def summed_inside(towers, value):
    """The sum over all towers of a tower's value, in tower context."""
    return tf.contrib.distribute.get_tower_context().merge_call(
        lambda strategy, v: strategy.reduce(SUM, v, "/cpu:0"), value
    )


def near(found, expected):
    """Sums of up to a hundred terms, whose magnitudes add up to ten, or to what the largest result is."""
    close(found, expected, 100, max(10.0, np.max(np.abs(expected), initial=0.0)))


def test_parts_come_out_at_their_own_shapes():
    towers = Towers((3, 1, 0))
    for part, batch in zip(towers.run(towers(lambda: towers.x * 2.0)), towers.batches, strict=True):
        assert part.shape == batch.shape
        near(part, 2 * batch)


def test_a_loss_divided_by_what_all_towers_count():
    towers = Towers((3, 2, 0, 3))

    def tower():
        count = summed_inside(towers, tf.cast(tf.shape(towers.x)[0], tf.float32))
        loss = tf.reduce_sum(tf.square(tf.matmul(towers.x, w))) / count
        return loss, tf.gradients(loss, w)[0]

    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    loss, grad = towers(tower)
    found = towers.run(towers.sum(loss), towers.sum(grad))

    def by_hand(w):
        return sum(jnp.sum((x @ w) ** 2) for x in towers.batches) / 8

    near(found[0], by_hand(np.ones((3, 2))))
    near(found[1], jax.grad(by_hand)(np.ones((3, 2))))


@pytest.mark.long
def test_a_gradient_goes_through_statistics_of_all_towers():
    towers = Towers((3, 2, 0, 3))

    def tower():
        y = tf.matmul(towers.x, w)
        count = summed_inside(towers, tf.cast(tf.shape(y)[0], tf.float32))
        mean = summed_inside(towers, tf.reduce_sum(y, 0)) / count
        variance = summed_inside(towers, tf.reduce_sum(tf.square(y - mean), 0)) / count
        normal = (y - mean) / tf.sqrt(variance + 0.1)
        loss = tf.reduce_sum(tf.sin(normal) * towers.x[:, :2])
        return loss, tf.gradients(loss, w)[0]

    start = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=start)
    loss, grad = towers(tower)
    found = towers.run(towers.sum(loss), towers.sum(grad))

    def by_hand(w):
        x = np.concatenate(towers.batches)
        y = x @ w
        mean = jnp.mean(y, 0)
        normal = (y - mean) / jnp.sqrt(jnp.mean((y - mean) ** 2, 0) + 0.1)
        return jnp.sum(jnp.sin(normal) * x[:, :2])

    near(found[0], by_hand(start))
    near(found[1], jax.grad(by_hand)(start))


def test_a_gradient_taken_outside_of_the_towers():
    towers = Towers((3, 2, 0))
    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
    total = towers.sum(towers(lambda: tf.reduce_sum(tf.square(tf.matmul(towers.x, w)))))
    (found,) = towers.run(tf.gradients(total, w)[0])
    near(found, jax.grad(lambda w: sum(jnp.sum((x @ w) ** 2) for x in towers.batches))(np.ones((3, 2))))


def test_what_is_reduced_has_one_shape():
    towers = Towers((3, 2, 0))
    total = towers.sum(towers(lambda: towers.x))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[3, 3\], \[2, 3\], \[0, 3\].*(?s:.*)test_uneven.py"):
        towers.run(total)


@spread(("sizes", "dim"), itertools.product([(2, 2, 2), (3, 3, 1, 0)], [0, 1, -1]), every=5)
def test_values_are_joined_along_a_dimension_and_so_are_gradients(sizes, dim):
    towers = Towers(sizes, 2)
    joined = all_reduce.all_concat(
        towers.strategy.engine.local_of(towers(lambda: tf.transpose(towers.x) if dim else towers.x)),
        towers.strategy.engine.axis,
        dim=dim,
    )
    total = sum(sizes)
    weights = np.arange(2 * total, dtype=np.float32).reshape((2, total) if dim else (total, 2))
    loss = tf.reduce_sum(tf.square(joined) * weights)
    grad = tf.gradients(loss, towers.x)[0]
    whole, grads = towers.run(joined, grad)
    expected = np.concatenate([x.T if dim else x for x in towers.batches], axis=dim)
    near(whole, expected)
    back = 2 * expected * weights
    parts = np.split(back.T if dim else back, np.cumsum(sizes)[:-1])
    grads = [grads.part(i) for i in range(len(sizes))] if isinstance(grads, UnevenShards) else grads
    for found, part in zip(grads, parts, strict=True):
        near(found, part)


def test_values_that_differ_in_another_dimension_are_not_joined():
    towers = Towers((3, 2))
    local = towers.strategy.engine.local_of(towers(lambda: towers.x))
    with pytest.raises(tf.errors.InvalidArgumentError, match="joined along dimension 1"):
        towers.run(all_reduce.all_concat(local, towers.strategy.engine.axis, dim=1))


def test_rows_of_an_embedding():
    sizes = (3, 1, 0)
    strategy = tpu(3)
    numbers = [np.array([1, 4, 1]), np.array([2]), np.array([], np.int64)]
    ids = all_reduce.position_input(strategy.engine.axis, tf.int64, [None], "ids")
    with strategy.scope():
        table = tf.get_variable("table", initializer=np.arange(10, dtype=np.float32).reshape(5, 2))
        optimizer = tf.train.GradientDescentOptimizer(0.5)

        def tower():
            return optimizer.minimize(tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids))))

        train = strategy.group(strategy.call_for_each_tower(tower))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(table)
        carried_out(session, [train], {ids: UnevenShards.of(numbers)})
        after = session.run(table)
    expected = before.copy()
    for number in np.concatenate(numbers):
        expected[number] -= 0.5 * 2 * before[number] / len(sizes)
    near(after, expected)


def test_each_tower_sees_the_sum_of_what_is_said_of_joined_values():
    towers = Towers((3, 1, 0), 2)
    scale = all_reduce.position(towers.strategy.engine.axis)

    def tower():
        joined = tf.contrib.distribute.get_tower_context().merge_call(
            lambda strategy, v: all_reduce.all_concat(strategy.engine.local_of(v), strategy.engine.axis), towers.x
        )
        loss = tf.reduce_sum(joined * tf.cast(scale + 1, tf.float32))
        return tf.gradients(loss, towers.x)[0]

    for grad, batch in zip(towers.run(towers(tower)), towers.batches, strict=True):
        near(grad, np.full(batch.shape, 1 + 2 + 3))


@pytest.mark.long
def test_dropout_draws_for_the_rows_there_are():
    towers = Towers((40, 40, 7, 0))
    dropped = towers(lambda: tf.nn.dropout(tf.ones_like(towers.x), keep_prob=0.5, seed=3))
    with tf.Session() as session:
        first, second = towers.run(dropped, session=session), towers.run(dropped, session=session)
    for part, batch in zip(first, towers.batches, strict=True):
        assert part.shape == batch.shape
        assert set(np.unique(part)) <= {0.0, 2.0}
    assert 30 < np.count_nonzero(first[0]) < 90
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], second[0])


@pytest.mark.long
def test_branches_and_loops_on_uneven_values():
    towers = Towers((3, 2, 0, 2))

    def tower():
        x = towers.x
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * v, lambda: x - v)
        _, z = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + x), [0, y])
        mapped = tf.map_fn(lambda row: tf.reduce_sum(row) * v, x)
        loss = tf.reduce_sum(tf.sin(z)) + tf.reduce_sum(mapped)
        return loss, tf.gradients(loss, v)[0], tf.cond(flag, lambda: x, lambda: -x)

    flag = tf.constant(True)
    with towers.strategy.scope():
        v = tf.get_variable("v", initializer=0.5)
    loss, grad, kept = towers(tower)

    def by_hand(v):
        total = 0.0
        for x in towers.batches:
            z = jnp.where(np.sum(x) > 0, x * v, x - v)
            for _ in range(3):
                z = z * v + x
            total += jnp.sum(jnp.sin(z)) + jnp.sum(x) * v
        return total

    value, slope, *parts = towers.run(towers.sum(loss), towers.sum(grad), kept)
    near(value, by_hand(0.5))
    near(slope, jax.grad(by_hand)(0.5))
    for part, batch in zip(parts, towers.batches, strict=True):
        near(part, batch)


def test_variables_of_each_tower_and_shared_counters():
    towers = Towers((3, 1, 0))
    with towers.strategy.scope():
        total = tf.get_variable(
            "total", initializer=0.0, synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM, trainable=False,
        )  # fmt: skip
        steps = tf.get_variable(
            "steps", initializer=0, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_TOWER
        )
        seen = towers(lambda: total.assign_add(tf.reduce_sum(towers.x) + 1.0))
        count = towers(lambda: steps.assign_add(1))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for run in (1, 2):
            towers.run(seen, count, session=session)
            near(session.run(total), run * (np.concatenate(towers.batches).sum() + 3))
            assert session.run(steps) == run


@spread("where", [1, 0, 2], every=3)
def test_a_check_fails_where_one_tower_fails(where):
    towers = Towers((3, 2, 1))
    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))

        def tower():
            x = tf.check_numerics(towers.x, "bad rows")
            with tf.control_dependencies([tf.assert_less(x, 100.0, message="too large")]):
                return tf.gradients(tf.reduce_sum(tf.matmul(x, w)), w)[0]

        grad = towers.strategy.reduce(SUM, towers(tower), w)
        train = towers.strategy.group(towers.strategy.update(w, lambda w, g: w.assign_sub(g), grad))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, message in ((np.nan, "bad rows"), (1000.0, "too large")):
            batches = [b.copy() for b in towers.batches]
            batches[where][0, 0] = value
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                towers.run(train, session=session, batches=batches)
            near(session.run(w), np.ones((3, 1)))
        towers.run(train, session=session)
        near(session.run(w)[:, 0], 1 - np.concatenate(towers.batches).sum(0))


def test_batch_normalization_of_an_empty_batch_keeps_its_statistics():
    towers = Towers((4, 3, 0))
    with towers.strategy.scope():
        layer = tf.layers.BatchNormalization(momentum=0.5, epsilon=0.1)

        def tower():
            loss = tf.reduce_sum(tf.sin(layer.apply(towers.x, training=True)) * towers.x)
            with tf.control_dependencies(layer.updates):
                return tf.gradients(loss, [layer.gamma, towers.x])

        gamma, own = towers(tower)
        total = towers.sum(gamma)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        found, *parts = towers.run(total, own, session=session)
        moving = session.run([layer.moving_mean, layer.moving_variance])

    def by_hand(gamma, x):
        normal = (x - jnp.mean(x, 0)) / jnp.sqrt(jnp.var(x, 0) + 0.1)
        return jnp.sum(jnp.sin(normal * gamma) * x)

    slopes = [jax.grad(by_hand, (0, 1))(np.ones(3, np.float32), x) for x in towers.batches[:2]]
    near(found, slopes[0][0] + slopes[1][0])
    near(parts[0], slopes[0][1])
    near(parts[1], slopes[1][1])
    assert parts[2].shape == (0, 3)
    means = [x.mean(0) / 2 for x in towers.batches[:2]] + [np.zeros(3)]
    variances = [(1 + x.var(0)) / 2 for x in towers.batches[:2]] + [np.ones(3)]
    near(moving[0], np.mean(means, axis=0))
    near(moving[1], np.mean(variances, axis=0))


@pytest.mark.long
def test_a_derivative_of_a_derivative():
    towers = Towers((3, 1, 0))
    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))

    def tower():
        y = tf.reduce_sum(tf.sin(tf.matmul(towers.x, w)))
        (slope,) = tf.gradients(y, towers.x)
        return tf.gradients(tf.reduce_sum(tf.square(slope)), w)[0]

    def penalty(w):
        slopes = [jax.grad(lambda x: jnp.sum(jnp.sin(x @ w)))(x) for x in towers.batches]
        return sum(jnp.sum(s**2) for s in slopes)

    (found,) = towers.run(towers.sum(towers(tower)))
    near(found, jax.grad(penalty)(np.ones((3, 1), np.float32)))


def test_a_derivative_of_a_derivative_through_a_sum_over_towers_is_refused():
    towers = Towers((3, 1, 0))

    def tower():
        total = summed_inside(towers, tf.reduce_sum(tf.sin(towers.x)))
        (slope,) = tf.gradients(total * total, towers.x)
        return tf.gradients(tf.reduce_sum(tf.square(slope)), towers.x)[0]

    with pytest.raises(UnsupportedError, match="combines values of all towers"):
        towers.run(towers(tower))


def test_a_gradient_given_in_python():
    towers = Towers((3, 1, 0))

    @tf.custom_gradient
    def tripled(x):
        return x * 1.0, lambda dy: dy * 3.0

    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))
    grad = towers(lambda: tf.gradients(tf.reduce_sum(tripled(tf.matmul(towers.x, w))), w)[0])
    (found,) = towers.run(towers.sum(grad))
    near(found[:, 0], 3 * np.concatenate(towers.batches).sum(0))


@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_that_combines_values_of_all_towers(flag):
    towers = Towers((3, 1, 0))
    chosen = tf.placeholder_with_default(flag, [])

    def tower():
        return tf.cond(chosen, lambda: summed_inside(towers, tf.reduce_sum(towers.x * 2.0)), lambda: 7.0)

    near(towers.run(towers(tower))[0], 2 * np.concatenate(towers.batches).sum() if flag else 7.0)


def test_a_loop_that_combines_values_of_all_towers():
    towers = Towers((3, 2, 0))
    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))

    def tower():
        def body(i, v):
            grad = tf.gradients(tf.reduce_sum(tf.square(tf.matmul(towers.x, v))), v)[0]
            return i + 1, v - 0.02 * summed_inside(towers, grad)

        return tf.while_loop(lambda i, v: i < 3, body, [0, tf.identity(w)])[1]

    expected = np.ones((3, 1))
    for _ in range(3):
        expected = expected - 0.02 * sum(2 * x.T @ (x @ expected) for x in towers.batches)
    for found in towers.run(towers(tower)):
        near(found, expected)


def test_a_gradient_goes_through_a_branch_that_combines_values():
    towers = Towers((3, 2, 0))
    flag = tf.placeholder_with_default(True, [])
    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=2.0)

    def tower():
        total = tf.cond(flag, lambda: summed_inside(towers, tf.reduce_sum(tf.sin(towers.x * w))), lambda: 0.0)
        return tf.gradients(tf.square(total), w)[0]

    def by_hand(w):
        return 3 * sum(jnp.sum(jnp.sin(x * w)) for x in towers.batches) ** 2

    near(towers.run(towers.sum(towers(tower)))[0], jax.grad(by_hand)(2.0))


def test_what_leaves_a_branch_that_combines_values_has_one_shape():
    towers = Towers((3, 1, 0))
    flag = tf.placeholder_with_default(True, [])

    def tower():
        x = towers.x
        return tf.cond(flag, lambda: x * summed_inside(towers, tf.reduce_sum(x)), lambda: x)

    with pytest.raises(UnsupportedError, match=r"test_uneven.py:.* differs in shape by tower"):
        towers.run(towers(tower))


def test_parts_are_used_outside():
    towers = Towers((3, 1, 0))
    parts = towers.strategy.unwrap(towers(lambda: towers.x * 2.0))
    whole = tf.concat(parts, 0)
    first = tf.gradients(tf.reduce_sum(tf.square(parts[0])), towers.x)[0]
    found, grads = towers.run(whole, first)
    near(found, 2 * np.concatenate(towers.batches))
    near(grads.part(0), 8 * towers.batches[0])
    near(grads.part(1), np.zeros((1, 3)))


def test_printing(capfd):
    towers = Towers((2, 1, 0))
    shown = towers(lambda: tf.Print(tf.reduce_sum(towers.x), [tf.shape(towers.x)[0]], "rows: "))
    towers.run(towers.sum(shown))
    printed = capfd.readouterr().err
    assert sorted(line for line in printed.splitlines() if "rows" in line) == [f"rows: [{n}]" for n in (0, 1, 2)]


def convolutional(images, labels):
    """A model with most of what models have; its loss."""
    net = tf.layers.conv2d(images, 4, 3, padding="same", activation=tf.nn.relu)
    net = tf.layers.batch_normalization(net, training=True, momentum=0.8)
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.flatten(net)
    net = tf.layers.dropout(net, 0.3, training=True)
    net = tf.layers.dense(net, 5, kernel_regularizer=lambda w: 0.01 * tf.nn.l2_loss(w))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=net)
    return tf.reduce_sum(losses) / 12.0 + tf.losses.get_regularization_loss()


def trained(inputs):
    """Losses and variables after two steps of training on four towers."""
    tf.reset_default_graph()
    tf.set_random_seed(1)
    strategy = tpu(4)
    axis = strategy.engine.axis
    images = all_reduce.position_input(axis, tf.float32, [None, 6, 6, 1], "images")
    labels = all_reduce.position_input(axis, tf.int32, [None], "labels")
    other = all_reduce.position_input(axis, tf.float32, [None], "other")
    with strategy.scope():
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

        def tower():
            loss = convolutional(images, labels) + tf.reduce_sum(other)
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                return optimizer.minimize(loss), loss

        train, loss = strategy.call_for_each_tower(tower)
        losses = strategy.unwrap(loss)
        train = strategy.group(train)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        fed = dict(zip((images, labels, other), inputs, strict=True))
        return carried_out(session, [*losses, train], fed, runs=2), session.run(tf.global_variables())


@pytest.mark.long
def test_a_model_trains_the_same_whether_or_not_towers_are_of_several_kinds():
    random = np.random.default_rng(0)
    images = random.normal(size=(4, 3, 6, 6, 1)).astype(np.float32)
    labels = random.integers(0, 5, size=(4, 3)).astype(np.int32)
    even = trained([images, labels, np.zeros((4, 2), np.float32)])
    others = [np.zeros(n, np.float32) for n in (2, 1, 0, 2)]
    split = trained([UnevenShards.of(list(images)), UnevenShards.of(list(labels)), UnevenShards.of(others)])
    jax.tree.map(lambda a, b: close(a, b, 1000, max(1.0, np.abs(a).max())), even, split)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(2, 1, 1, 0), (3, 3, 3, 0)])
def test_a_model_trains_on_any_sizes(sizes):
    images = [np.full((n, 6, 6, 1), 0.5, np.float32) for n in sizes]
    labels = [np.zeros(n, np.int32) for n in sizes]
    others = [np.zeros(n, np.float32) for n in sizes]
    found, variables = trained([UnevenShards.of(images), UnevenShards.of(labels), UnevenShards.of(others)])
    assert all(np.isfinite(v).all() for v in jax.tree.leaves((found, variables)))


def test_what_one_run_gives_another_takes():
    towers = Towers((3, 1, 0))
    local = towers.strategy.engine.local_of(towers(lambda: towers.x * 2.0))
    with tf.Session() as session:
        (once,) = carried_out(session, [local], {towers.x: UnevenShards.of(towers.batches)})
        assert isinstance(once, UnevenShards)
        (twice,) = carried_out(session, [local], {towers.x: once})
    for i, batch in enumerate(towers.batches):
        near(twice.part(i), 4 * batch)


def test_a_part_that_is_computed_again_for_its_gradient():
    towers = Towers((3, 1, 0))
    with towers.strategy.scope():
        w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32), use_resource=True)

    @recompute_grad
    def block(x):
        return tf.sin(tf.matmul(x, w))

    grad = towers(lambda: tf.gradients(tf.reduce_sum(block(towers.x)), w)[0])
    (found,) = towers.run(towers.sum(grad))
    near(
        found,
        sum(jax.grad(lambda w, x=x: jnp.sum(jnp.sin(x @ w)))(np.ones((3, 1), np.float32)) for x in towers.batches),
    )


def test_shapes_inside_are_the_towers_own():
    """Sizes are known where they are used: rows counted, reshaped, ranged over, repeated and scanned."""
    towers = Towers((3, 1, 2, 0), 4)

    def tower():
        count = tf.shape(towers.x)[0]
        pairs = tf.reshape(towers.x, [count * 2, 2])
        numbers = tf.cast(tf.range(count), tf.float32)
        hot = tf.one_hot(tf.range(count), 3)
        sums = tf.cumsum(towers.x)
        tiled = tf.tile(towers.x, [2, 1])
        return pairs, numbers, hot, sums, tiled, tf.reduce_mean(towers.x)

    found = [towers.strategy.unwrap(v) for v in towers(tower)]
    flat = towers.run(*(part for parts in found for part in parts))
    by_output = [flat[i : i + 4] for i in range(0, len(flat), 4)]
    for i, x in enumerate(towers.batches):
        n = len(x)
        expected = [x.reshape(2 * n, 2), np.arange(n), np.eye(3)[:n], np.cumsum(x, 0), np.tile(x, (2, 1))]
        for parts, value in zip(by_output, expected, strict=False):
            assert parts[i].shape == value.shape
            near(parts[i], value)
        if n == 0:
            assert np.isnan(by_output[5][i])
        else:
            close(by_output[5][i], x.mean(), x.size, np.abs(x).mean())


def test_rows_looked_up_by_several_towers_and_summed_outside():
    sizes = (2, 1, 0)
    strategy = tpu(3)
    numbers = [np.array([1, 4]), np.array([1]), np.array([], np.int64)]
    ids = all_reduce.position_input(strategy.engine.axis, tf.int64, [None], "ids")
    with strategy.scope():
        table = tf.get_variable("table", initializer=np.arange(10, dtype=np.float32).reshape(5, 2))
        grad = strategy.call_for_each_tower(
            lambda: tf.gradients(tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids))), table)[0]
        )
        rows = strategy.unwrap(strategy.reduce(SUM, grad, table))[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, indices = carried_out(session, [rows.values, rows.indices], {ids: UnevenShards.of(numbers)})
        table = session.run(table)
    np.testing.assert_array_equal(indices, np.concatenate(numbers))
    near(values, 2 * table[np.concatenate(numbers)])
    assert len(values) == sum(sizes)


def test_an_operation_outside_of_the_towers_on_what_differs():
    towers = Towers((3, 1, 0))
    with tf.Session() as session:
        (found,) = carried_out(session, [tf.square(towers.x)], {towers.x: UnevenShards.of(towers.batches)})
    for i, batch in enumerate(towers.batches):
        near(found.part(i), batch**2)
