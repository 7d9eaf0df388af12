"""Input modes, datasets and tensors, with towers and without: training, evaluation and prediction against numpy."""

import itertools

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from towerstrat.graph.runtime.loops.step_loop_stage import LoopStage

tpu = tf.contrib.tpu
MODES = {
    "per_shard": tpu.InputPipelineConfig.PER_SHARD_V1,
    "per_host": tpu.InputPipelineConfig.PER_HOST_V1,
    "per_host_v2": tpu.InputPipelineConfig.PER_HOST_V2,
    "broadcast": tpu.InputPipelineConfig.BROADCAST,
}
TOWERS, BATCH, RATE = 4, 8, 0.1
ROWS = np.random.default_rng(0).normal(size=(3 * BATCH, 2)).astype(np.float32)
LABELS = (ROWS @ [1.0, -2.0] + 0.5).astype(np.float32)


def model_fn(features, labels, mode, params):
    weights = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    found = tf.reduce_sum(features * weights, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"found": found, "row": features})
    loss = tf.reduce_mean(tf.square(found - labels))
    if mode == tf.estimator.ModeKeys.EVAL:

        def metrics(found, labels, number):
            return {
                "error": tf.metrics.mean_absolute_error(labels, found),
                "rows": tf.metrics.mean(tf.to_float(tf.size(labels))),
                "towers": tf.metrics.mean(tf.to_float(tf.size(number))),
            }

        tensors = {"found": found, "labels": labels, "number": tf.ones([1])}
        return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metrics, tensors))
    optimizer = tf.train.GradientDescentOptimizer(RATE)
    if params["use_tpu"]:
        optimizer = tpu.CrossShardOptimizer(optimizer)
    train = optimizer.minimize(loss, tf.train.get_global_step())
    seen = params["seen"]

    def host(loss, labels):
        return tf.py_func(lambda *values: seen.append([np.copy(v) for v in values]), [loss, labels], [])

    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=(host, [loss[None], labels]))


class Seen(list):
    """What host calls were given; a copy of the parameters has the same list."""

    def __deepcopy__(self, memo):
        return self


def estimator(folder, mode, use_tpu=True, iterations=3, seen=None, **more):
    loop = tpu.TPUConfig(iterations, num_shards=TOWERS, per_host_input_for_training=mode)
    config = tpu.RunConfig(model_dir=str(folder), tpu_config=loop, save_checkpoints_steps=1000)
    params = {"seen": Seen() if seen is None else seen}
    return tpu.TPUEstimator(
        model_fn, config=config, params=params, use_tpu=use_tpu, train_batch_size=BATCH, eval_batch_size=BATCH,
        predict_batch_size=BATCH, **more,
    )  # fmt: skip


def reading(count, as_tensors, drops):
    """An input function over the first rows."""

    def input_fn(params):
        data = tf.data.Dataset.from_tensor_slices((ROWS[:count], LABELS[:count]))
        if "context" in params:
            _, number, calls, _ = params["context"].current_input_fn_deployment()
            data = data.shard(calls, number)
        data = data.batch(params["batch_size"], drop_remainder=drops)
        return data.make_one_shot_iterator().get_next() if as_tensors else data

    return input_fn


def parts(mode, use_tpu, count):
    """[step][tower]: the numbers of the rows that a tower trains with."""
    numbers, each = np.arange(count), BATCH // TOWERS
    if not use_tpu:
        return [[numbers[i : i + BATCH]] for i in range(0, count - BATCH + 1, BATCH)]
    if mode == MODES["broadcast"]:
        return [[numbers[i : i + BATCH]] * TOWERS for i in range(0, count - BATCH + 1, BATCH)]
    if mode == MODES["per_shard"]:
        steps = min(len(numbers[i::TOWERS]) for i in range(TOWERS)) // each
        return [[numbers[i::TOWERS][s * each : (s + 1) * each] for i in range(TOWERS)] for s in range(steps)]
    return [np.split(numbers[i : i + BATCH], TOWERS) for i in range(0, count - BATCH + 1, BATCH)]


def by_hand(steps):
    """(weights, the losses of the towers in each step)."""
    weights, losses = np.zeros(2), []
    for towers in steps:
        errors = [ROWS[rows].astype(float) @ weights - LABELS[rows] for rows in towers]
        losses.append([np.mean(e**2) for e in errors])
        gradients = [2 * ROWS[rows].T.astype(float) @ e / len(rows) for rows, e in zip(towers, errors, strict=True)]
        weights = weights - RATE * np.mean(gradients, axis=0)
    return weights, losses


CASES = list(itertools.product(MODES, (False, True), (True, False), (BATCH, BATCH + 3, 2 * BATCH + 5, 3 * BATCH)))


