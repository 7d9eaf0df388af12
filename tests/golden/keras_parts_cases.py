"""Activations, initializers, regularizers and constraints of keras 2.15, as the original and ours both run them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np


def numbers(*shape: int, key: str = "") -> np.ndarray:
    """Fixed numbers between -1 and 1, others for each shape and key."""
    source = np.random.RandomState(zlib.crc32(repr((shape, key)).encode()) % 2**31)
    return source.uniform(-1, 1, shape).astype(np.float32)


X = np.concatenate([numbers(3, 5) * 4, np.array([[0.0, -2.5, 2.5, 6.0, -0.0]], np.float32)])
W = numbers(4, 6, key="w")
KERNEL = numbers(3, 3, 2, 4, key="kernel")

ACTIVATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "elu": lambda k, x: k.activations.elu(x, 0.3), "exponential": lambda k, x: k.activations.exponential(x),
    "gelu": lambda k, x: k.activations.gelu(x), "gelu near": lambda k, x: k.activations.gelu(x, approximate=True),
    "hard_sigmoid": lambda k, x: k.activations.hard_sigmoid(x), "linear": lambda k, x: k.activations.linear(x),
    "mish": lambda k, x: k.activations.mish(x), "relu": lambda k, x: k.activations.relu(x),
    "relu leaky": lambda k, x: k.activations.relu(x, alpha=0.2, max_value=2.0, threshold=0.5),
    "selu": lambda k, x: k.activations.selu(x), "sigmoid": lambda k, x: k.activations.sigmoid(x),
    "softmax": lambda k, x: k.activations.softmax(x), "softmax axis": lambda k, x: k.activations.softmax(x, axis=0),
    "softplus": lambda k, x: k.activations.softplus(x), "softsign": lambda k, x: k.activations.softsign(x),
    "swish": lambda k, x: k.activations.swish(x), "tanh": lambda k, x: k.activations.tanh(x),
}  # fmt: skip
INITIALIZERS: dict[str, Callable[[Any], Any]] = {
    "Constant": lambda i: i.Constant(3.0), "Identity": lambda i: i.Identity(2.0), "Ones": lambda i: i.Ones(),
    "Zeros": lambda i: i.Zeros(), "GlorotNormal": lambda i: i.GlorotNormal(seed=3),
    "GlorotUniform": lambda i: i.GlorotUniform(seed=3), "HeNormal": lambda i: i.HeNormal(seed=3),
    "HeUniform": lambda i: i.HeUniform(seed=3), "LecunNormal": lambda i: i.LecunNormal(seed=3),
    "LecunUniform": lambda i: i.LecunUniform(seed=3), "Orthogonal": lambda i: i.Orthogonal(gain=2.0, seed=3),
    "RandomNormal": lambda i: i.RandomNormal(1.0, 2.0, seed=3),
    "RandomUniform": lambda i: i.RandomUniform(-1.0, 3.0, seed=3),
    "TruncatedNormal": lambda i: i.TruncatedNormal(1.0, 2.0, seed=3),
    "VarianceScaling": lambda i: i.VarianceScaling(2.0, "fan_avg", "untruncated_normal", seed=3),
    "VarianceScaling fan_out": lambda i: i.VarianceScaling(2.0, "fan_out", "uniform", seed=3),
}  # fmt: skip
FIXED = ("Constant", "Identity", "Ones", "Zeros")
REGULARIZERS: dict[str, Callable[[Any], Any]] = {
    "L1": lambda r: r.L1(0.1), "L2": lambda r: r.L2(0.1), "L1L2": lambda r: r.L1L2(0.1, 0.2),
    "OrthogonalRegularizer": lambda r: r.OrthogonalRegularizer(0.1),
    "OrthogonalRegularizer columns": lambda r: r.OrthogonalRegularizer(0.1, mode="columns"),
    "l1": lambda r: r.get("l1"), "l1_l2": lambda r: r.get("l1_l2"),
}  # fmt: skip
CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    "MaxNorm": lambda c: c.MaxNorm(0.5), "MaxNorm axis": lambda c: c.MaxNorm(0.5, axis=1),
    "MinMaxNorm": lambda c: c.MinMaxNorm(0.8, 1.0, rate=0.5, axis=0), "NonNeg": lambda c: c.NonNeg(),
    "UnitNorm": lambda c: c.UnitNorm(axis=[0, 1]), "RadialConstraint": lambda c: c.RadialConstraint(),
}  # fmt: skip
GROUPS = {"activations": ACTIVATIONS, "initializers": INITIALIZERS, "regularizers": REGULARIZERS,
          "constraints": CONSTRAINTS}  # fmt: skip


def _slope(tf: Any, function: Callable[[Any], Any], x: np.ndarray) -> list[np.ndarray]:
    """The value, and the gradient of its sum with weights."""
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given)
        y = function(given)
        loss = tf.reduce_sum(y * tf.constant(numbers(*y.shape.as_list(), key="weight")))
    return [y.numpy(), tape.gradient(loss, given).numpy()]


def _drawn(tf: Any, make: Callable[[Any], Any]) -> list[np.ndarray]:
    """What a distribution is known by: mean, deviation, ends; the products of columns; the shapes that it fills."""
    kinds = tf.keras.initializers
    large = make(kinds)((300, 200)).numpy().astype(np.float64)
    deep = make(kinds)((3, 3, 20, 10)).numpy().astype(np.float64)
    again = make(kinds)
    repeated = [np.array_equal(again((2, 2)), make(kinds)((2, 2))), np.array_equal(large, make(kinds)((300, 200)))]
    ends = [large.mean(), large.std(), large.min(), large.max(), deep.std()]
    return [np.array(ends), np.diag(large.T @ large).mean(keepdims=True), np.array(repeated)]


def run(tf: Any, group: str, name: str) -> tuple[Any, list[np.ndarray]]:
    """(the configuration, values) of a case."""
    k, make = tf.keras, GROUPS[group][name]
    if group == "activations":
        found = _slope(tf, lambda x: make(k, x), X)
        word = name.split()[0]
        return [k.activations.serialize(getattr(k.activations, word)), k.activations.get(word).__name__], found
    made = make(getattr(k, group))
    config = json.loads(json.dumps(getattr(k, group).serialize(made), sort_keys=True))
    again = getattr(k, group).deserialize(config)
    facts = [config, json.loads(json.dumps(getattr(k, group).serialize(again), sort_keys=True)) == config]
    if group == "regularizers":
        return facts, _slope(tf, made, W)
    if group == "constraints":
        x = KERNEL[..., :1, :1] if name == "RadialConstraint" else W
        return facts, [made(tf.constant(np.repeat(x, 2, -1) if name == "RadialConstraint" else x)).numpy()]
    if name in FIXED:
        types = ("float32", "float64", "float16")
        return facts, [made((3, 2), dtype=t).numpy() for t in types]
    return facts, _drawn(tf, make)
