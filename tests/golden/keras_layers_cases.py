"""Layers of keras 2.15, each as the original and ours both run it: eagerly, in a function and in a functional model.

A case is what makes the layer from ``tf.keras`` and what it is called on; ``run`` tells what came out.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


def numbers(*shape: int, key: Any = 0, low: float = -1, high: float = 1) -> np.ndarray:
    """Fixed numbers between -1 and 1, others for each shape and key."""
    source = np.random.RandomState(zlib.crc32(repr((shape, key)).encode()) % 2**31)
    return source.uniform(low, high, shape).astype(np.float32)


def whole(*shape: int, size: int, key: Any = 0) -> np.ndarray:
    """Fixed whole numbers below ``size``."""
    source = np.random.RandomState(zlib.crc32(repr((shape, key)).encode()) % 2**31)
    return source.randint(0, size, shape).astype(np.int64)


class Case(NamedTuple):
    """A layer and what is done with it.

    Attributes:
      make: the layer, from ``tf.keras``. inputs: one array, or a list of them.
      how: arguments of the call. adapt: data for ``adapt``. random: whether it draws when it trains.
      steps: how many times it is called in training. fixed: whether its weights stay what they are made.
      config: whether its configuration can be compared. mixed: whether it is tried in half precision.
      functional: whether it is tried in a functional model. slopes: whether it has a gradient.
    """

    make: Callable[[Any], Any]
    inputs: Any
    how: dict[str, Any] = {}
    adapt: Any = None
    random: bool = False
    steps: int = 1
    fixed: bool = False
    config: bool = True
    mixed: bool = True
    functional: bool = True
    slopes: bool = True


CASES: dict[str, Case] = {}


def on(name: str, make: Callable[[Any], Any], inputs: Any, **options: Any) -> None:
    """Adds a case."""
    assert name not in CASES, name
    CASES[name] = Case(make, inputs, **options)


V = numbers(3, 4)
S = numbers(2, 6, 3)
I = numbers(2, 7, 6, 3)  # noqa: E741
Y = numbers(2, 5, 6, 4, 2)
MASK = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]], bool)
IMAGE = numbers(2, 5, 6, 3, key="image", low=0, high=255)


def _core() -> None:
    on("Dense", lambda k: k.layers.Dense(3), V)
    on("Dense/relu-regular", lambda k: k.layers.Dense(
        3, activation="relu", kernel_regularizer="l2", bias_regularizer=k.regularizers.L1(0.1),
        activity_regularizer=k.regularizers.L1L2(0.1, 0.2), kernel_constraint="max_norm"), V)  # fmt: skip
    on("Dense/rank 3", lambda k: k.layers.Dense(3, use_bias=False), S)
    on("Dense/rank 5", lambda k: k.layers.Dense(3, activation="softmax"), Y)
    on("Dense/float64", lambda k: k.layers.Dense(3, dtype="float64"), V, mixed=False)
    on("Activation", lambda k: k.layers.Activation("tanh"), V)
    on("ActivityRegularization", lambda k: k.layers.ActivityRegularization(0.1, 0.2), V)
    on("Dropout", lambda k: k.layers.Dropout(0.5), V, random=True)
    on("Dropout/none", lambda k: k.layers.Dropout(0.0), V)
    on("Dropout/seed", lambda k: k.layers.Dropout(0.5, noise_shape=[None, 1], seed=3), V, random=True)
    on("SpatialDropout1D", lambda k: k.layers.SpatialDropout1D(0.5), S, random=True)
    on("SpatialDropout2D", lambda k: k.layers.SpatialDropout2D(0.5), I, random=True)
    on("SpatialDropout2D/first", lambda k: k.layers.SpatialDropout2D(0.5, data_format="channels_first"), I, random=True)
    on("SpatialDropout3D", lambda k: k.layers.SpatialDropout3D(0.5), Y, random=True)
    on("AlphaDropout", lambda k: k.layers.AlphaDropout(0.5), V, random=True)
    on("GaussianDropout", lambda k: k.layers.GaussianDropout(0.5), V, random=True)
    on("GaussianNoise", lambda k: k.layers.GaussianNoise(0.5), V, random=True)
    on("Embedding", lambda k: k.layers.Embedding(5, 3), whole(2, 4, size=5), mixed=True)
    on("Embedding/mask", lambda k: k.layers.Embedding(5, 3, mask_zero=True, input_length=4), whole(2, 4, size=5))
    on("Embedding/floats", lambda k: k.layers.Embedding(5, 3), whole(2, 4, size=5).astype(np.float32), mixed=False)
    on("Flatten", lambda k: k.layers.Flatten(), I)
    on("Flatten/first", lambda k: k.layers.Flatten(data_format="channels_first"), I)
    on("Flatten/1d", lambda k: k.layers.Flatten(), numbers(4))
    on("Identity", lambda k: k.layers.Identity(), V)
    on("Lambda", lambda k: k.layers.Lambda(lambda x: x * 2.0 + 1.0), V, config=False)
    on("Masking", lambda k: k.layers.Masking(0.0), S * MASK[:, :, None])
    on("Permute", lambda k: k.layers.Permute((2, 1)), S)
    on("RepeatVector", lambda k: k.layers.RepeatVector(3), V)
    on("Reshape", lambda k: k.layers.Reshape((3, -1)), S)
    on("Reshape/scalar", lambda k: k.layers.Reshape((2, 2)), V)
    on("EinsumDense", lambda k: k.layers.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d"), S)
    on("EinsumDense/dots", lambda k: k.layers.EinsumDense(
        "...x,xy->...y", output_shape=5, bias_axes="y", activation="relu"), S)  # fmt: skip
    on("EinsumDense/many", lambda k: k.layers.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3)), S)
    on("SpectralNormalization", lambda k: k.layers.SpectralNormalization(k.layers.Dense(3)), V, steps=2)
    on("SpectralNormalization/conv", lambda k: k.layers.SpectralNormalization(
        k.layers.Conv2D(2, 3), power_iterations=3), I, mixed=False)  # fmt: skip
    on("TimeDistributed", lambda k: k.layers.TimeDistributed(k.layers.Dense(2)), S)
    on("TimeDistributed/conv", lambda k: k.layers.TimeDistributed(k.layers.Conv2D(2, 2)), Y)
    on("TimeDistributed/mask", lambda k: k.layers.TimeDistributed(k.layers.Dense(2)), S, how={"mask": MASK})
    on("model", lambda k: k.Sequential([k.layers.Dense(3, "relu"), k.layers.BatchNormalization(), k.layers.Dense(2)]),
       V)  # fmt: skip
    for name in ("relu", "elu", "selu", "gelu", "mish", "sigmoid", "hard_sigmoid", "softmax", "softplus", "softsign",
                 "swish", "tanh", "exponential", "linear"):  # fmt: skip
        on(f"Activation/{name}", lambda k, name=name: k.layers.Activation(name), np.r_[V * 4, np.zeros((1, 4), "f")])
    on("ELU", lambda k: k.layers.ELU(0.3), V)
    on("LeakyReLU", lambda k: k.layers.LeakyReLU(0.1), V)
    on("PReLU", lambda k: k.layers.PReLU(), V)
    on("PReLU/shared", lambda k: k.layers.PReLU(shared_axes=[1, 2]), I)
    on("ReLU", lambda k: k.layers.ReLU(), V)
    on("ReLU/bounds", lambda k: k.layers.ReLU(max_value=0.5, negative_slope=0.2, threshold=0.1), V)
    on("Softmax", lambda k: k.layers.Softmax(), V)
    on("Softmax/axes", lambda k: k.layers.Softmax(axis=[1, 2]), S)
    on("Softmax/mask", lambda k: k.layers.Softmax(axis=1), S[:, :, 0], how={"mask": MASK})
    on("ThresholdedReLU", lambda k: k.layers.ThresholdedReLU(0.3), V)
    on("Rescaling", lambda k: k.layers.Rescaling(1 / 127.5, offset=-1), IMAGE)


def _merging() -> None:
    two, three = [V, V * 2 - 0.3], [S, S * 3, numbers(2, 6, 3, key=2)]
    for name in ("Add", "Average", "Maximum", "Minimum", "Multiply"):
        on(name, lambda k, name=name: getattr(k.layers, name)(), three)
        on(f"{name}/broadcast", lambda k, name=name: getattr(k.layers, name)(), [S, numbers(2, 3)], functional=False)
    on("Subtract", lambda k: k.layers.Subtract(), two)
    on("Concatenate", lambda k: k.layers.Concatenate(), three)
    on("Concatenate/axis", lambda k: k.layers.Concatenate(axis=1), three)
    on("Dot", lambda k: k.layers.Dot(axes=1), two)
    on("Dot/normalized", lambda k: k.layers.Dot(axes=(1, 1), normalize=True), [S, numbers(2, 6, 5)])
    on("Dot/axes", lambda k: k.layers.Dot(axes=(2, 1)), [S, numbers(2, 3, 5)])
    query, value = numbers(2, 4, 3, key="q"), numbers(2, 6, 3, key="v")
    on("Attention", lambda k: k.layers.Attention(), [query, value])
    on("Attention/scale", lambda k: k.layers.Attention(use_scale=True), [query, value, numbers(2, 6, 3, key="k")])
    on("Attention/concat", lambda k: k.layers.Attention(use_scale=True, score_mode="concat"), [query, value])
    on("Attention/mask", lambda k: k.layers.Attention(), [query, value], functional=False,
       how={"mask": [np.array([[1, 1, 0, 0], [1, 1, 1, 1]], bool), MASK], "return_attention_scores": True})  # fmt: skip
    on("Attention/causal", lambda k: k.layers.Attention(), [value, value], how={"use_causal_mask": True})
    on("AdditiveAttention", lambda k: k.layers.AdditiveAttention(), [query, value])
    on("AdditiveAttention/plain", lambda k: k.layers.AdditiveAttention(use_scale=False, dropout=0.1), [query, value],
       random=True)  # fmt: skip
    on("MultiHeadAttention", lambda k: _Called(k, k.layers.MultiHeadAttention(2, 4)), [query, value], config=False)
    on("MultiHeadAttention/value", lambda k: _Called(k, k.layers.MultiHeadAttention(
        2, 4, value_dim=3, output_shape=5, use_bias=False), use_causal_mask=True),
       [value, value], config=False)  # fmt: skip
    on("MultiHeadAttention/axes", lambda k: _Called(k, k.layers.MultiHeadAttention(
        2, 2, attention_axes=(1, 2))), [numbers(2, 3, 2, 4), numbers(2, 3, 2, 4, key=1)], config=False)  # fmt: skip
    on("MultiHeadAttention/mask", lambda k: _Called(k, k.layers.MultiHeadAttention(
        2, 4), attention_mask=np.ones((2, 4, 6), bool) & MASK[:, None]), [query, value], config=False)  # fmt: skip


def _Called(k: Any, layer: Any, **how: Any) -> Any:
    """A layer of one list for a layer of two arguments."""

    class Called(k.layers.Layer):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(name="called")
            self.inner = layer

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.inner(*inputs, training=training, **how)

    return Called()


def _convolutions() -> None:
    for padding in ("valid", "same"):
        on(f"Conv1D/{padding}", lambda k, p=padding: k.layers.Conv1D(4, 3, padding=p, strides=2), S)
        on(f"Conv2D/{padding}", lambda k, p=padding: k.layers.Conv2D(4, (3, 2), padding=p, strides=(2, 1)), I)
        on(f"Conv3D/{padding}", lambda k, p=padding: k.layers.Conv3D(3, 2, padding=p, strides=(1, 2, 1)), Y)
        on(f"Conv1DTranspose/{padding}", lambda k, p=padding: k.layers.Conv1DTranspose(4, 3, 2, padding=p), S)
        on(f"Conv2DTranspose/{padding}", lambda k, p=padding: k.layers.Conv2DTranspose(4, 3, (2, 1), padding=p), I)
        on(f"Conv3DTranspose/{padding}", lambda k, p=padding: k.layers.Conv3DTranspose(3, 2, 2, padding=p), Y)
        on(f"DepthwiseConv1D/{padding}", lambda k, p=padding: k.layers.DepthwiseConv1D(
            3, padding=p, depth_multiplier=2), S)  # fmt: skip
        on(f"DepthwiseConv2D/{padding}", lambda k, p=padding: k.layers.DepthwiseConv2D(
            3, 2, padding=p, depth_multiplier=2), I)  # fmt: skip
        on(f"SeparableConv1D/{padding}", lambda k, p=padding: k.layers.SeparableConv1D(4, 3, padding=p), S)
        on(f"SeparableConv2D/{padding}", lambda k, p=padding: k.layers.SeparableConv2D(
            4, 3, padding=p, depth_multiplier=2), I)  # fmt: skip
    on("Conv1D/causal", lambda k: k.layers.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu"), S)
    on("Conv1D/groups", lambda k: k.layers.Conv1D(4, 3, groups=2), numbers(2, 6, 4))
    on("Conv2D/dilated", lambda k: k.layers.Conv2D(4, 2, dilation_rate=(2, 3), use_bias=False, activation="tanh"), I)
    on("Conv2D/groups", lambda k: k.layers.Conv2D(4, 2, groups=2), numbers(2, 5, 5, 4))
    on("Conv2D/more axes", lambda k: k.layers.Conv2D(2, 2), Y)
    on("Conv1DTranspose/further", lambda k: k.layers.Conv1DTranspose(4, 3, 3, output_padding=1), S)
    on("Conv2DTranspose/further", lambda k: k.layers.Conv2DTranspose(4, 3, 2, "same", output_padding=1), I)
    on("Conv3DTranspose/further", lambda k: k.layers.Conv3DTranspose(2, 3, 2, output_padding=(1, 0, 1)), Y)
    on("SeparableConv1D/causal", lambda k: k.layers.SeparableConv1D(4, 3, padding="causal"), S)
    on("DepthwiseConv2D/dilated", lambda k: k.layers.DepthwiseConv2D(2, dilation_rate=2), I)
    on("LocallyConnected1D", lambda k: k.layers.LocallyConnected1D(4, 3, strides=2), S)
    on("LocallyConnected1D/2", lambda k: k.layers.LocallyConnected1D(2, 3, padding="same", implementation=2), S)
    on("LocallyConnected2D", lambda k: k.layers.LocallyConnected2D(2, 3, strides=2), I)
    on("LocallyConnected2D/2", lambda k: k.layers.LocallyConnected2D(2, 3, padding="same", implementation=2), I)
    on("LocallyConnected2D/3", lambda k: k.layers.LocallyConnected2D(2, 3, implementation=3), I, mixed=False)


def _pooling() -> None:
    for rank, x, size in ((1, S, 2), (2, I, (2, 3)), (3, Y, 2)):
        for kind in ("Max", "Average"):
            for padding in ("valid", "same"):
                on(f"{kind}Pooling{rank}D/{padding}", lambda k, n=f"{kind}Pooling{rank}D", s=size, p=padding: getattr(
                    k.layers, n)(s, padding=p), x, mixed=rank < 3)  # fmt: skip
            name = f"Global{kind}Pooling{rank}D"
            on(name, lambda k, n=name: getattr(k.layers, n)(), x)
            on(f"{name}/kept", lambda k, n=name: getattr(k.layers, n)(keepdims=True), x)
        on(f"GlobalAveragePooling{rank}D/first", lambda k, n=rank: getattr(k.layers, f"GlobalAveragePooling{n}D")(
            data_format="channels_first"), x)  # fmt: skip
        on(f"UpSampling{rank}D", lambda k, n=rank: getattr(k.layers, f"UpSampling{n}D")(2), x)
        on(f"ZeroPadding{rank}D", lambda k, n=rank: getattr(k.layers, f"ZeroPadding{n}D")(1), x)
        on(f"Cropping{rank}D", lambda k, n=rank: getattr(k.layers, f"Cropping{n}D")(1), x)
    on("MaxPooling2D/strides", lambda k: k.layers.MaxPooling2D(3, strides=1), I)
    on("AveragePooling1D/strides", lambda k: k.layers.AveragePooling1D(3, strides=1, padding="same"), S)
    on("GlobalAveragePooling1D/mask", lambda k: k.layers.GlobalAveragePooling1D(), S, how={"mask": MASK})
    on("ZeroPadding1D/uneven", lambda k: k.layers.ZeroPadding1D((1, 2)), S)
    on("ZeroPadding2D/uneven", lambda k: k.layers.ZeroPadding2D(((1, 2), (0, 3))), I)
    on("ZeroPadding2D/first", lambda k: k.layers.ZeroPadding2D((1, 2), data_format="channels_first"), I)
    on("ZeroPadding3D/uneven", lambda k: k.layers.ZeroPadding3D(((1, 0), (0, 2), (1, 1))), Y)
    on("Cropping1D/uneven", lambda k: k.layers.Cropping1D((0, 2)), S)
    on("Cropping2D/uneven", lambda k: k.layers.Cropping2D(((1, 2), (0, 3))), I)
    on("Cropping2D/first", lambda k: k.layers.Cropping2D(1, data_format="channels_first"), I)
    on("Cropping3D/uneven", lambda k: k.layers.Cropping3D(((1, 0), (0, 2), (1, 1))), Y)
    on("UpSampling3D/first", lambda k: k.layers.UpSampling3D((1, 2, 1), data_format="channels_first"), Y)
    for how in ("bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "nearest"):
        on(f"UpSampling2D/{how}", lambda k, how=how: k.layers.UpSampling2D((2, 3), interpolation=how), I, mixed=False,
           slopes=how != "area")  # fmt: skip


def _normalization() -> None:
    on("BatchNormalization", lambda k: k.layers.BatchNormalization(), V, steps=2)
    on("BatchNormalization/fused", lambda k: k.layers.BatchNormalization(), I, steps=2)
    on("BatchNormalization/axis", lambda k: k.layers.BatchNormalization(axis=1, momentum=0.5, epsilon=1e-2), I, steps=2)
    on("BatchNormalization/axes", lambda k: k.layers.BatchNormalization(axis=[1, 3]), I, steps=2)
    on("BatchNormalization/plain", lambda k: k.layers.BatchNormalization(center=False, scale=False), S, steps=2)
    on("BatchNormalization/mask", lambda k: k.layers.BatchNormalization(), S, how={"mask": MASK}, steps=2)
    on("BatchNormalization/synchronized", lambda k: k.layers.BatchNormalization(synchronized=True), I, steps=2)
    on("BatchNormalization/frozen", lambda k: k.layers.BatchNormalization(trainable=False), V)
    on("LayerNormalization", lambda k: k.layers.LayerNormalization(), S)
    on("LayerNormalization/axes", lambda k: k.layers.LayerNormalization(axis=[1, 2], epsilon=1e-5), I)
    on("LayerNormalization/plain", lambda k: k.layers.LayerNormalization(center=False, scale=False), V)
    on("GroupNormalization", lambda k: k.layers.GroupNormalization(2), numbers(2, 5, 4))
    on("GroupNormalization/axis", lambda k: k.layers.GroupNormalization(-1, axis=1), I)
    on("GroupNormalization/mask", lambda k: k.layers.GroupNormalization(3), S, functional=False,
       how={"mask": np.repeat(MASK[:, :, None], 3, 2)})  # fmt: skip
    on("UnitNormalization", lambda k: k.layers.UnitNormalization(), V)
    on("UnitNormalization/axes", lambda k: k.layers.UnitNormalization(axis=[1, 2]), S)


def _recurrent() -> None:
    for name in ("SimpleRNN", "GRU", "LSTM"):

        def layer(k: Any, n: str = name, **how: Any) -> Any:
            return getattr(k.layers, n)(4, **how)

        on(name, layer, S)
        on(f"{name}/sequences", lambda k, f=layer: f(k, return_sequences=True, return_state=True), S)
        on(f"{name}/backwards", lambda k, f=layer: f(k, return_sequences=True, go_backwards=True), S)
        on(f"{name}/mask", lambda k, f=layer: f(k, return_sequences=True, return_state=True), S, how={"mask": MASK})
        on(f"{name}/zeros", lambda k, f=layer: f(k, return_sequences=True, zero_output_for_mask=True), S,
           how={"mask": MASK})  # fmt: skip
        on(f"{name}/stateful", lambda k, f=layer: f(k, stateful=True), S, steps=2, functional=False)
        on(f"{name}/unrolled", lambda k, f=layer: f(k, unroll=True), S)
        on(f"{name}/time major", lambda k, f=layer: f(k, time_major=True, return_sequences=True), S, functional=False)
        on(f"{name}/other", lambda k, f=layer: f(k, activation="relu", use_bias=False), S)
        on(f"{name}/dropout", lambda k, f=layer: f(k, dropout=0.2, recurrent_dropout=0.3), S, random=True)
        on(f"{name}/states", lambda k, f=layer: f(k), S, functional=False, mixed=False,
           how={"initial_state": [numbers(2, 4, key=i) for i in range(2 if name == "LSTM" else 1)]})  # fmt: skip
        on(f"{name}/masked", lambda k, f=layer: k.Sequential([k.layers.Masking(), f(k)]), S * MASK[:, :, None],
           mixed=False)  # fmt: skip
        on(f"RNN/{name}Cell", lambda k, n=name: k.layers.RNN(getattr(k.layers, f"{n}Cell")(4)), S)
        on(f"{name}Cell", lambda k, n=name: _Cell(k, getattr(k.layers, f"{n}Cell")(4), 2 if n == "LSTM" else 1), V,
           config=False)  # fmt: skip
        for merge in ("concat", "sum", "mul", "ave", None):
            on(f"Bidirectional/{name}-{merge}", lambda k, f=layer, m=merge: k.layers.Bidirectional(
                f(k, return_sequences=m != "sum"), merge_mode=m), S)  # fmt: skip
    on("GRU/before", lambda k: k.layers.GRU(4, reset_after=False), S)
    on("LSTM/forget", lambda k: k.layers.LSTM(4, unit_forget_bias=False, implementation=1), S, fixed=False)
    on("Bidirectional/mask", lambda k: k.layers.Bidirectional(k.layers.LSTM(4, return_sequences=True)), S,
       how={"mask": MASK})  # fmt: skip
    on("Bidirectional/other", lambda k: k.layers.Bidirectional(
        k.layers.LSTM(4), backward_layer=k.layers.GRU(4, go_backwards=True)), S)  # fmt: skip
    on("RNN/stacked", lambda k: k.layers.RNN(
        [k.layers.LSTMCell(4), k.layers.GRUCell(3)], return_sequences=True, return_state=True), S)  # fmt: skip
    on("RNN/StackedRNNCells", lambda k: k.layers.RNN(
        k.layers.StackedRNNCells([k.layers.SimpleRNNCell(4), k.layers.SimpleRNNCell(3)])), S,
       how={"mask": MASK})  # fmt: skip
    for rank, x in ((1, numbers(2, 3, 5, 2)), (2, numbers(2, 3, 4, 5, 2)), (3, numbers(2, 3, 4, 3, 4, 2))):
        name = f"ConvLSTM{rank}D"
        on(name, lambda k, n=name: getattr(k.layers, n)(2, 3, padding="same"), x, mixed=rank < 3)
        on(f"{name}/sequences", lambda k, n=name: getattr(k.layers, n)(
            2, 2, return_sequences=True, return_state=True, go_backwards=True), x, mixed=False)  # fmt: skip
    on("ConvLSTM2D/mask", lambda k: k.layers.ConvLSTM2D(2, 3, return_sequences=True), numbers(2, 3, 4, 5, 2),
       how={"mask": np.array([[1, 1, 0], [1, 0, 1]], bool)})  # fmt: skip
    on("ConvLSTM1D/stateful", lambda k: k.layers.ConvLSTM1D(2, 3, stateful=True), numbers(2, 3, 5, 2), steps=2,
       functional=False, mixed=False)  # fmt: skip


def _Cell(k: Any, cell: Any, states: int) -> Any:
    """A layer that takes one step of a cell."""

    class Cell(k.layers.Layer):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(name="cell")
            self.inner = cell

        def call(self, x: Any, training: Any = None) -> Any:
            state = [x * (i + 1.0) for i in range(states)]
            return self.inner(x, state, training=training)

    return Cell()


WORDS = np.array([["a b", "b c a"], ["d", ""], ["a a A", "c, d!"]])


def _preprocessing() -> None:
    names, ids = np.array([["a", "b"], ["c", "x"], ["b", "a"]]), np.array([[1, 5], [7, 9], [5, 1]])
    own = {"fixed": True, "mixed": False}
    on("StringLookup", lambda k: k.layers.StringLookup(vocabulary=["a", "b", "c"]), names, **own)
    on("StringLookup/adapt", lambda k: k.layers.StringLookup(max_tokens=4), names, adapt=names, **own)
    on("StringLookup/invert", lambda k: k.layers.StringLookup(vocabulary=["a", "b", "c"], invert=True),
       np.array([[1, 2], [3, 0]]), **own)  # fmt: skip
    on("StringLookup/mask", lambda k: k.layers.StringLookup(
        vocabulary=["a", "b"], mask_token="", num_oov_indices=3), names, **own)  # fmt: skip
    for mode in ("multi_hot", "count", "one_hot", "tf_idf"):
        more = {"idf_weights": [0.5, 0.25, 0.1]} if mode == "tf_idf" else {}
        x, y = (names[:, 0], ids[:, 0]) if mode == "one_hot" else (names, ids)
        on(f"StringLookup/{mode}", lambda k, m=mode, w=more: k.layers.StringLookup(
            vocabulary=["a", "b", "c"], output_mode=m, **w), x, **own)  # fmt: skip
        on(f"IntegerLookup/{mode}", lambda k, m=mode, w=more: k.layers.IntegerLookup(
            vocabulary=[1, 5, 7], output_mode=m, **w), y, **own)  # fmt: skip
        on(f"TextVectorization/{mode}", lambda k, m=mode: k.layers.TextVectorization(
            output_mode=m if m != "one_hot" else "int", ngrams=2), WORDS[:, :1], adapt=WORDS[:, 0], **own)  # fmt: skip
    on("StringLookup/sparse", lambda k: k.layers.StringLookup(
        vocabulary=["a", "b"], output_mode="count", sparse=True), names, functional=False, **own)  # fmt: skip
    on("IntegerLookup", lambda k: k.layers.IntegerLookup(vocabulary=[1, 5, 7]), ids, **own)
    on("IntegerLookup/adapt", lambda k: k.layers.IntegerLookup(num_oov_indices=2), ids, adapt=ids, **own)
    on("IntegerLookup/mask", lambda k: k.layers.IntegerLookup(vocabulary=[1, 5], mask_token=0, oov_token=-1), ids,
       **own)  # fmt: skip
    on("IntegerLookup/pad", lambda k: k.layers.IntegerLookup(
        max_tokens=6, pad_to_max_tokens=True, output_mode="multi_hot"), ids, adapt=ids, **own)  # fmt: skip
    on("TextVectorization", lambda k: k.layers.TextVectorization(), WORDS[:, 0], adapt=WORDS[:, 0], **own)
    on("TextVectorization/length", lambda k: k.layers.TextVectorization(
        max_tokens=5, output_sequence_length=4, standardize="lower"), WORDS[:, :1], adapt=WORDS[:, 1],
       **own)  # fmt: skip
    on("TextVectorization/characters", lambda k: k.layers.TextVectorization(
        split="character", standardize="strip_punctuation"), WORDS[:, :1], adapt=WORDS[:, 1], **own)  # fmt: skip
    on("TextVectorization/ragged", lambda k: k.layers.TextVectorization(ragged=True, vocabulary=["a", "b"]),
       WORDS[:, 0], functional=False, **own)  # fmt: skip
    on("TextVectorization/given", lambda k: k.layers.TextVectorization(
        vocabulary=["a", "b"], ngrams=2, output_mode="tf_idf", idf_weights=[0.1, 0.5]),
       WORDS[:, :1], **own)  # fmt: skip
    on("TextVectorization/unsplit", lambda k: k.layers.TextVectorization(
        split=None, standardize=None, vocabulary=["a b", "d"]), WORDS[:, :1], **own)  # fmt: skip
    on("Hashing", lambda k: k.layers.Hashing(num_bins=5), names, **own)
    on("Hashing/salt", lambda k: k.layers.Hashing(num_bins=5, salt=[133, 137]), names, **own)
    on("Hashing/integers", lambda k: k.layers.Hashing(num_bins=5, mask_value=1), ids, **own)
    on("Hashing/one_hot", lambda k: k.layers.Hashing(num_bins=5, output_mode="multi_hot"), names, **own)
    on("HashedCrossing", lambda k: k.layers.HashedCrossing(num_bins=5), [names[:, 0], ids[:, 0]], **own)
    on("HashedCrossing/one_hot", lambda k: k.layers.HashedCrossing(num_bins=5, output_mode="one_hot"),
       [names[:, :1], ids[:, :1]], **own)  # fmt: skip
    for mode in ("one_hot", "multi_hot", "count"):
        x = np.array([0, 2, 1]) if mode == "one_hot" else np.array([[0, 2], [1, 1], [3, 2]])
        on(f"CategoryEncoding/{mode}", lambda k, m=mode: k.layers.CategoryEncoding(4, output_mode=m), x, **own)
    on("CategoryEncoding/sparse", lambda k: k.layers.CategoryEncoding(4, output_mode="count", sparse=True),
       np.array([[0, 2], [1, 1]]), functional=False, **own)  # fmt: skip
    on("CategoryEncoding/weights", lambda k: k.layers.CategoryEncoding(4, output_mode="count"),
       np.array([[0, 2], [1, 1]]), how={"count_weights": np.array([[0.5, 2], [1, 1.5]], "f")}, **own)  # fmt: skip
    on("Discretization", lambda k: k.layers.Discretization(bin_boundaries=[-0.5, 0.0, 0.5]), V, **own)
    on("Discretization/adapt", lambda k: k.layers.Discretization(num_bins=4, epsilon=0.01), V,
       adapt=numbers(50, 4), **own)  # fmt: skip
    on("Discretization/one_hot", lambda k: k.layers.Discretization([0.0, 0.5], output_mode="one_hot"), V[:, 0], **own)
    on("Normalization", lambda k: k.layers.Normalization(), V, adapt=numbers(20, 4), **own)
    on("Normalization/axes", lambda k: k.layers.Normalization(axis=(1, 2)), S, adapt=numbers(5, 6, 3), **own)
    on("Normalization/none", lambda k: k.layers.Normalization(axis=None), V, adapt=numbers(20, 4), **own)
    on("Normalization/given", lambda k: k.layers.Normalization(mean=3.0, variance=2.0), V, **own)
    on("Normalization/invert", lambda k: k.layers.Normalization(mean=3.0, variance=2.0, invert=True), V, **own)
    on("CenterCrop", lambda k: k.layers.CenterCrop(3, 4), IMAGE, mixed=False)
    on("CenterCrop/larger", lambda k: k.layers.CenterCrop(8, 4), IMAGE, mixed=False)
    for how in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
        on(f"Resizing/{how}", lambda k, how=how: k.layers.Resizing(4, 8, interpolation=how), IMAGE, mixed=False,
           slopes=how != "area")  # fmt: skip
    on("Resizing/ratio", lambda k: k.layers.Resizing(4, 4, crop_to_aspect_ratio=True), IMAGE, mixed=False)
    for name, how in {
        "RandomBrightness": {"factor": 0.2}, "RandomContrast": {"factor": 0.2},
        "RandomCrop": {"height": 3, "width": 4}, "RandomFlip": {}, "RandomHeight": {"factor": 0.3},
        "RandomRotation": {"factor": 0.2}, "RandomWidth": {"factor": 0.3}, "RandomZoom": {"height_factor": 0.2},
        "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.3},
    }.items():  # fmt: skip
        on(name, lambda k, n=name, h=how: getattr(k.layers, n)(**h), IMAGE, random=True, mixed=False)
        on(f"{name}/seed", lambda k, n=name, h=how: getattr(k.layers, n)(**h, seed=3), IMAGE, random=True, mixed=False)
    image = {"mixed": False}
    on("RandomRotation/certain", lambda k: k.layers.RandomRotation((0.1, 0.1)), IMAGE, **image)
    for mode in ("reflect", "wrap", "constant", "nearest"):
        for way in ("nearest", "bilinear"):
            on(f"RandomRotation/{mode}-{way}", lambda k, m=mode, w=way: k.layers.RandomRotation(
                (0.2, 0.2), fill_mode=m, interpolation=w, fill_value=3.0), IMAGE, **image)  # fmt: skip
            on(f"RandomTranslation/{mode}-{way}", lambda k, m=mode, w=way: k.layers.RandomTranslation(
                (0.33, 0.33), (-0.21, -0.21), fill_mode=m, interpolation=w), IMAGE, **image)  # fmt: skip
            on(f"RandomZoom/{mode}-{way}", lambda k, m=mode, w=way: k.layers.RandomZoom(
                (0.3, 0.3), (-0.2, -0.2), fill_mode=m, interpolation=w), IMAGE, **image)  # fmt: skip
    on("RandomBrightness/certain", lambda k: k.layers.RandomBrightness((0.2, 0.2)), IMAGE, **image)


for _add in (_core, _merging, _convolutions, _pooling, _normalization, _recurrent, _preprocessing):
    _add()


def given(index: int, name: str, found: np.ndarray) -> np.ndarray:
    """What a weight is set to; what counts or draws stays."""
    if found.dtype.kind != "f" or "count" in name:
        return found
    if "variance" in name:
        return numbers(*found.shape, key=(index, "variance"), low=0.5, high=1.5).astype(found.dtype)
    return (numbers(*found.shape, key=index) * 0.7).astype(found.dtype)


def run(tf: Any, case: Case, mode: str = "eager") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What comes of a case.

    Args:
      mode: ``eager``, ``function`` (the call and its gradient in one), or ``functional`` (a model of the layer).

    Returns:
      facts, which are strings and lists of them; and arrays by their names.
    """
    k = tf.keras
    k.backend.clear_session()
    k.utils.set_random_seed(1)
    layer = case.make(k)
    many = isinstance(case.inputs, list)
    how = _constants(tf, case.how)
    # An adapted layer takes its type of values from data.
    if case.adapt is not None:
        layer.adapt(case.adapt)
    facts: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    call = layer
    if mode == "functional":
        entries = [
            k.Input(x.shape[1:], dtype=x.dtype if x.dtype.kind != "U" else "string") for x in _listed(case.inputs)
        ]
        outputs = layer(entries if many else entries[0], **how)
        facts["symbolic"] = [f"{o.dtype.name} {o.shape}" for o in tf.nest.flatten(outputs)]
        call = k.Model(entries if many else entries[0], outputs)
    xs = [tf.constant(x) for x in _listed(case.inputs)]
    if mode != "functional":
        layer(xs if many else xs[0], **how)
    _reset(layer)
    facts["weights"] = [_weight(w) for w in layer.weights]
    if not case.fixed:
        names = [w.name for w in layer.weights]
        layer.set_weights([given(i, names[i], w) for i, w in enumerate(layer.get_weights())])
    if mode == "functional":
        how = {}

    def step(*xs: Any, training: bool) -> Any:
        watched = [x for x in xs if x.dtype.is_floating]
        with tf.GradientTape() as tape:
            for x in watched:
                tape.watch(x)
            more = {"training": training} if _trains(layer) else {}
            found = call(list(xs) if many else xs[0], **how, **more)
            kept = [y for y in _values(tf, found) if y.dtype.is_floating]
            loss = sum(tf.reduce_sum(tf.cast(_weighted(tf, y), tf.float64)) for y in kept)
            loss = loss + sum(tf.cast(each, tf.float64) for each in layer.losses)
        sources = watched + list(layer.trainable_weights)
        if not kept or not sources or not case.slopes:
            return found, [], layer.losses
        return found, [g if g is None else tf.convert_to_tensor(g) for g in tape.gradient(loss, sources)], layer.losses

    compiled = tf.function(step) if mode == "function" else step
    for training in (False, True):
        if training and (case.random or not _trains(layer)):
            continue
        for _ in range(case.steps):
            found, slopes, losses = compiled(*xs, training=training)
        key = "training " if training else ""
        for i, y in enumerate(tf.nest.flatten(found)):
            facts[f"{key}y{i}"] = type(y).__name__ if not isinstance(y, tf.Tensor) else f"Tensor {y.dtype.name}"
        for i, y in enumerate(_values(tf, found)):
            arrays[f"{key}y{i}"] = y.numpy()
        for i, g in enumerate(slopes):
            facts[f"{key}d{i}"] = str(g is not None)
            if g is not None:
                arrays[f"{key}d{i}"] = g.numpy()
        for i, each in enumerate(losses):
            arrays[f"{key}loss{i}"] = each.numpy()
        if training and case.steps > 1:
            arrays.update({f"after{i}": w for i, w in enumerate(layer.get_weights()) if w.dtype.kind == "f"})
    return facts, arrays


