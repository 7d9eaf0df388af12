"""Layers: the base class, what is refused, empty batches, towers."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.bounds import close
from tests.golden.layer_cases import numbers
from tests.spread import spread
from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.graph import Graph


class Scale(tf.layers.Layer):
    """``inputs * w``, with a loss and an update."""

    def __init__(self, start, **kwargs):
        super().__init__(**kwargs)
        self.start = start

    def build(self, input_shape):
        self.w = self.add_variable("w", input_shape[-1:], initializer=tf.constant_initializer(self.start))
        self.calls = self.add_weight("calls", [], trainable=False, initializer=tf.zeros_initializer())
        super().build(input_shape)

    def call(self, inputs):
        self.add_loss(tf.reduce_sum(inputs), inputs=inputs)
        self.add_loss(lambda: tf.reduce_sum(self.w))
        self.add_update(self.calls.assign_add(1.0))
        self.add_update(self.calls.assign_add(0.0 * tf.reduce_sum(inputs)), inputs=inputs)
        return inputs * self.w

    def get_config(self):
        return super().get_config() | {"start": self.start}


def test_a_layer_of_ones_own():
    x = tf.constant([[1.0, 2.0]])
    layer = Scale(3.0)
    y = layer(x)
    again = layer(x + 1.0)
    assert layer.scope_name == "scale"
    assert [v.name for v in layer.trainable_weights] == ["scale/w:0"]
    assert [v.name for v in layer.non_trainable_variables] == ["scale/calls:0"]
    assert [v.name for v in layer.variables] == ["scale/w:0", "scale/calls:0"]
    assert layer.count_params() == 3
    assert layer.dtype == "float32"
    assert layer.graph is tf.get_default_graph()
    assert len(layer.losses) == 4
    assert len(layer.get_losses_for(None)) == 2
    assert len(layer.get_losses_for(x)) == 2
    assert len(layer.get_updates_for(None)) == 2
    assert len(layer.get_updates_for([x])) == 2
    assert set(layer.losses) == set(tf.losses.get_regularization_losses())
    assert set(layer.updates) == set(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(y), [[3.0, 6.0]])
        np.testing.assert_array_equal(session.run(again), [[6.0, 9.0]])
        session.run(layer.updates)
        np.testing.assert_array_equal(layer.get_weights()[1], 2.0)
        layer.set_weights([np.array([5.0, 7.0]), np.array(0.0)])
        np.testing.assert_array_equal(session.run(y), [[5.0, 14.0]])
        with pytest.raises(ValueError, match="2 weights, got 1"):
            layer.set_weights([np.array([5.0, 7.0])])
        with pytest.raises(ValueError, match=r"shape \(2,\), got a value of shape \(3,\)"):
            layer.set_weights([np.zeros(3), np.zeros(())])
    copy = Scale.from_config(layer.get_config())
    assert (copy.start, copy.name) == (3.0, layer.name)


def test_a_frozen_layer_has_no_trainable_variables_and_no_updates():
    layer = Scale(1.0, trainable=False)
    layer(tf.ones([1, 2]))
    assert layer.trainable_weights == []
    assert len(layer.non_trainable_weights) == 2
    assert tf.trainable_variables() == []
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


def test_the_scope_can_be_given_at_the_call():
    class Asks(tf.layers.Layer):
        def call(self, inputs, scope=None):
            assert scope.name == "given"
            return inputs + tf.get_variable("v", [])

    Asks()(tf.ones([2]), scope="given")
    assert [v.name for v in tf.global_variables()] == ["given/v:0"]


def test_variables_through_a_getter_that_casts():
    def getter(getter, *args, dtype=None, **kwargs):
        return tf.cast(getter(*args, dtype=tf.float32, **kwargs), dtype)

    with tf.variable_scope("fp16", custom_getter=getter):
        y = tf.layers.dense(tf.ones([2, 3], tf.float16), 4)
    assert y.dtype == tf.float16
    assert [v.dtype.base_dtype for v in tf.trainable_variables()] == [tf.float32] * 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tf.layers.dense(tf.ones([3]), 2), "expected min_ndim=2, found ndim=1"),
        (lambda: tf.layers.dense(tf.placeholder(tf.float32), 2), "rank is undefined"),
        (lambda: tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 2), "last dimension"),
        (lambda: tf.layers.conv2d(tf.ones([1, 4, 4]), 2, 3), "expected ndim=4, found ndim=3"),
        (lambda: tf.layers.conv2d(tf.placeholder(tf.float32, [1, 4, 4, None]), 2, 3), "channel dimension"),
        (lambda: tf.layers.conv2d(tf.ones([1, 4, 4, 1]), 2, (3, 3, 3)), "`kernel_size` argument must be an integer"),
        (lambda: tf.layers.conv2d(tf.ones([1, 4, 4, 1]), 2, 3, padding="causal"), "padding"),
        (lambda: tf.layers.conv2d(tf.ones([1, 4, 4, 1]), 2, 3, data_format="NHWC"), "data_format"),
        (lambda: tf.layers.max_pooling2d(tf.ones([1, 4, 4, 1]), 2, None), "strides"),
        (lambda: tf.layers.batch_normalization(tf.ones([2, 3]), axis=2), "Invalid axis"),
        (lambda: tf.layers.batch_normalization(tf.ones([2, 3]), axis=[0, 0]), "Duplicate axis"),
        (lambda: tf.layers.batch_normalization(tf.placeholder(tf.float32, [2, None])), "must be known"),
        (lambda: tf.layers.batch_normalization(tf.ones([2, 3]), renorm=True, renorm_clipping={"max": 1.0}), "rmin"),
        (lambda: tf.layers.batch_normalization(tf.ones([2, 3]), virtual_batch_size=0), "positive integer"),
        (lambda: tf.layers.batch_normalization(tf.ones([2, 3]), axis=0, virtual_batch_size=2), "cannot include 0"),
        (
            lambda: tf.layers.batch_normalization(tf.ones([2, 3]), virtual_batch_size=2, adjustment=lambda s: (s, s)),
            "adjustment cannot be specified",
        ),
        (lambda: tf.layers.batch_normalization(tf.ones([3, 2]), training=True, virtual_batch_size=2), "reshape"),
        (lambda: tf.layers.dense(tf.ones([2, 3]), 2, activation="nonsense"), "Unknown activation"),
        (lambda: tf.layers.dense(tf.ones([2, 3]), 2, kernel_initializer="nonsense"), "Unknown initializer"),
        (lambda: tf.layers.Dense(2).scope_name, "Call the layer first"),
        (lambda: tf.layers.Dense(2).count_params(), "no variables yet"),
        (lambda: tf.layers.Dense(2).get_weights() or tf.layers.Dense(2).set_weights([1]), "0 weights, got 1"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_built_layer_checks_later_inputs():
    layer = tf.layers.Dense(2, name="fc")
    layer(tf.ones([2, 3]))
    with pytest.raises(ValueError, match=r"Input 0 of layer fc .*axis -1 .*value 3"):
        layer(tf.ones([2, 4]))
    with Graph().as_default(), pytest.raises(ValueError, match="Input graph and Layer graph are not the same"):
        layer(tf.ones([2, 3]))


def test_unknown_arguments_and_unsupported_ones():
    with pytest.raises(TypeError, match="does not understand the keyword argument 'nonsense'"):
        tf.layers.Dense(2, nonsense=1)
    with pytest.raises(UnsupportedError, match="pass a function"):
        tf.layers.Dense(2, kernel_constraint="non_neg")
    with pytest.raises(ValueError, match="returned None"):
        type("Nothing", (tf.layers.Layer,), {"call": lambda self, inputs: None})()(tf.ones([1]))


@pytest.mark.parametrize("loss", ["absolute_difference", "hinge_loss", "log_loss", "mean_squared_error"])
def test_losses_refuse_weights_that_are_none(loss):
    with pytest.raises(ValueError, match="None values not supported"):
        getattr(tf.losses, loss)([1.0], [2.0], weights=None)


SHAPES = [
    (tf.layers.Dense(5, name="a"), [3, 4]),
    (tf.layers.Dense(5, name="b"), [2, 3, 4]),
    (tf.layers.Conv1D(5, 3, 2, "same", name="c"), [2, 8, 3]),
    (tf.layers.Conv1D(5, 3, 1, "causal", dilation_rate=2, name="d"), [2, 8, 3]),
    (tf.layers.Conv2D(5, (3, 2), (2, 1), name="e"), [2, 8, 7, 3]),
    (tf.layers.Conv2D(5, 3, data_format="channels_first", name="f"), [2, 3, 8, 7]),
    (tf.layers.Conv3D(5, 2, data_format="channels_first", name="g"), [1, 3, 4, 5, 6]),
    (tf.layers.Conv2DTranspose(5, 3, 2, name="h"), [2, 4, 5, 3]),
    (tf.layers.Conv2DTranspose(5, 3, 2, "same", "channels_first", name="i"), [2, 3, 4, 5]),
    (tf.layers.Conv3DTranspose(2, 2, (1, 2, 3), name="j"), [1, 2, 3, 2, 3]),
    (tf.layers.SeparableConv1D(5, 3, padding="causal", name="k"), [2, 8, 3]),
    (tf.layers.SeparableConv2D(5, 3, data_format="channels_first", name="l"), [2, 3, 8, 7]),
    (tf.layers.MaxPooling1D(3, 2, data_format="channels_first", name="m"), [2, 3, 8]),
    (tf.layers.AveragePooling2D(3, 2, "same", "channels_first", name="n"), [2, 3, 8, 7]),
    (tf.layers.MaxPooling3D(2, 2, data_format="channels_first", name="o"), [2, 3, 4, 5, 6]),
    (tf.layers.Flatten("channels_first", name="p"), [2, 3, 4, 5]),
    (tf.layers.BatchNormalization(name="q"), [2, 3]),
    (tf.layers.Dropout(name="r"), [2, 3]),
]


@spread(("layer", "shape"), SHAPES, every=5, ids=lambda v: type(v).__name__ if not isinstance(v, list) else "")
def test_output_shapes_are_known_and_right_for_full_and_empty_batches(layer, shape):
    x = tf.placeholder(tf.float32, [None, *shape[1:]])
    layer = type(layer).from_config(layer.get_config())
    y = layer(x)
    predicted = layer.compute_output_shape([None, *shape[1:]]).as_list()
    assert y.shape.as_list() == predicted
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in (shape[0], 0):
            assert session.run(y, {x: np.ones([batch, *shape[1:]])}).shape == (batch, *predicted[1:])


def test_channels_first_is_channels_last_transposed():
    x = tf.constant(numbers(2, 6, 5, 3))
    first = tf.transpose(x, [0, 3, 1, 2])
    pairs = []
    for i, function in enumerate(
        (
            lambda v, **k: tf.layers.conv2d(v, 4, 3, bias_initializer="ones", **k),
            lambda v, **k: tf.layers.conv2d_transpose(v, 4, 3, 2, bias_initializer="ones", **k),
            lambda v, **k: tf.layers.separable_conv2d(v, 4, 3, bias_initializer="ones", **k),
            lambda v, **k: tf.layers.max_pooling2d(v, 2, 2, **{"data_format": k["data_format"]}),
        )
    ):
        last = function(x, data_format="channels_last", name=f"layer{i}")
        reuse = {"name": f"layer{i}", "reuse": True}
        pairs.append((last, tf.transpose(function(first, data_format="channels_first", **reuse), [0, 2, 3, 1])))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for one, two in session.run(pairs):
            close(one, two, 3 * 3 * 3 + 1, max(1.0, np.abs(one).max()))


def test_dropout_drops_and_scales_while_training():
    x = tf.ones([1000])
    on = tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, 0.25, training=on, seed=1)
    rows = tf.layers.dropout(tf.ones([50, 4]), 0.5, noise_shape=[None, 1], training=True)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y, {on: False}), np.ones(1000))
        found = session.run(y, {on: True})
        assert set(np.unique(found)) == {np.float32(0), np.float32(1) / np.float32(0.75)}
        assert 180 < np.sum(found == 0) < 320
        assert not np.array_equal(found, session.run(y, {on: True}))
        found = session.run(rows)
        assert (found == found[:, :1]).all()
        assert 0 < np.sum(found[:, 0] == 0) < 50


FORMS = {
    "fused": {},
    "by parts": {"fused": False},
    "renorm": {"renorm": True, "renorm_clipping": {"rmax": 1.2, "rmin": 0.8, "dmax": 0.1}, "renorm_momentum": 0.5},
    "virtual": {"virtual_batch_size": 2},
    "virtual renorm": {"virtual_batch_size": 2, "renorm": True},
    "adjusted": {"adjustment": lambda shape: (tf.fill(shape[-1:], 1.5), tf.fill(shape[-1:], 0.25))},
}
"""Arguments of batch normalization, by what they make of it."""


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_batch_leaves_the_moving_statistics(form):
    x = tf.placeholder(tf.float32, [None, 2, 2, 3])
    y = tf.layers.batch_normalization(x, training=True, **FORMS[form])
    gradients = tf.gradients(tf.reduce_sum(y), tf.trainable_variables())
    moving = [v for v in tf.global_variables() if "moving" in v.name]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), {x: numbers(4, 2, 2, 3)})
        before = session.run(moving)
        found = session.run([y, *gradients, tf.get_collection(tf.GraphKeys.UPDATE_OPS)], {x: np.zeros([0, 2, 2, 3])})
        np.testing.assert_array_equal(before, session.run(moving))
        assert np.isfinite(before).all()
        assert [np.count_nonzero(gradient) for gradient in found[1:3]] == [0, 0]


@pytest.mark.parametrize("form", FORMS)
def test_half_precision_normalization_keeps_its_variables_in_float32(form):
    x = tf.constant(numbers(4, 3), tf.float16)
    y = tf.layers.batch_normalization(x, training=True, **FORMS[form])
    assert y.dtype == tf.float16
    assert {v.dtype.base_dtype for v in tf.global_variables()} == {tf.float32}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([y, tf.get_collection(tf.GraphKeys.UPDATE_OPS)])[0]
    np.testing.assert_allclose(found.mean(0), 0.25 if form == "adjusted" else 0, atol=2e-3)


def test_the_config_of_batch_normalization_makes_the_same_layer():
    for form in FORMS.values():
        layer = tf.layers.BatchNormalization(axis=1, **form)
        layer(tf.ones([2, 3]), training=True)
        again = type(layer).from_config(layer.get_config())
        kept = ("renorm", "renorm_clipping", "renorm_momentum", "virtual_batch_size", "axis")
        assert [getattr(again, k) for k in kept] == [getattr(layer, k) for k in kept]


# ---- towers --------------------------------------------------------------------------------------------------------


def strategy(towers, steps=2):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=steps, num_cores=towers)


def train(towers, tower, data, steps):
    """Runs ``tower`` on ``data`` ``[rows, ...]`` in one run of ``steps`` steps; gives back the variables by name."""
    distribution = strategy(towers, steps)
    with distribution.scope():
        rows = len(data) // towers // steps

        def dataset():
            return tf.data.Dataset.from_tensor_slices(data).batch(rows, drop_remainder=True)

        iterator = distribution.distribute_dataset(dataset).make_initializable_iterator()

        def step(context, *inputs):
            return distribution.group(distribution.call_for_each_tower(tower, *inputs))

        context = distribution.run_steps_on_dataset(step, iterator, iterations=steps)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), iterator.initializer])
            session.run(distribution.initialize())
            session.run(context.run_op)
            variables = tf.global_variables() + tf.local_variables()
            return {v.name: session.run(distribution.read_var(v)) for v in variables}


@pytest.mark.parametrize("towers", [1, 2, 4])
def test_moving_statistics_are_each_towers_own_and_their_mean_outside(towers):
    data = numbers(16, 3)

    def tower(x):
        tf.layers.batch_normalization(x, training=True, momentum=0.5)
        return tf.group(*tf.get_collection(tf.GraphKeys.UPDATE_OPS))

    found = train(towers, tower, data, steps=2)
    mean, variance = np.zeros((towers, 3)), np.ones((towers, 3))
    for batches in data.reshape(2, towers, -1, 3):
        mean += (batches.mean(1) - mean) / 2
        variance += (batches.var(1) - variance) / 2
    np.testing.assert_allclose(found["batch_normalization/moving_mean:0"], mean.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["batch_normalization/moving_variance:0"], variance.mean(0), rtol=1e-5)


@pytest.mark.parametrize("towers", [1, 2, 4])
def test_batch_renormalization_on_towers_is_each_towers_own(towers):
    data = numbers(24, 3)

    def tower(x):
        y = tf.layers.batch_normalization(x, training=True, momentum=0.5, renorm=True, renorm_momentum=0.75)
        total = tf.get_variable("total", [], initializer=tf.zeros_initializer(), trainable=False,
                                synchronization=tf.VariableSynchronization.ON_READ,
                                aggregation=tf.VariableAggregation.MEAN)  # fmt: skip
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            return total.assign_add(tf.reduce_sum(y * y))

    found = train(towers, tower, data, steps=3)
    expected = {name: [] for name in ("renorm_mean", "renorm_stddev", "moving_mean", "moving_variance", "total")}
    for batches in np.swapaxes(data.reshape(3, towers, -1, 3), 0, 1).astype(np.float64):
        mean, stddev, weight, total = np.zeros(3), np.zeros(3), 0.0, 0.0
        moving_mean, moving_variance = np.zeros(3), np.ones(3)
        for batch in batches:
            of_mean, of_stddev = batch.mean(0), np.sqrt(batch.var(0) + 1e-3)
            mixed_mean, mixed_stddev = mean + (1 - weight) * of_mean, stddev + (1 - weight) * of_stddev
            total += np.sum(np.square((batch - mixed_mean) / mixed_stddev))
            mean, stddev = 0.75 * mean + 0.25 * of_mean, 0.75 * stddev + 0.25 * of_stddev
            weight = 0.75 * weight + 0.25
            moving_mean = (moving_mean + mean / weight) / 2
            moving_variance = (moving_variance + np.square(stddev / weight) - 1e-3) / 2
        for name, value in zip(expected, (mean, stddev, moving_mean, moving_variance, total), strict=True):
            expected[name].append(value)
    for name, values in expected.items():
        name = name if name == "total" else f"batch_normalization/{name}"
        np.testing.assert_allclose(found[f"{name}:0"], np.mean(values, 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("towers", [1, 4])
def test_metrics_count_over_all_towers(towers):
    data = (np.arange(16) % 3 == 0, np.arange(16) % 2 == 0)

    labels, predictions = data
    distribution = strategy(towers, 2)
    with distribution.scope():

        def dataset():
            return tf.data.Dataset.from_tensor_slices(data).batch(8 // towers, drop_remainder=True)

        iterator = distribution.distribute_dataset(dataset).make_initializable_iterator()
        values = []

        def measure(labels, predictions):
            made = [tf.metrics.accuracy(labels, predictions), tf.metrics.recall(labels, predictions)]
            values[:] = [value for value, _ in made]
            return tf.group(*[update for _, update in made])

        def step(context, *inputs):
            return distribution.group(distribution.call_for_each_tower(measure, *inputs))

        context = distribution.run_steps_on_dataset(step, iterator, iterations=2)
        local = {v.name: v for v in tf.local_variables()}
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), iterator.initializer])
            session.run(context.run_op)
            found = {name: float(session.run(distribution.read_var(v))) for name, v in local.items()}
    assert found["accuracy/count:0"] == 16
    assert found["accuracy/total:0"] == np.sum(labels == predictions)
    assert found["recall/true_positives/count:0"] == np.sum(labels & predictions)
    assert found["recall/false_negatives/count:0"] == np.sum(labels & ~predictions)


@pytest.mark.parametrize("how", ["get_variable", "layer"])
def test_a_regularizer_acts_in_every_step_of_a_loop(how):
    """Gradient descent on ``sum(w ** 2) / 2`` alone: each step takes a tenth of the weights away."""

    def tower(x):
        regularizer = tf.contrib.layers.l2_regularizer(1.0)
        if how == "layer":
            tf.layers.dense(x, 2, use_bias=False, kernel_initializer="ones", kernel_regularizer=regularizer, name="w")
        else:
            tf.get_variable("w/kernel", [3, 2], initializer=tf.ones_initializer(), regularizer=regularizer)
        return tf.train.GradientDescentOptimizer(0.1).minimize(tf.losses.get_regularization_loss())

    found = train(2, tower, numbers(12, 3), steps=3)
    np.testing.assert_allclose(found["w/kernel:0"], np.full((3, 2), 0.9**3), rtol=1e-6)


def test_metrics_belong_into_a_tower():
    with strategy(2).scope(), pytest.raises(RuntimeError, match="in a tower context"):
        tf.metrics.mean(tf.ones([2]))


# ---- losses and metrics that are refused ---------------------------------------------------------------------------


def test_losses_refuse_what_cannot_be():
    labels, predictions = tf.ones([2, 3]), tf.ones([2, 3])
    with pytest.raises(ValueError, match="labels must not be None"):
        tf.losses.mean_squared_error(None, predictions)
    with pytest.raises(ValueError, match=r"Shapes \(2, 3\) and \(3, 2\) are incompatible"):
        tf.losses.mean_squared_error(tf.ones([3, 2]), predictions)
    with pytest.raises(ValueError, match="Invalid ReductionKey 'sum'"):
        tf.losses.mean_squared_error(labels, predictions, reduction="sum")
    for weights in (tf.ones([2]), tf.ones([2, 2]), tf.ones([1, 1, 1])):
        with pytest.raises(ValueError, match="weights can not be broadcast to values"):
            tf.losses.mean_squared_error(labels, predictions, weights)
    with pytest.raises(ValueError, match="must specify 'axis'"):
        tf.losses.cosine_distance(labels, predictions)


def test_weights_of_unknown_shape_are_checked_by_the_run():
    weights = tf.placeholder(tf.float32, [None, None], name="w")
    loss = tf.losses.absolute_difference(tf.zeros([2, 3]), tf.ones([2, 3]), weights, reduction="weighted_sum")
    with tf.Session() as session:
        assert session.run(loss, {weights: np.ones([2, 1])}) == 6
        with pytest.raises(InvalidArgumentError, match="weights can not be broadcast to values"):
            session.run(loss, {weights: np.ones([3, 1])})


def test_losses_of_empty_batches_are_zero():
    x = tf.placeholder(tf.float32, [None, 3])
    labels = tf.placeholder(tf.int32, [None])
    losses = [
        tf.losses.mean_squared_error(x, x + 1.0),
        tf.losses.huber_loss(x, x + 1.0, reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE),
        tf.losses.sparse_softmax_cross_entropy(labels, x),
        tf.losses.mean_pairwise_squared_error(x, x),
    ]
    gradient = tf.gradients(tf.losses.get_total_loss(), x)[0]
    with tf.Session() as session:
        found, slope = session.run([losses, gradient], {x: np.zeros([0, 3]), labels: np.zeros([0])})
    assert found == [0, 0, 0, 0]
    assert slope.shape == (0, 3)


def test_metrics_start_anew_with_their_variables():
    x = tf.placeholder(tf.float32, [None])
    value, update = tf.metrics.mean(x)
    with tf.Session() as session:
        for _ in range(2):
            session.run(tf.local_variables_initializer())
            assert session.run(value) == 0
            session.run(update, {x: [1.0, 2.0]})
            assert session.run(update, {x: [6.0]}) == 3
            assert session.run(update, {x: []}) == 3
            assert session.run(value) == 3


def test_scores_must_be_in_range():
    _, update = tf.metrics.auc([True, False], tf.placeholder_with_default([0.5, 1.5], [2]))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update)
