"""A small causal transformer with Adam: our program's part and the twin's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import towerstrat.compat.v1 as tf
from benchmarks.harness import Workload

VOCABULARY = 256
BETA1, BETA2, EPSILON, RATE = 0.9, 0.999, 1e-8, 1e-3
NORM_EPSILON = 1e-6
MASKED = -1e9


def workload(batch: int = 4, length: int = 64, width: int = 128, heads: int = 4, layers: int = 2) -> Workload:
    random = np.random.RandomState(0)

    def normal(rows: int, columns: int) -> Any:
        return random.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)

    initial = {
        "embedding": normal(VOCABULARY, width),
        "position": normal(length, width),
        "output": normal(width, VOCABULARY),
    }
    for i in range(layers):
        for name in ("query", "key", "value", "mix"):
            initial[f"{name}_{i}"] = normal(width, width)
        initial[f"up_{i}"] = normal(width, 4 * width)
        initial[f"up_bias_{i}"] = np.zeros(4 * width, np.float32)
        initial[f"down_{i}"] = normal(4 * width, width)
        initial[f"down_bias_{i}"] = np.zeros(width, np.float32)
        for name in ("norm_1", "norm_2"):
            initial[f"{name}_scale_{i}"] = np.ones(width, np.float32)
            initial[f"{name}_bias_{i}"] = np.zeros(width, np.float32)
    tokens = random.randint(0, VOCABULARY, (batch * 16, length)).astype(np.int32)
    targets = np.roll(tokens, -1, axis=1)
    return Workload(
        "transformer", batch, lambda: (tokens, targets), initial,
        lambda tokens, targets, initial: loss(tokens, targets, initial, heads, layers),
        lambda: tf.train.AdamOptimizer(RATE, BETA1, BETA2, EPSILON),
        twin_state, lambda params, tokens, targets: twin_loss(params, tokens, targets, heads, layers), twin_update,
    )  # fmt: skip


def loss(tokens: Any, targets: Any, initial: Any, heads: int, layers: int) -> Any:
    batch, length = tokens.shape.as_list()
    width = initial["embedding"].shape[1]

    def variable(name: str) -> Any:
        return tf.get_variable(name, initial[name].shape, initializer=tf.constant_initializer(initial[name]))

    def norm(x: Any, name: str, layer: int) -> Any:
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        normal = (x - mean) * tf.rsqrt(variance + NORM_EPSILON)
        return normal * variable(f"{name}_scale_{layer}") + variable(f"{name}_bias_{layer}")

    def split(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, [batch, length, heads, width // heads]), [0, 2, 1, 3])

    hidden = tf.matmul(tf.one_hot(tf.reshape(tokens, [-1]), VOCABULARY), variable("embedding"))
    hidden = tf.reshape(tf.reshape(hidden, [batch, length, width]) + variable("position"), [batch * length, width])
    mask = tf.constant(np.triu(np.full((length, length), MASKED, np.float32), 1))
    for i in range(layers):
        entering = norm(hidden, "norm_1", i)
        query, key, value = (split(tf.matmul(entering, variable(f"{n}_{i}"))) for n in ("query", "key", "value"))
        scores = tf.matmul(query, key, transpose_b=True) * (width // heads) ** -0.5 + mask
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        hidden += tf.matmul(tf.reshape(mixed, [batch * length, width]), variable(f"mix_{i}"))
        up = tf.nn.relu(tf.matmul(norm(hidden, "norm_2", i), variable(f"up_{i}")) + variable(f"up_bias_{i}"))
        hidden += tf.matmul(up, variable(f"down_{i}")) + variable(f"down_bias_{i}")
    logits = tf.matmul(hidden, variable("output"))
    return tf.losses.sparse_softmax_cross_entropy(tf.reshape(targets, [-1]), logits)


def twin_loss(params: Any, tokens: Any, targets: Any, heads: int, layers: int) -> Any:
    batch, length = tokens.shape
    width = params["embedding"].shape[1]

    def norm(x: Any, name: str, layer: int) -> Any:
        mean = jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
        normal = (x - mean) * jax.lax.rsqrt(variance + NORM_EPSILON)
        return normal * params[f"{name}_scale_{layer}"] + params[f"{name}_bias_{layer}"]

    def split(x: Any) -> Any:
        return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    hidden = jax.nn.one_hot(tokens.reshape(-1), VOCABULARY, dtype=jnp.float32) @ params["embedding"]
    hidden = (hidden.reshape(batch, length, width) + params["position"]).reshape(-1, width)
    mask = jnp.triu(jnp.full((length, length), MASKED, jnp.float32), 1)
    for i in range(layers):
        entering = norm(hidden, "norm_1", i)
        query, key, value = (split(entering @ params[f"{n}_{i}"]) for n in ("query", "key", "value"))
        scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) * (width // heads) ** -0.5 + mask
        mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), value).transpose(0, 2, 1, 3)
        hidden = hidden + mixed.reshape(-1, width) @ params[f"mix_{i}"]
        up = jax.nn.relu(norm(hidden, "norm_2", i) @ params[f"up_{i}"] + params[f"up_bias_{i}"])
        hidden = hidden + up @ params[f"down_{i}"] + params[f"down_bias_{i}"]
    log_probabilities = jax.nn.log_softmax(hidden @ params["output"])
    return -jnp.mean(jnp.take_along_axis(log_probabilities, targets.reshape(-1)[:, None], axis=-1))


def twin_state(params: Any) -> Any:
    return {
        "params": params,
        "first": jax.tree.map(jnp.zeros_like, params),
        "second": jax.tree.map(jnp.zeros_like, params),
        "powers": (jnp.asarray(BETA1, jnp.float32), jnp.asarray(BETA2, jnp.float32)),
    }


def twin_update(state: Any, grads: Any) -> Any:
    power1, power2 = state["powers"]
    rate = RATE * jnp.sqrt(1 - power2) / (1 - power1)
    first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state["first"], grads)
    second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, state["second"], grads)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + EPSILON), state["params"], first, second)
    return {"params": params, "first": first, "second": second, "powers": (power1 * BETA1, power2 * BETA2)}