def described(tf: Any, case: Case) -> dict[str, Any]:
    """What a layer says of itself: configuration, shapes, masks, and types in half precision."""
    k = tf.keras
    k.backend.clear_session()
    layer = case.make(k)
    if case.adapt is not None:
        layer.adapt(case.adapt)
    many = isinstance(case.inputs, list)
    xs, how = [tf.constant(x) for x in _listed(case.inputs)], _constants(tf, case.how)
    facts: dict[str, Any] = {}
    y = layer(xs if many else xs[0], **how)
    if case.config:
        written = json.loads(json.dumps(k.layers.serialize(layer), sort_keys=True))
        facts["config"] = written
        again = k.layers.deserialize(written)
        facts["again"] = json.loads(json.dumps(k.layers.serialize(again), sort_keys=True)) == written
    shapes = [tf.TensorShape([None, *x.shape[1:]]) for x in _listed(case.inputs)]
    try:
        facts["shape"] = str(layer.compute_output_shape(shapes if many else shapes[0]))
    except Exception as error:
        facts["shape"] = type(error).__name__
    masks = [getattr(each, "_keras_mask", None) for each in tf.nest.flatten(y)]
    facts["mask"] = [m if m is None else np.asarray(m).tolist() for m in masks]
    facts["counted"] = layer.count_params()
    if case.mixed:
        k.mixed_precision.set_global_policy("mixed_float16")
        try:
            layer = case.make(k)
            y = layer(xs if many else xs[0], **how)
            facts["half"] = [each.dtype.name for each in tf.nest.flatten(y)]
            facts["half weights"] = [w.dtype if isinstance(w.dtype, str) else w.dtype.name for w in layer.weights]
        finally:
            k.mixed_precision.set_global_policy("float32")
    return facts


