# ruff: noqa: B905, UP031
"""Programs with layers, losses and metrics that the original and ours both run. Runs under Python 3.6 too.

A case is a function of the namespace ``tf`` that builds a graph and returns what to fetch: {"fetch": {name: tensor},
"feed": [{placeholder: array} per step], "update": operations to run after each step}.
"""

import numpy as np

from tests.golden.plain_values import numbers


def on(function, *shape, **kwargs):
    """A case: a layer function of one input of ``shape``, with gradients of everything trainable and of the input."""
    steps = kwargs.pop("steps", 1)

    def case(tf):
        x = tf.placeholder(tf.float32, kwargs.get("static", [None] + list(shape[1:])), name="x")
        y = function(tf, x)
        weight = numbers(*y.shape.as_list()[1:], key=7)
        xs = [x] + list(tf.trainable_variables())
        gradients = tf.gradients(tf.reduce_sum(y * weight), xs)
        fetch = {"y": y}
        fetch.update({"d" + v.name.split(":")[0]: g for v, g in zip(xs, gradients) if g is not None})
        fetch.update({"loss%d" % i: t for i, t in enumerate(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))})
        feed = [{x: numbers(*shape, key=i)} for i in range(steps)]
        return {"fetch": fetch, "feed": feed, "update": tf.get_collection(tf.GraphKeys.UPDATE_OPS)}

    return case


def _twice(tf, x):
    layer = tf.layers.Dense(3, name="shared")
    with tf.name_scope("outer"):
        first = layer(x)
    return first + layer(x)


def _reused(tf, x):
    with tf.variable_scope("scope"):
        y = tf.layers.dense(x, 4, tf.nn.relu, name="fc", kernel_regularizer=lambda v: tf.reduce_sum(v * v))
        y = tf.layers.dense(y, 4, name="fc", reuse=True, kernel_regularizer=lambda v: tf.reduce_sum(v * v))
        return tf.layers.dense(y, 4, name="fc", reuse=tf.AUTO_REUSE)


def _scoped(tf, x):
    def getter(getter, name, *args, **kwargs):
        return getter(name + "_got", *args, **kwargs)

    with tf.variable_scope("a", regularizer=lambda v: 0.5 * tf.reduce_sum(tf.square(v)), custom_getter=getter):
        y = tf.layers.dense(x, 3)
        with tf.variable_scope("b"):
            y = tf.layers.conv1d(tf.expand_dims(y, 1), 2, 1, activity_regularizer=lambda t: tf.reduce_mean(t))
    return y


def _parted(tf, x):
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        y = tf.layers.dense(x, 3)
        return tf.layers.batch_normalization(y, training=True)


def _fed(function, value):
    def layer(tf, x):
        training = tf.placeholder_with_default(value, [], name="training")
        return function(tf, x, training)

    return layer


def _bn(**kwargs):
    return lambda tf, x: tf.layers.batch_normalization(x, **kwargs)


def _bn_fed(value, **kwargs):
    return _fed(lambda tf, x, t: tf.layers.batch_normalization(x, training=t, **kwargs), value)


def _bn_adjusted(**kwargs):
    def layer(tf, x):
        def adjustment(shape):
            features = tf.cast(tf.range(shape[-1]), tf.float32)
            return 1.0 + 0.1 * features, 0.05 * (features + 1.0)

        training = kwargs.get("training", False)
        if kwargs.get("fed"):
            training = tf.placeholder_with_default(training, [], name="training")
        given = {k: v for k, v in kwargs.items() if k not in ("training", "fed")}
        return tf.layers.batch_normalization(x, training=training, adjustment=adjustment, **given)

    return layer


