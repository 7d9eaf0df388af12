"""Estimators over strategies: the values of one device, in fewer runs."""

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from tests.golden.estimator_cases import X, Y, logistic
from tests.spread import spread

STEPS, BATCH = 24, 8
contrib, later = tf.contrib.distribute.TPUStrategy, tf.distribute.experimental.TPUStrategy
STRATEGIES = {
    "contrib": lambda: contrib(Devices(jax.devices()[:2]), steps_per_run=6),
    "contrib, one tower": lambda: contrib(Devices(jax.devices()[:1]), steps_per_run=6),
    "contrib, one device": lambda: tf.contrib.distribute.OneDeviceStrategy("/cpu:0"),
    "later": lambda: later(Devices(jax.devices()[:2])),
    "later, steps": lambda: later(Devices(jax.devices()[:4]), steps_per_run=6),
    "later, one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
}


class Steps(tf.train.SessionRunHook):
    """The step after each run."""

    def __init__(self):
        self.seen = []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, run_context, run_values):
        self.seen.append(int(run_values.results))


def trained(folder, strategy=None, towers=1, steps=STEPS, **more):
    """Weights, results of two evaluations, and the steps after the runs."""

    def rows(passes):
        data = tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat(passes)
        return lambda: data.batch(BATCH // towers, drop_remainder=True)

    config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy, **more)
    estimator = tf.estimator.Estimator(logistic(tf), str(folder), config)
    hook = Steps()
    estimator.train(rows(None), steps=steps, hooks=[hook])
    results = [estimator.evaluate(rows(1)), estimator.evaluate(rows(None), steps=4)]
    return estimator.get_variable_value("w"), results, hook.seen


def alike(found, wanted):
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
    for ours, other in zip(found[1], wanted[1], strict=True):
        assert sorted(ours) == sorted(other) == ["acc", "global_step", "loss"]
        np.testing.assert_allclose([ours[k] for k in sorted(ours)], [other[k] for k in sorted(other)], rtol=1e-5)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Without a strategy."""
    return trained(tmp_path_factory.mktemp("alone"))


@pytest.mark.long
@pytest.mark.parametrize("name", STRATEGIES)
def test_values_are_those_of_one_device(name, alone, tmp_path):
    strategy = STRATEGIES[name]()
    towers = strategy.num_replicas_in_sync
    found = trained(tmp_path, strategy, towers)
    alike(found, alone)
    each = getattr(strategy, "steps_per_run", 1)
    assert found[2] == list(range(each, STEPS + 1, each))


MEAN, SUM = "weighted_sum_over_batch_size", "weighted_sum"


@spread(
    ("make", "reduction", "times"), [(later, MEAN, 1), (later, SUM, 2), (contrib, SUM, 2), (contrib, MEAN, 1)], every=2
)
def test_losses_are_divided_by_towers_but_for_sums(make, reduction, times, tmp_path):
    """What the gradient is, and what is reported: a sum over towers counts each tower, a mean all of them once."""
    seen = []

    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.losses.mean_squared_error(tf.ones([1]), w + tf.zeros([1]), reduction=reduction)
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    class Losses(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(run_context.original_args.fetches[1])

        def after_run(self, run_context, run_values):
            seen.append(float(run_values.results))

    strategy = make(Devices(jax.devices()[:2]), steps_per_run=1)
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), tf.estimator.RunConfig(train_distribute=strategy))
    data = tf.data.Dataset.from_tensors(([0.0], [0.0])).repeat
    estimator.train(lambda: data(), steps=1, hooks=[Losses()])
    np.testing.assert_allclose(estimator.get_variable_value("w"), 0.2 * times, rtol=1e-6)
    assert seen == [times]


@pytest.mark.long
@pytest.mark.parametrize("evaluating", [contrib, None])
def test_evaluations_while_towers_train(evaluating, tmp_path):
    """The graph of an evaluation is another than that of training: there the strategy is entered anew, or none is."""
    two = Devices(jax.devices()[:2])

    def rows():
        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(4, drop_remainder=True)

    config = tf.estimator.RunConfig(
        save_checkpoints_steps=6, train_distribute=contrib(two, 3), eval_distribute=evaluating and evaluating(two, 3)
    )
    estimator = tf.estimator.Estimator(logistic(tf), str(tmp_path), config)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(rows, max_steps=12),
        tf.estimator.EvalSpec(rows, steps=6, throttle_secs=0, start_delay_secs=0),
    )
    found = tf.contrib.estimator.read_eval_metrics(estimator.eval_dir())
    assert list(found)[-1] == 12
    assert found[12]["loss"] < 0.4


def test_metrics_with_a_value_for_each_tower_are_refused(tmp_path):
    """A count of one tower is not the metric of all; what is made of values of all is taken once."""
    strategy = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def model_fn(features, labels, mode, params):
        loss = tf.reduce_mean(features["x"])
        value, update = tf.metrics.mean(features["x"])
        own = tf.get_variable("own", [], initializer=tf.zeros_initializer(), trainable=False,
                              synchronization=tf.VariableSynchronization.ON_READ)  # fmt: skip
        values = {"negative": (-value, update)}
        if params["own"]:
            values["counted"] = (own + 0.0, own.assign_add(1.0))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.no_op(), eval_metric_ops=values)

    def rows():
        return tf.data.Dataset.from_tensor_slices(({"x": X[:8]}, Y[:8])).batch(4)

    def evaluated(own):
        config = tf.estimator.RunConfig(eval_distribute=strategy)
        estimator = tf.estimator.Estimator(model_fn, str(tmp_path), config, params={"own": own})
        if not estimator.latest_checkpoint():
            estimator.train(rows, steps=1)
        return estimator.evaluate(rows)

    np.testing.assert_allclose(evaluated(False)["negative"], -X[:8].mean(), rtol=1e-6)
    with pytest.raises(ValueError, match="The metric 'counted' has another value on each tower"):
        evaluated(True)
