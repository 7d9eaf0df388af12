"""``tpu.rewrite``, ``replicate``, ``shard``, ``batch_parallel``: values, variables, training, and where they may be."""

from itertools import product

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import run
from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.eager import mode

tpu = tf.contrib.tpu
ROWS = np.arange(16, dtype=np.float32).reshape(8, 2)


def given(how, value):
    """A value as a constant, a fed placeholder or a variable; and what is to be fed."""
    if how == "fed":
        placeholder = tf.placeholder(tf.float32, value.shape)
        return placeholder, {placeholder: value}
    return (tf.constant(value) if how == "constant" else tf.get_variable("x", initializer=value)), None


@spread(("shards", "how"), list(product([1, 2, 8], ["constant", "variable", "fed"])), every=5)
def test_inputs_are_divided_and_outputs_joined(shards, how):
    x, feed = given(how, ROWS)
    captured = tf.constant([10.0, 20.0])

    def computation(rows):
        assert rows.shape == [8 // shards, 2]
        return rows + captured, tf.reduce_sum(rows), tf.transpose(rows)

    outputs = tpu.shard(computation, [x], num_shards=shards, output_shard_axes=[0, 0, 1])
    plus, sums, columns = run(outputs, feed)
    np.testing.assert_array_equal(plus, ROWS + [10, 20])
    np.testing.assert_array_equal(sums, ROWS.reshape(shards, -1).sum(1))
    np.testing.assert_array_equal(columns, ROWS.T)


@pytest.mark.parametrize("shards", [1, 2])
def test_outputs_of_one_shard_and_other_dimensions(shards):
    first, joined = run(
        tpu.shard(
            lambda columns: (columns, columns), [ROWS], shards, input_shard_axes=[1],
            outputs_from_all_shards=[False, True], output_shard_axes=[0, -1],
        )
    )  # fmt: skip
    np.testing.assert_array_equal(first, ROWS[:, : 2 // shards])
    np.testing.assert_array_equal(joined, ROWS)
    np.testing.assert_array_equal(run(tpu.batch_parallel(lambda rows: 2 * rows, [ROWS], shards))[0], 2 * ROWS)


def test_inputs_of_unknown_sizes_and_other_uses():
    """Each device gets its rows alone, unless the whole is used too: by another operation, a gradient, or a fetch."""
    x = tf.placeholder(tf.float32, [None, 2])
    (alone,) = tpu.shard(lambda rows: rows * tf.cast(tf.shape(rows)[0], tf.float32), [x], 2)
    (both,) = tpu.shard(lambda rows: rows / tf.reduce_sum(x), [x], 2)
    (gradient,) = tf.gradients(alone, x)
    with tf.Session() as session:
        for count in (8, 4):
            rows = ROWS[:count]
            np.testing.assert_array_equal(session.run(alone, {x: rows}), rows * count / 2)
            np.testing.assert_allclose(session.run(both, {x: rows}), rows / rows.sum(), rtol=1e-6)
            np.testing.assert_array_equal(session.run(gradient, {x: rows}), np.full_like(rows, count / 2))
            whole, _ = session.run([x, alone], {x: rows})
            np.testing.assert_array_equal(whole, rows)
        with pytest.raises(InvalidArgumentError, match="evenly divisible by 2 but is 3"):
            session.run(alone, {x: ROWS[:3]})
    with pytest.raises(ValueError, match="2 is no dimension"):
        tpu.shard(lambda rows: rows, [ROWS], 2, input_shard_axes=[2])
    rows = tf.data.Dataset.from_tensor_slices(ROWS).batch(4).make_one_shot_iterator().get_next()
    (own,) = run(tpu.batch_parallel(lambda part: part + tf.reduce_sum(part), [rows], 4))
    np.testing.assert_array_equal(own, ROWS[:4] + ROWS[:4].sum(1, keepdims=True))


def test_replicas_have_inputs_of_their_own():
    def computation(a, pair):
        return {"sum": a + pair["x"], "both": (a, [pair["y"], tf.contrib.tpu.cross_replica_sum(a)])}

    outputs = tpu.replicate(computation, [[1.0, {"x": 2.0, "y": [3.0]}], [4.0, {"x": 5.0, "y": [6.0]}]])
    assert run(outputs) == [
        {"sum": 3.0, "both": (1.0, [[3.0], 5.0])},
        {"sum": 9.0, "both": (4.0, [[6.0], 5.0])},
    ]


def loss_of(w, rows):
    return tf.reduce_mean(tf.square(tf.reduce_sum(rows * w, 1) - 1.0))


@spread(("shards", "optimizer"), list(product([2, 1, 8], ["MomentumOptimizer", "AdamOptimizer"])), every=3)
def test_shards_train_as_one_device_does(shards, optimizer):
    """The classic form: an optimizer that sums over shards inside of a repeated step, against plain steps."""
    arguments = (0.01, 0.9) if optimizer == "MomentumOptimizer" else (0.01,)

    def trained(sharded):
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.get_variable("w", initializer=[0.5, -0.5])
            step = tf.train.get_or_create_global_step()
            plain = getattr(tf.train, optimizer)(*arguments)
            if not sharded:
                train = plain.minimize(loss_of(w, ROWS), step)
                session.run(tf.global_variables_initializer())
                for _ in range(4):
                    session.run(train)
                return session.run([w, step])

            def body(loss, rows):
                found = loss_of(w, rows)
                return found, rows, tpu.CrossShardOptimizer(plain).minimize(found, step)

            loop = tpu.shard(
                lambda rows: tpu.repeat(4, body, [0.0, rows])[0], [ROWS], shards, outputs_from_all_shards=False
            )
            session.run(tf.global_variables_initializer())
            session.run(loop)
            assert not w.cell.is_varying
            return session.run([w, step])

    for found, wanted in zip(trained(True), trained(False), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_variables_that_shards_write_differently_have_a_copy_each():
    """Until then there is one value; the first one's is read outside, and saved."""
    w = tf.get_variable("w", initializer=1.0)
    read = w + 0.0
    doubled = tpu.shard(lambda rows: w * tf.reduce_sum(rows), [ROWS], 2)
    assert not w.cell.is_varying

    def computation(rows):
        inside = tf.get_variable("inside", initializer=tf.zeros_initializer(), shape=[])
        with tf.control_dependencies([tf.assign_add(w, tf.reduce_sum(rows)), inside.assign_add(1.0)]):
            return w.read_value(), inside.read_value()

    own = tpu.shard(computation, [ROWS], 2)
    inside = tf.global_variables()[-1]
    assert w.cell.is_varying
    assert not inside.cell.is_varying
    sums = 1 + ROWS.reshape(2, -1).sum(1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(own)[0], sums)
        assert session.run([read, w, inside]) == [sums[0], sums[0], 1.0]
        np.testing.assert_array_equal(session.run(doubled)[0], sums * ROWS.reshape(2, -1).sum(1))
        session.run(w.assign(3.0))
        assert session.run(w) == 3.0


def test_gradients_inside_and_through():
    x = tf.constant(ROWS)
    (inside,) = tpu.shard(lambda rows: tf.gradients(rows**3, rows)[0], [x], 2)
    (cubes,) = tpu.shard(lambda rows: rows**3, [x], 2)
    (through,) = tf.gradients(cubes, x)
    for found in run([inside, through]):
        np.testing.assert_allclose(found, 3 * ROWS**2, rtol=1e-6)


def test_shards_draw_numbers_of_their_own():
    drawn = run(tpu.replicate(lambda: tf.random_uniform([3], seed=1), [[], []]))
    assert not np.array_equal(drawn[0][0], drawn[1][0])


def test_functions_know_the_shards():
    square = tf.contrib.eager.defun(lambda rows: tpu.cross_replica_sum(tf.reduce_sum(rows)) + rows)
    found = run(tpu.shard(square, [ROWS], 2))[0]
    np.testing.assert_array_equal(found, ROWS + ROWS.sum())

    @tf.contrib.eager.defun
    def outer(rows):
        return tpu.shard(lambda part: part - tf.reduce_mean(part), [rows], 2)

    np.testing.assert_array_equal(
        run(outer(tf.constant(ROWS)))[0], ROWS - np.repeat(ROWS.reshape(2, -1).mean(1), 4)[:, None]
    )


def test_a_computation_on_an_assigned_device():
    topology = run(tpu.initialize_system())
    assignment = tpu.device_assignment(topology, num_replicas=2)
    chosen = [device for own in assignment.devices() for device in own]
    with tf.device(tpu.core(0)):
        outputs = tpu.replicate(lambda a: a * 2, [[1.0], [2.0]], device_assignment=assignment)
    assert [device.id for device in chosen] == [d.id for d in jax.devices()[:2]]
    assert run(outputs) == [[2.0], [4.0]]
    with pytest.raises(ValueError, match="2 replicas for 1 shards"):
        tpu.rewrite(lambda: 1.0, device_assignment=assignment)


def test_limits():
    with pytest.raises(ValueError, match="9 shards, but there are 8 cpu device.*towerstrat run --towers 9"):
        tpu.replicate(lambda: 1.0, [[]] * 9)
    with pytest.raises(UnsupportedError, match="hand-driven infeed is not supported"):
        tpu.rewrite(lambda: 1.0, infeed_queue=object())
    with pytest.raises(UnsupportedError, match="maximum_shapes"):
        tpu.replicate(lambda a: a, [[1.0]], maximum_shapes=[[None]])
    with pytest.raises(ValueError, match="cannot be nested"):
        tpu.shard(lambda: tpu.rewrite(lambda: 1.0), num_shards=2)
    with mode.eager_mode(), pytest.raises(RuntimeError, match="inside a function"):
        tpu.rewrite(lambda: 1.0)
