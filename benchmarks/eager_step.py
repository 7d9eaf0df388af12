"""One training step written eagerly, as a program of TensorFlow 2: the same file for both sides.

    towerstrat run benchmarks/eager_step.py
    PYTHON_OF_TENSORFLOW benchmarks/eager_step.py

Three dense layers, a batch of 32, gradient descent by hand; and a tf.function whose mask has another size each time.
"""

import itertools
import time

import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
SIZES = [64, 128, 128, 10]
weights = [tf.Variable(random.normal(size=s).astype(np.float32) * 0.1) for s in itertools.pairwise(SIZES)]
offsets = [tf.Variable(np.zeros(n, np.float32)) for n in SIZES[1:]]
inputs = tf.constant(random.normal(size=(32, 64)).astype(np.float32))
labels = tf.constant(random.randint(0, 10, size=32).astype(np.int32))
masks = [tf.constant(random.uniform(size=32) < 0.5) for _ in range(200)]


def logits():
    hidden = inputs
    for weight, offset in zip(weights[:-1], offsets[:-1], strict=True):
        hidden = tf.nn.relu(tf.matmul(hidden, weight) + offset)
    return tf.matmul(hidden, weights[-1]) + offsets[-1]


def descend(loss, tape):
    for variable, gradient in zip(weights + offsets, tape.gradient(loss, weights + offsets), strict=True):
        variable.assign_sub(0.1 * gradient)
    return loss


def eager_step(_):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits()))
    return descend(loss, tape)


@tf.function
def masked_step(mask):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits())
        loss = tf.reduce_mean(tf.boolean_mask(losses, mask))
    return descend(loss, tape)


for step in (eager_step, masked_step):
    for mask in masks[:40]:
        step(mask)
    best = float("inf")
    for start in range(40, 200, 20):
        begin = time.perf_counter()
        for mask in masks[start : start + 20]:
            loss = step(mask)
        float(loss)
        best = min(best, (time.perf_counter() - begin) / 20)
    name = getattr(step, "__name__", "masked_step")
    print(f"{name}: {1e3 * best:.2f} ms a step, loss {float(loss):.6f}")
