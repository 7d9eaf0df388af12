"""What these programs share: initial values that any TensorFlow 1.x can repeat, and the loss of each step."""

import zlib

import numpy as np
import tensorflow as tf


def set_initial_values(session):
    """Gives weights of two dimensions and more normal values of variance 1/inputs, seeded by their names."""
    for variable in tf.trainable_variables():
        shape = variable.shape.as_list()
        if len(shape) >= 2:
            numbers = np.random.RandomState(zlib.crc32(variable.op.name.encode()) & 0xFFFFFFFF)
            value = numbers.randn(*shape) / np.sqrt(np.prod(shape[:-1]))
            variable.load(value.astype(variable.dtype.base_dtype.as_numpy_dtype), session)


def train(step, loss, steps=20):
    """Runs the operation ``step``, and prints ``loss`` as it is before each."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        set_initial_values(session)
        for number in range(steps):
            _, value = session.run([step, loss])
            print(f"step {number}  loss {value:.9g}")
