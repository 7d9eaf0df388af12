"""Trains a network of tf.contrib.slim, with batch normalization and weight decay, on a few small images.

usage: slim_nets.py [resnet_small | resnet_v1_50 | inception_v3]

All of it is in double precision: some fifty normalized layers over a few images make rounding errors ten thousand times
larger, and two trainings in single precision have other losses after a few steps, on the original too.
"""

import sys

import numpy as np
import tensorflow as tf
import training
from tensorflow.contrib import slim
from tensorflow.contrib.slim.nets import inception, resnet_v1

CLASSES = 5
NETWORKS = {"resnet_small": (24, 0.002), "resnet_v1_50": (33, 0.00002), "inception_v3": (107, 0.000005)}
"""Width of images, learning rate: at ten times that the whole networks do not descend, and rounding takes over."""


def logits_of(name, images):
    """Logits [batch, CLASSES] of the network that is called ``name``."""
    if name == "inception_v3":
        with slim.arg_scope(inception.inception_v3_arg_scope(use_fused_batchnorm=False)):
            logits, _ = inception.inception_v3(images, CLASSES, is_training=True, dropout_keep_prob=1.0,
                                               depth_multiplier=0.25)  # fmt: skip
        return logits
    scope = resnet_v1.resnet_arg_scope(batch_norm_decay=0.9)
    with slim.arg_scope(scope), slim.arg_scope([slim.batch_norm], fused=False):
        if name == "resnet_v1_50":
            net, _ = resnet_v1.resnet_v1_50(images, CLASSES, is_training=True)
        else:
            blocks = [resnet_v1.resnet_v1_block(f"block{n}", 4 * n, num_units=2, stride=2) for n in (1, 2)]
            net, _ = resnet_v1.resnet_v1(images, blocks, CLASSES, is_training=True)
    return tf.squeeze(net, [1, 2])


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "resnet_small"
    width, rate = NETWORKS[name]
    numbers = np.random.RandomState(1)
    labels = np.arange(8) % CLASSES
    pictures = numbers.randn(8, width, width, 3) * 0.5 + labels[:, None, None, None] * 0.2
    slim.losses.softmax_cross_entropy(logits_of(name, tf.constant(pictures)), tf.one_hot(labels, CLASSES))
    loss = tf.losses.get_total_loss()
    step = slim.learning.create_train_op(loss, tf.train.MomentumOptimizer(rate, 0.9))
    training.train(step, loss)
