"""Writes batch_statistics.npz: fused batch normalization and its gradients, by element type."""

import itertools

import tensorflow as tf
from batch_statistics_cases import COTANGENT, OFFSET, OFFSETS, SCALE, TYPES, image
from goldens import LEFT_OUT, Both, make

RUNS = ["2.15"]
NAMES = ("y", "mean", "variance", "dx", "dscale", "doffset")


def run(kind, offset):
    x, scale, shift = tf.cast(image(offset), kind), tf.constant(SCALE), tf.constant(OFFSET)
    with tf.GradientTape() as tape:
        tape.watch([x, scale, shift])
        y, mean, variance = tf.compat.v1.nn.fused_batch_norm(x, scale, shift, epsilon=1e-3)
    gradients = tape.gradient(y, [x, scale, shift], tf.cast(COTANGENT, kind))
    values = zip(NAMES, [y, mean, variance, *gradients], strict=True)
    return Both(LEFT_OUT, {name: tf.cast(value, tf.float32).numpy() for name, value in values})


cases = itertools.product(TYPES, OFFSETS)
make("batch_statistics", {f"{kind}/{offset}": lambda k=kind, o=offset: run(k, o) for kind, offset in cases})
