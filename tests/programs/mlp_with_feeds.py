"""A two-layer perceptron on 8x8 digits, fed by feed_dict, with summaries for TensorBoard and a Saver."""

from __future__ import absolute_import, division, print_function

import argparse
import glob
import os
import sys

import numpy as np
import tensorflow as tf

FLAGS = None


def make_digits(count, seed):
    """Noisy copies of ten 8x8 patterns, and their labels as one-hot rows."""
    patterns = np.random.RandomState(42).randint(0, 2, size=(10, 64))
    random = np.random.RandomState(seed)
    labels = random.randint(0, 10, size=count)
    images = patterns[labels] + random.normal(scale=0.6, size=(count, 64))
    return images.astype(np.float32), np.eye(10, dtype=np.float32)[labels]


def variable_summaries(var):
    with tf.name_scope("summaries"):
        mean = tf.reduce_mean(var)
        tf.summary.scalar("mean", mean)
        with tf.name_scope("stddev"):
            stddev = tf.sqrt(tf.reduce_mean(tf.square(var - mean)))
        tf.summary.scalar("stddev", stddev)
        tf.summary.histogram("histogram", var)


def nn_layer(input_tensor, output_dim, layer_name, random, act=tf.nn.relu):
    input_dim = input_tensor.get_shape()[1].value
    with tf.name_scope(layer_name):
        with tf.name_scope("weights"):
            initial = random.normal(scale=0.1, size=(input_dim, output_dim))
            weights = tf.Variable(initial.astype(np.float32))
            variable_summaries(weights)
        with tf.name_scope("biases"):
            biases = tf.Variable(tf.constant(0.1, shape=[output_dim]))
            variable_summaries(biases)
        with tf.name_scope("Wx_plus_b"):
            preactivate = tf.matmul(input_tensor, weights) + biases
        return act(preactivate, name="activation")


def train():
    images, labels = make_digits(400, seed=0)
    test_images, test_labels = make_digits(200, seed=1)
    random = np.random.RandomState(7)

    with tf.name_scope("input"):
        x = tf.placeholder(tf.float32, [None, 64], name="x-input")
        y_ = tf.placeholder(tf.float32, [None, 10], name="y-input")
    tf.summary.image("input", tf.reshape(x, [-1, 8, 8, 1]), 10)

    hidden1 = nn_layer(x, 32, "layer1", random)
    with tf.name_scope("dropout"):
        keep_prob = tf.placeholder(tf.float32)
        dropped = tf.nn.dropout(hidden1, keep_prob)
    y = nn_layer(dropped, 10, "layer2", random, act=tf.identity)

    with tf.name_scope("cross_entropy"):
        diff = tf.nn.softmax_cross_entropy_with_logits_v2(labels=y_, logits=y)
        cross_entropy = tf.reduce_mean(diff)
    tf.summary.scalar("cross_entropy", cross_entropy)
    with tf.name_scope("train"):
        train_step = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(cross_entropy)
    with tf.name_scope("accuracy"):
        correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
        accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))
    tf.summary.scalar("accuracy", accuracy)

    merged = tf.summary.merge_all()
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        train_writer = tf.summary.FileWriter(FLAGS.log_dir + "/train", sess.graph)
        test_writer = tf.summary.FileWriter(FLAGS.log_dir + "/test")
        tf.global_variables_initializer().run()
        for i in range(FLAGS.max_steps):
            if i % 10 == 0:
                summary, acc = sess.run([merged, accuracy], {x: test_images, y_: test_labels, keep_prob: 1.0})
                test_writer.add_summary(summary, i)
                print("Accuracy at step %s: %.5f" % (i, acc))
                saver.save(sess, os.path.join(FLAGS.log_dir, "model.ckpt"), global_step=i)
            else:
                start = i * 50 % 400
                batch = {x: images[start : start + 50], y_: labels[start : start + 50], keep_prob: 1.0}
                summary, _ = sess.run([merged, train_step], feed_dict=batch)
                train_writer.add_summary(summary, i)
        train_writer.close()
        test_writer.close()

    with tf.Session() as sess:
        checkpoint = tf.train.latest_checkpoint(FLAGS.log_dir)
        saver.restore(sess, checkpoint)
        loss, acc = sess.run([cross_entropy, accuracy], {x: test_images, y_: test_labels, keep_prob: 1.0})
        print("Restored %s: loss %.5f, accuracy %.5f" % (os.path.basename(checkpoint), loss, acc))

    for name in ["train", "test"]:
        (events,) = glob.glob(os.path.join(FLAGS.log_dir, name, "events*"))
        steps = [event.step for event in tf.train.summary_iterator(events) if event.HasField("summary")]
        print(name, "summaries:", len(steps), "last step", max(steps))


def main(_):
    if tf.gfile.Exists(FLAGS.log_dir):
        tf.gfile.DeleteRecursively(FLAGS.log_dir)
    tf.gfile.MakeDirs(FLAGS.log_dir)
    train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_steps", type=int, default=60, help="Number of steps to run trainer.")
    parser.add_argument("--learning_rate", type=float, default=0.01, help="Initial learning rate")
    parser.add_argument("--log_dir", type=str, default="logs/mlp", help="Summaries log directory")
    FLAGS, unparsed = parser.parse_known_args()
    tf.app.run(main=main, argv=[sys.argv[0]] + unparsed)
