"""``TPUEstimator`` whose cores all get one batch, beside the same training without cores: models, what is added, cores.

``python -m tests.compat.estimator.tpu.cores_as_one [WORD ...]`` prints the table, or its rows that have all the words.
"""

from __future__ import annotations

import glob
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import towerstrat.compat.v1 as tf
from tests.compat.estimator.towers_as_one import BATCH, IDS, LABELS, MODELS, STEPS, X, constant, difference

tpu = tf.contrib.tpu


def _descent(rate: Any = 0.2) -> Any:
    return tf.train.GradientDescentOptimizer(rate)


class Extra:
    """An addition to the plain training of a model; ``iterations`` steps are one loop."""

    def __init__(self, iterations: int = 2, optimizer: Callable[[], Any] | None = None, warm: str | None = None):
        self.iterations = iterations
        self.optimizer = optimizer or _descent
        self.warm = warm

    def train_op(self, loss: Any) -> Any:
        optimizer = tpu.CrossShardOptimizer(self.optimizer())
        return optimizer.minimize(loss, tf.train.get_global_step())

    def spec(self, folder: str, mode: str, logits: Any, labels: Any, loss: Any) -> dict[str, Any]:
        """Further fields of the ``TPUEstimatorSpec``."""
        return {}

    def run(self, estimator: Any, rows: Callable[[int | None], Any], folder: str) -> dict[str, Any]:
        """Trains and evaluates: what is compared."""
        estimator.train(rows(None), steps=STEPS)
        return dict(estimator.evaluate(rows(1), steps=STEPS))


class Clipped(Extra):
    """Gradients that are clipped by their norm, each core's by itself: that of a part of the loss."""

    cores = 1

    def train_op(self, loss: Any) -> Any:
        optimizer = tpu.CrossShardOptimizer(_descent())
        pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]
        clipped, _ = tf.clip_by_global_norm([tf.convert_to_tensor(g) for g, _ in pairs], 1e-3 / self.cores)
        return optimizer.apply_gradients(zip(clipped, [v for _, v in pairs], strict=True), tf.train.get_global_step())


class Averages(Extra):
    """Moving averages of all variables that train."""

    def train_op(self, loss: Any) -> Any:
        averages = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([super().train_op(loss)]):
            return averages.apply(tf.trainable_variables())


class Metrics(Extra):
    def spec(self, folder: str, mode: str, logits: Any, labels: Any, loss: Any) -> dict[str, Any]:
        def metrics(labels: Any, score: Any) -> dict[str, Any]:
            return {
                "auc": tf.metrics.auc(labels, score),
                "accuracy": tf.metrics.accuracy(labels, tf.round(score)),
                "per_class": tf.metrics.mean_per_class_accuracy(labels, tf.round(score), 2),
                "error": tf.metrics.root_mean_squared_error(labels, score),
            }

        return {"eval_metrics": (metrics, [labels, tf.sigmoid(logits)])}


class HostCall(Extra):
    """Events of the step, the loss and the mean of all cores' scores, that a function of the host writes."""

    def spec(self, folder: str, mode: str, logits: Any, labels: Any, loss: Any) -> dict[str, Any]:
        def host(step: Any, loss: Any, logits: Any) -> Any:
            writer = tf.contrib.summary.create_file_writer(os.path.join(folder, "events"))
            with writer.as_default(), tf.contrib.summary.always_record_summaries():
                tf.contrib.summary.scalar("loss", tf.reduce_mean(loss), step=step[0])
                tf.contrib.summary.scalar("score", tf.reduce_mean(logits), step=step[0])
                return tf.contrib.summary.all_summary_ops()

        step = tf.reshape(tf.train.get_global_step(), [1])
        return {"host_call": (host, [step, tf.reshape(loss, [1]), logits])} if mode == "train" else {}

    def run(self, estimator: Any, rows: Callable[[int | None], Any], folder: str) -> dict[str, Any]:
        estimator.train(rows(None), steps=STEPS)
        (path,) = glob.glob(os.path.join(folder, "events", "*"))
        return {
            f"{value.tag} {event.step}": value.simple_value
            for event in tf.train.summary_iterator(path) for value in event.summary.value
        }  # fmt: skip


class ScaffoldFields(Extra):
    """A saver and an initial value of a function of the program's."""

    def spec(self, folder: str, mode: str, logits: Any, labels: Any, loss: Any) -> dict[str, Any]:
        offset = tf.get_variable("offset", [], initializer=tf.zeros_initializer(), trainable=False)

        def scaffold() -> Any:
            def start(scaffold: Any, session: Any) -> None:
                offset.load(3.0, session)

            return tf.train.Scaffold(init_fn=start, saver=tf.train.Saver(max_to_keep=1))

        return {"scaffold_fn": scaffold}

    def run(self, estimator: Any, rows: Callable[[int | None], Any], folder: str) -> dict[str, Any]:
        results = super().run(estimator, rows, folder)
        return {**results, "kept": len(glob.glob(os.path.join(estimator.model_dir, "*.index")))}


