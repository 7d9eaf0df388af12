"""One program saves a graph with its collections; another knows only the files: import_meta_graph and a restore."""

from __future__ import print_function

import os

import numpy as np
import tensorflow as tf

MODEL = os.path.join(".", "spam-model")


def messages(count, seed):
    """Counts of words, and whether a message is spam."""
    random = np.random.RandomState(seed)
    spam = random.randint(2, size=count)
    rates = np.where(spam[:, None], [4.0, 1.0, 3.0, 0.5, 1.0], [0.5, 2.0, 1.0, 3.0, 1.0])
    return random.poisson(rates).astype(np.float32), spam.astype(np.float32)


def train():
    """Writes spam-model-N.{index,data,meta}."""
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, shape=[None, 5], name="x")
    y = tf.placeholder(tf.float32, shape=[None], name="y")
    w = tf.get_variable("w", shape=[5, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", shape=[1], initializer=tf.constant_initializer(-0.5))
    logits = tf.squeeze(tf.matmul(x, w) + b, axis=1, name="logits")
    probability = tf.sigmoid(logits, name="probability")
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
    global_step = tf.Variable(0, name="global_step", trainable=False)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step, name="train_op")
    correct = tf.equal(tf.cast(tf.greater(probability, 0.5), tf.float32), y)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32), name="accuracy")
    for tensor in (x, y, probability, accuracy):
        tf.add_to_collection("endpoints", tensor)
    tf.add_to_collection("train_op", train_op)
    saver = tf.train.Saver(max_to_keep=1)

    features, labels = messages(200, seed=0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(50):
            _, value = sess.run([train_op, loss], feed_dict={x: features, y: labels})
            if (i + 1) % 10 == 0:
                print("step %d loss %.5f" % (i + 1, value))
        path = saver.save(sess, MODEL, global_step=global_step)
    print("saved", path, "with", sorted(f for f in os.listdir(".") if f.endswith((".index", ".meta"))))


def predict():
    """Knows only the file's name and the names of tensors."""
    tf.reset_default_graph()
    checkpoint = tf.train.latest_checkpoint(os.path.dirname(MODEL))
    with tf.Session() as sess:
        saver = tf.train.import_meta_graph(checkpoint + ".meta")
        saver.restore(sess, checkpoint)
        graph = tf.get_default_graph()
        x = graph.get_tensor_by_name("x:0")
        probability = graph.get_tensor_by_name("probability:0")
        features, labels = messages(4, seed=1)
        for value, label in zip(sess.run(probability, feed_dict={x: features}), labels):
            print("spam with probability %.5f, is %d" % (value, label))
        print("variables:", [v.name for v in tf.global_variables()])
        print("step", sess.run("global_step:0"))


def train_further():
    """Goes on training what was imported."""
    tf.reset_default_graph()
    checkpoint = tf.train.latest_checkpoint(os.path.dirname(MODEL))
    saver = tf.train.import_meta_graph(checkpoint + ".meta")
    x, y, _, accuracy = tf.get_collection("endpoints")
    train_op = tf.get_collection("train_op")[0]
    features, labels = messages(200, seed=0)
    test_features, test_labels = messages(100, seed=2)
    with tf.Session() as sess:
        saver.restore(sess, checkpoint)
        for _ in range(20):
            _, value = sess.run([train_op, "loss:0"], feed_dict={x: features, y: labels})
        print("further: loss %.5f" % value)
        print("accuracy %.5f" % sess.run(accuracy, {x: test_features, y: test_labels}))
        print(saver.save(sess, MODEL, global_step=sess.run("global_step:0")))


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    train()
    predict()
    train_further()
