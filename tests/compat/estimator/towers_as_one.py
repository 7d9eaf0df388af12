"""Estimators whose towers all get one batch, beside the same training of one device: models, what is added, strategies.

``python -m tests.compat.estimator.towers_as_one [WORD ...]`` prints the table, or its rows that have all of the words.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import towerstrat.compat.v1 as tf

STEPS, BATCH, WIDTH, TOWERS = 4, 6, 8, 2
_RANDOM = np.random.RandomState(3)
X = _RANDOM.rand(STEPS, BATCH, WIDTH).astype(np.float32)
IDS = _RANDOM.randint(0, 10, (STEPS, BATCH, 3)).astype(np.int32)
LABELS = (X.sum(2, keepdims=True) > WIDTH / 2).astype(np.float32)


def constant(value: float) -> Any:
    """An initializer that is no other on other towers, and makes no two units alike."""

    def fill(shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
        size = int(np.prod(shape))
        return tf.constant(value * np.cos(np.arange(size)).reshape(shape), dtype)

    return fill


# ---- models: (features, whether it trains) -> [batch, 1] -----------------------------------------------------------


def dense(features: Any, training: bool) -> Any:
    return tf.layers.dense(features["x"], 4, tf.nn.relu, kernel_initializer=constant(0.3), name="first")


def batch_norm(features: Any, training: bool) -> Any:
    hidden = tf.layers.dense(features["x"], 4, kernel_initializer=constant(0.3), name="first")
    return tf.nn.relu(tf.layers.batch_normalization(hidden, momentum=0.5, training=training, name="bn"))


def recurrent(features: Any, training: bool) -> Any:
    """With an initial state that is trained."""
    cell = tf.nn.rnn_cell.GRUCell(3, kernel_initializer=constant(0.4))
    start = tf.get_variable("start", [1, 3], initializer=tf.constant_initializer(0.1))
    steps = tf.reshape(features["x"], [-1, 4, 2])
    outputs, _ = tf.nn.dynamic_rnn(cell, steps, initial_state=tf.tile(start, [tf.shape(steps)[0], 1]))
    return outputs[:, -1]


def embedding(features: Any, training: bool) -> Any:
    table = tf.get_variable("table", [10, 4], initializer=constant(0.5))
    return tf.reduce_mean(tf.nn.embedding_lookup(table, features["ids"]), 1)


def convolution(features: Any, training: bool) -> Any:
    images = tf.reshape(features["x"], [-1, 2, 4, 1])
    return tf.layers.flatten(
        tf.layers.conv2d(images, 2, 2, activation=tf.nn.tanh, kernel_initializer=constant(0.4), name="conv")
    )


def loop(features: Any, training: bool) -> Any:
    kernel = tf.get_variable("kernel", [WIDTH, WIDTH], initializer=constant(0.2))
    return tf.while_loop(
        lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, kernel))), [tf.constant(0), features["x"]]
    )[1]


MODELS = {f.__name__: f for f in (dense, batch_norm, recurrent, embedding, convolution, loop)}


# ---- what is added -------------------------------------------------------------------------------------------------


def _descent(rate: Any = 0.2) -> Any:
    return tf.train.GradientDescentOptimizer(rate)


class Extra:
    """An addition to the plain training of a model."""

    def train_op(self, loss: Any) -> Any:
        return _descent().minimize(loss, tf.train.get_global_step())

    def spec(self, mode: str, logits: Any, labels: Any, loss: Any) -> dict[str, Any]:
        """Further fields of the ``EstimatorSpec``."""
        return {}

    config: dict[str, Any] = {}
    warm: str | None = None

    def run(self, estimator: Any, rows: Callable[[int | None], Any]) -> dict[str, Any]:
        """Trains and evaluates: what is compared."""
        estimator.train(rows(None), steps=STEPS)
        return dict(estimator.evaluate(rows(1)))


class Optimizers(Extra):
    """An optimizer with slots."""

    def __init__(self, make: Callable[[], Any]):
        self._make = make

    def train_op(self, loss: Any) -> Any:
        return self._make().minimize(loss, tf.train.get_global_step())


class Clipped(Extra):
    """Gradients that are clipped by their norm, each tower's by itself."""

    def train_op(self, loss: Any) -> Any:
        optimizer = _descent()
        pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]
        towers = tf.distribute.get_strategy().num_replicas_in_sync  # a tower's gradient is that of a part of the loss
        clipped, _ = tf.clip_by_global_norm([tf.convert_to_tensor(g) for g, _ in pairs], 1e-3 / towers)
        return optimizer.apply_gradients(zip(clipped, [v for _, v in pairs], strict=True), tf.train.get_global_step())