def _names(tf, x):
    y = tf.layers.conv2d(x, 2, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.max_pooling2d(y, 2, 2)
    y = tf.layers.conv2d(y, 2, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.batch_normalization(y, training=True)
    y = tf.layers.average_pooling2d(y, 2, 2)
    y = tf.layers.flatten(y)
    y = tf.layers.dropout(y, 0.5)
    y = tf.layers.dense(y, 3)
    return tf.layers.dense(tf.layers.batch_normalization(y), 2)


LAYERS = {
    "dense": on(lambda tf, x: tf.layers.dense(x, 3), 2, 4),
    "dense_relu_named": on(lambda tf, x: tf.layers.dense(x, 3, tf.nn.relu, name="fc"), 2, 4),
    "dense_no_bias": on(lambda tf, x: tf.layers.dense(x, 3, use_bias=False, activation="tanh"), 2, 4),
    "dense_rank_3": on(lambda tf, x: tf.layers.dense(x, 3), 2, 5, 4),
    "dense_l2": on(lambda tf, x: tf.layers.dense(x, 3, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1)), 2, 4),
    "dense_l1_l2": on(
        lambda tf, x: tf.layers.dense(x, 3, bias_regularizer=tf.contrib.layers.l1_l2_regularizer(0.1, 0.2)), 2, 4,
    ),
    "dense_frozen": on(lambda tf, x: tf.layers.dense(x, 3, trainable=False), 2, 4),
    "twice": on(_twice, 2, 4),
    "reused": on(_reused, 2, 4),
    "scoped": on(_scoped, 2, 4),
    "parted": on(_parted, 3, 4),
    "names": on(_names, 2, 8, 8, 1, steps=2),
    "conv1d": on(lambda tf, x: tf.layers.conv1d(x, 3, 2), 2, 6, 4),
    "conv1d_same_strided": on(lambda tf, x: tf.layers.conv1d(x, 3, 3, strides=2, padding="same"), 2, 7, 4),
    "conv1d_causal": on(lambda tf, x: tf.layers.conv1d(x, 3, 3, padding="causal", dilation_rate=2), 2, 7, 2),
    "conv2d": on(lambda tf, x: tf.layers.conv2d(x, 3, (2, 3), activation=tf.nn.relu), 2, 6, 5, 2),
    "conv2d_same_strided": on(lambda tf, x: tf.layers.conv2d(x, 3, 3, 2, "SAME"), 2, 6, 5, 2),
    "conv2d_dilated": on(lambda tf, x: tf.layers.conv2d(x, 3, 2, dilation_rate=2, use_bias=False), 1, 6, 6, 2),
    "conv3d": on(lambda tf, x: tf.layers.conv3d(x, 2, 2, padding="same"), 1, 3, 4, 4, 2),
    "conv2d_transpose": on(lambda tf, x: tf.layers.conv2d_transpose(x, 3, 3, 2), 2, 3, 4, 2),
    "conv2d_transpose_same": on(lambda tf, x: tf.layers.conv2d_transpose(x, 3, (2, 3), (2, 1), "same"), 2, 3, 4, 2),
    "conv3d_transpose": on(lambda tf, x: tf.layers.conv3d_transpose(x, 2, 2, 2), 1, 2, 3, 2, 2),
    "separable_conv1d": on(lambda tf, x: tf.layers.separable_conv1d(x, 3, 2, depth_multiplier=2), 2, 6, 2),
    "separable_conv2d": on(lambda tf, x: tf.layers.separable_conv2d(x, 3, 3, padding="same"), 1, 5, 5, 2),
    "separable_conv2d_strided": on(lambda tf, x: tf.layers.separable_conv2d(x, 3, 2, 2), 1, 6, 6, 2),
    "max_pooling1d": on(lambda tf, x: tf.layers.max_pooling1d(x, 3, 2, "same"), 2, 6, 2),
    "max_pooling2d": on(lambda tf, x: tf.layers.max_pooling2d(x, (2, 3), 2), 2, 6, 5, 2),
    "max_pooling3d": on(lambda tf, x: tf.layers.max_pooling3d(x, 2, 2), 1, 4, 4, 4, 2),
    "average_pooling1d": on(lambda tf, x: tf.layers.average_pooling1d(x, 2, 2), 2, 6, 2),
    "average_pooling2d": on(lambda tf, x: tf.layers.average_pooling2d(x, 3, 2, "same"), 2, 6, 5, 2),
    "average_pooling3d": on(lambda tf, x: tf.layers.average_pooling3d(x, 2, 2, "same"), 1, 3, 4, 4, 2),
    "dropout_off": on(lambda tf, x: tf.layers.dropout(x, 0.3), 2, 4),
    "flatten": on(lambda tf, x: tf.layers.flatten(x), 2, 3, 4),
    "bn_training": on(_bn(training=True), 4, 3, steps=2),
    "bn_inference": on(_bn(training=False), 4, 3),
    "bn_fused": on(_bn(training=True, momentum=0.9), 3, 4, 4, 2, steps=2),
    "bn_fused_inference": on(_bn(), 3, 4, 4, 2),
    "bn_fused_no_scale": on(_bn(training=True, scale=False, center=False), 3, 4, 4, 2, steps=2),
    "bn_not_fused": on(_bn(training=True, fused=False), 3, 4, 4, 2, steps=2),
    "bn_axis_1": on(_bn(training=True, axis=1), 3, 4, 5, steps=2),
    "bn_renorm": on(_bn(training=True, renorm=True, renorm_momentum=0.7, momentum=0.8), 4, 3, steps=4),
    "bn_renorm_clipped": on(
        _bn(
            training=True, renorm=True, renorm_clipping={"rmax": 1.1, "rmin": 0.95, "dmax": 0.2}, momentum=0.5,
            renorm_momentum=0.6,
        ),
        3, 4, 5, 2, steps=4,
    ),
    "bn_renorm_axis_1": on(_bn(training=True, renorm=True, axis=1, renorm_momentum=0.5), 3, 4, 5, steps=3),
    "bn_renorm_axes": on(_bn(training=True, renorm=True, axis=[1, 3], renorm_momentum=0.5), 3, 2, 5, 2, steps=3),
    "bn_renorm_bare": on(_bn(training=True, renorm=True, scale=False, center=False), 4, 3, steps=3),
    "bn_renorm_inference": on(_bn(renorm=True), 4, 3),
    "bn_renorm_fed_true": on(_bn_fed(True, renorm=True, renorm_momentum=0.7), 4, 3, steps=3),
    "bn_renorm_fed_false": on(_bn_fed(False, renorm=True, renorm_momentum=0.7), 4, 3, steps=2),
    "bn_virtual": on(_bn(training=True, virtual_batch_size=2, momentum=0.5), 6, 3, static=[6, 3], steps=2),
    "bn_virtual_unknown": on(_bn(training=True, virtual_batch_size=3), 6, 4, 5, 2, steps=2),
    "bn_virtual_axis_1": on(_bn(training=True, virtual_batch_size=2, axis=1, scale=False), 4, 3, 5, steps=2),
    "bn_virtual_axes": on(_bn(training=True, virtual_batch_size=2, axis=[1, 2]), 4, 3, 5, steps=2),
    "bn_virtual_inference": on(_bn(virtual_batch_size=2), 4, 3),
    "bn_virtual_fed_true": on(_bn_fed(True, virtual_batch_size=2), 4, 3, steps=2),
    "bn_virtual_fed_false": on(_bn_fed(False, virtual_batch_size=2), 4, 3, steps=2),
    "bn_virtual_renorm": on(
        _bn(training=True, virtual_batch_size=2, renorm=True, renorm_momentum=0.5, momentum=0.5), 6, 3, steps=3,
    ),
    "bn_adjusted": on(_bn_adjusted(training=True), 4, 3, steps=2),
    "bn_adjusted_rank_4": on(_bn_adjusted(training=True, center=False), 3, 4, 4, 2, steps=2),
    "bn_adjusted_axis_1": on(_bn_adjusted(training=True, axis=1), 3, 4, 5, steps=2),
    "bn_adjusted_bare": on(_bn_adjusted(training=True, center=False, scale=False), 4, 3),
    "bn_adjusted_inference": on(_bn_adjusted(), 4, 3),
    "bn_adjusted_fed_true": on(_bn_adjusted(training=True, fed=True), 4, 3, steps=2),
    "bn_adjusted_fed_false": on(_bn_adjusted(fed=True), 4, 3, steps=2),
    "bn_adjusted_renorm": on(
        _bn_adjusted(training=True, renorm=True, renorm_momentum=0.5, renorm_clipping={"rmax": 1.05}), 4, 3, steps=3,
    ),
    "bn_axes": on(_bn(training=True, axis=[1, 2]), 3, 4, 5, steps=2),
    "bn_frozen": on(_bn(training=True, trainable=False), 4, 3, steps=2),
    "bn_fed_true": on(_bn_fed(True), 4, 3, steps=2),
    "bn_fed_false": on(_bn_fed(False), 4, 3, steps=2),
    "bn_fused_fed_true": on(_bn_fed(True, epsilon=0.01), 3, 4, 4, 2, steps=2),
    "bn_fused_fed_false": on(_bn_fed(False), 3, 4, 4, 2, steps=2),
    "bn_regularized": on(_bn(training=True, gamma_regularizer=lambda v: 0.1 * v[0]), 4, 3),
}  # fmt: skip


# ---- losses --------------------------------------------------------------------------------------------------------

PAIR = {"labels": np.abs(numbers(4, 3, key=1)), "predictions": np.abs(numbers(4, 3, key=2))}
ONES = {"labels": (numbers(4, 3, key=1) > 0).astype(np.float32), "logits": 3 * numbers(4, 3, key=2)}
HOT = {"onehot_labels": np.eye(3, dtype=np.float32)[[0, 2, 1, 2]], "logits": 3 * numbers(4, 3, key=2)}
MULTI = {"multi_class_labels": (numbers(4, 3, key=1) > 0).astype(np.int32), "logits": 3 * numbers(4, 3, key=2)}
SPARSE = {"labels": np.array([0, 2, 1, 2], np.int32), "logits": 3 * numbers(4, 3, key=2)}
COLUMN = {"labels": np.array([[0], [2], [1], [2]], np.int64), "logits": 3 * numbers(4, 3, key=2)}
WEIGHTS = {
    "float": 0.5, "zero": 0.0, "integer": 2, "row": np.array([[0.0], [1.0], [0.5], [0.0]], np.float32),
    "full": np.array([[0, 1, 2], [1, 0, 0], [0, 0, 0], [3, 1, 1]], np.float32), "none": np.zeros((4, 3), np.float32),
}  # fmt: skip
REDUCTIONS = (
    "none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size", "weighted_sum_by_nonzero_weights",
)  # fmt: skip


def loss(name, arguments, **kwargs):
    def case(tf):
        given = {k: tf.placeholder(v.dtype, v.shape, k) for k, v in arguments.items()}
        extra = dict(kwargs)
        if isinstance(extra.get("weights"), np.ndarray):
            extra["weights"] = tf.constant(extra["weights"])
        found = getattr(tf.losses, name)(**dict(given, **extra))
        xs = [t for t in given.values() if t.dtype == tf.float32]
        xs.sort(key=lambda t: t.name)
        fetch = {"loss": found}
        for x, g in zip(xs, tf.gradients(found, xs)):
            if g is not None:
                fetch["d" + x.op.name] = g
        fetch["total"] = tf.losses.get_total_loss()
        return {"fetch": fetch, "feed": [{given[k]: v for k, v in arguments.items()}]}

    return case


LOSSES = {
    "absolute_difference": loss("absolute_difference", PAIR),
    "cosine_distance": loss("cosine_distance", PAIR, axis=1),
    "cosine_distance_dim": loss("cosine_distance", PAIR, dim=0, scope="named"),
    "hinge_loss": loss("hinge_loss", ONES),
    "huber_loss": loss("huber_loss", PAIR, delta=0.2, weights=0.5),
    "log_loss": loss("log_loss", PAIR, epsilon=1e-3),
    "mean_pairwise_squared_error": loss("mean_pairwise_squared_error", PAIR),
    "mean_pairwise_weighted": loss("mean_pairwise_squared_error", PAIR, weights=WEIGHTS["row"]),
    "mean_squared_error": loss("mean_squared_error", PAIR),
    "sigmoid_cross_entropy": loss("sigmoid_cross_entropy", MULTI),
    "sigmoid_cross_entropy_smooth": loss("sigmoid_cross_entropy", MULTI, label_smoothing=0.2, weights=WEIGHTS["full"]),
    "softmax_cross_entropy": loss("softmax_cross_entropy", HOT),
    "softmax_cross_entropy_smooth": loss(
        "softmax_cross_entropy", HOT, label_smoothing=0.1, weights=np.array([1, 0, 2, 1], np.float32)
    ),
    "sparse_softmax_cross_entropy": loss("sparse_softmax_cross_entropy", SPARSE),
    "sparse_softmax_column": loss("sparse_softmax_cross_entropy", COLUMN, weights=WEIGHTS["row"]),
    "float64": loss("mean_squared_error", {k: v.astype(np.float64) for k, v in PAIR.items()}),
}
for _weights in WEIGHTS:
    for _reduction in REDUCTIONS:
        LOSSES["mean_squared_error_%s_%s" % (_weights, _reduction)] = loss(
            "mean_squared_error", PAIR, weights=WEIGHTS[_weights], reduction=_reduction
        )


# ---- metrics -------------------------------------------------------------------------------------------------------


def _batches(kind, count=3):
    found = []
    for i in range(count):
        if kind == "classes":
            batch = {"labels": np.array([0, 1, 2, i], np.int32), "predictions": np.array([i, 1, 2, 0], np.int64)}
        elif kind == "bools":
            batch = {"labels": numbers(6, key=i) > 0, "predictions": numbers(6, key=i + 50) > 0}
        elif kind == "scores":
            batch = {"labels": numbers(6, key=i) > 0, "predictions": np.abs(numbers(6, key=i + 50))}
        elif kind == "values":
            batch = {"values": numbers(2, 3, key=i)}
        elif kind == "top":
            batch = {"labels": np.array([i, 1, 4], np.int64), "predictions": numbers(3, 5, key=i)}
        elif kind == "tops":
            batch = {"labels": np.array([[i, 1], [2, 4], [3, 3]], np.int64), "predictions": numbers(3, 5, key=i)}
        else:
            batch = {"labels": numbers(4, 3, key=i), "predictions": numbers(4, 3, key=i + 50)}
        found.append(batch)
    return found


def metric(function, kind, **kwargs):
    def case(tf):
        batches = _batches(kind)
        given = {k: tf.placeholder(v.dtype, [None] + list(v.shape[1:]), k) for k, v in batches[0].items()}
        if kind == "values":
            given = {k: tf.placeholder(v.dtype, v.shape, k) for k, v in batches[0].items()}
        extra = dict(kwargs)
        if isinstance(extra.get("weights"), np.ndarray):
            extra["weights"] = tf.constant(extra["weights"])
        if "normalizer" in extra:
            extra["normalizer"] = tf.constant(extra["normalizer"])
        value, update = getattr(tf.metrics, function)(
            metrics_collections=["values"], updates_collections="updates", **dict(given, **extra)
        )
        assert tf.get_collection("values") == [value]
        assert tf.get_collection("updates") == [update]
        feed = [{given[k]: v for k, v in b.items()} for b in batches]
        return {"fetch": {"value": value}, "update": [update], "feed": feed, "zeros": True}

    return case


_WEIGHTS_4 = np.array([0.0, 1.0, 2.0, 0.5], np.float32)
_WEIGHTS_6 = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 0.0], np.float32)
_WEIGHTS_3 = np.array([0.5, 1.0, 2.0], np.float32)
METRICS = {
    "mean": metric("mean", "values"),
    "mean_weighted": metric("mean", "values", weights=np.array([[0.5], [2.0]], np.float32)),
    "mean_tensor": metric("mean_tensor", "values"),
    "mean_tensor_weighted": metric("mean_tensor", "values", weights=np.array([[0.5, 1, 0]] * 2, np.float32)),
    "accuracy": metric("accuracy", "classes"),
    "accuracy_weighted": metric("accuracy", "classes", weights=_WEIGHTS_4, name="named"),
    "mean_absolute_error": metric("mean_absolute_error", "pairs"),
    "mean_squared_error": metric("mean_squared_error", "pairs", weights=0.5),
    "root_mean_squared_error": metric("root_mean_squared_error", "pairs"),
    "mean_relative_error": metric("mean_relative_error", "pairs", normalizer=np.array([[1, 0, 2]] * 4, np.float32)),
    "mean_cosine_distance": metric("mean_cosine_distance", "pairs", dim=1),
    "percentage_below": metric("percentage_below", "values", threshold=0.25),
    "mean_per_class_accuracy": metric("mean_per_class_accuracy", "classes", num_classes=4),
    "mean_per_class_weighted": metric("mean_per_class_accuracy", "classes", num_classes=4, weights=_WEIGHTS_4),
    "mean_iou": metric("mean_iou", "classes", num_classes=4),
    "mean_iou_weighted": metric("mean_iou", "classes", num_classes=4, weights=_WEIGHTS_4),
    "true_positives": metric("true_positives", "bools"),
    "false_positives": metric("false_positives", "bools", weights=_WEIGHTS_6),
    "true_negatives": metric("true_negatives", "bools"),
    "false_negatives": metric("false_negatives", "bools"),
    "precision": metric("precision", "bools"),
    "precision_weighted": metric("precision", "bools", weights=_WEIGHTS_6),
    "recall": metric("recall", "bools"),
    "true_positives_at_thresholds": metric("true_positives_at_thresholds", "scores", thresholds=[0.2, 0.7]),
    "false_positives_at_thresholds": metric("false_positives_at_thresholds", "scores", thresholds=[0.2, 0.7]),
    "true_negatives_at_thresholds": metric(
        "true_negatives_at_thresholds", "scores", thresholds=[0.2, 0.7], weights=_WEIGHTS_6
    ),
    "false_negatives_at_thresholds": metric("false_negatives_at_thresholds", "scores", thresholds=[0.2, 0.7]),
    "precision_at_thresholds": metric("precision_at_thresholds", "scores", thresholds=[0.2, 0.7]),
    "recall_at_thresholds": metric("recall_at_thresholds", "scores", thresholds=[0.2, 0.7]),
    "auc": metric("auc", "scores"),
    "auc_weighted_pr": metric("auc", "scores", curve="PR", num_thresholds=20, weights=_WEIGHTS_6),
    "auc_minoring": metric("auc", "scores", num_thresholds=20, summation_method="minoring"),
    "auc_majoring": metric("auc", "scores", num_thresholds=20, summation_method="majoring"),
    "auc_careful": metric("auc", "scores", curve="PR", num_thresholds=20, summation_method="careful_interpolation"),
    "sensitivity_at_specificity": metric("sensitivity_at_specificity", "scores", specificity=0.6),
    "specificity_at_sensitivity": metric("specificity_at_sensitivity", "scores", sensitivity=0.6),
    "recall_at_k": metric("recall_at_k", "top", k=2),
    "recall_at_k_several": metric("recall_at_k", "tops", k=2, weights=_WEIGHTS_3),
    "recall_at_k_class": metric("recall_at_k", "tops", k=3, class_id=4),
    "precision_at_k": metric("precision_at_k", "top", k=2),
    "precision_at_k_class": metric("precision_at_k", "tops", k=3, class_id=4),
    "sparse_precision_at_k": metric("sparse_precision_at_k", "tops", k=2),
    "average_precision_at_k": metric("average_precision_at_k", "tops", k=3),
    "average_precision_at_k_weighted": metric("average_precision_at_k", "top", k=2, weights=_WEIGHTS_3),
}


