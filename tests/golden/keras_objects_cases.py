"""Losses, metrics, optimizers and schedules of keras 2.15: programs that keras_objects.py runs on the original.

Every function takes the namespace of 2.x and a name of its table, and returns plain values.
"""

import numpy as np

_R = np.random.RandomState(3)
REAL = _R.randn(6, 3).astype("float32")
OTHER = _R.randn(6, 3).astype("float32")
POSITIVE = (np.abs(_R.randn(6, 3)) + 0.1).astype("float32")
COUNTS = _R.poisson(2.0, (6, 3)).astype("float32")
ODDS = (np.exp(OTHER) / np.exp(OTHER).sum(1, keepdims=True)).astype("float32")
RATES = (1 / (1 + np.exp(-2 * REAL))).astype("float32")
BITS = (_R.rand(6, 3) > 0.4).astype("float32")
LABELS = np.array([0, 2, 1, 1, 0, 2], "int64")
ONE_HOT = np.eye(3, dtype="float32")[LABELS]
WEIGHTS = np.array([1.0, 0.5, 0.0, 2.0, 1.5, 0.25], "float32")
MASK = np.array([True, True, False, True, False, True])


def plain(value):
    """A value as JSON has it: tensors and arrays as lists, objects of configurations by their types' names."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "to_list"):
        return value.to_list()
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else repr(value)
    return value if isinstance(value, (str, int, bool, type(None))) else type(value).__name__


# Losses: name -> (class, arguments, targets, predictions)
LOSSES = {
    "binary": ("BinaryCrossentropy", {}, BITS, RATES),
    "binary_logits": ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.2}, BITS, REAL),
    "binary_axis": ("BinaryCrossentropy", {"axis": 0}, BITS, RATES),
    "focal": ("BinaryFocalCrossentropy", {"gamma": 1.5}, BITS, RATES),
    "focal_balanced": (
        "BinaryFocalCrossentropy",
        {"apply_class_balancing": True, "alpha": 0.3, "from_logits": True, "label_smoothing": 0.1}, BITS, REAL,
    ),
    "categorical": ("CategoricalCrossentropy", {}, ONE_HOT, ODDS),
    "categorical_rates": ("CategoricalCrossentropy", {}, ONE_HOT, RATES),
    "categorical_logits": ("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, ONE_HOT, REAL),
    "categorical_axis": ("CategoricalCrossentropy", {"axis": 0}, ONE_HOT, ODDS),
    "categorical_focal": ("CategoricalFocalCrossentropy", {}, ONE_HOT, ODDS),
    "categorical_focal_logits": (
        "CategoricalFocalCrossentropy",
        {"alpha": [0.2, 0.3, 0.5], "gamma": 1.0, "from_logits": True, "label_smoothing": 0.1}, ONE_HOT, REAL,
    ),
    "categorical_hinge": ("CategoricalHinge", {}, ONE_HOT, REAL),
    "cosine": ("CosineSimilarity", {}, OTHER, REAL),
    "cosine_axis": ("CosineSimilarity", {"axis": 0}, OTHER, REAL),
    "hinge": ("Hinge", {}, BITS, REAL),
    "hinge_signs": ("Hinge", {}, 2 * BITS - 1, REAL),
    "huber": ("Huber", {"delta": 0.7}, OTHER, REAL),
    "divergence": ("KLDivergence", {}, ODDS, RATES),
    "log_cosh": ("LogCosh", {}, OTHER, REAL),
    "absolute": ("MeanAbsoluteError", {}, OTHER, REAL),
    "percentage": ("MeanAbsolutePercentageError", {}, OTHER, REAL),
    "squared": ("MeanSquaredError", {}, OTHER, REAL),
    "squared_integers": ("MeanSquaredError", {}, LABELS[:, None], REAL),
    "logarithmic": ("MeanSquaredLogarithmicError", {}, POSITIVE, RATES),
    "poisson": ("Poisson", {}, COUNTS, POSITIVE),
    "sparse": ("SparseCategoricalCrossentropy", {}, LABELS, ODDS),
    "sparse_column": ("SparseCategoricalCrossentropy", {}, LABELS[:, None], ODDS),
    "sparse_logits": ("SparseCategoricalCrossentropy", {"from_logits": True}, LABELS, REAL),
    "sparse_ignored": ("SparseCategoricalCrossentropy", {"ignore_class": 1, "from_logits": True}, LABELS, REAL),
    "sparse_ignored_rates": ("SparseCategoricalCrossentropy", {"ignore_class": 2}, LABELS, ODDS),
    "squared_hinge": ("SquaredHinge", {}, BITS, REAL),
}  # fmt: skip


def loss(tf, name, wrap=lambda f: f):
    """What a loss gives by each reduction, with weights, a mask and neither, with the gradients of the predictions."""
    kind, how, targets, predictions = LOSSES[name]
    losses = tf.keras.losses

    def value(made, weights, mask):
        def run(given):
            if mask is not None:
                given = tf.identity(given)
                given._keras_mask = tf.constant(mask)
            return made(tf.constant(targets), given, sample_weight=weights)

        shown = tf.constant(predictions)

        def both():
            with tf.GradientTape() as tape:
                tape.watch(shown)
                found = run(shown)
            return found, tape.gradient(found, shown)

        return wrap(both)()

    rows = kind == "SparseCategoricalCrossentropy" or "axis" not in how or how["axis"] == -1
    found = {"config": getattr(losses, kind)(**how).get_config()}
    for reduction in ("none", "sum", "sum_over_batch_size"):
        made = getattr(losses, kind)(reduction=reduction, **how)
        made = losses.deserialize(losses.serialize(made))
        found[reduction] = value(made, None, None)
        found[reduction + "_scalar"] = value(made, 2.0, None)
        if rows:
            found[reduction + "_weights"] = value(made, WEIGHTS, None)
            found[reduction + "_column"] = value(made, WEIGHTS[:, None], None)
            found[reduction + "_mask"] = value(made, WEIGHTS, MASK)
    return plain(found)


RAGGED = {
    "binary_crossentropy": ({}, [[1.0, 0.0], [1.0]], [[0.8, 0.3], [0.4]]),
    "binary_focal_crossentropy": ({}, [[1.0, 0.0], [1.0]], [[0.8, 0.3], [0.4]]),
    "categorical_crossentropy": (
        {}, [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]]], [[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4]]],
    ),
    "mean_absolute_error": ({}, [[1.0, 3.0], [2.0]], [[1.5, 2.0], [0.0]]),
    "mean_absolute_percentage_error": ({}, [[1.0, 3.0], [2.0]], [[1.5, 2.0], [0.5]]),
    "mean_squared_error": ({}, [[1.0, 3.0], [2.0]], [[1.5, 2.0], [0.0]]),
    "mean_squared_logarithmic_error": ({}, [[1.0, 3.0], [2.0]], [[1.5, 2.0], [0.0]]),
    "sparse_categorical_crossentropy": ({}, [[0, 1], [1]], [[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4]]]),
}  # fmt: skip


def ragged(tf, name, wrap=lambda f: f):
    """A function of losses, and its class, of targets and predictions whose rows have different lengths."""
    how, targets, predictions = RAGGED[name]
    inner = 1 if isinstance(predictions[0][0], list) else 0
    targets = tf.ragged.constant(targets, ragged_rank=1)
    predictions = tf.ragged.constant(predictions, ragged_rank=1) if inner else tf.ragged.constant(predictions)
    found = {"function": wrap(getattr(tf.keras.losses, name))(targets, predictions, **how)}
    kind = "".join(part.capitalize() for part in name.split("_"))
    for reduction in ("none", "sum", "sum_over_batch_size"):
        found[reduction] = getattr(tf.keras.losses, kind)(reduction=reduction)(targets, predictions)
    found["weighted"] = getattr(tf.keras.losses, kind)()(targets, predictions, sample_weight=[1.0, 2.0])
    return plain(found)


RAGGED_FIT = {
    "sparse_categorical_crossentropy": [[0, 1], [1], [1, 1, 0]],
    "mean_squared_error": [[[0.5, 0.0], [0.25, 1.0]], [[1.0, 0.0]], [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]],
}  # fmt: skip


def ragged_fit(tf, name, wrap=lambda f: f):
    """A model whose targets and predictions are sequences of several lengths, compiled and eagerly."""
    layers = tf.keras.layers
    x = tf.ragged.constant(
        [[[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]], [[1.0, 1.0, 1.0]], [[0.5, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]],
        ragged_rank=1,
    )
    found = {}
    for eagerly in (False, True):
        dense = layers.Dense(2, "softmax", kernel_initializer=tf.constant_initializer([[1, 0.5], [-1, 0], [0.25, 1]]))
        entry = tf.keras.Input((None, 3), ragged=True)
        model = tf.keras.Model(entry, layers.TimeDistributed(dense)(entry))
        model.compile(tf.keras.optimizers.SGD(0.1), name, run_eagerly=eagerly)
        y = tf.ragged.constant(RAGGED_FIT[name], ragged_rank=1)
        losses = model.fit(x, y, batch_size=3, epochs=3, shuffle=False, verbose=0).history["loss"]
        found[str(eagerly)] = [losses, model.evaluate(x, y, verbose=0), model.predict(x, verbose=0).to_list()]
        found[str(eagerly)] += [dense.kernel.numpy()]
    return plain(found)


# Metrics: name -> (class, arguments, targets, predictions, whether weights are taken by row)
METRICS = {
    "auc": ("AUC", {}, BITS, RATES, True),
    "auc_few": ("AUC", {"num_thresholds": 5, "curve": "PR"}, BITS, RATES, True),
    "auc_minoring": ("AUC", {"num_thresholds": 7, "summation_method": "minoring"}, BITS, RATES, True),
    "auc_majoring": ("AUC", {"thresholds": [0.2, 0.5, 0.9], "summation_method": "majoring"}, BITS, RATES, True),
    "auc_labels": (
        "AUC", {"multi_label": True, "label_weights": [1.0, 2.0, 0.5], "num_thresholds": 9}, BITS, RATES, True,
    ),
    "auc_logits": ("AUC", {"from_logits": True, "num_thresholds": 20}, BITS, REAL, True),
    "accuracy": ("Accuracy", {}, COUNTS, np.round(POSITIVE * 2), True),
    "binary_accuracy": ("BinaryAccuracy", {"threshold": 0.6}, BITS, RATES, True),
    "binary": ("BinaryCrossentropy", {"label_smoothing": 0.1}, BITS, RATES, True),
    "binary_iou": ("BinaryIoU", {"target_class_ids": [0, 1], "threshold": 0.3}, BITS, RATES, False),
    "categorical_accuracy": ("CategoricalAccuracy", {}, ONE_HOT, ODDS, True),
    "categorical": ("CategoricalCrossentropy", {"from_logits": True}, ONE_HOT, REAL, True),
    "categorical_hinge": ("CategoricalHinge", {}, ONE_HOT, REAL, True),
    "cosine": ("CosineSimilarity", {}, OTHER, REAL, True),
    "f1": ("F1Score", {"threshold": 0.5}, BITS, RATES, False),
    "f1_largest": ("F1Score", {"average": "weighted"}, ONE_HOT, ODDS, False),
    "f_beta": ("FBetaScore", {"beta": 2.0, "average": "micro", "threshold": 0.4}, BITS, RATES, False),
    "f_beta_macro": ("FBetaScore", {"beta": 0.5, "average": "macro", "threshold": 0.4}, BITS, RATES, False),
    "false_negatives": ("FalseNegatives", {"thresholds": [0.3, 0.6]}, BITS, RATES, True),
    "false_positives": ("FalsePositives", {}, BITS, RATES, True),
    "hinge": ("Hinge", {}, BITS, REAL, True),
    "iou": ("IoU", {"num_classes": 3, "target_class_ids": [0, 2]}, LABELS, LABELS[::-1].copy(), True),
    "iou_ignored": (
        "IoU", {"num_classes": 3, "target_class_ids": [0], "ignore_class": 1}, LABELS, LABELS[::-1].copy(), True,
    ),
    "divergence": ("KLDivergence", {}, ODDS, RATES, True),
    "log_cosh": ("LogCoshError", {}, OTHER, REAL, True),
    "absolute": ("MeanAbsoluteError", {}, OTHER, REAL, True),
    "percentage": ("MeanAbsolutePercentageError", {}, OTHER, REAL, True),
    "mean_iou": ("MeanIoU", {"num_classes": 3}, LABELS, LABELS[::-1].copy(), True),
    "mean_iou_odds": ("MeanIoU", {"num_classes": 3, "sparse_y_pred": False}, LABELS, ODDS, False),
    "relative": ("MeanRelativeError", {"normalizer": np.array([1.0, 2.0, 0.0], "float32")}, OTHER, REAL, True),
    "squared": ("MeanSquaredError", {}, OTHER, REAL, True),
    "logarithmic": ("MeanSquaredLogarithmicError", {}, POSITIVE, RATES, True),
    "one_hot_iou": ("OneHotIoU", {"num_classes": 3, "target_class_ids": [1, 2]}, ONE_HOT, ODDS, True),
    "one_hot_mean_iou": ("OneHotMeanIoU", {"num_classes": 3}, ONE_HOT, ODDS, True),
    "poisson": ("Poisson", {}, COUNTS, POSITIVE, True),
    "precision": ("Precision", {}, BITS, RATES, True),
    "precision_top": ("Precision", {"top_k": 2}, BITS, RATES, True),
    "precision_class": ("Precision", {"class_id": 1, "thresholds": [0.2, 0.7]}, BITS, RATES, True),
    "precision_at_recall": ("PrecisionAtRecall", {"recall": 0.6, "num_thresholds": 11}, BITS, RATES, True),
    "r2": ("R2Score", {}, OTHER, REAL, True),
    "r2_adjusted": (
        "R2Score", {"class_aggregation": "variance_weighted_average", "num_regressors": 2}, OTHER, REAL, True,
    ),
    "r2_each": ("R2Score", {"class_aggregation": None}, OTHER, REAL, True),
    "recall": ("Recall", {"thresholds": 0.4}, BITS, RATES, True),
    "recall_top": ("Recall", {"top_k": 1, "class_id": 0}, ONE_HOT, ODDS, True),
    "recall_at_precision": ("RecallAtPrecision", {"precision": 0.7, "num_thresholds": 11}, BITS, RATES, True),
    "root": ("RootMeanSquaredError", {}, OTHER, REAL, True),
    "sensitivity": ("SensitivityAtSpecificity", {"specificity": 0.5, "num_thresholds": 11}, BITS, RATES, True),
    "specificity": ("SpecificityAtSensitivity", {"sensitivity": 0.5, "num_thresholds": 11}, BITS, RATES, True),
    "sparse_accuracy": ("SparseCategoricalAccuracy", {}, LABELS, ODDS, True),
    "sparse": ("SparseCategoricalCrossentropy", {"ignore_class": 1}, LABELS, ODDS, True),
    "sparse_top": ("SparseTopKCategoricalAccuracy", {"k": 2}, LABELS, ODDS, True),
    "squared_hinge": ("SquaredHinge", {}, BITS, REAL, True),
    "top": ("TopKCategoricalAccuracy", {"k": 2}, ONE_HOT, ODDS, True),
    "true_negatives": ("TrueNegatives", {"thresholds": [0.3, 0.6]}, BITS, RATES, True),
    "true_positives": ("TruePositives", {"thresholds": [0.3, 0.6]}, BITS, RATES, True),
    "wrapper": ("MeanMetricWrapper", {}, OTHER, REAL, True),
    "mean": ("Mean", {}, None, REAL, True),
    "sum": ("Sum", {}, None, REAL, True),
    "mean_tensor": ("MeanTensor", {"shape": (6, 3)}, None, REAL, False),
}  # fmt: skip


def _gap(y_true, y_pred, power=3):
    return abs(y_true - y_pred) ** power


def metric(tf, name, wrap=lambda f: f):
    """What a metric says after each of several updates, its variables and configuration, and what two have together."""
    kind, how, targets, predictions, weighted = METRICS[name]
    how = dict(how, fn=_gap, power=2.0) if kind == "MeanMetricWrapper" else how
    make = getattr(tf.keras.metrics, kind)
    made = make(name="seen", **how)

    def update(rows, weights=None):
        given = [each[rows] for each in (targets, predictions) if each is not None]
        kept = {} if weights is None else {"sample_weight": weights[rows]}
        wrap(lambda: made.update_state(*map(tf.constant, given), **kept))()
        return made.result()

    parts = (slice(None), slice(None)) if kind == "MeanTensor" else (slice(0, 4), slice(3, 6))
    found = {"config": made.get_config(), "results": [update(part) for part in parts]}
    if weighted:
        found["weighted"] = [update(part, WEIGHTS) for part in parts]
    found["variables"] = [[each.name, each.shape.as_list(), str(each.dtype), each] for each in made.variables]
    if kind != "MeanMetricWrapper":
        again = make.from_config(made.get_config())
        again.update_state(*(each for each in (targets, predictions) if each is not None))
        found["again"] = again.result()
        again.merge_state([made])
        found["merged"] = again.result()
    made.reset_state()
    found["reset"] = list(made.variables)
    return plain(found)


_STARTING = {
    "cosine": ("CosineDecay", {"decay_steps": 8, "alpha": 0.1}),
    "cosine_warm": (
        "CosineDecay",
        {"initial_learning_rate": 0.0, "decay_steps": 6, "warmup_target": 0.2, "warmup_steps": 3, "name": "warm"},
    ),
    "restarts": ("CosineDecayRestarts", {"first_decay_steps": 3, "t_mul": 2.0, "m_mul": 0.5, "alpha": 0.01}),
    "restarts_even": ("CosineDecayRestarts", {"first_decay_steps": 4, "t_mul": 1.0}),
    "exponential": ("ExponentialDecay", {"decay_steps": 4, "decay_rate": 0.5}),
    "stairs": ("ExponentialDecay", {"decay_steps": 4, "decay_rate": 0.5, "staircase": True}),
    "inverse": ("InverseTimeDecay", {"decay_steps": 4, "decay_rate": 0.5}),
    "inverse_stairs": ("InverseTimeDecay", {"decay_steps": 4, "decay_rate": 0.5, "staircase": True}),
    "polynomial": ("PolynomialDecay", {"decay_steps": 6, "end_learning_rate": 0.01, "power": 2.0}),
    "polynomial_cycle": ("PolynomialDecay", {"decay_steps": 4, "cycle": True}),
}
"""Schedules that start at 0.1, unless they say otherwise."""
SCHEDULES = {name: (kind, {"initial_learning_rate": 0.1, **how}) for name, (kind, how) in _STARTING.items()}
SCHEDULES["pieces"] = ("PiecewiseConstantDecay", {"boundaries": [3, 7], "values": [0.3, 0.2, 0.1]})


def schedule(tf, name, wrap=lambda f: f):
    """The rates of a schedule and of what its configuration makes, and what an optimizer does by it."""
    schedules = tf.keras.optimizers.schedules
    kind, how = SCHEDULES[name]
    made = getattr(schedules, kind)(**how)
    again = schedules.deserialize(schedules.serialize(made))
    found = {
        "config": made.get_config(), "values": [made(step) for step in range(13)],
        "again": [wrap(again)(tf.constant(step, tf.int64)) for step in (0, 2, 9)], "trained": [],
    }  # fmt: skip
    for place in (tf.keras.optimizers, tf.keras.optimizers.legacy):
        variable = tf.Variable(1.0)
        optimizer = place.SGD(learning_rate=made)
        for _ in range(4):
            optimizer.apply_gradients([(tf.constant(1.0), variable)])
        found["trained"].append(variable.numpy())
        found[place.__name__.rpartition(".")[2]] = optimizer.get_config()
    return plain(found)


_NEW = {
    "adadelta": ("Adadelta", {"learning_rate": 0.5, "rho": 0.8}),
    "adafactor": ("Adafactor", {}),
    "adafactor_absolute": ("Adafactor", {"relative_step": False, "beta_2_decay": -0.6, "clip_threshold": 0.7}),
    "adagrad": ("Adagrad", {"initial_accumulator_value": 0.2}),
    "adam": ("Adam", {"beta_1": 0.8, "epsilon": 1e-4}),
    "adam_amsgrad": ("Adam", {"amsgrad": True}),
    "adam_w": ("AdamW", {"weight_decay": 0.1}),
    "adam_w_amsgrad": ("AdamW", {"weight_decay": 0.1, "amsgrad": True, "clipvalue": 0.3}),
    "adamax": ("Adamax", {}),
    "ftrl": ("Ftrl", {"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.1, "beta": 0.1}),
    "ftrl_shrinkage": ("Ftrl", {"l2_shrinkage_regularization_strength": 0.1, "learning_rate_power": -0.7}),
    "lion": ("Lion", {}),
    "nadam": ("Nadam", {}),
    "rmsprop": ("RMSprop", {}),
    "rmsprop_centered": ("RMSprop", {"rho": 0.8, "momentum": 0.5, "centered": True}),
    "rmsprop_momentum": ("RMSprop", {"momentum": 0.5}),
    "sgd": ("SGD", {}),
    "sgd_momentum": ("SGD", {"momentum": 0.9}),
    "sgd_nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "clip_norm": ("Adam", {"clipnorm": 0.5}),
    "clip_value": ("SGD", {"clipvalue": 0.2}),
    "clip_global": ("SGD", {"momentum": 0.5, "global_clipnorm": 0.5}),
    "decay": ("SGD", {"weight_decay": 0.2}),
    "decay_adam": ("Adam", {"weight_decay": 0.2}),
    "averages": ("SGD", {"use_ema": True, "ema_momentum": 0.8}),
    "averages_overwriting": ("Adam", {"use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 2}),
    "compiled": ("Adam", {"jit_compile": True}),
    "compiled_sgd": ("SGD", {"momentum": 0.9, "jit_compile": True}),
    "not_compiled": ("RMSprop", {"jit_compile": False}),
}
_LEGACY = {
    **{
        name: _NEW[name] for name in (
            "adadelta", "adagrad", "adam", "adam_amsgrad", "adamax", "nadam", "rmsprop", "rmsprop_centered",
            "rmsprop_momentum", "sgd", "sgd_momentum", "sgd_nesterov",
        )
    },
    "ftrl": ("Ftrl", {"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.1}),
    "ftrl_shrinkage": ("Ftrl", {"l2_shrinkage_regularization_strength": 0.1, "beta": 0.2}),
    "decay": ("Adam", {"decay": 0.3}),
    "clip_norm": ("SGD", {"clipnorm": 0.5}),
    "clip_value": ("Adam", {"clipvalue": 0.2}),
    "clip_global": ("RMSprop", {"global_clipnorm": 0.5}),
}  # fmt: skip
OPTIMIZERS = {
    f"{place}.{name}": (kind, {"learning_rate": 0.1, **how})
    for place, table in (("new", _NEW), ("legacy", _LEGACY))
    for name, (kind, how) in table.items()
}
OPTIMIZERS["legacy.lr"] = ("SGD", {"lr": 0.2})
DENSE_ONLY = {"new.nadam", "new.adafactor", "new.adafactor_absolute", "new.lion"}
"""Optimizers whose rules for rows fail in the original, or are not what they are for other tensors."""


def _trained(tf, made, kernel, bias, rows, wrap):
    """Both variables after each of four steps."""

    def step(number):
        first = tf.constant(OTHER[:4] * (number + 1) / 2)
        if rows:
            values = tf.constant(OTHER[:3] * (number + 1))
            first = tf.IndexedSlices(values, tf.constant([2, 0, 2]), tf.constant([4, 3]))
        made.apply_gradients([(first, kernel), (tf.constant(REAL[5] / (number + 1)), bias)])

    found = []
    for number in range(4):
        wrap(step)(number)
        found.append([kernel.numpy(), bias.numpy()])
    return found


def optimizer(tf, name, wrap=lambda f: f):
    """Variables and an optimizer's own after each of some steps, with dense gradients and gradients of rows."""
    kind, how = OPTIMIZERS[name]
    legacy = name.startswith("legacy.")
    place = tf.keras.optimizers.legacy if legacy else tf.keras.optimizers
    found = {}
    for rows in (False, True):
        if rows and name in DENSE_ONLY:
            continue
        made = getattr(place, kind)(**how)
        kernel, bias = tf.Variable(REAL[:4], name="kernel"), tf.Variable(OTHER[0], name="bias")
        if not legacy:
            made.build([kernel, bias])
        end = "_rows" if rows else ""
        found["steps" + end] = _trained(tf, made, kernel, bias, rows, wrap)
        own = made.variables() if callable(made.variables) else made.variables
        found["variables" + end] = [[each.name, each.shape.as_list(), each] for each in own]
        if how.get("use_ema"):
            made.finalize_variable_values([kernel, bias])
            found["final" + end] = [kernel.numpy(), bias.numpy()]
    serialized = tf.keras.optimizers.serialize(made)
    again = tf.keras.optimizers.deserialize(serialized, use_legacy_optimizer=legacy)
    found["config"], found["serialized"] = made.get_config(), serialized
    found["again"] = [type(again).__name__, type(made).from_config(made.get_config()).get_config()]
    return plain(found)


