"""Every optimizer on four towers in runs of five steps against the original on the same global batch."""

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.optimizer_cases import CASES, STEP
from tests.spread import spread
from tests.towers.common import tpu
from tests.training.optimizers.optimizer_model import (
    COMPARED,
    STEPS,
    golden,
    inputs,
    loss_of,
    make_optimizer,
    make_variables,
)
from towerstrat.graph.ir.mesh import Axis

MEAN, SUM = tf.VariableAggregation.MEAN, tf.VariableAggregation.SUM
TOWERS, PER_RUN = 4, 5


def shards(name, dtype):
    """One element per tower and step, in order."""
    arrays = [a.reshape(STEPS * TOWERS, a.shape[1] // TOWERS, *a.shape[2:]) for a in inputs(name, dtype)]
    return tf.data.Dataset.from_tensor_slices(tuple(arrays))


@spread(("name", "dtype"), COMPARED, every=19)
def test_four_towers_train_as_the_original(name, dtype):
    strategy = tpu(TOWERS, PER_RUN)
    expected, tolerance = golden(name, dtype)
    with strategy.scope(), tf.Session() as session:
        iterator = strategy.distribute_dataset(lambda: shards(name, dtype)).make_initializable_iterator()
        variables = make_variables(dtype)
        step = tf.train.get_or_create_global_step()

        def tower(context, ids, x, y):
            loss = loss_of(name, variables, ids, x, y)
            train_op = make_optimizer(name, step).minimize(loss, global_step=step)
            context.set_last_step_output("loss", loss, MEAN)
            return train_op

        def step_fn(context, *batch):
            return strategy.group(strategy.call_for_each_tower(tower, context, *batch))

        context = strategy.run_steps_on_dataset(step_fn, iterator, PER_RUN)
        session.run([tf.global_variables_initializer(), iterator.initializer])
        for i in range(PER_RUN, STEPS + 1, PER_RUN):
            _, loss = session.run([context.run_op, context.last_step_outputs["loss"]])
            np.testing.assert_allclose(loss, expected["losses"][i - 1], rtol=tolerance, atol=tolerance)
        kept = {v.op.name: v for v in tf.global_variables() if v is not step}
        assert {f"{STEPS}/{k}" for k in kept} == {k for k in expected if k.startswith(f"{STEPS}/")}
        for key, value in session.run(kept).items():
            wanted = expected[f"{STEPS}/{key}"]
            np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance, err_msg=key)
        assert session.run(step) == STEPS


def trained(strategy, optimizer, loss_fn, runs=1):
    """A variable ``w`` of two ones after steps of an optimizer whose loss each tower computes from it."""
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0, 1.0])

        def tower():
            return optimizer.minimize(loss_fn(w))

        train_op = strategy.group(strategy.call_for_each_tower(tower))
        session.run(tf.global_variables_initializer())
        for _ in range(runs):
            session.run(train_op)
        return session.run(w)


def test_the_loss_is_scaled_unless_it_was_a_sum():
    def squares(reduction):
        def loss(w):
            return tf.losses.mean_squared_error(tf.zeros([2]), w, reduction=reduction)

        return loss

    for towers in (1, 4):
        for reduction, expected in (("weighted_mean", 0.9), ("weighted_sum", 1.0 - 0.2 * towers)):
            tf.reset_default_graph()
            got = trained(tpu(towers), tf.train.GradientDescentOptimizer(0.1), squares(reduction))
            np.testing.assert_allclose(got, [expected] * 2, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in CASES if STEP not in CASES[n][1].values()])
def test_slots_are_mirrored_and_made_once(name):
    strategy = tpu(2)
    with strategy.scope():
        w = tf.get_variable("w", initializer=[1.0, 1.0])
        optimizer = make_optimizer(name, None)
        strategy.call_for_each_tower(lambda: optimizer.minimize(tf.reduce_sum(tf.square(w))))
        for slot_name in optimizer.get_slot_names():
            slot = optimizer.get_slot(w, slot_name)
            assert type(slot) is type(w)
            assert [v.op.name for v in strategy.unwrap(slot)] == [slot.op.name, f"{slot.op.name}/replica_1"]


