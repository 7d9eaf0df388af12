"""Programs over ``tf.estimator``, run by TensorFlow 1.12 and by ours. Python 3.6 too.

Each takes ``tf`` and an empty folder, and gives what came of it as JSON has it.
"""

import logging
import os
import re

import numpy as np

from tests.golden.plain_values import plain

_RANDOM = np.random.RandomState(0)
X = _RANDOM.randn(64, 4).astype("f")
Y = (X.sum(1) > 0).astype("f")


def data(tf, passes=1, batch=8):
    """An input function of 64 rows."""
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat(passes).batch(batch)


def logistic(tf, metrics=True, rate=0.1):
    """A model function: logistic regression, from fixed weights."""

    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [4, 1], initializer=tf.constant_initializer(0.1))
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        logits = tf.squeeze(tf.matmul(features["x"], w) + b, 1)
        p = tf.sigmoid(logits, name="p")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"p": p, "yes": p > 0.5})
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
        optimizer = tf.train.MomentumOptimizer(rate, 0.9)
        return tf.estimator.EstimatorSpec(
            mode, predictions={"p": p}, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()),
            eval_metric_ops={"acc": tf.metrics.accuracy(labels, tf.round(p))} if metrics else None,
        )  # fmt: skip

    return model_fn


def config(tf, **more):
    more = dict({"save_checkpoints_steps": 7, "log_step_count_steps": 5}, **more)
    return tf.estimator.RunConfig(**more)


def trace_hook(tf, said, name="hook"):
    """A hook that says each of its calls, with the step."""

    class Trace(tf.train.SessionRunHook):
        def begin(self):
            said.append(name + " begin")
            self.step = tf.train.get_global_step()

        def after_create_session(self, session, coord):
            said.append(f"{name} created {session.run(self.step)}")

        def before_run(self, context):
            said.append(f"{name} before {len(context.original_args.fetches)}")
            return tf.train.SessionRunArgs({"step": self.step})

        def after_run(self, context, values):
            said.append("{} after {}".format(name, values.results["step"]))

        def end(self, session):
            said.append(f"{name} end {session.run(self.step)}")

    return Trace()


class Logged:
    """The lines that are logged inside of ``with``, without times and folders."""

    def __init__(self, folder):
        self.folder, self.lines = folder, []

    def __enter__(self):
        self.handler = logging.Handler()
        self.handler.emit = self.add
        logging.getLogger("tensorflow").addHandler(self.handler)
        logging.getLogger("tensorflow").setLevel(logging.INFO)
        return self.lines

    def __exit__(self, *error):
        logging.getLogger("tensorflow").removeHandler(self.handler)

    def add(self, record):
        line = record.getMessage().replace(self.folder, "FOLDER")
        line = re.sub(r"[\d.]+ sec|\d{4}-\S+|\d+\.\d+", "_", line)
        if not line.startswith(("Using config", "global_step/sec", "It seems that global step", "From ", "Deprecated")):
            self.lines.append(line)


def kept(folder):
    """The steps of the checkpoints in a folder."""
    found = {re.sub(r"\..*", "", name[len("model.ckpt-") :]) for name in os.listdir(folder) if "ckpt-" in name}
    return sorted(found, key=int)


def events(tf, folder):
    """What the event files of a folder say: (step, tag, number), and other things by their kind."""
    found = []
    for name in sorted(os.listdir(folder)):
        if "tfevents" not in name:
            continue
        for event in tf.train.summary_iterator(os.path.join(folder, name)):
            kind = event.WhichOneof("what")
            if kind != "summary":
                found.append([event.step, kind, None])
            for value in event.summary.value if kind == "summary" else ():
                if not value.tag.startswith("global_step/sec"):
                    number = value.simple_value if value.WhichOneof("value") == "simple_value" else None
                    found.append([event.step, value.tag, number])
    return found


def weights(estimator):
    return {name: plain(estimator.get_variable_value(name)) for name in estimator.get_variable_names()}


# ---- programs ------------------------------------------------------------------------------------------------------


