"""Train and validation pipelines behind one handle, and behind one reinitializable iterator."""

from __future__ import absolute_import, division, print_function

import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", default=20, type=int)
parser.add_argument("--epochs", default=4, type=int)
parser.add_argument("--learning_rate", default=0.1, type=float)


def make_data(count, seed):
    random = np.random.RandomState(seed)
    x = random.uniform(-1, 1, size=(count, 5)).astype(np.float32)
    y = np.sin(x.sum(axis=1, keepdims=True)).astype(np.float32)
    return x, y


def model(features, seed):
    random = np.random.RandomState(seed)
    net = features
    for i, units in enumerate([16, 8]):
        kernel = random.normal(scale=0.4, size=(net.shape[1].value, units))
        net = tf.layers.dense(
            net, units, activation=tf.nn.tanh, name="dense_%d" % i, kernel_initializer=tf.constant_initializer(kernel)
        )
    kernel = random.normal(scale=0.4, size=(8, 1))
    return tf.layers.dense(net, 1, name="output", kernel_initializer=tf.constant_initializer(kernel))


def with_handle(args, train, validation):
    """Both iterators live; the handle that is fed says which one the step takes from."""
    x_train = tf.placeholder(tf.float32, [None, 5])
    y_train = tf.placeholder(tf.float32, [None, 1])
    training_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(args.batch_size)
    validation_dataset = tf.data.Dataset.from_tensor_slices(validation).batch(args.batch_size).repeat()

    handle = tf.placeholder(tf.string, shape=[])
    iterator = tf.data.Iterator.from_string_handle(
        handle, training_dataset.output_types, training_dataset.output_shapes
    )
    features, labels = iterator.get_next()
    loss = tf.losses.mean_squared_error(labels, model(features, seed=5))
    train_op = tf.train.MomentumOptimizer(args.learning_rate, 0.9).minimize(loss)

    training_iterator = training_dataset.make_initializable_iterator()
    validation_iterator = validation_dataset.make_one_shot_iterator()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        training_handle = sess.run(training_iterator.string_handle())
        validation_handle = sess.run(validation_iterator.string_handle())
        for epoch in range(args.epochs):
            sess.run(training_iterator.initializer, feed_dict={x_train: train[0], y_train: train[1]})
            losses = []
            while True:
                try:
                    losses.append(sess.run([loss, train_op], feed_dict={handle: training_handle})[0])
                except tf.errors.OutOfRangeError:
                    break
            # Two batches of the validation set: it goes on where the last epoch left it.
            checks = [sess.run(loss, feed_dict={handle: validation_handle}) for _ in range(2)]
            print(
                "handle: epoch %d, %d steps, train loss %.5f, validation %s"
                % (epoch, len(losses), np.mean(losses), np.round(checks, 5).tolist())
            )


def with_structure(args, train, validation):
    """One iterator, initialized with one data set or the other."""
    training_dataset = tf.data.Dataset.from_tensor_slices(train).map(lambda x, y: (x * 0.5, y)).batch(args.batch_size)
    validation_dataset = tf.data.Dataset.from_tensor_slices(validation).map(lambda x, y: (x * 0.5, y)).batch(50)
    iterator = tf.data.Iterator.from_structure(training_dataset.output_types, training_dataset.output_shapes)
    features, labels = iterator.get_next()
    training_init_op = iterator.make_initializer(training_dataset)
    validation_init_op = iterator.make_initializer(validation_dataset)
    predictions = model(features, seed=6)
    loss = tf.losses.mean_squared_error(labels, predictions)
    train_op = tf.train.AdagradOptimizer(args.learning_rate).minimize(loss)
    metric, update = tf.metrics.root_mean_squared_error(labels, predictions, name="rmse")
    reset = tf.variables_initializer(tf.get_collection(tf.GraphKeys.LOCAL_VARIABLES, scope="rmse"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(args.epochs):
            sess.run(training_init_op)
            for _ in range(len(train[0]) // args.batch_size):
                sess.run(train_op)
            sess.run([validation_init_op, reset])
            try:
                while True:
                    sess.run(update)
            except tf.errors.OutOfRangeError:
                print("structure: epoch %d, validation rmse %.5f" % (epoch, sess.run(metric)))


if __name__ == "__main__":
    args = parser.parse_args()
    train, validation = make_data(200, seed=0), make_data(110, seed=1)
    with tf.Graph().as_default():
        with_handle(args, train, validation)
    with tf.Graph().as_default():
        with_structure(args, train, validation)