TEXTS = ["the cat sat", "a dog", "the dog sat on the cat"]
RAGGED_TEXT = {
    "mean": lambda tf: tf.keras.layers.GlobalAveragePooling1D(),
    "lambda": lambda tf: tf.keras.layers.Lambda(lambda rows: tf.reduce_max(rows, axis=1)),
    "lstm": lambda tf: tf.keras.layers.LSTM(2, kernel_initializer="ones", recurrent_initializer="zeros"),
    "gru": lambda tf: tf.keras.layers.GRU(2, kernel_initializer="ones", recurrent_initializer="zeros"),
}


def ragged_text(tf, name, wrap=lambda f: f):
    """A model from texts through words in rows of several lengths to one number."""
    layers = tf.keras.layers
    words = layers.TextVectorization(ragged=True)
    words.adapt(tf.constant(TEXTS))
    start = tf.constant_initializer(0.01 * np.arange(3 * words.vocabulary_size()).reshape(-1, 3))
    entry = tf.keras.Input((1,), dtype=tf.string)
    rows = layers.Embedding(words.vocabulary_size(), 3, embeddings_initializer=start)(words(entry))
    model = tf.keras.Model(entry, layers.Dense(1, kernel_initializer="ones")(RAGGED_TEXT[name](tf)(rows)))
    model.compile("sgd", "mse")
    x, y = tf.constant([[text] for text in TEXTS]), np.array([[1.0], [0.0], [1.0]], "float32")
    losses = model.fit(x, y, batch_size=3, epochs=3, shuffle=False, verbose=0).history["loss"]
    own = words(tf.constant(TEXTS)).to_list()
    vocabulary = [str(word) for word in words.get_vocabulary()]
    return plain([vocabulary, own, losses, model.predict(x, verbose=0), model.evaluate(x, y, verbose=0)])


TABLES = {
    "loss": LOSSES, "ragged": RAGGED, "ragged_fit": RAGGED_FIT, "ragged_text": RAGGED_TEXT, "metric": METRICS,
    "schedule": SCHEDULES, "optimizer": OPTIMIZERS,
}  # fmt: skip
RUN = {
    "loss": loss, "ragged": ragged, "ragged_fit": ragged_fit, "ragged_text": ragged_text, "metric": metric,
    "schedule": schedule, "optimizer": optimizer,
}  # fmt: skip
CASES = [(table, name) for table, names in TABLES.items() for name in names]
