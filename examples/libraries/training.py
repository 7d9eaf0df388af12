"""What these programs share: initial values that any TensorFlow 1.x can repeat, and the loss of each step."""

import zlib

import numpy as np
import tensorflow as tf


def initialize(session):
    """Runs the initializers; weights of two dimensions and more get normal values instead, seeded by their names."""
    session.run(tf.global_variables_initializer())
    for variable in tf.trainable_variables():
        shape = variable.shape.as_list()
        if len(shape) >= 2:
            numbers = np.random.RandomState(zlib.crc32(variable.op.name.encode()) & 0xFFFFFFFF)
            value = numbers.randn(*shape) / np.sqrt(np.prod(shape[:-1]))
            variable.load(value.astype(variable.dtype.base_dtype.as_numpy_dtype), session)


def train(step, loss, steps=20, before=()):
    """Runs the operation ``step``, each time after those of ``before``, and prints what ``loss`` was then."""
    with tf.Session() as session:
        initialize(session)
        for number in range(steps):
            for operation in before:
                session.run(operation)
            _, value = session.run([step, loss])
            print(f"step {number}  loss {value:.9g}")
