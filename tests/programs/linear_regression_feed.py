"""Linear regression, one sample at a time, with the history drawn at the end."""

from __future__ import print_function

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1234)

# Parameters
learning_rate = 0.01
training_epochs = 40
display_step = 10

# Training data
train_X = np.asarray([3.3, 4.4, 5.5, 6.71, 6.93, 4.168, 9.779, 6.182, 7.59, 2.167, 7.042, 10.791])
train_Y = 0.3 * train_X + 0.9 + rng.normal(scale=0.2, size=train_X.shape)
n_samples = train_X.shape[0]

# tf Graph input
X = tf.placeholder("float")
Y = tf.placeholder("float")

# Model weights
W = tf.Variable(rng.randn(), name="weight", dtype=tf.float32)
b = tf.Variable(rng.randn(), name="bias", dtype=tf.float32)

pred = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * n_samples)
optimizer = tf.train.GradientDescentOptimizer(learning_rate).minimize(cost)
init = tf.global_variables_initializer()


def plot(history, width=40):
    """A plot for a terminal: a row for each value."""
    top = max(history)
    for epoch, value in enumerate(history):
        print("%4d |%s" % (epoch * 5, "*" * int(round(width * value / top))))


with tf.Session() as sess:
    sess.run(init)
    costs = []
    for epoch in range(training_epochs):
        for x, y in zip(train_X, train_Y):
            sess.run(optimizer, feed_dict={X: x, Y: y})
        costs.append(sess.run(cost, feed_dict={X: train_X, Y: train_Y}))
        if (epoch + 1) % display_step == 0:
            print("Epoch: %04d cost= %.6f W= %.5f b= %.5f" % (epoch + 1, costs[-1], W.eval(), b.eval()))

    print("Optimization Finished!")
    training_cost = sess.run(cost, feed_dict={X: train_X, Y: train_Y})
    print("Training cost= %.6f W= %.5f b= %.5f" % (training_cost, sess.run(W), sess.run(b)))

    # Testing example
    test_X = np.asarray([6.83, 4.668, 8.9, 7.91, 5.7, 8.7, 3.1, 2.1])
    test_Y = 0.3 * test_X + 0.9
    testing_cost = sess.run(
        tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * test_X.shape[0]), feed_dict={X: test_X, Y: test_Y}
    )
    print("Testing cost= %.6f" % testing_cost)
    print("Absolute mean square loss difference: %.6f" % abs(training_cost - testing_cost))
    print("Predictions:", np.round(sess.run(pred, {X: test_X}), 4).tolist())

    slope, intercept = np.polyfit(train_X, train_Y, 1)
    print("Least squares: W= %.5f b= %.5f" % (slope, intercept))
    plot(costs[::5])