def test_powers_of_beta_after_two_steps():
    strategy = tpu(2)
    optimizer = tf.train.AdamOptimizer(0.1)
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0, 1.0])
        train_op = strategy.group(strategy.call_for_each_tower(lambda: optimizer.minimize(tf.reduce_sum(w))))
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        session.run(train_op)
        power = next(v for v in optimizer.variables() if v.op.name == "beta1_power")
        np.testing.assert_allclose(session.run(strategy.unwrap(power)), [0.729] * 2, rtol=1e-6)


class OnlyDense(tf.train.Optimizer):
    def __init__(self):
        super().__init__(False, "Mine")

    def _create_slots(self, var_list):
        for v in var_list:
            self._get_or_make_slot(v, tf.constant([0.0, 0.0]), "sum", "Sum")

    def _apply_dense(self, grad, var):
        total = self.get_slot(var, "sum").assign_add(grad)
        return var.assign_sub(total)


def test_a_subclass_with_slots_inside_the_loop():
    strategy = tpu(4)
    with strategy.scope(), tf.Session() as session:
        data = strategy.distribute_dataset(lambda: tf.data.Dataset.range(100).map(tf.to_float))
        iterator = data.make_initializable_iterator()
        w = tf.get_variable("w", initializer=[0.0, 0.0])

        def step_fn(context, x):
            return strategy.group(strategy.call_for_each_tower(lambda x: OnlyDense().minimize(tf.reduce_sum(w) * x), x))

        context = strategy.run_steps_on_dataset(step_fn, iterator, 3)
        session.run([tf.global_variables_initializer(), iterator.initializer])
        session.run(context.run_op)
        # Mean over towers of 0..3, 4..7 and 8..11: 1.5, 5.5, 9.5; their running sums add up.
        np.testing.assert_allclose(session.run(w), [-(3 * 1.5 + 2 * 5.5 + 9.5)] * 2)


def test_distributed_apply_called_by_the_program():
    strategy = tpu(4)
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0, 1.0])
        unused = tf.get_variable("unused", initializer=1.0)
        step = tf.train.get_or_create_global_step()

        def tower():
            pairs = optimizer.compute_gradients(tf.reduce_sum(w))
            assert [g is None for g, _ in pairs] == [False, True]
            return tf.contrib.distribute.get_tower_context().merge_call(optimizer._distributed_apply, pairs, step)

        train_op = strategy.group(strategy.call_for_each_tower(tower))
        with pytest.raises(RuntimeError, match="_distributed_apply"):
            optimizer.apply_gradients([(tf.zeros([2]), w)])
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        assert session.run([w, unused, step])[1:] == [1.0, 1]
        np.testing.assert_allclose(session.run(w), [0.5, 0.5])


def test_rows_from_several_towers_are_summed_before_the_update():
    strategy = tpu(2)
    optimizer = tf.train.AdagradOptimizer(1.0, initial_accumulator_value=1.0)
    with strategy.scope(), tf.Session() as session:
        table = tf.get_variable("table", initializer=np.zeros((3, 1), np.float32))

        def tower(index):
            rows = tf.nn.embedding_lookup(table, tf.stack([index, 1]))
            return optimizer.minimize(tf.reduce_sum(rows) * 2.0)

        train_op = strategy.group(strategy.call_for_each_tower(tower, strategy.worker_device_index))
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        # Each use contributes 2 / towers: row 0 once, row 1 three times, row 2 never.
        expected = [[-g / np.sqrt(1.0 + g * g)] for g in (1.0, 3.0, 0.0)]
        np.testing.assert_allclose(session.run(table), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("reduction", "towers", "expected"),
    [("weighted_mean", 4, 0.8), ("weighted_sum", 4, 0.2), ("weighted_mean", 1, 0.8)],
)
def test_cross_shard_optimizer(reduction, towers, expected):
    wrapped = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1), reduction)
    got = trained(tpu(towers), wrapped, lambda w: tf.reduce_sum(2.0 * w))
    np.testing.assert_allclose(got, [expected] * 2, rtol=1e-6)


