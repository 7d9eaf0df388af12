"""tf.contrib.estimator.replicate_model_fn and TowerOptimizer, run by TensorFlow 1.12 and by ours. Python 3.6 too.

A case takes ``tf`` and an empty folder, and gives values for JSON; those named ``error_...`` raise.
"""

import numpy as np

_RANDOM = np.random.RandomState(1)
X = np.round(_RANDOM.randn(32, 3), 2).astype("f")
IDS = _RANDOM.randint(0, 5, 32).astype("i")
Y = (X.sum(1) > 0).astype("f")
DEVICES = ["/cpu:0", "/cpu:0"]


def data(tf, batch=8, passes=1):
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": X, "ids": IDS}, Y)).repeat(passes).batch(batch)


def model(tf, wrap=True, optimizer=None, mean=True):
    """A model function over a dense and an embedded feature."""

    def model_fn(features, labels, mode, params):
        table = tf.get_variable("table", initializer=np.linspace(-0.5, 0.5, 5).astype("f"))
        w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(params["start"]))
        logits = tf.squeeze(tf.matmul(features["x"], w), 1) + tf.gather(table, features["ids"])
        p = tf.sigmoid(logits, name="p")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"p": p, "ids": features["ids"]})
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses) if mean else tf.reduce_sum(losses)
        make = optimizer or (lambda: tf.train.MomentumOptimizer(0.5, 0.9))
        used = tf.contrib.estimator.TowerOptimizer(make) if wrap else make()
        train_op = None
        if mode == tf.estimator.ModeKeys.TRAIN:
            train_op = used.minimize(loss, tf.train.get_global_step())
        metrics = {"acc": tf.metrics.accuracy(labels, tf.round(p)), "mean": tf.metrics.mean(p)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)

    return model_fn


def estimated(devices, reduction=None, **options):
    """Training, evaluation and predictions by an estimator."""

    def case(tf, folder):
        more = {} if reduction is None else {"loss_reduction": reduction}
        model_fn = tf.contrib.estimator.replicate_model_fn(model(tf, **options), devices=devices, **more)
        estimator = tf.estimator.Estimator(model_fn, model_dir=folder, params={"start": 0.1})
        estimator.train(data(tf, passes=None), steps=6)
        values = {name: estimator.get_variable_value(name).tolist() for name in estimator.get_variable_names()}
        result = {k: float(v) for k, v in estimator.evaluate(data(tf)).items()}
        rows = list(estimator.predict(data(tf)))
        return [values, result, [float(r["p"]) for r in rows[:10]], [int(r["ids"]) for r in rows], len(rows)]

    return case


def direct(mode):
    """What the replicated function gives in a graph, and the names in it."""

    def case(tf, folder):
        with tf.Graph().as_default():
            tf.train.create_global_step()
            ids = tf.constant(IDS[:8]) if mode == "train" else tf.placeholder_with_default(IDS[:8], [None])
            features, labels = {"x": tf.constant(X[:8]), "ids": ids}, tf.constant(Y[:8])
            model_fn = tf.contrib.estimator.replicate_model_fn(model(tf), devices=DEVICES)
            spec = model_fn(features, None if mode == "infer" else labels, mode, {"start": 0.1})
            with tf.Session() as session:
                session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                found = [spec.mode, [v.name for v in tf.global_variables()], [v.name for v in tf.local_variables()]]
                if mode == "infer":
                    return found + [{k: np.asarray(v).tolist() for k, v in session.run(spec.predictions).items()}]
                found += [spec.loss.name, float(session.run(spec.loss))]
                found.append([name in {op.name for op in tf.get_default_graph().get_operations()} for name in (
                    "p", "tower_1/p", "tower_2/p", "averaged_loss", "tower_1/averaged_loss")])  # fmt: skip
                if mode == "train":
                    session.run(spec.train_op)
                    found.append(session.run(tf.trainable_variables()[1]).tolist())
                else:
                    session.run([update for _, update in spec.eval_metric_ops.values()])
                    found.append({k: float(session.run(v)) for k, (v, _) in spec.eval_metric_ops.items()})
                return found

    return case