# ---- running one ---------------------------------------------------------------------------------------------------

COLLECTIONS = (
    "variables", "trainable_variables", "local_variables", "metric_variables", "regularization_losses", "losses",
)  # fmt: skip


def initial(name, shape, zeros):
    value = numbers(*shape, key=name)
    if zeros:
        return 0 * value
    return np.abs(value) + 0.1 if name.endswith(("variance:0", "gamma:0")) else value


def run(tf, case):
    """What a case does: (facts for JSON, arrays by name)."""
    with tf.Graph().as_default():
        made = case(tf)
        variables = tf.global_variables() + tf.local_variables()
        facts = {
            "collections": {k: sorted(t.name for t in tf.get_collection(k)) for k in COLLECTIONS},
            "names": {k: t.name for k, t in made["fetch"].items() if not k.startswith("d")},
            "shapes": {k: t.shape.as_list() for k, t in made["fetch"].items()},
            "updates": len(made.get("update", [])),
        }
        arrays = {}
        with tf.Session() as session:
            for v in variables:
                value = initial(v.name, v.shape.as_list(), made.get("zeros"))
                v.load(value.astype(v.dtype.base_dtype.as_numpy_dtype), session)
            for i, feed in enumerate(made["feed"]):
                names = sorted(made["fetch"])
                if made.get("zeros"):
                    for j, array in enumerate(session.run(made["update"], feed)):
                        arrays["%d/update%d" % (i, j)] = array
                    values = session.run([made["fetch"][n] for n in names], feed)
                else:
                    values, _ = session.run([[made["fetch"][n] for n in names], made.get("update", [])], feed)
                arrays.update({"%d/%s" % (i, n): v for n, v in zip(names, values)})
            for v in variables:
                arrays["after/" + v.name] = session.run(v)
        return facts, arrays