def train_and_go_on(tf, folder):
    """Trains for steps, then to the end of the data, then up to a step; evaluates between."""
    said = []
    with Logged(folder) as lines:
        estimator = tf.estimator.Estimator(logistic(tf), folder, config(tf, keep_checkpoint_max=3))
        estimator.train(data(tf), hooks=[trace_hook(tf, said)], steps=5)
        estimator.train(data(tf, 2), hooks=[trace_hook(tf, said)])
        results = [estimator.evaluate(data(tf)), estimator.evaluate(data(tf), steps=3, name="few")]
        estimator.train(data(tf, None), max_steps=24, hooks=[trace_hook(tf, said)])
        estimator.train(data(tf, None), max_steps=24)
    return {
        "trace": said, "log": lines, "results": plain(results), "weights": weights(estimator), "kept": kept(folder),
        "events": events(tf, folder), "few": events(tf, os.path.join(folder, "eval_few")),
        "latest": estimator.latest_checkpoint().replace(folder, "FOLDER"),
    }  # fmt: skip


def evaluate_in_ways(tf, folder):
    """Before training; with hooks, names, numbers of steps and checkpoints."""
    said = []
    estimator = tf.estimator.Estimator(logistic(tf), folder, config(tf))
    with Logged(folder) as lines:
        results = [estimator.evaluate(data(tf), steps=2)]
        estimator.train(data(tf, None), steps=16)
        results.append(estimator.evaluate(data(tf), hooks=[trace_hook(tf, said)]))
        results.append(estimator.evaluate(data(tf), steps=1, hooks=[trace_hook(tf, said)], name="one"))
        first = os.path.join(folder, "model.ckpt-7")
        results.append(estimator.evaluate(data(tf), checkpoint_path=first, name="first"))
        results.append(estimator.evaluate(data(tf, 1, 64)))
    dirs = [estimator.eval_dir(), estimator.eval_dir("one")]
    return {
        "trace": said, "log": lines, "results": plain(results), "kept": kept(folder),
        "dirs": [found.replace(folder, "FOLDER") for found in dirs],
        "events": {name: events(tf, os.path.join(folder, name)) for name in ("eval", "eval_first", "eval_one")},
    }  # fmt: skip


def predict_in_ways(tf, folder):
    said = []
    estimator = tf.estimator.Estimator(logistic(tf), folder, config(tf))
    without = [[plain(p) for p in list(estimator.predict(data(tf)))[:2]]]
    estimator.train(data(tf, None), steps=8)
    with Logged(folder) as lines:
        rows = list(estimator.predict(data(tf), hooks=[trace_hook(tf, said)]))
        batches = list(estimator.predict(data(tf), yield_single_examples=False))
        one = [sorted(row) for row in estimator.predict(data(tf), predict_keys=["yes"])]
        begun = next(estimator.predict(data(tf)))

        def features_only():
            return tf.data.Dataset.from_tensor_slices({"x": X[:3]}).batch(2)

        few = list(estimator.predict(features_only, predict_keys="p"))
    return {
        "without": plain(without), "rows": plain(rows[:3]), "count": len(rows), "batches": len(batches),
        "shape": list(batches[0]["p"].shape), "one": one[:2], "begun": plain(begun), "few": plain(few), "trace": said,
        "log": lines,
    }  # fmt: skip


def batch_norm_and_averages(tf, folder):
    """Statistics of batches, averages of weights that evaluation restores, a summary, hooks of the model's own."""
    said = []

    def model_fn(features, labels, mode, params, config):
        training = mode == tf.estimator.ModeKeys.TRAIN
        h = tf.layers.dense(features["x"], 3, kernel_initializer=tf.constant_initializer(0.2), name="h")
        h = tf.layers.batch_normalization(h, training=training, momentum=0.5, name="norm")
        weights = tf.constant_initializer([[0.3], [-0.2], [0.1]])
        out = tf.squeeze(tf.layers.dense(h, 1, kernel_initializer=weights, name="out"), 1)
        averages = tf.train.ExponentialMovingAverage(0.8)
        loss = tf.losses.mean_squared_error(labels, out)
        tf.summary.scalar("mean_of_out", tf.reduce_mean(out))
        if not training:
            saver = tf.train.Saver(averages.variables_to_restore())
            scaffold = tf.train.Scaffold(saver=saver)
            ops = {"mean": tf.metrics.mean(out), "rmse": tf.metrics.root_mean_squared_error(labels, out)}
            return tf.estimator.EstimatorSpec(
                mode, loss=loss, eval_metric_ops=ops, scaffold=scaffold, evaluation_hooks=[trace_hook(tf, said, "eval")]
            )
        step = tf.train.get_global_step()
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, step)
        with tf.control_dependencies([train_op]):
            train_op = averages.apply(tf.trainable_variables())
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train_op, training_hooks=[trace_hook(tf, said, "train")],
            training_chief_hooks=[trace_hook(tf, said, "chief")],
        )  # fmt: skip

    with Logged(folder) as lines:
        estimator = tf.estimator.Estimator(
            model_fn, folder, config(tf, save_summary_steps=4, save_checkpoints_steps=6), params={"rate": 0.05}
        )
        estimator.train(data(tf, None), steps=9)
        results = estimator.evaluate(data(tf), steps=4)
    return {
        "trace": said, "log": lines, "results": plain(results), "weights": weights(estimator), "kept": kept(folder),
        "events": events(tf, folder),
    }  # fmt: skip


