"""Layers where programs run eagerly, and in functions. Names and values are those of the original (1.12)."""

import gc
import weakref

import numpy as np
import pytest

from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.default_graph import get_collection
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.array.arrays import fill, ones
from towerstrat.graph.ops.math.arithmetic import square
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.graph.scopes.variable_store import EagerVariableStore
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.models import layers, losses

ROWS = [[1.0, 2.0], [3.0, 6.0]]


@pytest.fixture(autouse=True)
def eagerly():
    with mode.eager_mode():
        yield


def inputs():
    return ones([2, 3])


def names(layer):
    return [v.name for v in layer.variables]


def test_names():
    first, second = layers.Dense(4), layers.Dense(4)
    assert first(inputs()).shape == [2, 4]
    second(inputs())
    assert names(first) == ["dense/kernel:0", "dense/bias:0"]
    assert names(second) == ["dense_1/kernel:0", "dense_1/bias:0"]
    layers.dense(inputs(), 4)
    third = layers.Dense(2, name="named")
    with variable_scope("scope"):
        third(inputs())
    assert names(third) == ["scope/named/kernel:0", "scope/named/bias:0"]
    fourth = layers.Dense(2)
    fourth(inputs())
    assert names(fourth) == ["dense_3/kernel:0", "dense_3/bias:0"]


def test_a_layer_holds_its_variables_and_nothing_else_does():
    layer = layers.Dense(4)
    layer(inputs())
    kernel = layer.kernel
    layer(inputs())
    assert layer.kernel is kernel
    assert layer.trainable_variables == [layer.kernel, layer.bias]
    gone = weakref.ref(kernel)
    del kernel, layer
    gc.collect()
    assert gone() is None


def test_functional_forms_make_variables_each_time():
    made = [layers.dense(inputs(), 4, name="one").numpy() for _ in range(2)]
    assert (made[0] != made[1]).all()
    made = [layers.dense(inputs(), 4, name="one", reuse=True).numpy() for _ in range(2)]
    assert (made[0] != made[1]).all()


def test_functional_forms_share_in_a_store():
    store = EagerVariableStore()
    for _ in range(2):
        with store.as_default():
            layers.dense(inputs(), 4, name="one")
            layers.batch_normalization(inputs(), name="norm", training=True)
    assert [v.name for v in store.trainable_variables()] == [
        "norm/beta:0", "norm/gamma:0", "one/bias:0", "one/kernel:0"
    ]  # fmt: skip
    assert [v.name for v in store.non_trainable_variables()] == ["norm/moving_mean:0", "norm/moving_variance:0"]


def test_regularizers_follow_the_variable():
    layer = layers.Dense(4, kernel_regularizer=lambda kernel: reduce_sum(square(kernel)), name="regularized")
    layer(inputs())
    layer(inputs())
    (loss,) = layer.losses
    np.testing.assert_allclose(loss.numpy(), np.square(layer.kernel.numpy()).sum(), rtol=1e-6)
    layer.kernel.assign(np.full((3, 4), 2.0))
    assert layer.losses[0].numpy() == 48
    with GradientTape() as tape:
        loss = layer.losses[0]
    assert (tape.gradient(loss, layer.kernel).numpy() == 4).all()
    assert get_collection(GraphKeys.REGULARIZATION_LOSSES) == []
    found = function(lambda: layer.losses[0])
    layer.kernel.assign(np.full((3, 4), 3.0))
    assert found().numpy() == 108


def test_what_has_no_meaning_eagerly():
    layer = layers.Dense(4)
    layer(inputs())
    for look in (
        lambda: layer.updates,
        lambda: layer.graph,
        lambda: layer.get_losses_for(None),
        lambda: layer.get_updates_for(None),
    ):
        with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
            look()
    with pytest.raises(ValueError, match="Activity regularization is not supported when executing eagerly"):
        layers.Dense(4, activity_regularizer=reduce_sum)
    with pytest.raises(RuntimeError, match="Pass a function without arguments"):
        layer.add_loss(constant(1.0))


def test_added_losses_are_functions():
    layer = layers.Dense(4)
    layer(inputs())
    layer.add_loss(lambda: reduce_sum(layer.bias))
    layer.bias.assign([1.0, 2.0, 3.0, 4.0])
    assert [x.numpy() for x in layer.losses] == [10.0]


def test_weights_as_arrays():
    layer = layers.Dense(2)
    layer(inputs())
    layer.set_weights([np.full((3, 2), 2.0), [1.0, -1.0]])
    assert [w.tolist() for w in layer.get_weights()] == [[[2.0, 2.0]] * 3, [1.0, -1.0]]
    assert layer(inputs()).numpy().tolist() == [[7.0, 5.0]] * 2
    assert layer.count_params() == 8


NORMALIZED = np.array([[-0.9995004, -0.99987507], [0.9995005, 0.99987507]], np.float32)