class Predictions(Extra):
    def run(self, estimator: Any, rows: Callable[[int | None], Any], folder: str) -> dict[str, Any]:
        estimator.train(rows(None), steps=STEPS)
        one = {"x": X[0], "ids": IDS[0]}
        found = estimator.predict(lambda params: tf.data.Dataset.from_tensors(one))
        return {"logits": np.array([row["logits"] for row in found])}


EXTRAS: dict[str, Extra] = {
    "plain": Extra(),
    "adam": Extra(optimizer=lambda: tf.train.AdamOptimizer(0.05)),
    "momentum": Extra(optimizer=lambda: tf.train.MomentumOptimizer(0.1, 0.9)),
    "decay": Extra(
        optimizer=lambda: _descent(tf.train.exponential_decay(0.3, tf.train.get_global_step(), 2, 0.5))
    ),
    "clipped": Clipped(),
    "averages": Averages(),
    "metrics": Metrics(),
    "host_call": HostCall(),
    "scaffold": ScaffoldFields(),
    "predictions": Predictions(),
    "warm_start": Extra(warm=".*"),
    "loops of 1": Extra(1),
    "loops of 3": Extra(3),
    "a long loop": Extra(9),
    "host_call, loops of 3": HostCall(3),
}  # fmt: skip


def _rows(cores: int) -> Callable[[int | None], Any]:
    """Passes over the data (None: without end) -> an input function that gives every core the same batches."""

    def each(array: Any) -> Any:
        return np.concatenate([array] * cores, 1)

    def rows(passes: int | None) -> Callable[[Any], Any]:
        arrays = ({"x": each(X), "ids": each(IDS)}, each(LABELS))
        return lambda params: tf.data.Dataset.from_tensor_slices(arrays).repeat(passes)

    return rows


def _model_fn(model: str, extra: Extra, folder: str) -> Callable[..., Any]:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        training = mode == tf.estimator.ModeKeys.TRAIN
        hidden = MODELS[model](features, training)
        logits = tf.layers.dense(hidden, 1, kernel_initializer=constant(0.5), name="last")
        if labels is None:
            return tpu.TPUEstimatorSpec(mode, predictions={"logits": logits})
        loss = tf.reduce_mean(tf.square(logits - labels))
        train_op = None
        if training:
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                train_op = extra.train_op(loss)
        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, **extra.spec(folder, mode, logits, labels, loss)
        )

    return model_fn


def trained(model: str, name: str, cores: int | None, folder: str) -> dict[str, Any]:
    """The result of a row, each variable of the checkpoint and what is added; without cores where these are None."""
    extra, count = EXTRAS[name], cores or 1
    if isinstance(extra, Clipped):
        extra.cores = count

    def estimator(extra: Extra, name: str, warm: Any = None) -> Any:
        size = BATCH * count
        config = tpu.RunConfig(
            model_dir=os.path.join(folder, name), tpu_config=tpu.TPUConfig(extra.iterations, num_shards=count)
        )
        return tpu.TPUEstimator(
            _model_fn(model, extra, folder), config=config, use_tpu=cores is not None, train_batch_size=size,
            eval_batch_size=size, predict_batch_size=BATCH, warm_start_from=warm,
        )  # fmt: skip

    start = None
    if extra.warm:
        first = estimator(Extra(), "first")
        first.train(_rows(count)(None), steps=2)
        start = tf.estimator.WarmStartSettings(first.model_dir, extra.warm)
    model_of_row = estimator(extra, "model", start)
    results = extra.run(model_of_row, _rows(count), folder)
    variables = {v: model_of_row.get_variable_value(v) for v in model_of_row.get_variable_names()}
    own = {v: value for v, value in variables.items() if "iterations" not in v and "steps_per_run" not in v}
    return {**own, **{f"result {k}": np.asarray(v) for k, v in results.items()}}


ROWS = [(m, e, n) for m in MODELS for e in EXTRAS for n in (1, 2)]


def main() -> None:
    jax.config.update("jax_num_cpu_devices", 2)
    chosen = [row for row in ROWS if set(sys.argv[1:]) <= {str(part) for part in row}]
    alone: dict[tuple[str, str], dict[str, Any]] = {}
    for model, extra, cores in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                if (model, extra) not in alone:
                    alone[model, extra] = trained(model, extra, None, os.path.join(folder, "alone"))
                found = trained(model, extra, cores, folder)
                said = difference(found, alone[model, extra]) or "equal"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
        print(f"{model:12} {extra:22} {cores} {' '.join(said.split())[:300]}", flush=True)


if __name__ == "__main__":
    main()
