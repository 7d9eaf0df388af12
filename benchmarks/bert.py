"""BERT-base with Adam or AdamW, for the compiler: our program's part and the twin's.

Masked tokens are predicted by the table of word embeddings, as in the paper; products are bfloat16, variables and
everything else float32. No dropout, no next-sentence loss.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import towerstrat.compat.v1 as tf
from benchmarks.harness import Workload
from benchmarks.transformer import RATE, twin_state, twin_update

NORM_EPSILON = 1e-12
GELU = 0.7978845608028654


def workload(
    batch: int = 8, length: int = 128, width: int = 768, heads: int = 12, layers: int = 12, vocabulary: int = 30522,
    tied: bool = True, decay: float = 0.0,
) -> Workload:  # fmt: skip
    """With ``decay`` each step takes that part of all weights from them, beside Adam's own (AdamW)."""
    shapes = {"words": (vocabulary, width), "places": (length, width)}
    for name in ["norm", *(f"{n}_{i}" for i in range(layers) for n in ("norm_1", "norm_2"))]:
        shapes |= {f"{name}_scale": (width,), f"{name}_bias": (width,)}
    for i in range(layers):
        for name, before, after in (
            *((n, width, width) for n in ("query", "key", "value", "mix")), ("up", width, 4 * width),
            ("down", 4 * width, width),
        ):  # fmt: skip
            shapes |= {f"{name}_{i}": (before, after), f"{name}_bias_{i}": (after,)}
    shapes["output_bias"] = (vocabulary,)
    if not tied:
        shapes["output"] = (vocabulary, width)
    initial = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    tokens, targets = np.zeros((batch, length), np.int32), np.zeros((batch, length), np.int32)
    return Workload(
        "bert", batch, lambda: (tokens, targets), initial,
        lambda tokens, targets, initial: loss(tokens, targets, shapes, heads, layers),
        lambda: tf.contrib.opt.AdamWOptimizer(decay, RATE) if decay else tf.train.AdamOptimizer(RATE), twin_state,
        lambda params, tokens, targets: twin_loss(params, tokens, targets, heads, layers),
        partial(twin_decayed, decay) if decay else twin_update,
    )  # fmt: skip


def loss(tokens: Any, targets: Any, shapes: Any, heads: int, layers: int) -> Any:
    batch, length = tokens.shape.as_list()
    variables = {name: tf.get_variable(name, shape) for name, shape in shapes.items()}
    width = shapes["words"][1]

    def norm(x: Any, name: str) -> Any:
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        normal = (x - mean) * tf.rsqrt(variance + NORM_EPSILON)
        return normal * variables[f"{name}_scale"] + variables[f"{name}_bias"]

    def dense(x: Any, name: str, i: int) -> Any:
        product = tf.matmul(tf.cast(x, tf.bfloat16), tf.cast(variables[f"{name}_{i}"], tf.bfloat16))
        return tf.cast(product, tf.float32) + variables[f"{name}_bias_{i}"]

    def split(x: Any) -> Any:
        x = tf.cast(tf.reshape(x, [batch, length, heads, width // heads]), tf.bfloat16)
        return tf.transpose(x, [0, 2, 1, 3])

    hidden = tf.nn.embedding_lookup(variables["words"], tokens) + variables["places"]
    hidden = norm(tf.reshape(hidden, [batch * length, width]), "norm")
    for i in range(layers):
        query, key, value = (split(dense(hidden, name, i)) for name in ("query", "key", "value"))
        scores = tf.cast(tf.matmul(query, key, transpose_b=True), tf.float32) * (width // heads) ** -0.5
        mixed = tf.matmul(tf.cast(tf.nn.softmax(scores), tf.bfloat16), value)
        mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch * length, width])
        hidden = norm(hidden + dense(mixed, "mix", i), f"norm_1_{i}")
        up = dense(hidden, "up", i)
        up = up * 0.5 * (1.0 + tf.tanh(GELU * (up + 0.044715 * up * up * up)))
        hidden = norm(hidden + dense(up, "down", i), f"norm_2_{i}")
    table = tf.cast(variables.get("output", variables["words"]), tf.bfloat16)
    logits = tf.cast(tf.matmul(tf.cast(hidden, tf.bfloat16), table, transpose_b=True), tf.float32)
    return tf.losses.sparse_softmax_cross_entropy(tf.reshape(targets, [-1]), logits + variables["output_bias"])


def twin_loss(params: Any, tokens: Any, targets: Any, heads: int, layers: int) -> Any:
    batch, length = tokens.shape
    width = params["words"].shape[1]

    def norm(x: Any, name: str) -> Any:
        mean = jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + NORM_EPSILON) * params[f"{name}_scale"] + params[f"{name}_bias"]

    def dense(x: Any, name: str, i: int) -> Any:
        product = x.astype(jnp.bfloat16) @ params[f"{name}_{i}"].astype(jnp.bfloat16)
        return product.astype(jnp.float32) + params[f"{name}_bias_{i}"]

    def split(x: Any) -> Any:
        return x.reshape(batch, length, heads, width // heads).astype(jnp.bfloat16).transpose(0, 2, 1, 3)

    hidden = norm((params["words"][tokens] + params["places"]).reshape(-1, width), "norm")
    for i in range(layers):
        query, key, value = (split(dense(hidden, name, i)) for name in ("query", "key", "value"))
        scores = jnp.einsum("bhqd,bhkd->bhqk", query, key).astype(jnp.float32) * (width // heads) ** -0.5
        mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores).astype(jnp.bfloat16), value)
        hidden = norm(hidden + dense(mixed.transpose(0, 2, 1, 3).reshape(-1, width), "mix", i), f"norm_1_{i}")
        hidden = norm(hidden + dense(jax.nn.gelu(dense(hidden, "up", i)), "down", i), f"norm_2_{i}")
    table = params.get("output", params["words"]).astype(jnp.bfloat16)
    logits = (hidden.astype(jnp.bfloat16) @ table.T).astype(jnp.float32) + params["output_bias"]
    log_probabilities = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_probabilities, targets.reshape(-1)[:, None], axis=-1))


def twin_decayed(decay: float, state: Any, grads: Any) -> Any:
    decayed = jax.tree.map(lambda p: p - decay * p, state["params"])
    return twin_update({**state, "params": decayed}, grads)
