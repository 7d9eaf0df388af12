"""Each way to put steps together runs one scan of as many: read from the jaxprs of the programs that ran."""

import weakref

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.towers.common import tpu
from towerstrat.graph.eager import mode
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS

ROWS = np.random.RandomState(0).randn(64, 3).astype(np.float32)
LABELS = ROWS.sum(1, keepdims=True)


def loops_of(jaxpr):
    """Of the outermost loops of a program the lengths of scans; None for one of a number that it is told."""
    for equation in jaxpr.eqns:
        name, inner = equation.primitive.name, equation.params.get("jaxpr")
        if name == "scan":
            yield equation.params["length"]
        elif name == "while":
            yield None
        elif inner is not None:
            yield from loops_of(getattr(inner, "jaxpr", inner))


@pytest.fixture
def ran(monkeypatch):
    """Of each program of a loop that ran, in order, the length of its scan, or None."""
    found, loops, traced = [], weakref.WeakKeyDictionary(), []
    lower, lowered, call = jax.stages.Traced.lower, Program.lowered, Program.__call__

    def lower_noted(stage, *args, **kwargs):
        traced.append(list(loops_of(stage.jaxpr.jaxpr)))
        return lower(stage, *args, **kwargs)

    def lowered_noted(program, *args):
        made = lowered(program, *args)
        loops[program] = traced[-1]
        return made

    def call_noted(program, *args):
        made = call(program, *args)
        if type(program).__name__ in ("StepLoopProgram", "_DataLoopProgram"):
            found.extend(loops[program])
        return made

    monkeypatch.setattr(LIMITS, "compare_loops", False)
    monkeypatch.setattr(jax.stages.Traced, "lower", lower_noted)
    monkeypatch.setattr(Program, "lowered", lowered_noted)
    monkeypatch.setattr(Program, "__call__", call_noted)
    return found


def loss_of(rows, labels):
    return tf.losses.mean_squared_error(labels, tf.layers.dense(rows, 1))


def batches(size=4):
    return tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).repeat().batch(size, drop_remainder=True)


def test_run_steps_on_dataset(ran):
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = batches().make_one_shot_iterator()
        run_op = strategy.run_steps_on_dataset(
            lambda c, rows, labels: strategy.group(
                strategy.call_for_each_tower(
                    lambda x, y: tf.train.GradientDescentOptimizer(0.1).minimize(loss_of(x, y)), rows, labels
                )
            ),
            iterator,
            8,
        ).run_op
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            sess.run(run_op)
    assert ran == [8, 8]


def test_a_single_loss_step(ran):
    strategy = tpu(2)
    step = tf.contrib.distribute.StandardSingleLossStep(
        batches, lambda context, x, y: loss_of(x, y), tf.train.GradientDescentOptimizer(0.1), strategy, 8
    )
    with tf.Session() as sess:
        tf.contrib.distribute.Monitor(step, sess).run_steps(2)
    assert ran == [8, 8]


@pytest.mark.parametrize("towers", [1, 2])
def test_iterations_of_a_tpu_estimator(ran, tmp_path, towers):
    def model(features, labels, mode, params):
        loss = loss_of(features, labels)
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        train = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)

    loop = tf.contrib.tpu.TPUConfig(8, num_shards=towers)
    config = tf.contrib.tpu.RunConfig(model_dir=str(tmp_path), tpu_config=loop)
    estimator = tf.contrib.tpu.TPUEstimator(model, config=config, train_batch_size=4)
    estimator.train(lambda params: batches(params["batch_size"]), max_steps=19)
    assert ran == [8, 8, None, None]


def test_steps_per_execution_of_keras(ran):
    with mode.eager_mode():
        keras = tf2.keras
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", steps_per_execution=8)
        model.fit(tf2.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(4), verbose=0)
        keras.backend.clear_session()
    assert ran == [8, 8]


def test_steps_per_return_of_a_monitored_session(ran):
    x, y = batches().make_one_shot_iterator().get_next()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss_of(x, y), tf.train.get_or_create_global_step())
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(60)]) as sess:
        while not sess.should_stop():
            sess.run(train)
    check_steps_ahead(ran, 60)


def test_steps_per_return_of_an_estimator(ran, tmp_path):
    def model(features, labels, mode):
        loss = loss_of(features, labels)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    tf.estimator.Estimator(model, str(tmp_path)).train(batches, steps=60)
    check_steps_ahead(ran, 60)


def check_steps_ahead(ran, steps):
    """How many run ahead is limited by how long they take; nothing but scans and the told loop runs them."""
    scans = [length for length in ran if length is not None]
    assert scans
    assert set(scans) <= set(range(2, steps))
    assert sum(scans) + 2 * ran.count(None) >= steps
