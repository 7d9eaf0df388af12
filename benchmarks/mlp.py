"""A multilayer perceptron with momentum: our program's part and the twin's."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import towerstrat.compat.v1 as tf
from benchmarks.harness import Workload

RATE = 0.01
MOMENTUM = 0.9
CLASSES = 10


def workload(
    name: str = "mlp", batch: int = 256, features: int = 784, hidden: tuple[int, ...] = (512, 512)
) -> Workload:
    """Steps of some 10 ms on two cores at the defaults."""
    widths = (features, *hidden, CLASSES)
    random = np.random.RandomState(0)
    initial = {}
    for i, (before, after) in enumerate(itertools.pairwise(widths)):
        initial[f"kernel_{i}"] = random.normal(0, before**-0.5, (before, after)).astype(np.float32)
        initial[f"bias_{i}"] = np.zeros(after, np.float32)
    inputs = random.normal(size=(batch * 16, features)).astype(np.float32)
    labels = random.randint(0, CLASSES, batch * 16).astype(np.int32)
    return Workload(
        name, batch, lambda: (inputs, labels), initial, loss,
        lambda: tf.train.MomentumOptimizer(RATE, MOMENTUM), twin_state, twin_loss, twin_update,
    )  # fmt: skip


def tiny() -> Workload:
    """Steps of some 50 us: what is left is what a run costs."""
    return workload("tiny mlp", batch=8, features=16, hidden=(32,))


def loss(inputs: Any, labels: Any, initial: Any) -> Any:
    net = inputs
    layers = len(initial) // 2
    for i in range(layers):
        kernel = initial[f"kernel_{i}"]
        net = tf.layers.dense(
            net,
            kernel.shape[1],
            activation=tf.nn.relu if i < layers - 1 else None,
            kernel_initializer=tf.constant_initializer(kernel),
            name=f"dense_{i}",
        )
    return tf.losses.sparse_softmax_cross_entropy(labels, net)


def twin_loss(params: Any, inputs: Any, labels: Any) -> Any:
    net = inputs
    layers = len(params) // 2
    for i in range(layers):
        net = net @ params[f"kernel_{i}"] + params[f"bias_{i}"]
        if i < layers - 1:
            net = jax.nn.relu(net)
    picked = jnp.take_along_axis(jax.nn.log_softmax(net), labels[:, None], axis=-1)
    return -jnp.mean(picked)


def twin_state(params: Any) -> Any:
    return {"params": params, "slots": jax.tree.map(jnp.zeros_like, params)}


def twin_update(state: Any, grads: Any) -> Any:
    slots = jax.tree.map(lambda s, g: MOMENTUM * s + g, state["slots"], grads)
    return {"params": jax.tree.map(lambda p, s: p - RATE * s, state["params"], slots), "slots": slots}
