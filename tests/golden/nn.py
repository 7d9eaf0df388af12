"""Writes nn.npz: values and gradients of ``nn_cases`` by the original.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/nn.py``.
"""

import os

import numpy as np
import tensorflow as tf
from nn_cases import cases, weights

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    stored = {}
    for name, function, inputs in cases():
        tf.reset_default_graph()
        tensors = [tf.placeholder(x.dtype, x.shape) for x in inputs]
        outputs = function(tf.nn, *tensors)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        feeds = dict(zip(tensors, inputs))  # noqa: B905
        with tf.Session() as session:
            values = session.run(outputs, feeds)
            pairs = zip(outputs, values)  # noqa: B905
            floating = [(o, v) for o, v in pairs if o.dtype.is_floating]
            seeds = [tf.constant(weights(v.shape).astype(v.dtype)) for _, v in floating]
            try:
                grads = tf.gradients([o for o, _ in floating], tensors, seeds) if floating else [None] * len(tensors)
            except LookupError:
                grads = [None] * len(tensors)
                stored[f"{name}/not_differentiable"] = np.array(True)
            grads = [None if g is None else tf.convert_to_tensor(g) for g in grads]
            made = iter(session.run([g for g in grads if g is not None], feeds))
        for i, value in enumerate(values):
            stored[f"{name}/value{i}"] = value
        for i, grad in enumerate(grads):
            if grad is not None:
                stored[f"{name}/grad{i}"] = next(made)
    np.savez_compressed(os.path.join(HERE, "nn.npz"), **stored)
    print(len(stored), "arrays")


main()
