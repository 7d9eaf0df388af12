"""Iris-like flowers from CSV files: TextLineReader, decode_csv, tf.train.batch; softmax regression; evaluation."""

from __future__ import print_function

import csv

import numpy as np
import tensorflow as tf

NAMES = [b"Iris-setosa", b"Iris-versicolor", b"Iris-virginica"]
CENTERS = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])


def write_csv(path, count, seed):
    random = np.random.RandomState(seed)
    with open(path, "w") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(["sepal_length", "sepal_width", "petal_length", "petal_width", "species"])
        for i in range(count):
            kind = i % 3
            row = ["%.1f" % v for v in CENTERS[kind] + random.normal(scale=0.25, size=4)]
            if i % 25 == 24:
                row[1] = ""  # missing: the default of record_defaults
            writer.writerow(row + [NAMES[kind].decode()])


def read_csv(batch_size, file_name, record_defaults, num_epochs=None):
    filename_queue = tf.train.string_input_producer([file_name], num_epochs=num_epochs, shuffle=False)
    reader = tf.TextLineReader(skip_header_lines=1)
    key, value = reader.read(filename_queue)
    decoded = tf.decode_csv(value, record_defaults=record_defaults)
    return tf.train.batch(decoded + [key], batch_size=batch_size, capacity=batch_size * 10, num_threads=1)


def inputs(batch_size, file_name):
    sepal_length, sepal_width, petal_length, petal_width, label, key = read_csv(
        batch_size, file_name, [[0.0], [3.0], [0.0], [0.0], [""]]
    )
    # Convert class names to a 0 based class index.
    is_species = tf.stack([tf.equal(label, [name]) for name in NAMES])
    label_number = tf.to_int32(tf.argmax(tf.to_int32(is_species), 0))
    features = tf.transpose(tf.stack([sepal_length, sepal_width, petal_length, petal_width]))
    return features, label_number, key


W = tf.Variable(tf.zeros([4, 3]), name="weights")
b = tf.Variable(tf.zeros([3]), name="bias")


def combine_inputs(X):
    return tf.matmul(X, W) + b


def inference(X):
    return tf.nn.softmax(combine_inputs(X))


def loss(X, Y):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=combine_inputs(X), labels=Y))


def evaluate(sess, X, Y):
    predicted = tf.cast(tf.argmax(inference(X), 1), tf.int32)
    return sess.run(tf.reduce_mean(tf.cast(tf.equal(predicted, Y), tf.float32)))


write_csv("iris_train.csv", 120, seed=0)
write_csv("iris_test.csv", 60, seed=1)

with tf.Session() as sess:
    X, Y, key = inputs(30, "iris_train.csv")
    test_X, test_Y, _ = inputs(60, "iris_test.csv")
    total_loss = loss(X, Y)
    train_op = tf.train.GradientDescentOptimizer(0.05).minimize(total_loss)
    test_accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(inference(test_X), 1), tf.to_int64(test_Y)), tf.float32))

    tf.global_variables_initializer().run()
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)

    training_steps = 101
    for step in range(training_steps):
        _, value, keys = sess.run([train_op, total_loss, key])
        if step % 20 == 0:
            print("step %d loss: %.5f first line: %s" % (step, value, keys[0].decode()))
    print("test accuracy: %.5f" % sess.run(test_accuracy))
    print("train accuracy of the next batch: %.5f" % evaluate(sess, X, Y))
    print("weights:", np.round(sess.run(W), 5).tolist())

    coord.request_stop()
    coord.join(threads)
    print("threads alive:", sum(t.is_alive() for t in threads))
