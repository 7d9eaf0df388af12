"""Tests of a small library of layers, as a program of its own: tf.test.main()."""

from __future__ import absolute_import, division, print_function

import os

import numpy as np
import tensorflow as tf


def highway(x, name, bias=-1.0):
    """A highway layer: y = t * h + (1 - t) * x."""
    size = x.get_shape()[1].value
    with tf.variable_scope(name):
        w = tf.get_variable("w", [size, size], initializer=tf.constant_initializer(0.1))
        w_t = tf.get_variable("w_t", [size, size], initializer=tf.constant_initializer(-0.2))
        b_t = tf.get_variable("b_t", [size], initializer=tf.constant_initializer(bias))
        h = tf.tanh(tf.matmul(x, w))
        t = tf.sigmoid(tf.matmul(x, w_t) + b_t)
        return t * h + (1.0 - t) * x


def masked_mean(values, mask):
    mask = tf.cast(mask, values.dtype)
    with tf.control_dependencies([tf.assert_greater(tf.reduce_sum(mask), 0.0, message="an empty mask")]):
        return tf.reduce_sum(values * mask) / tf.reduce_sum(mask)


class HighwayTest(tf.test.TestCase):
    def setUp(self):
        super(HighwayTest, self).setUp()
        self.x = np.random.RandomState(0).normal(size=(3, 4)).astype(np.float32)

    def _numpy(self, x, bias):
        h = np.tanh(x.dot(np.full((4, 4), 0.1)))
        t = 1 / (1 + np.exp(-(x.dot(np.full((4, 4), -0.2)) + bias)))
        return t * h + (1 - t) * x

    def testValues(self):
        with self.test_session() as sess:
            for i, bias in enumerate([-1.0, 0.0, 2.5]):
                y = highway(tf.constant(self.x), "highway%d" % i, bias)
                sess.run(tf.global_variables_initializer())
                self.assertAllClose(self._numpy(self.x, bias), y.eval())
                print("values", i, "%.5f" % y.eval().sum())

    def testGradient(self):
        with self.test_session():
            x = tf.constant(self.x)
            y = highway(x, "highway")
            tf.global_variables_initializer().run()
            error = tf.test.compute_gradient_error(x, [3, 4], y, [3, 4], x_init_value=self.x)
            self.assertLess(error, 1e-3)

    def testVariablesAreShared(self):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 4])
            with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                highway(highway(x, "a"), "a")
            self.assertEqual(3, len(tf.trainable_variables()))
            with self.assertRaises(ValueError):
                highway(x, "b")
                highway(x, "b")


class MaskedMeanTest(tf.test.TestCase):
    def testMean(self):
        with self.test_session():
            self.assertAllEqual(3.0, masked_mean(tf.constant([2.0, 100.0, 4.0]), [True, False, True]).eval())
            self.assertNear(0.5, masked_mean(tf.constant([[0.5, 1.0]]), [[1, 0]]).eval(), 1e-6)

    def testEmptyMaskIsRefused(self):
        with self.test_session():
            mean = masked_mean(tf.placeholder_with_default([1.0, 2.0], [2]), tf.placeholder_with_default([0, 0], [2]))
            with self.assertRaisesOpError("an empty mask"):
                mean.eval()
        print("empty mask refused")

    def testTraining(self):
        """Few steps lower the loss, and a checkpoint in the test's folder brings the values back."""
        path = os.path.join(self.get_temp_dir(), "model")
        with self.test_session(graph=tf.Graph()) as sess:
            v = tf.get_variable("v", initializer=[3.0, -1.0, 8.0])
            loss = masked_mean(tf.square(v), [1, 1, 0])
            train_op = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss)
            saver = tf.train.Saver([v])
            sess.run(tf.global_variables_initializer())
            before = loss.eval()
            for _ in range(5):
                sess.run(train_op)
            self.assertLess(loss.eval(), before)
            values = v.eval()
            saver.save(sess, path)
            sess.run(v.assign([0.0, 0.0, 0.0]))
            saver.restore(sess, path)
            self.assertAllEqual(values, v.eval())
        print("trained %.5f -> %.5f" % (before, np.mean(np.square(values[:2]))))


if __name__ == "__main__":
    tf.test.main()
