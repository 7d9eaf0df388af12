"""What a training leaves: variables of towers, log lines, events, and where it runs."""

import glob
import logging

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.compat.estimator.tpu.test_modes import BATCH, LABELS, ROWS, TOWERS, by_hand
from towerstrat.platform import addresses

tpu = tf.contrib.tpu


def rows(params):
    return tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).repeat().batch(params["batch_size"], drop_remainder=True)


def keeping(features, labels, mode, params):
    """Each tower keeps its loss; all keep the mean of the first column."""
    weights = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    own = tf.get_variable("own", [], trainable=False, initializer=tf.zeros_initializer())
    common = tf.get_variable("common", [], trainable=False, initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(features * weights, 1) - labels))
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = (lambda own: {"own": tf.metrics.mean(own)}, [own[None]])
        return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
    mean = tpu.cross_replica_sum(tf.reduce_mean(features[:, 0])) / TOWERS
    keep = [own.assign(loss), common.assign(mean)]
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    with tf.control_dependencies(keep):
        train = optimizer.minimize(loss, tf.train.get_global_step())
    step = tf.train.get_global_step()
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=(params["host"], [step[None], loss[None]]))


def test_variables_events_and_lines(tmp_path, caplog, monkeypatch):
    """A variable that towers write differently has a copy on each: the first one's is saved, and seen afterwards."""
    monkeypatch.setattr(addresses, "_said", False)

    def host(step, loss):
        writer = tf.contrib.summary.create_file_writer(str(tmp_path / "each"))
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            tf.contrib.summary.scalar("loss", tf.reduce_mean(loss), step=step[0])
            return tf.contrib.summary.all_summary_ops()

    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("grpc://10.0.0.2:8470", zone="z", project="p")
    loop = tpu.TPUConfig(2, num_shards=TOWERS, experimental_host_call_every_n_steps=2)
    config = tpu.RunConfig(
        cluster=resolver, model_dir=str(tmp_path), tpu_config=loop, save_checkpoints_steps=4, log_step_count_steps=2
    )
    with caplog.at_level(logging.INFO, "tensorflow"):
        model = tpu.TPUEstimator(
            keeping, config=config, params={"host": host}, train_batch_size=BATCH, eval_batch_size=BATCH
        )  # fmt: skip
        model.train(rows, max_steps=6)
    steps = [np.split(np.arange(BATCH) + BATCH * (i % 3), TOWERS) for i in range(6)]
    weights, losses = by_hand(steps)
    np.testing.assert_allclose(model.get_variable_value("w"), weights, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.get_variable_value("own"), losses[-1][0], rtol=1e-5)
    np.testing.assert_allclose(
        model.get_variable_value("common"), np.mean(ROWS[np.concatenate(steps[-1]), 0]), rtol=1e-5
    )
    evaluated = model.evaluate(rows, steps=1)
    np.testing.assert_allclose(evaluated["own"], losses[-1][0], rtol=1e-5)

    (file,) = glob.glob(str(tmp_path / "each" / "*"))
    events = [(e.step, v.simple_value) for e in tf.train.summary_iterator(file) for v in e.summary.value]
    np.testing.assert_allclose(events, [(i + 1, np.mean(losses[i])) for i in (1, 3, 5)], rtol=1e-5)
    lines = [record.getMessage() for record in caplog.records]
    assert sum("the devices of this machine" in line for line in lines) == 1
    said = [line for line in lines if line.startswith(("loss = ", "examples/sec: ", "Saving checkpoints for "))]
    assert [line.split(",")[-1].split("(")[0].strip() for line in said if line.startswith("loss")] == [
        "step = 2", "step = 4", "step = 6",
    ]  # fmt: skip
    assert sum(line.startswith("examples/sec") for line in said) == 2
    assert [line.split()[3] for line in said if line.startswith("Saving")] == ["0", "4", "6"]


@pytest.mark.long
def test_loops_of_so_many_seconds(tmp_path):
    """The first one makes a single step; later ones grow with what was measured."""
    runs = []

    class Steps(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            runs.append(int(run_context.session.run(tf.train.get_global_step())))

    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig("5s", num_shards=2))
    params = {"host": lambda step, loss: tf.no_op()}
    model = tpu.TPUEstimator(keeping, config=config, params=params, train_batch_size=BATCH)
    model.train(rows, max_steps=50, hooks=[Steps()])
    assert runs[0] == 1
    assert runs[-1] == 50
    assert len(runs) < 50


@pytest.mark.long
def test_an_error_of_a_host_call_reaches_the_program(tmp_path):
    def fails(loss):
        raise ValueError("no place for it")

    def host(step, loss):
        return tf.py_func(fails, [loss], [])

    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(2, num_shards=2))
    model = tpu.TPUEstimator(keeping, config=config, params={"host": host}, train_batch_size=BATCH)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no place for it"):
        model.train(rows, max_steps=6)


@pytest.mark.long
def test_host_calls_of_an_evaluation(tmp_path):
    """They are run with the rows of all towers in each step, also of a batch that is not full."""
    seen = []

    def evaluating(features, labels, mode, params):
        loss = tf.reduce_mean(tf.square(labels)) + tf.get_variable("zero", [], initializer=tf.zeros_initializer())
        call = (lambda y: tf.py_func(lambda found: seen.append(np.copy(found)), [y], []), [labels])
        return tpu.TPUEstimatorSpec(mode, loss=loss, host_call=call)

    def some(params):
        return tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).take(BATCH + 3).batch(params["batch_size"])

    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(2, num_shards=TOWERS))
    model = tpu.TPUEstimator(evaluating, config=config, train_batch_size=BATCH, eval_batch_size=BATCH)
    model.evaluate(some)
    assert [len(found) for found in seen] == [BATCH, 3]
    np.testing.assert_array_equal(np.concatenate(seen), LABELS[: BATCH + 3])


@pytest.mark.long
def test_a_host_call_without_tensors_is_run_in_each_step(tmp_path):
    calls = []

    def training(features, labels, mode, params):
        loss = tf.reduce_mean(tf.square(tf.layers.dense(features, 1)))
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        train = optimizer.minimize(loss, tf.train.get_global_step())
        call = (lambda: tf.py_func(lambda: calls.append(1), [], []), [])
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=call)

    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(2, num_shards=TOWERS))
    tpu.TPUEstimator(training, config=config, train_batch_size=BATCH).train(rows, max_steps=5)
    assert len(calls) == 5