def test_cross_shard_optimizer_refuses():
    with pytest.raises(ValueError, match="Unsupported reduction: none"):
        tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1), "none")
    for groups, message in (
        ([[0, 1], [2, 3]], "permutation of range"),
        ([[0]], "permutation"),
        ((0, 1), "list of list"),
        ([[0], [1, 1]], "must be equal"),
    ):
        wrapped = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1), group_assignment=groups)
        with tf.get_default_graph().under(Axis("shard", jax.devices()[:2])), pytest.raises(ValueError, match=message):
            wrapped.compute_gradients(tf.constant(1.0), [])


def test_averages_in_tower_context():
    """Of a mirrored variable its average; of towers' own values the average of their mean."""
    strategy = tpu(4)
    ema = tf.train.ExponentialMovingAverage(0.5)
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0, 1.0])
        optimizer = tf.train.GradientDescentOptimizer(1.0)

        def tower(index):
            with tf.control_dependencies([optimizer.minimize(tf.reduce_sum(w))]):
                own = tf.to_float(index) + tf.zeros([2])
                return ema.apply([w, own]), ema.average(w), ema.average(own)

        op, of_w, of_own = strategy.call_for_each_tower(tower, strategy.worker_device_index)
        session.run(tf.global_variables_initializer())
        session.run(strategy.group(op))
        np.testing.assert_allclose(session.run(of_w), [0.5, 0.5])
        np.testing.assert_allclose(session.run(of_own), [0.75, 0.75])


def test_a_schedule_made_in_tower_context():
    strategy = tpu(4)
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=0.0)
        step = tf.train.get_or_create_global_step()

        def tower():
            rate = tf.train.exponential_decay(1.0, step, 1, 0.5)
            noisy = tf.train.noisy_linear_cosine_decay(1.0, step, 10, initial_variance=0.0) * 0.0
            return tf.train.GradientDescentOptimizer(rate + noisy).minimize(-w.value(), step)

        train_op = strategy.group(strategy.call_for_each_tower(tower))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train_op)
        assert session.run(w) == 1.75


def test_one_device_strategy():
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    got = trained(strategy, tf.train.AdamOptimizer(0.1), lambda w: tf.reduce_sum(tf.square(w)), runs=2)
    tf.reset_default_graph()
    np.testing.assert_array_equal(
        got, trained(tpu(1), tf.train.AdamOptimizer(0.1), lambda w: tf.reduce_sum(tf.square(w)), runs=2)
    )


@pytest.mark.parametrize("later", [False, True])
def test_averages_of_what_each_tower_has(later):
    """Of a tower's own variable what it is for all, of a tensor the mean; tower k has k + 1, then 2 (k + 1)."""
    devices = ["/cpu:0", "/cpu:1"]
    strategy = (tf.distribute if later else tf.contrib.distribute).MirroredStrategy(devices)

    def fn():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        own = tf.get_variable(
            "own", [], initializer=tf.zeros_initializer(), synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.MEAN,
        )  # fmt: skip
        averages = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([own.assign_add(tf.cast(number, tf.float32) + 1.0)]):
            tensor = tf.identity(own, name="tensor")
            applied = averages.apply([own, tensor])
        return averages.average(own), averages.average(tensor), applied

    with strategy.scope():
        call = strategy.extended.call_for_each_replica if later else strategy.call_for_each_tower
        of_variable, of_tensor, applied = call(fn)
        applied = strategy.group(applied)
    assert (of_variable.name, of_tensor.name) == (
        "own/ExponentialMovingAverage:0", "tensor/ExponentialMovingAverage:0",
    )  # fmt: skip
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(2):
            session.run(applied)
            found.append(session.run([of_variable, of_tensor]))
    np.testing.assert_allclose(found, [[0.75, 0.75], [1.875, 1.875]])