def alone(tf, folder):
    """Without ``replicate_model_fn``."""
    w = tf.get_variable("w", initializer=[1.0, 2.0])
    optimizer = tf.contrib.estimator.TowerOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
    before = optimizer.has_been_used()
    train = optimizer.minimize(tf.reduce_sum(w * w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        return [
            before, optimizer.has_been_used(), session.run(w).tolist(), optimizer.get_name(),
            optimizer.get_slot_names(), optimizer.get_slot(w, "momentum").name, [v.name for v in optimizer.variables()],
        ]  # fmt: skip


def exported(tf, folder):
    """The outputs for export of all towers."""

    def model_fn(features, labels, mode):
        scores = features * 2.0
        output = tf.estimator.export
        return tf.estimator.EstimatorSpec(
            mode,
            predictions={"scores": scores},
            export_outputs={
                "serving_default": output.PredictOutput({"doubled": scores}),
                "value": output.RegressionOutput(features[:, 0]),
                "class": output.ClassificationOutput(scores=scores, classes=tf.as_string(features)),
            },
        )

    with tf.Graph().as_default(), tf.Session() as session:
        spec = tf.contrib.estimator.replicate_model_fn(model_fn, devices=DEVICES)(
            tf.constant(X[:4]), None, tf.estimator.ModeKeys.PREDICT
        )
        outputs = spec.export_outputs
        found = session.run(
            [outputs["serving_default"].outputs["doubled"], outputs["value"].value, outputs["class"].scores]
        )
        return [sorted(outputs), [v.tolist() for v in found], outputs["class"].classes.shape.as_list()]


def no_reduction(tf, folder):
    tf.contrib.estimator.replicate_model_fn(model(tf), tf.losses.Reduction.NONE)


def uneven(tf, folder):
    model_fn = tf.contrib.estimator.replicate_model_fn(model(tf), devices=["/cpu:0"] * 3)
    model_fn({"x": tf.constant(X[:8]), "ids": tf.constant(IDS[:8])}, tf.constant(Y[:8]), "train", {"start": 0.1})


def unwrapped(tf, folder):
    tf.train.create_global_step()
    model_fn = tf.contrib.estimator.replicate_model_fn(model(tf, wrap=False), devices=DEVICES)
    model_fn({"x": tf.constant(X[:8]), "ids": tf.constant(IDS[:8])}, tf.constant(Y[:8]), "train", {"start": 0.1})


def differing(optimizers):
    def case(tf, folder):
        calls = []

        def model_fn(features, labels, mode):
            calls.append(1)
            w = tf.get_variable("w", initializer=1.0)
            loss = tf.reduce_mean(features) * w
            if optimizers and len(calls) == 1:
                tf.contrib.estimator.TowerOptimizer(tf.train.GradientDescentOptimizer(0.1)).minimize(loss)
            train = tf.contrib.estimator.TowerOptimizer(tf.train.GradientDescentOptimizer(0.1)).minimize(loss)
            metrics = {"mean": tf.metrics.mean(features)} if optimizers or len(calls) == 1 else {}
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)

        mode = tf.estimator.ModeKeys.TRAIN if optimizers else tf.estimator.ModeKeys.EVAL
        tf.contrib.estimator.replicate_model_fn(model_fn, devices=["/cpu:0"] * 3)(tf.constant(X[:6]), None, mode)

    return case


CASES = {
    "direct_train": direct("train"), "two": estimated(DEVICES), "four": estimated(["/cpu:0"] * 4),
    "one": estimated(DEVICES[:1]), "alone": alone, "sums": estimated(DEVICES, "weighted_sum", mean=False),
    "exported": exported, "direct_predict": direct("infer"), "direct_eval": direct("eval"),
    "error_no_reduction": no_reduction, "error_uneven": uneven, "error_unwrapped": unwrapped,
    "error_optimizers": differing(True), "error_metrics": differing(False),
}  # fmt: skip


def run(tf, name, folder):
    """What a case gives, in a graph of its own; an error is its type and text."""
    try:
        with tf.Graph().as_default():
            return CASES[name](tf, folder)
    except ValueError as error:
        if not name.startswith("error_"):
            raise
        return [type(error).__name__, str(error)]