class Decay(Extra):
    """A rate that falls with the steps."""

    def train_op(self, loss: Any) -> Any:
        step = tf.train.get_global_step()
        return _descent(tf.train.exponential_decay(0.3, step, 2, 0.5)).minimize(loss, step)


class Averages(Extra):
    """Moving averages of all variables that train, and of the loss."""

    def train_op(self, loss: Any) -> Any:
        averages = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([super().train_op(loss)]):
            return averages.apply([*tf.trainable_variables(), loss])


class TwoOptimizers(Extra):
    """The first variable has an optimizer of its own."""

    def train_op(self, loss: Any) -> Any:
        first, *others = tf.trainable_variables()
        slow = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[first])
        with tf.control_dependencies([slow]):
            return _descent().minimize(loss, tf.train.get_global_step(), var_list=others)


class Metrics(Extra):
    def spec(self, mode: str, logits: Any, labels: Any, loss: Any) -> dict[str, Any]:
        score = tf.sigmoid(logits)
        return {
            "eval_metric_ops": {
                "auc": tf.metrics.auc(labels, score),
                "accuracy": tf.metrics.accuracy(labels, tf.round(score)),
                "precision": tf.metrics.precision_at_thresholds(labels, score, [0.4, 0.5]),
                "sensitivity": tf.metrics.sensitivity_at_specificity(labels, score, 0.5),
                "error": tf.metrics.root_mean_squared_error(labels, score),
                "distance": tf.metrics.mean_cosine_distance(labels, score, 1),
                "top": tf.metrics.average_precision_at_k(tf.cast(labels, tf.int64), tf.concat([-logits, logits], 1), 1),
            }
        }


class Predictions(Extra):
    def run(self, estimator: Any, rows: Callable[[int | None], Any]) -> dict[str, Any]:
        estimator.train(rows(None), steps=STEPS)
        one = tf.data.Dataset.from_tensors({"x": X[0], "ids": IDS[0]})
        return {"logits": np.array([row["logits"] for row in estimator.predict(lambda: one)])}


class WarmStart(Extra):
    warm = ".*"


class Evaluations(Extra):
    """``train_and_evaluate``, with an exporter."""

    config = {"save_checkpoints_steps": 2}

    def run(self, estimator: Any, rows: Callable[[int | None], Any]) -> dict[str, Any]:
        receive = tf.estimator.export.build_parsing_serving_input_receiver_fn(
            {"x": tf.FixedLenFeature([8], tf.float32)}
        )
        evaluation = tf.estimator.EvalSpec(
            rows(1), steps=None, throttle_secs=0, start_delay_secs=0,
            exporters=tf.estimator.LatestExporter("latest", receive),
        )  # fmt: skip
        training = tf.estimator.TrainSpec(rows(None), max_steps=STEPS)
        results, exported = tf.estimator.train_and_evaluate(estimator, training, evaluation)
        kept = tf.contrib.framework.load_checkpoint(os.path.join(exported[0].decode(), "variables", "variables"))
        return {**results, "exported": kept.get_tensor("global_step")}