def warm_starts(tf, folder):
    """From a folder, by patterns, with other names."""
    first = tf.estimator.Estimator(logistic(tf), os.path.join(folder, "first"), config(tf))
    first.train(data(tf, None), steps=6)
    found, lines = [], []
    settings = tf.estimator.WarmStartSettings
    for number, start in enumerate(
        (first.model_dir, settings(first.model_dir, "w"), settings(first.model_dir, [".*"]))
    ):
        with Logged(folder) as said:
            second = tf.estimator.Estimator(
                logistic(tf), os.path.join(folder, str(number)), config(tf), warm_start_from=start
            )
            second.train(data(tf, None), steps=1)
        lines.append(said)
        found.append(weights(second))
    return {"weights": found, "log": lines}


def train_with_evaluations(tf, folder):
    """``train_and_evaluate`` with an evaluation at each checkpoint, and one by time; early stopping."""
    said = []
    with Logged(folder) as lines:
        estimator = tf.estimator.Estimator(logistic(tf), os.path.join(folder, "a"), config(tf))
        found = tf.estimator.train_and_evaluate(
            estimator,
            tf.estimator.TrainSpec(data(tf, None), max_steps=20, hooks=[trace_hook(tf, said)]),
            tf.estimator.EvalSpec(data(tf), steps=2, throttle_secs=0, start_delay_secs=0, name="often"),
        )
        again = tf.estimator.Estimator(logistic(tf, rate=40.0), os.path.join(folder, "b"), config(tf))
        stop = tf.contrib.estimator.stop_if_no_decrease_hook(
            again, "loss", max_steps_without_decrease=5, run_every_secs=None, run_every_steps=3
        )
        tf.estimator.train_and_evaluate(
            again,
            tf.estimator.TrainSpec(data(tf, None), max_steps=200, hooks=[stop]),
            tf.estimator.EvalSpec(data(tf), steps=2, throttle_secs=0, start_delay_secs=0),
        )
    metrics = tf.contrib.estimator.read_eval_metrics(again.eval_dir())
    return {
        "trace": said, "log": lines, "kept": kept(estimator.model_dir), "weights": weights(estimator),
        "none": found is None, "stopped": int(again.get_variable_value("global_step")),
        "metrics": {str(step): plain(dict(found)) for step, found in metrics.items()},
        "events": events(tf, os.path.join(estimator.model_dir, "eval_often")),
    }  # fmt: skip


def extenders(tf, folder):
    """Metrics, features and clipping that are added to an estimator."""

    def more(labels, predictions):
        return {"mean": tf.metrics.mean(predictions["p"]), "labels": tf.metrics.mean(labels)}

    estimator = tf.estimator.Estimator(logistic(tf), folder, config(tf))
    estimator = tf.contrib.estimator.add_metrics(estimator, more)
    estimator.train(data(tf, None), steps=4)
    results = estimator.evaluate(data(tf))
    forwarded = tf.contrib.estimator.forward_features(estimator, "x")
    rows = [next(forwarded.predict(data(tf))) for _ in range(2)]

    def clipped(features, labels, mode):
        w = tf.get_variable("w", [4, 1], initializer=tf.constant_initializer(0.1))
        loss = tf.reduce_sum(tf.square(tf.matmul(features["x"], w)[:, 0] - labels))
        optimizer = tf.contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(0.5), 0.25)
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step())
        )

    other = tf.estimator.Estimator(clipped, os.path.join(folder, "clipped"), config(tf))
    memory = tf.contrib.estimator.InMemoryEvaluatorHook(other, data(tf), steps=2, every_n_iter=2)
    other.train(data(tf, None), steps=3, hooks=[memory])
    return {"results": plain(results), "rows": plain(rows), "weights": weights(other)}


