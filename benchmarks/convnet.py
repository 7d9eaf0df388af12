"""A convnet of two convolutions with momentum: our program's part and the twin's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import towerstrat.compat.v1 as tf
from benchmarks.harness import Workload
from benchmarks.mlp import CLASSES, MOMENTUM, RATE, twin_state, twin_update

FILTERS = (32, 64)


def workload(
    batch: int = 32, side: int = 28, filters: tuple[int, int] = FILTERS, hidden: int = 128, windows: bool = False
) -> Workload:
    """With ``windows`` the twin pools by ``reduce_window``, which is best on a TPU; otherwise by a maximum over a
    reshaped image, three times as fast on the CPU."""
    pool = by_windows if windows else by_shape
    random = np.random.RandomState(0)

    def normal(*shape: int) -> Any:
        return random.normal(0, np.prod(shape[:-1]) ** -0.5, shape).astype(np.float32)

    flat = (side // 4) ** 2 * filters[1]
    initial = {
        "conv_0": normal(3, 3, 1, filters[0]),
        "conv_1": normal(3, 3, *filters),
        "dense_0": normal(flat, hidden),
        "dense_1": normal(hidden, CLASSES),
        "conv_bias_0": np.zeros(filters[0], np.float32),
        "conv_bias_1": np.zeros(filters[1], np.float32),
        "dense_bias_0": np.zeros(hidden, np.float32),
        "dense_bias_1": np.zeros(CLASSES, np.float32),
    }
    inputs = random.uniform(size=(batch * 16, side, side, 1)).astype(np.float32)
    labels = random.randint(0, CLASSES, batch * 16).astype(np.int32)
    return Workload(
        "convnet", batch, lambda: (inputs, labels), initial, loss,
        lambda: tf.train.MomentumOptimizer(RATE, MOMENTUM), twin_state, partial(twin_loss, pool), twin_update,
    )  # fmt: skip


def loss(inputs: Any, labels: Any, initial: Any) -> Any:
    net = inputs
    for i in range(2):
        kernel = initial[f"conv_{i}"]
        net = tf.layers.conv2d(
            net, kernel.shape[-1], 3, padding="same", activation=tf.nn.relu,
            kernel_initializer=tf.constant_initializer(kernel), name=f"conv_{i}",
        )  # fmt: skip
        net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.flatten(net)
    for i, activation in enumerate((tf.nn.relu, None)):
        kernel = initial[f"dense_{i}"]
        net = tf.layers.dense(
            net, kernel.shape[-1], activation=activation, kernel_initializer=tf.constant_initializer(kernel),
            name=f"dense_{i}",
        )  # fmt: skip
    return tf.losses.sparse_softmax_cross_entropy(labels, net)


def by_windows(images: Any) -> Any:
    return lax.reduce_window(images, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def by_shape(images: Any) -> Any:
    batch, height, width, channels = images.shape
    return images.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))


def twin_loss(pool: Callable[[Any], Any], params: Any, inputs: Any, labels: Any) -> Any:
    net = inputs
    for i in range(2):
        net = lax.conv_general_dilated(
            net, params[f"conv_{i}"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        net = pool(jax.nn.relu(net + params[f"conv_bias_{i}"]))
    net = net.reshape(net.shape[0], -1)
    net = jax.nn.relu(net @ params["dense_0"] + params["dense_bias_0"])
    net = net @ params["dense_1"] + params["dense_bias_1"]
    picked = jnp.take_along_axis(jax.nn.log_softmax(net), labels[:, None], axis=-1)
    return -jnp.mean(picked)
