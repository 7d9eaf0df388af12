"""Trains a perceptron by the unedited package kfac: its optimizer approximates the Fisher information by layer."""

import kfac
import numpy as np
import tensorflow as tf
import training

CLASSES = 4

if __name__ == "__main__":
    numbers = np.random.RandomState(3)
    labels = np.arange(32) % CLASSES
    inputs = tf.constant(numbers.randn(32, 10) + labels[:, None] * 0.5, tf.float32)
    layers = kfac.LayerCollection()
    net = inputs
    for name, size in (("hidden", 12), ("logits", CLASSES)):
        layer = tf.layers.Dense(size, name=name)
        outputs = layer(net)
        layers.register_fully_connected((layer.kernel, layer.bias), net, outputs)
        net = tf.tanh(outputs)
    # With "exact" nothing is drawn from the predicted distribution: losses can be repeated.
    layers.register_categorical_predictive_distribution(outputs, name="predictions")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs))
    optimizer = kfac.KfacOptimizer(
        learning_rate=0.02, cov_ema_decay=0.95, damping=0.01, layer_collection=layers, momentum=0.9,
        estimation_mode="exact",
    )  # fmt: skip
    step = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    training.train(step, loss, before=[optimizer.cov_update_op, optimizer.inv_update_op])