def _constants(tf: Any, how: dict[str, Any]) -> dict[str, Any]:
    return tf.nest.map_structure(lambda x: tf.constant(x) if isinstance(x, np.ndarray) else x, how)


def _weight(w: Any) -> str:
    """A weight's name, type and shape; a vocabulary has none of them."""
    return f"{w.name} {w.dtype} {w.shape} {w.trainable}" if hasattr(w, "name") else type(w).__name__


def _listed(inputs: Any) -> list[Any]:
    return inputs if isinstance(inputs, list) else [inputs]


def _trains(layer: Any) -> bool:
    return bool(layer._call_spec.expects_training_arg)


def _reset(layer: Any) -> None:
    if getattr(layer, "stateful", False) and hasattr(layer, "reset_states"):
        layer.reset_states()


def _values(tf: Any, found: Any) -> list[Any]:
    """Dense tensors of results of any kind."""

    def dense(y: Any) -> Any:
        if isinstance(y, tf.SparseTensor):
            return tf.sparse.to_dense(y)
        return y.to_tensor() if isinstance(y, tf.RaggedTensor) else y

    return [dense(y) for y in tf.nest.flatten(found)]


def _weighted(tf: Any, y: Any) -> Any:
    """What a result counts in the loss: each of its numbers with another weight."""
    weight = tf.reshape(tf.cast(tf.range(tf.size(y)) % 7, y.dtype), tf.shape(y))
    return y * (weight * 0.25 - 0.5)
