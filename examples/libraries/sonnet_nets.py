"""Trains modules of the unedited package dm-sonnet: convolutions, and a perceptron on top of them."""

import numpy as np
import sonnet as snt
import tensorflow as tf
import training

CLASSES = 4

if __name__ == "__main__":
    numbers = np.random.RandomState(2)
    labels = np.arange(16) % CLASSES
    pictures = numbers.randn(16, 10, 10, 2) + labels[:, None, None, None] * 0.3
    network = snt.Sequential([
        snt.nets.ConvNet2D([8, 8], [3], [2], [snt.SAME], use_batch_norm=False, activate_final=True),
        snt.BatchFlatten(),
        snt.nets.MLP([16, CLASSES], activation=tf.nn.tanh, regularizers={"w": tf.contrib.layers.l2_regularizer(1e-3)}),
    ])  # fmt: skip
    logits = network(tf.constant(pictures, tf.float32))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses) + tf.losses.get_regularization_loss()
    training.train(tf.train.AdamOptimizer(0.003).minimize(loss), loss)
