"""Writes batch_statistics.npz: fused batch normalization of TensorFlow 2.15 and its gradients, by element type.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/batch_statistics.py``.
"""

import os

import numpy as np
import tensorflow as tf
from batch_statistics_cases import COTANGENT, OFFSET, OFFSETS, SCALE, TYPES, image

if __name__ == "__main__":
    arrays = {}
    for kind in TYPES:
        for offset in OFFSETS:
            x, scale, shift = tf.cast(image(offset), kind), tf.constant(SCALE), tf.constant(OFFSET)
            with tf.GradientTape() as tape:
                tape.watch([x, scale, shift])
                y, mean, variance = tf.compat.v1.nn.fused_batch_norm(x, scale, shift, epsilon=1e-3)
            gradients = tape.gradient(y, [x, scale, shift], tf.cast(COTANGENT, kind))
            for name, value in zip(
                ("y", "mean", "variance", "dx", "dscale", "doffset"), [y, mean, variance, *gradients], strict=True
            ):
                arrays[f"{kind}/{offset}/{name}"] = tf.cast(value, tf.float32).numpy()
    where = os.path.splitext(os.path.abspath(__file__))[0] + ".npz"
    np.savez_compressed(where, **arrays)
    print(len(arrays), "arrays,", os.path.getsize(where), "bytes")
