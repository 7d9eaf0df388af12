"""A ResNet-50 in bfloat16 with momentum, for the compiler: our program's part and the twin's.

Variables are float32, products bfloat16, batch statistics float32 (of the batch; moving ones are not kept).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import towerstrat.compat.v1 as tf
from benchmarks.harness import Workload

RATE, MOMENTUM, EPSILON = 0.1, 0.9, 1e-5
Groups = tuple[tuple[int, int, int], ...]
BLOCKS: Groups = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Filters, blocks and first stride of the four groups."""
CLASSES = 1000


def layers(groups: Groups = BLOCKS) -> dict[str, tuple[int, int, int, int]]:
    """Name -> (size, channels in, channels out, stride) of each convolution, in order."""
    found = {"stem": (7, 3, 64, 2)}
    channels = 64
    for group, (filters, blocks, stride) in enumerate(groups):
        for block in range(blocks):
            name, first = f"group_{group}_block_{block}", stride if block == 0 else 1
            if block == 0:
                found[f"{name}_shortcut"] = (1, channels, 4 * filters, first)
            found[f"{name}_0"] = (1, channels, filters, 1)
            found[f"{name}_1"] = (3, filters, filters, first)
            found[f"{name}_2"] = (1, filters, 4 * filters, 1)
            channels = 4 * filters
    return found


def workload(batch: int = 32, size: int = 224, groups: Groups = BLOCKS) -> Workload:
    initial = {}
    for name, (width, before, after, _) in layers(groups).items():
        initial[f"{name}_kernel"] = np.zeros((width, width, before, after), np.float32)
        initial[f"{name}_gamma"], initial[f"{name}_beta"] = np.ones(after, np.float32), np.zeros(after, np.float32)
    initial["dense"] = np.zeros((4 * groups[-1][0], CLASSES), np.float32)
    initial["bias"] = np.zeros(CLASSES, np.float32)
    images = np.zeros((batch, size, size, 3), np.float32)
    labels = np.zeros(batch, np.int32)
    return Workload(
        "resnet", batch, lambda: (images, labels), initial,
        lambda images, labels, initial: loss(images, labels, groups),
        lambda: tf.train.MomentumOptimizer(RATE, MOMENTUM), twin_state,
        lambda params, images, labels: twin_loss(params, images, labels, groups), twin_update,
    )  # fmt: skip


def loss(images: Any, labels: Any, groups: Groups) -> Any:
    shapes = layers(groups)

    def normalized(x: Any, name: str, relu: bool = True) -> Any:
        width, before, after, stride = shapes[name]
        kernel = tf.get_variable(f"{name}_kernel", [width, width, before, after])
        x = tf.nn.conv2d(x, tf.cast(kernel, tf.bfloat16), [1, stride, stride, 1], "SAME")
        x = tf.layers.batch_normalization(x, epsilon=EPSILON, training=True, fused=True, name=f"{name}_norm")
        return tf.nn.relu(x) if relu else x

    x = normalized(tf.cast(images, tf.bfloat16), "stem")
    x = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    for group, (_, blocks, _) in enumerate(groups):
        for block in range(blocks):
            name = f"group_{group}_block_{block}"
            shortcut = normalized(x, f"{name}_shortcut", relu=False) if block == 0 else x
            inner = normalized(normalized(x, f"{name}_0"), f"{name}_1")
            x = tf.nn.relu(normalized(inner, f"{name}_2", relu=False) + shortcut)
    x = tf.cast(tf.reduce_mean(x, [1, 2]), tf.float32)
    logits = tf.matmul(x, tf.get_variable("dense", [4 * groups[-1][0], CLASSES])) + tf.get_variable("bias", [CLASSES])
    return tf.losses.sparse_softmax_cross_entropy(labels, logits)


def twin_loss(params: Any, images: Any, labels: Any, groups: Groups) -> Any:
    shapes = layers(groups)

    def normalized(x: Any, name: str, relu: bool = True) -> Any:
        stride = shapes[name][3]
        kernel = params[f"{name}_kernel"].astype(jnp.bfloat16)
        x = lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        wide = x.astype(jnp.float32)
        mean, squares = wide.mean((0, 1, 2)), jnp.square(wide).mean((0, 1, 2))
        variance = jnp.maximum(squares - jnp.square(mean), 0)
        factor = lax.rsqrt(variance + EPSILON) * params[f"{name}_gamma"]
        y = ((wide - mean) * factor + params[f"{name}_beta"]).astype(jnp.bfloat16)
        return jax.nn.relu(y) if relu else y

    x = normalized(images.astype(jnp.bfloat16), "stem")
    least = np.asarray(-np.inf, jnp.bfloat16)
    x = lax.reduce_window(x, least, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for group, (_, blocks, _) in enumerate(groups):
        for block in range(blocks):
            name = f"group_{group}_block_{block}"
            shortcut = normalized(x, f"{name}_shortcut", relu=False) if block == 0 else x
            inner = normalized(normalized(x, f"{name}_0"), f"{name}_1")
            x = jax.nn.relu(normalized(inner, f"{name}_2", relu=False) + shortcut)
    logits = x.mean((1, 2)).astype(jnp.float32) @ params["dense"] + params["bias"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1))


def twin_state(params: Any) -> Any:
    return {"params": params, "momentum": jax.tree.map(jnp.zeros_like, params)}


def twin_update(state: Any, grads: Any) -> Any:
    momentum = jax.tree.map(lambda m, g: MOMENTUM * m + g, state["momentum"], grads)
    return {"params": jax.tree.map(lambda p, m: p - RATE * m, state["params"], momentum), "momentum": momentum}