class Watched(tf.train.SessionRunHook):
    """Values of tensors by their names."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(["seen_loss:0", tf.train.get_global_step()])

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.seen.append([float(value) for value in run_values.results])


class Hooks(Extra):
    """Hooks that name a tensor of the model, and early stopping that stops nothing."""

    def run(self, estimator: Any, rows: Callable[[int | None], Any]) -> dict[str, Any]:
        watched = Watched()
        stop = tf.contrib.estimator.stop_if_no_decrease_hook(estimator, "loss", 10**6)
        logs = tf.train.LoggingTensorHook(["seen_loss"], every_n_iter=1)
        estimator.train(rows(None), steps=STEPS, hooks=[watched, logs, stop])
        return {"seen": watched.seen[-1]}


class Stopped(Extra):
    """Early stopping that stops at its first look."""

    def run(self, estimator: Any, rows: Callable[[int | None], Any]) -> dict[str, Any]:
        stop = tf.contrib.estimator.make_early_stopping_hook(estimator, lambda: True, None, 1)
        estimator.train(rows(None), steps=STEPS, hooks=[stop])
        return {}


class ScaffoldFields(Extra):
    """Initial values that are fed, a saver, functions and operations of the program's."""

    def spec(self, mode: str, logits: Any, labels: Any, loss: Any) -> dict[str, Any]:
        tf.summary.scalar("of_the_model", loss)
        offset = tf.get_variable("offset", [], initializer=tf.zeros_initializer(), trainable=False)
        fed = tf.placeholder_with_default(1.0, [])
        with tf.control_dependencies([tf.global_variables_initializer()]):
            initialized = tf.identity(fed)
        return {
            "scaffold": tf.train.Scaffold(
                init_op=initialized.op, init_feed_dict={fed: 2.0},
                init_fn=lambda scaffold, session: offset.load(3.0, session) if hasattr(offset, "load") else None,
                summary_op=tf.summary.merge_all(), saver=tf.train.Saver(max_to_keep=1),
                local_init_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
            )
        }  # fmt: skip


class Summaries(Extra):
    """Summaries of the model, each step: what is in the events."""

    config = {"save_summary_steps": 1}

    def train_op(self, loss: Any) -> Any:
        tf.summary.scalar("of_the_model", loss)
        tf.summary.histogram("of_a_variable", tf.trainable_variables()[0])
        return super().train_op(loss)

    def run(self, estimator: Any, rows: Callable[[int | None], Any]) -> dict[str, Any]:
        estimator.train(rows(None), steps=STEPS)
        events = [os.path.join(estimator.model_dir, name) for name in sorted(os.listdir(estimator.model_dir))]
        return {
            f"{value.tag} {event.step}": value.simple_value
            for path in events if ".tfevents." in path
            for event in tf.train.summary_iterator(path)
            for value in event.summary.value
            if not value.tag.startswith("global_step")
        }  # fmt: skip


class Config(Extra):
    """Fields of ``RunConfig``."""

    config = {
        "tf_random_seed": 5, "save_checkpoints_steps": 2, "keep_checkpoint_max": 1, "log_step_count_steps": 1,
        "keep_checkpoint_every_n_hours": 1, "save_summary_steps": 2,
    }  # fmt: skip

    def run(self, estimator: Any, rows: Callable[[int | None], Any]) -> dict[str, Any]:
        estimator.train(rows(None), steps=STEPS)
        return {"kept": len([n for n in os.listdir(estimator.model_dir) if n.endswith(".index")])}


EXTRAS: dict[str, Extra] = {
    "plain": Extra(),
    "adam": Optimizers(lambda: tf.train.AdamOptimizer(0.05)),
    "momentum": Optimizers(lambda: tf.train.MomentumOptimizer(0.1, 0.9)),
    "clipped": Clipped(),
    "decay": Decay(),
    "averages": Averages(),
    "two_optimizers": TwoOptimizers(),
    "metrics": Metrics(),
    "predictions": Predictions(),
    "warm_start": WarmStart(),
    "evaluations": Evaluations(),
    "hooks": Hooks(),
    "stopped": Stopped(),
    "scaffold": ScaffoldFields(),
    "summaries": Summaries(),
    "config": Config(),
}
OF_A_STEP = {"hooks", "stopped", "scaffold", "summaries"}
"""Additions that name a step's tensors, or look at single steps: a step loop has its own."""


# ---- strategies ----------------------------------------------------------------------------------------------------

_DEVICES = [f"/device:CPU:{i}" for i in range(TOWERS)]


def _tpu() -> Any:
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=2, num_cores=TOWERS)