PROGRAMS = [
    train_and_go_on, evaluate_in_ways, predict_in_ways, batch_norm_and_averages, warm_starts, train_with_evaluations,
    extenders,
]  # fmt: skip


# ---- what is refused -----------------------------------------------------------------------------------------------


def _spec(tf, **fields):
    """A spec made in a graph of its own, from functions of that graph."""
    with tf.Graph().as_default():
        return tf.estimator.EstimatorSpec(**{k: v() if callable(v) else v for k, v in fields.items()})


def _estimator(tf, model_fn=None, **more):
    return tf.estimator.Estimator(model_fn or logistic(tf), **more)


def _of_model(tf, result):
    """Trains a step with a model function that gives what ``result`` gives."""

    def model_fn(features, labels, mode):
        return result(features, labels, mode)

    _estimator(tf, model_fn).train(data(tf), steps=1)


def _broken(kind):
    def fail():
        raise kind("broken on purpose")

    return fail


REFUSED = {
    "no_features": lambda tf: _estimator(tf, lambda labels: None),
    "no_params": lambda tf: _estimator(tf, params={"a": 1}),
    "other_argument": lambda tf: _estimator(tf, lambda features, width: None),
    "no_model": lambda tf: tf.estimator.Estimator(None),
    "no_config": lambda tf: _estimator(tf, config={"a": 1}),
    "two_folders": lambda tf: _estimator(tf, model_dir="/a", config=tf.estimator.RunConfig("/b")),
    "warm_start": lambda tf: _estimator(tf, warm_start_from=3),
    "no_warm_start": lambda tf: tf.estimator.WarmStartSettings(""),
    "steps_and_max_steps": lambda tf: _estimator(tf).train(data(tf), steps=1, max_steps=2),
    "no_steps": lambda tf: _estimator(tf).train(data(tf), steps=0),
    "negative_max_steps": lambda tf: _estimator(tf).train(data(tf), max_steps=-1),
    "no_eval_steps": lambda tf: _estimator(tf).evaluate(data(tf), steps=0),
    "hook": lambda tf: _estimator(tf).train(data(tf), hooks=["a"]),
    "listener": lambda tf: _estimator(tf).train(data(tf), saving_listeners=["a"]),
    "listener_without_saving": lambda tf: _estimator(
        tf, config=tf.estimator.RunConfig(save_checkpoints_steps=None, save_checkpoints_secs=None)
    ).train(data(tf), steps=1, saving_listeners=[tf.train.CheckpointSaverListener()]),
    "variable_before_training": lambda tf: _estimator(tf).get_variable_value("w"),
    "names_before_training": lambda tf: _estimator(tf).get_variable_names(),
    "predict_key": lambda tf: next(_estimator(tf).predict(data(tf), predict_keys=["other"])),
    "not_a_spec": lambda tf: _of_model(tf, lambda features, labels, mode: features["x"]),
    "labels": lambda tf: _estimator(
        tf, lambda features: tf.estimator.EstimatorSpec("train", loss=tf.constant(1.0), train_op=tf.no_op())
    ).train(data(tf), steps=1),
    "error_in_model": lambda tf: _of_model(tf, lambda *_: _broken(KeyError)()),
    "error_in_input": lambda tf: _estimator(tf).train(_broken(ZeroDivisionError), steps=1),
    "metric_of_the_loss": lambda tf: _estimator(
        tf,
        lambda features, labels, mode: tf.estimator.EstimatorSpec(
            mode, loss=tf.reduce_sum(labels), eval_metric_ops={"loss": tf.metrics.mean(labels)}
        ),
    ).evaluate(data(tf), steps=1),
    "metric_of_the_step": lambda tf: _estimator(
        tf,
        lambda features, labels, mode: tf.estimator.EstimatorSpec(
            mode, loss=tf.reduce_sum(labels), eval_metric_ops={"global_step": tf.metrics.mean(labels)}
        ),
    ).evaluate(data(tf), steps=1),
    "nan": lambda tf: _of_model(
        tf,
        lambda features, labels, mode: tf.estimator.EstimatorSpec(
            mode, loss=tf.reduce_sum(labels) * float("nan"), train_op=tf.assign_add(tf.train.get_global_step(), 1)
        ),
    ),
    "spec_no_loss": lambda tf: _spec(tf, mode="train", train_op=lambda: tf.no_op()),
    "spec_no_train_op": lambda tf: _spec(tf, mode="train", loss=lambda: tf.constant(1.0)),
    "spec_no_predictions": lambda tf: _spec(tf, mode="infer"),
    "spec_eval_no_loss": lambda tf: _spec(tf, mode="eval"),
    "spec_loss_shape": lambda tf: _spec(tf, mode="eval", loss=lambda: tf.constant([1.0, 2.0])),
    "spec_train_op": lambda tf: _spec(tf, mode="train", loss=lambda: tf.constant(1.0), train_op=3),
    "spec_other_graph": lambda tf: _spec(tf, mode="eval", loss=tf.constant(1.0)),
    "spec_metrics": lambda tf: _spec(tf, mode="eval", loss=lambda: tf.constant(1.0), eval_metric_ops=[1]),
    "spec_metric": lambda tf: _spec(tf, mode="eval", loss=lambda: tf.constant(1.0), eval_metric_ops={"a": 1}),
    "spec_hooks": lambda tf: _spec(tf, mode="eval", loss=lambda: tf.constant(1.0), evaluation_hooks=["a"]),
    "spec_scaffold": lambda tf: _spec(tf, mode="eval", loss=lambda: tf.constant(1.0), scaffold=3),
    "spec_export": lambda tf: _spec(tf, mode="infer", predictions=lambda: tf.constant(1.0), export_outputs=[1]),
    "spec_export_value": lambda tf: _spec(
        tf, mode="infer", predictions=lambda: tf.constant(1.0), export_outputs={"a": 1}
    ),
    "predict_output": lambda tf: tf.estimator.export.PredictOutput({"a": 1}),
    "predict_output_key": lambda tf: tf.estimator.export.PredictOutput({1: tf.constant(1.0)}),
    "classification_output": lambda tf: tf.estimator.export.ClassificationOutput(),
    "scores": lambda tf: tf.estimator.export.ClassificationOutput(scores=tf.constant(1)),
    "classes": lambda tf: tf.estimator.export.ClassificationOutput(classes=tf.constant(1)),
    "regression_output": lambda tf: tf.estimator.export.RegressionOutput(tf.constant(1)),
    "config_saving": lambda tf: tf.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1),
    "config_seed": lambda tf: tf.estimator.RunConfig(tf_random_seed=1.5),
    "config_steps": lambda tf: tf.estimator.RunConfig(save_summary_steps=-1),
    "config_keep": lambda tf: tf.estimator.RunConfig(keep_checkpoint_max=-1),
    "config_device": lambda tf: tf.estimator.RunConfig(device_fn=lambda: "a"),
    "config_session": lambda tf: tf.estimator.RunConfig(session_config={}),
    "config_replace": lambda tf: tf.estimator.RunConfig().replace(master="a"),
    "train_spec_input": lambda tf: tf.estimator.TrainSpec(3),
    "train_spec_steps": lambda tf: tf.estimator.TrainSpec(data(tf), max_steps=0),
    "train_spec_hooks": lambda tf: tf.estimator.TrainSpec(data(tf), hooks=["a"]),
    "eval_spec_steps": lambda tf: tf.estimator.EvalSpec(data(tf), steps=0),
    "eval_spec_throttle": lambda tf: tf.estimator.EvalSpec(data(tf), throttle_secs=-1),
    "eval_spec_delay": lambda tf: tf.estimator.EvalSpec(data(tf), start_delay_secs=-1),
    "eval_spec_exporter": lambda tf: tf.estimator.EvalSpec(data(tf), exporters=[3]),
    "eval_spec_name": lambda tf: tf.estimator.EvalSpec(data(tf), name=3),
    "not_an_estimator": lambda tf: tf.estimator.train_and_evaluate(
        3, tf.estimator.TrainSpec(data(tf)), tf.estimator.EvalSpec(data(tf))
    ),
    "not_specs": lambda tf: tf.estimator.train_and_evaluate(_estimator(tf), 1, 2),
    "overridden": lambda tf: type("Mine", (tf.estimator.Estimator,), {"train": lambda self: None})(logistic(tf)),
    "numpy_shuffle": lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X}, Y),
    "numpy_kind": lambda tf: tf.estimator.inputs.numpy_input_fn([1, 2], shuffle=False)(),
    "numpy_empty": lambda tf: tf.estimator.inputs.numpy_input_fn({}, shuffle=False)(),
    "numpy_empty_array": lambda tf: tf.estimator.inputs.numpy_input_fn(np.zeros(0), shuffle=False)(),
    "numpy_empty_targets": lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X}, {}, shuffle=False)(),
    "numpy_lengths": lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X}, Y[1:], shuffle=False)(),
    "numpy_lengths_of_targets": lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X}, {"y": Y[1:]}, shuffle=False)(),
    "numpy_lengths_of_features": lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X, "z": Y[1:]}, shuffle=False)(),
    "numpy_names": lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X}, {"x": Y}, shuffle=False)(),
    "forwarded_keys": lambda tf: tf.contrib.estimator.forward_features(_estimator(tf), 3),
    "forwarded_missing": lambda tf: next(
        tf.contrib.estimator.forward_features(_estimator(tf), "other").predict(data(tf))
    ),
    "forwarded_twice": lambda tf: next(
        tf.contrib.estimator.forward_features(
            tf.contrib.estimator.forward_features(_estimator(tf), "x"), ["x"]
        ).predict(data(tf))
    ),
}
"""What raises."""