@pytest.mark.parametrize("training", [True, constant])
@pytest.mark.parametrize("inside", [False, True])
def test_batch_normalization_updates_at_once(inside, training):
    layer = layers.BatchNormalization(momentum=0.5)
    training = training if training is True else constant(True)
    train = lambda x: layer(x, training=training)  # noqa: E731
    train = function(train) if inside else train
    np.testing.assert_allclose(train(constant(ROWS)).numpy(), NORMALIZED, rtol=1e-6)
    assert [v.numpy().tolist() for v in layer.variables] == [[1.0, 1.0], [0.0, 0.0], [1.0, 2.0], [1.0, 2.5]]
    expected = [[0.0, 0.0], [1.9990009, 2.5293164]]
    np.testing.assert_allclose(layer(constant(ROWS), training=False).numpy(), expected, rtol=1e-6)
    train(constant(ROWS))
    assert [v.numpy().tolist() for v in layer.variables[2:]] == [[1.5, 3.0], [1.0, 3.25]]


def _adjustment(shape):
    return fill(shape[-1:], 2.0), fill(shape[-1:], 0.5)


@pytest.mark.parametrize(
    "arguments", [{"renorm": True, "renorm_momentum": 0.5}, {"virtual_batch_size": 2}, {"adjustment": _adjustment}]
)
@pytest.mark.parametrize("given", [bool, constant])
def test_forms_of_batch_normalization_are_the_same_at_once_in_functions_and_in_graphs(arguments, given):
    data = [np.random.default_rng(i).normal(i, 1 + i, [4, 3]).astype(np.float32) for i in range(3)]
    found = []
    for inside in (False, True):
        layer = layers.BatchNormalization(momentum=0.5, **arguments)
        call = function(lambda x, t, layer=layer: layer(x, training=t)) if inside else layer
        outputs = [call(constant(x), given(i < 2)).numpy() for i, x in enumerate(data)]
        found.append(outputs + [v.numpy() for v in layer.variables])
    with Graph().as_default(), Session() as session:
        layer = layers.BatchNormalization(momentum=0.5, **arguments)
        x, training = placeholder("float32", [4, 3]), placeholder("bool", [])
        y = layer(x, training=training)
        session.run(global_variables_initializer())
        outputs = [session.run([y, layer.updates], {x: rows, training: i < 2})[0] for i, rows in enumerate(data)]
        found.append(outputs + [session.run(v) for v in layer.variables])
    for one in found[1:]:
        for value, expected in zip(one, found[0], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("arguments", [{}, {"scale": False}, {"center": False}])
def test_fused_batch_normalization_in_two_functions_and_eagerly(arguments):
    layer = layers.BatchNormalization(momentum=0.5, **arguments)
    images = constant(np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2))
    found = [
        function(lambda x: layer(x, training=True))(images).numpy(),
        function(lambda x: layer(x, training=True))(images).numpy(),
        layer(images, training=True).numpy(),
    ]
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2], rtol=1e-6)
    np.testing.assert_allclose(layer.moving_mean.numpy(), [7 * 0.875, 8 * 0.875])


def test_updates_of_a_function_are_collected_in_it():
    layer = layers.BatchNormalization()
    layer(constant(ROWS))
    seen = []

    def train(x):
        layer(x, training=True)
        seen.append((list(layer.updates), get_collection(GraphKeys.UPDATE_OPS)))

    for rows in (ROWS, ROWS[:1]):
        function(train)(constant(rows))
    for updates, collected in seen:
        assert len(updates) == 2
        assert updates == collected
    assert seen[0][0][0].graph is not seen[1][0][0].graph


def test_losses_of_a_function_are_collected_in_it():
    layer = layers.Dense(4, kernel_regularizer=lambda kernel: reduce_sum(kernel) * 0.0 + 2.0)

    @function
    def total(x):
        layer(x)
        losses.mean_squared_error([1.0], [4.0])
        return losses.get_total_loss()

    assert total(inputs()).numpy() == 11.0


def test_dropout():
    x = ones([1000])
    kept = layers.dropout(x, 0.5, training=True).numpy()
    assert set(kept.tolist()) == {0.0, 2.0}
    assert (layers.dropout(x, 0.5).numpy() == 1).all()
    layer = layers.Dropout(0.5)
    dropped = function(lambda: layer(x, training=True))
    assert (dropped().numpy() != dropped().numpy()).any()


def test_convolutions():
    image = ones([1, 4, 4, 1])
    for form in (layers.conv2d, layers.separable_conv2d, layers.conv2d_transpose):
        assert form(image, 2, 3, padding="same").shape == [1, 4, 4, 2]
    assert layers.max_pooling2d(image, 2, 2).shape == [1, 2, 2, 1]
    assert layers.flatten(image).shape == [1, 16]


def test_a_layer_of_a_graph_is_not_for_eager_values():
    with Graph().as_default():
        layer = layers.Dense(4)
        layer(placeholder("float32", [2, 3]))
    with pytest.raises(ValueError, match="not the same"):
        layer(inputs())


def test_a_layer_made_in_a_function_is_used_eagerly():
    layer = layers.Dense(4)
    inside = function(lambda x: layer(x))(inputs()).numpy()
    np.testing.assert_allclose(layer(inputs()).numpy(), inside, rtol=1e-6)
    assert names(layer) == ["dense/kernel:0", "dense/bias:0"]
