"""A batch-normalised convnet of tf.layers whose update_ops run with the training step."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("epochs", 3, "Passes over the training data.")
flags.DEFINE_integer("batch_size", 32, "Rows of a step.")
flags.DEFINE_float("learning_rate", 0.02, "Of Adam.")
flags.DEFINE_float("momentum", 0.9, "Of the moving statistics.")
FLAGS = flags.FLAGS


class Stripes(object):
    """12x12 images with stripes: vertical, horizontal, or a cross of both."""

    def __init__(self, count, seed):
        random = np.random.RandomState(seed)
        self.labels = random.randint(3, size=count).astype(np.int32)
        self.images = random.normal(loc=3.0, scale=2.0, size=(count, 12, 12, 1)).astype(np.float32)
        for image, label in zip(self.images, self.labels):
            if label != 1:
                image[:, random.randint(12)] += 6.0
            if label != 0:
                image[random.randint(12)] += 6.0

    def batches(self, batch_size):
        for start in range(0, len(self.labels), batch_size):
            yield self.images[start : start + batch_size], self.labels[start : start + batch_size]


class Net(object):
    def __init__(self, seed):
        self._random = np.random.RandomState(seed)
        self.x = tf.placeholder(tf.float32, [None, 12, 12, 1], name="x")
        self.y = tf.placeholder(tf.int32, [None], name="y")
        self.is_training = tf.placeholder(tf.bool, name="is_training")
        net = self.block(self.x, 8, "block1")
        net = tf.layers.max_pooling2d(net, [2, 2], [2, 2], padding="valid")
        net = self.block(net, 12, "block2", strides=2)
        net = tf.layers.average_pooling2d(net, 3, 1)
        net = tf.layers.flatten(net)
        self.logits = tf.layers.dense(net, 3, kernel_initializer=self.initializer(net.shape[1].value, 3))
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=self.logits, labels=self.y))
        correct = tf.equal(tf.argmax(self.logits, 1, output_type=tf.int32), self.y)
        self.accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
        update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        print("update ops:", len(update_ops))
        with tf.control_dependencies(update_ops):
            self.train_step = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(self.loss)

    def initializer(self, *shape):
        scale = np.sqrt(2.0 / np.prod(shape[:-1]))
        return tf.constant_initializer(self._random.normal(scale=scale, size=shape).astype(np.float32))

    def block(self, net, filters, name, strides=1):
        with tf.variable_scope(name):
            net = tf.layers.conv2d(
                net,
                filters,
                kernel_size=3,
                strides=strides,
                padding="same",
                use_bias=False,
                kernel_initializer=self.initializer(3, 3, net.shape[-1].value, filters),
            )
            net = tf.layers.batch_normalization(
                net, momentum=FLAGS.momentum, epsilon=1e-3, training=self.is_training, fused=True
            )
            return tf.nn.leaky_relu(net, alpha=0.1)


def evaluate(sess, net, data, is_training=False):
    losses, correct = [], 0.0
    for images, labels in data.batches(25):
        loss, accuracy = sess.run(
            [net.loss, net.accuracy], {net.x: images, net.y: labels, net.is_training: is_training}
        )
        losses.append(loss)
        correct += accuracy * len(labels)
    return np.mean(losses), correct / len(data.labels)


def main(_):
    train, test = Stripes(320, seed=0), Stripes(100, seed=1)
    net = Net(seed=2)
    saver = tf.train.Saver()  # moving statistics are no trainable variables, and are saved too
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(FLAGS.epochs):
            for images, labels in train.batches(FLAGS.batch_size):
                feed_dict = {net.x: images, net.y: labels, net.is_training: True}
                _, loss = sess.run([net.train_step, net.loss], feed_dict=feed_dict)
            print("epoch %d: last loss %.2f, test accuracy %.2f" % (epoch, loss, evaluate(sess, net, test)[1]))
        print("with statistics of the batch: %.2f %.2f" % evaluate(sess, net, test, is_training=True))
        path = saver.save(sess, "./batch_norm.ckpt")
    with tf.Session() as sess:
        saver.restore(sess, path)
        print("restored: %.2f %.2f" % evaluate(sess, net, test))
        for v in tf.global_variables():
            if "moving" in v.name:
                print(v.name, "%.2f" % sess.run(v).mean())


if __name__ == "__main__":
    tf.app.run()