STRATEGIES: dict[str, Callable[[], Any]] = {
    "contrib": lambda: tf.contrib.distribute.MirroredStrategy(_DEVICES),
    "later": lambda: tf.distribute.MirroredStrategy(_DEVICES),
    "tpu": _tpu,
}


def _rows(strategy: str | None) -> Callable[[int | None], Any]:
    """Passes over the data (None: without end) -> an input function that gives every tower the same batches."""

    def each(array: Any) -> Any:
        if strategy is None:
            return array
        return np.repeat(array, TOWERS, 0)

    def rows(passes: int | None) -> Callable[[], Any]:
        arrays = ({"x": each(X), "ids": each(IDS)}, each(LABELS))
        flat = ({k: a.reshape(-1, *a.shape[2:]) for k, a in arrays[0].items()}, arrays[1].reshape(-1, 1))
        return lambda: tf.data.Dataset.from_tensor_slices(flat).repeat(passes).batch(BATCH, drop_remainder=True)

    return rows


def _model_fn(model: str, extra: Extra) -> Callable[..., Any]:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        training = mode == tf.estimator.ModeKeys.TRAIN
        hidden = MODELS[model](features, training)
        logits = tf.layers.dense(hidden, 1, kernel_initializer=constant(0.5), name="last")
        if labels is None:
            return tf.estimator.EstimatorSpec(mode, predictions={"logits": logits})
        loss = tf.reduce_mean(tf.square(logits - labels), name="seen_loss")
        train_op = None
        if training:
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                train_op = extra.train_op(loss)
        more = extra.spec(mode, logits, labels, loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, **more)

    return model_fn


def trained(model: str, name: str, strategy: str | None, folder: str) -> dict[str, Any]:
    """The result of a row: each variable of the checkpoint, and what is added."""
    extra = EXTRAS[name]
    made = STRATEGIES[strategy]() if strategy else None
    config = tf.estimator.RunConfig(train_distribute=made, eval_distribute=made, **extra.config)
    start = None
    if extra.warm:
        first = tf.estimator.Estimator(_model_fn(model, Extra()), os.path.join(folder, "first"))
        first.train(_rows(None)(None), steps=2)
        start = tf.estimator.WarmStartSettings(first.model_dir, extra.warm)
    estimator = tf.estimator.Estimator(
        _model_fn(model, extra), os.path.join(folder, "model"), config, warm_start_from=start
    )
    results = extra.run(estimator, _rows(strategy))
    variables = {v: estimator.get_variable_value(v) for v in estimator.get_variable_names()}
    own = {v.replace("tower/", ""): value for v, value in variables.items() if not _of_the_run(v)}
    return {**own, **{f"result {k}": np.asarray(v) for k, v in results.items()}}


def _of_the_run(variable: str) -> bool:
    return "steps_per_run" in variable or "signal_early_stopping" in variable


def difference(found: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    """The difference between two results, or None."""
    if sorted(found) != sorted(wanted):
        return f"names: {sorted(found.keys() ^ wanted.keys())}"
    apart = [k for k, v in wanted.items() if not np.allclose(found[k], v, rtol=2e-4, atol=2e-6)]
    return f"{apart[0]}: {found[apart[0]]}, expected {wanted[apart[0]]}" if apart else None


ROWS = [(m, e, s) for m in MODELS for e in EXTRAS for s in STRATEGIES if not (s == "tpu" and e in OF_A_STEP)]


def main() -> None:
    jax.config.update("jax_num_cpu_devices", TOWERS)
    chosen = [row for row in ROWS if set(sys.argv[1:]) <= set(row)]
    alone: dict[tuple[str, str], dict[str, Any]] = {}
    for model, extra, strategy in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                if (model, extra) not in alone:
                    alone[model, extra] = trained(model, extra, None, os.path.join(folder, "alone"))
                found = trained(model, extra, strategy, folder)
                said = difference(found, alone[model, extra]) or "equal"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
        print(f"{model:12} {extra:15} {strategy:8} {' '.join(said.split())[:200]}", flush=True)


if __name__ == "__main__":
    main()
