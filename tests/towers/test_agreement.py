"""What mathematics says must agree: gradients through reductions, tower counts, repeated runs."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.bounds import close
from tests.spread import spread
from tests.towers.common import batches, run, tpu

lib = tf.contrib.distribute
SUM, MEAN, FIRST = (
    tf.VariableAggregation.SUM,
    tf.VariableAggregation.MEAN,
    tf.VariableAggregation.ONLY_FIRST_TOWER,
)


def reduced(value, how):
    return lib.get_tower_context().merge_call(lambda d, v: d.reduce(how, v, destinations=v), value)


@pytest.mark.parametrize(("how", "expected"), [(MEAN, [6.0, 12.0]), (SUM, [12.0, 24.0]), (FIRST, [12.0, 0.0])])
def test_the_gradient_of_a_reduced_value_is_the_reduction_of_the_gradients(how, expected):
    strategy = tpu(2)
    with strategy.scope():
        w = tf.get_variable("w", initializer=3.0)

        def fn():
            x = lib.get_tower_context().tower_id + 1.0
            return tf.gradients(tf.identity(reduced(w * w * x, how)), w)[0]

        assert run(strategy.unwrap(strategy.call_for_each_tower(fn))) == expected


@pytest.mark.parametrize(("how", "expected"), [(MEAN, 9.0), (SUM, 18.0), (FIRST, 6.0)])
def test_a_gradient_in_cross_tower_context_is_the_whole_derivative(how, expected):
    strategy = tpu(2)
    with strategy.scope():
        w = tf.get_variable("w", initializer=3.0)
        losses = strategy.call_for_each_tower(lambda: w * w * (lib.get_tower_context().tower_id + 1.0))
        loss = tf.identity(strategy.reduce(how, losses, "/cpu:0"))
        assert run(tf.gradients(loss, w)) == [expected]


def test_gradients_are_the_towers_own_until_they_are_reduced():
    strategy = tpu(4)
    with strategy.scope():
        w = tf.get_variable("w", initializer=2.0)
        own = strategy.call_for_each_tower(lambda: tf.gradients(w * w * (lib.get_tower_context().tower_id + 1.0), w)[0])
        total = strategy.reduce(SUM, own, w)
        assert run([*strategy.unwrap(own), total]) == [4.0, 8.0, 12.0, 16.0, 40.0]


def test_second_derivatives_in_towers():
    strategy = tpu(2)
    with strategy.scope():
        w = tf.get_variable("w", initializer=2.0)

        def fn():
            y = w**3 * (lib.get_tower_context().tower_id + 1.0)
            return tf.gradients(tf.gradients(y, w)[0], w)[0]

        assert run(strategy.unwrap(strategy.call_for_each_tower(fn))) == [12.0, 24.0]


RNG = np.random.RandomState(0)
DATA = RNG.normal(size=(48, 5))
TARGETS = np.tanh(DATA @ RNG.normal(size=(5, 2)))
INITIAL = RNG.normal(size=(5, 2)) * 0.3


def normalized_across_towers(x, offset):
    """A batch normalization whose statistics are those of the whole batch, with moving averages."""
    moving_mean = tf.get_variable(
        "moving_mean", initializer=np.zeros(2, x.dtype.as_numpy_dtype), trainable=False, aggregation=MEAN
    )
    moving_var = tf.get_variable(
        "moving_var", initializer=np.ones(2, x.dtype.as_numpy_dtype), trainable=False, aggregation=MEAN
    )
    mean = reduced(tf.reduce_mean(x, 0), MEAN)
    square = reduced(tf.reduce_mean(x * x, 0), MEAN)
    variance = square - mean * mean
    updates = [moving_mean.assign_sub(0.1 * (moving_mean - mean)), moving_var.assign_sub(0.1 * (moving_var - variance))]
    return (x - mean) * tf.rsqrt(variance + 1e-3) + offset, updates


def train(towers, dtype, batch=24, steps=3, runs=2):
    tf.reset_default_graph()
    strategy = tpu(towers)
    with strategy.scope(), tf.Session() as sess:
        iterator = batches(DATA.astype(dtype), TARGETS.astype(dtype), batch=batch // towers).make_one_shot_iterator()

        def fn(context, x, y):
            def tower(x, y):
                w = tf.get_variable("w", initializer=INITIAL.astype(dtype))
                b = tf.get_variable("b", initializer=np.zeros(2, dtype))
                hidden, updates = normalized_across_towers(tf.matmul(x, w), b)
                loss = tf.reduce_mean(tf.square(hidden - y))
                grads = tf.gradients(loss, [w, b])
                total = [reduced(g, MEAN) for g in grads]
                with tf.control_dependencies([tf.convert_to_tensor(u) for u in updates]):
                    steps = [v.assign_sub(0.1 * g) for v, g in zip([w, b], total, strict=False)]
                context.set_last_step_output("loss", loss, MEAN)
                return steps

            return strategy.call_for_each_tower(tower, x, y)

        with tf.variable_creator_scope(lambda next_creator, **kw: next_creator(**{**kw, "aggregation": MEAN})):
            context = strategy.run_steps_on_dataset(fn, iterator, steps)
        sess.run(tf.global_variables_initializer())
        losses = [sess.run([context.last_step_outputs["loss"], context.run_op])[0] for _ in range(runs)]
        return [np.array(losses), *sess.run(sorted(tf.global_variables(), key=lambda v: v.name))]


def by_hand(dtype, batch=24, steps=6):
    w, b = INITIAL.astype(dtype), np.zeros(2, dtype)
    moving_mean, moving_var = np.zeros(2, dtype), np.ones(2, dtype)
    data, targets = np.concatenate([DATA] * 6), np.concatenate([TARGETS] * 6)
    for i in range(steps):
        x, y = data[i * batch : (i + 1) * batch], targets[i * batch : (i + 1) * batch]
        h = x @ w
        mean, var = h.mean(0), h.var(0)
        inv = 1 / np.sqrt(var + 1e-3)
        z = (h - mean) * inv
        out = z + b
        loss = ((out - y) ** 2).mean()
        d = 2 * (out - y) / out.size
        db = d.sum(0)
        n = len(x)
        dh = inv / n * (n * d - d.sum(0) - z * (d * z).sum(0))
        w, b = w - 0.1 * (x.T @ dh), b - 0.1 * db
        moving_mean, moving_var = moving_mean - 0.1 * (moving_mean - mean), moving_var - 0.1 * (moving_var - var)
    return loss, b, moving_mean, moving_var, w


@spread("towers", [4, 1, 2, 8], every=4)
def test_cross_tower_batch_normalization_equals_the_whole_batch(towers):
    losses, *values = train(towers, np.float64)
    loss, *expected = by_hand(np.float64)
    assert np.allclose(losses[-1], loss, rtol=1e-9)
    for got, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)


@spread("towers", [4, 2, 8], every=3)
def test_tower_counts_agree_in_float32_and_runs_repeat_exactly(towers):
    one, many, again = train(1, np.float32), train(towers, np.float32), train(towers, np.float32)
    for a, b, c in zip(one, many, again, strict=True):
        close(a, b, 6 * (5 + 4 * 24), 1.0)
        assert np.array_equal(b, c)


def test_integers_agree_exactly():
    def total(towers):
        tf.reset_default_graph()
        strategy = tpu(towers)
        with strategy.scope(), tf.Session() as sess:
            count = tf.get_variable("count", initializer=tf.constant(0, tf.int64), aggregation=SUM)
            iterator = tf.data.Dataset.range(800).batch(8 // towers, drop_remainder=True).make_one_shot_iterator()
            context = strategy.run_steps_on_dataset(
                lambda c, x: strategy.call_for_each_tower(lambda x: count.assign_add(tf.reduce_sum(x * x)), x),
                iterator,
                10,
            )
            sess.run(count.initializer)
            sess.run(context.run_op)
            return sess.run(count)

    assert {total(t) for t in (1, 2, 4, 8)} == {sum(i * i for i in range(80))}


def test_dropout_masks_differ_by_tower_and_repeat():
    def masks():
        tf.reset_default_graph()
        tf.set_random_seed(7)
        strategy = tpu(2)
        with strategy.scope(), tf.Session() as sess:
            parts = strategy.unwrap(strategy.call_for_each_tower(lambda: tf.nn.dropout(tf.ones([64]), 0.5)))
            return sess.run(parts) + sess.run(parts)

    first = masks()
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], first[2])
    for a, b in zip(first, masks(), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.long
def test_a_long_chain_of_shared_values_on_a_gradients_path_is_stored():
    strategy = tpu(2)
    with strategy.scope():
        w = tf.get_variable("w", initializer=1.0)
        kept = tf.get_variable("kept", initializer=0.0, trainable=False)

        def tower():
            x = w * 1.0
            for _ in range(1200):
                x = x * 1.0
            return x, tf.gradients(x * x, [w])[0]

        x, grad = strategy.call_for_each_tower(tower)
        first = strategy.reduce(FIRST, x, kept)
        stored = strategy.update(kept, lambda v, value: v.assign(value + 1.0), first)
    assert run([stored, strategy.unwrap(grad)]) == [2.0, [2.0, 2.0]]
