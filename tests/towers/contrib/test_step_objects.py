"""Step, StandardInputStep, StandardSingleLossStep and Monitor; a strategy of the user's own; the default strategy."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run, tpu

lib = tf.contrib.distribute


def data():
    return tf.data.Dataset.from_tensors([[1.0]]).repeat(12)


def single_loss(strategy, iterations):
    layer = tf.layers.Dense(1, use_bias=True)

    def loss(context, x):
        del context
        y = tf.reshape(layer(x), []) - tf.constant(1.0)
        return y * y

    return layer, lib.StandardSingleLossStep(data, loss, tf.train.GradientDescentOptimizer(0.1), strategy, iterations)


@pytest.mark.parametrize("make", [lambda: tpu(2), lambda: tpu(1), lambda: lib.OneDeviceStrategy("/cpu:0")])
def test_a_single_loss_step_learns_until_its_data_ends(make):
    strategy = make()
    layer, step = single_loss(strategy, 2)
    assert step.distribution is strategy
    with tf.Session() as sess:
        monitor = lib.Monitor(step, sess)
        monitor.run_steps(1)
        before = sess.run([layer.kernel, layer.bias])
        monitor.run_steps()
        after = sess.run([layer.kernel, layer.bias])
    error = [abs(float(np.sum(k) + np.sum(b)) - 1.0) for k, b in (before, after)]
    assert error[1] < 0.1 * max(error[0], 1e-3) or error[1] < 1e-3


def test_a_function_that_makes_an_optimizer_is_none():
    with pytest.raises(TypeError, match=r"must be a tf\.train\.Optimizer.*Call it"):
        lib.StandardSingleLossStep(lambda: [[1.0]], lambda context, x: x, lambda: None, tpu(2))


def test_monitor_needs_a_session():
    with pytest.raises(ValueError, match="Should provide a `session`"):
        lib.Monitor(lambda: None)


def test_a_step_must_define_its_call():
    step = lib.Step(tpu(2))
    with pytest.raises(NotImplementedError, match="must be implemented in descendants"):
        step()


class Doubling(lib.DistributionStrategy):
    """A user's strategy: one tower, every reduced value counts twice."""

    def _create_variable(self, next_creator, **kwargs):
        return next_creator(**kwargs)

    def _call_for_each_tower(self, fn, *args, **kwargs):
        with lib.TowerContext(self, tower_id=0):
            return fn(*args, **kwargs)

    def _reduce(self, aggregation, value, destinations):
        return 2.0 * value

    def _update(self, var, options, fn, *args, **kwargs):
        with lib.UpdateContext("/cpu:0"):
            return fn(var, *args, **kwargs)

    def _unwrap(self, value):
        return [value]

    @property
    def is_single_tower(self):
        return True

    @property
    def num_towers(self):
        return 1


def test_the_base_class_can_be_subclassed():
    strategy = Doubling()
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)

        def fn():
            return lib.get_tower_context().merge_call(
                lambda d, x: d.reduce(tf.VariableAggregation.SUM, x, "/cpu:0"), tf.constant(3.0)
            )

        six = strategy.call_for_each_tower(fn)
        assert run(strategy.update(v, lambda a, x: a.assign_add(x), six)) == 7.0
        assert run(strategy.group(six)) is None
        with pytest.raises(NotImplementedError, match="must be implemented in descendants"):
            strategy.read_var(v)
        with pytest.raises(NotImplementedError, match="must be implemented in descendants"):
            strategy.distribute_dataset(lambda: None)


def test_the_default_strategy_passes_everything_through():
    default = lib.get_distribution_strategy()
    assert default.is_single_tower
    assert default.num_towers == 1
    with default.scope():
        x = tf.constant(2.0)
        assert default.call_for_each_tower(lambda a: a, x) is x
        assert default.reduce(tf.VariableAggregation.SUM, x, None) is x
        assert default.unwrap(x) == [x]
        assert default.value_container(x) is x
        v = tf.get_variable("v", initializer=1.0)
        assert default.non_slot_devices([v]) is v
        assert run(default.update(v, lambda a, b: a.assign_add(b), x)) == 3.0
        for name in ("worker_devices", "parameter_devices"):
            with pytest.raises(RuntimeError, match="no strategy is in scope"):
                getattr(default, name)
    with tpu(2).scope(), pytest.raises(RuntimeError, match="Must not nest"), default.scope():
        pass


def test_partitioned_variables_are_not_made_in_a_strategys_scope():
    with tpu(2).scope():
        v = tf.get_variable("v", [8, 2], partitioner=tf.fixed_size_partitioner(4))
    assert v.shape.as_list() == [8, 2]
    assert len(tf.global_variables()) == 1