@spread(("mode", "as_tensors", "use_tpu", "count"), CASES, every=37)
def test_training_evaluation_prediction(mode, as_tensors, use_tpu, count, tmp_path):
    seen = Seen()
    model = estimator(tmp_path, MODES[mode], use_tpu, seen=seen)
    model.train(reading(count, as_tensors, True), steps=10)
    steps = parts(MODES[mode], use_tpu, count)
    weights, losses = by_hand(steps)
    assert model.get_variable_value("global_step") == len(steps)
    np.testing.assert_allclose(model.get_variable_value("w"), weights, rtol=1e-5, atol=1e-6)
    assert len(seen) == len(steps)
    for (loss, labels), wanted, towers in zip(seen, losses, steps, strict=True):
        np.testing.assert_allclose(loss, wanted, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(labels, LABELS[np.concatenate(towers)])

    copies = TOWERS if use_tpu and MODES[mode] == MODES["broadcast"] else 1
    batches = [np.arange(i, min(i + BATCH, count)) for i in range(0, count, BATCH)]
    evaluated = model.evaluate(reading(count, as_tensors, False))
    errors = ROWS[:count].astype(float) @ weights - LABELS[:count]
    np.testing.assert_allclose(evaluated["error"], np.mean(np.abs(errors)), rtol=1e-4)
    np.testing.assert_allclose(evaluated["loss"], np.mean([np.mean(errors[b] ** 2) for b in batches]), rtol=1e-4)
    np.testing.assert_allclose(evaluated["rows"], copies * count / len(batches), rtol=1e-6)

    found = list(model.predict(reading(count, as_tensors, False)))
    order = np.concatenate([np.tile(batch, copies) for batch in batches])
    np.testing.assert_array_equal([each["row"] for each in found], ROWS[order])
    np.testing.assert_allclose([each["found"] for each in found], ROWS[order] @ weights, rtol=1e-4, atol=1e-5)


@spread("count", [13, *range(1, 13), *range(14, 2 * BATCH + 2)], every=20)
def test_batches_that_do_not_suffice_for_all_towers(count, tmp_path):
    """Of known shapes too all are evaluated, and predicted for; a value per tower is that of one with rows."""
    model = estimator(tmp_path, MODES["per_host_v2"])
    whole = count // 2 * 2

    def drops(params):
        return reading(count, False, True)(params)

    if whole:
        evaluated = model.evaluate(drops)
        steps = [np.arange(i, min(i + BATCH, whole)) for i in range(0, whole, BATCH)]
        np.testing.assert_allclose(evaluated["error"], np.mean(np.abs(LABELS[:whole])), rtol=1e-5)
        np.testing.assert_allclose(evaluated["loss"], np.mean([np.mean(LABELS[s] ** 2) for s in steps]), rtol=1e-5)
        np.testing.assert_allclose(evaluated["towers"], np.mean([len(s) / 2 for s in steps]), rtol=1e-6)
    found = [each["row"] for each in model.predict(reading(count, False, False))]
    np.testing.assert_array_equal(found, ROWS[:count])


def test_towers_without_rows_do_not_count(tmp_path):
    """Neither in the loss, whose mean over no rows is not a number, nor in metrics."""
    count = BATCH + 1
    evaluated = estimator(tmp_path, MODES["per_host"]).evaluate(reading(count, False, False))
    steps = [LABELS[:BATCH], LABELS[BATCH:count]]
    np.testing.assert_allclose(evaluated["loss"], np.mean([np.mean(labels**2) for labels in steps]), rtol=1e-5)
    np.testing.assert_allclose(evaluated["error"], np.mean(np.abs(LABELS[:count])), rtol=1e-5)


def test_loops_of_any_length_train_alike(tmp_path, monkeypatch):
    """One step loop for each so many steps, the last one for those that are left."""
    loops = []
    run = LoopStage.run
    monkeypatch.setattr(LoopStage, "run", lambda self, given: (loops.append(self), run(self, given))[1])

    def rows(params):
        return tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).repeat().batch(params["batch_size"], True)

    wanted = by_hand([np.split(np.arange(BATCH) + BATCH * (i % 3), TOWERS) for i in range(22)])[1]
    for iterations, count in ((1, 22), (7, 4), (100, 1)):
        seen = Seen()
        loops.clear()
        estimator(tmp_path / str(iterations), True, iterations=iterations, seen=seen).train(rows, max_steps=22)
        assert len(loops) == count
        np.testing.assert_allclose([loss for loss, _ in seen], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("axis", [None, (0, 0), (1, 0)])
def test_batch_axis(axis, tmp_path):
    """Each component may be divided along a dimension of its own."""
    turned = axis is not None and axis[0] == 1

    def turning(features, labels, mode, params):
        return model_fn(tf.transpose(features) if turned else features, labels, mode, params)

    def rows(params):
        data = reading(BATCH, False, True)(params)
        return data.map(lambda x, y: (tf.transpose(x), y)) if turned else data

    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(1, num_shards=TOWERS))
    model = tpu.TPUEstimator(
        turning, config=config, params={"seen": Seen()}, train_batch_size=BATCH, batch_axis=axis
    )  # fmt: skip
    model.train(rows, steps=1)
    np.testing.assert_allclose(model.get_variable_value("w"), by_hand([[np.arange(BATCH)]])[0], rtol=1e-5)