def refusal(tf, name):
    """The type and the message of the error, without what differs from process to process."""
    try:
        with tf.Graph().as_default():
            REFUSED[name](tf)
    except Exception as error:
        said = re.sub(r"0x[0-9a-f]+|/tmp/\w+|(tests\.golden\.)?estimator_cases\.", "_", str(error))
        return [type(error).__name__, said]
    return None


def refusals(tf):
    return {name: refusal(tf, name) for name in REFUSED}


# ---- input functions -----------------------------------------------------------------------------------------------

ROWS = {"a": np.arange(5), "b": np.arange(10.0).reshape(5, 2)}
INPUTS = {
    "alone": {"x": ROWS, "shuffle": False, "batch_size": 2},
    "array": {"x": ROWS["b"], "shuffle": False, "batch_size": 2},
    "targets": {"x": ROWS, "y": np.arange(5) * 10, "shuffle": False, "batch_size": 2, "num_epochs": 2},
    "several_targets": {
        "x": ROWS["a"], "y": {"q": np.arange(5), "p": np.arange(5) * 2}, "shuffle": False, "batch_size": 3,
    },
    "without_end": {"x": ROWS, "shuffle": False, "batch_size": 3, "num_epochs": None},
    "whole": {"x": ROWS, "shuffle": False},
    "text": {"x": {"t": np.array(["a", "bc"])}, "shuffle": False, "batch_size": 1},
    "flags": {"x": {"t": np.array([True, False, True])}, "shuffle": False, "batch_size": 2},
}  # fmt: skip


def batches(tf, limit=7, **arguments):
    """The first batches of ``numpy_input_fn``, and whether they came to an end."""
    found = []
    with tf.Graph().as_default():
        following = tf.estimator.inputs.numpy_input_fn(**arguments)()
        with tf.train.MonitoredSession() as session:
            while len(found) < limit and not session.should_stop():
                found.append(plain(session.run(following)))
    return found


def shuffled_rows(tf, **arguments):
    """All rows of shuffled batches in order: how often each came."""
    rows = [row for batch in batches(tf, 100, x={"a": np.arange(20)}, shuffle=True, **arguments) for row in batch["a"]]
    return sorted(rows)
