# ruff: noqa: B905
"""Writes nn.npz: values and gradients of ``nn_cases`` by the original."""

import numpy as np
import tensorflow as tf
from goldens import LEFT_OUT, Both, make
from nn_cases import cases, weights

RUNS = ["1.12"]


def run(function, inputs):
    tf.reset_default_graph()
    tensors = [tf.placeholder(x.dtype, x.shape) for x in inputs]
    outputs = function(tf.nn, *tensors)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    feeds = dict(zip(tensors, inputs))
    with tf.Session() as session:
        values = session.run(outputs, feeds)
        found = {f"value{i}": value for i, value in enumerate(values)}
        floating = [(o, v) for o, v in zip(outputs, values) if o.dtype.is_floating]
        seeds = [tf.constant(weights(v.shape).astype(v.dtype)) for _, v in floating]
        try:
            grads = tf.gradients([o for o, _ in floating], tensors, seeds) if floating else []
        except LookupError:
            grads = []
            found["not_differentiable"] = np.array(True)
        for i, grad in enumerate(grads):
            if grad is not None:
                found[f"grad{i}"] = session.run(tf.convert_to_tensor(grad), feeds)
    return Both(LEFT_OUT, found)


make("nn", {name: lambda f=function, i=inputs: run(f, i) for name, function, inputs in cases()})
