"""The style of contrib.layers and contrib.learn: fully_connected, stack, optimize_loss, an Experiment's pieces."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf
from tensorflow.contrib import layers
from tensorflow.contrib.framework import arg_scope, get_or_create_global_step, list_variables, load_variable
from tensorflow.contrib.training import HParams

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(3)


def weights(shape, dtype=tf.float32, partition_info=None):
    return tf.constant(random.normal(scale=1.0 / np.sqrt(shape[0]), size=shape), dtype)


def get_hparams(text=""):
    hparams = HParams(learning_rate=0.1, hidden=[12, 8], optimizer="Adam", clip_gradients=2.0, embedding_size=4)
    return hparams.parse(text)


def make_reviews(count, seed):
    """Lists of words as a matrix of ids, 0 for none, with what people thought."""
    data = np.random.RandomState(seed)
    lengths = data.randint(3, 9, size=count)
    words = np.zeros([count, 8], np.int64)
    for row, length in zip(words, lengths):
        row[:length] = data.randint(1, 30, size=length)
    liked = np.array([(row[row > 0] < 15).mean() > 0.5 for row in words])
    return words, liked.astype(np.int32)


def lr_decay(learning_rate, global_step):
    return tf.train.inverse_time_decay(learning_rate, global_step, decay_steps=20, decay_rate=0.5)


def model(words, labels, hparams, mode):
    embedded = layers.embed_sequence(
        words, vocab_size=30, embed_dim=hparams.embedding_size, scope="words", initializer=weights
    )
    mask = tf.expand_dims(tf.cast(tf.not_equal(words, 0), tf.float32), 2)
    features = tf.reduce_sum(embedded * mask, axis=1) / tf.reduce_sum(mask, axis=1)
    with arg_scope(
        [layers.fully_connected],
        weights_initializer=weights,
        weights_regularizer=layers.l2_regularizer(0.001),
        activation_fn=tf.nn.elu,
    ):
        net = layers.stack(features, layers.fully_connected, hparams.hidden, scope="hidden")
        net = layers.layer_norm(net)
        logits = layers.fully_connected(net, 2, activation_fn=None, scope="logits")
    predictions = {"class": tf.argmax(logits, 1), "prob": tf.nn.softmax(logits)}
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    train_op = None
    if mode == tf.contrib.learn.ModeKeys.TRAIN:
        train_op = layers.optimize_loss(
            loss,
            get_or_create_global_step(),
            learning_rate=hparams.learning_rate,
            optimizer=hparams.optimizer,
            clip_gradients=hparams.clip_gradients,
            learning_rate_decay_fn=lr_decay,
            summaries=["learning_rate", "loss", "gradient_norm"],
        )
    return predictions, loss, train_op


def train(hparams, data, steps):
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.from_tensor_slices(data).repeat().batch(30)
        words, labels = dataset.make_one_shot_iterator().get_next()
        _, _, train_op = model(words, labels, hparams, tf.contrib.learn.ModeKeys.TRAIN)
        summary = tf.summary.merge_all()
        losses = []
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=hparams.optimizer, save_summaries_steps=None, save_summaries_secs=None
        ) as sess:
            for _ in range(steps):
                losses.append(sess.run(train_op))
            tags = [value.tag for value in tf.Summary.FromString(sess.run(summary)).value]
        print(hparams.optimizer, "losses:", ["%.5f" % loss for loss in losses[::10]])
        return sorted(tags)


def evaluate(hparams, data):
    with tf.Graph().as_default():
        words, labels = [tf.constant(part) for part in data]
        predictions, loss, _ = model(words, labels, hparams, tf.contrib.learn.ModeKeys.EVAL)
        accuracy, update = tf.contrib.metrics.streaming_accuracy(predictions["class"], tf.to_int64(labels))
        get_or_create_global_step()
        saver = tf.train.Saver()
        with tf.Session() as sess:
            saver.restore(sess, tf.train.latest_checkpoint(hparams.optimizer))
            sess.run(tf.local_variables_initializer())
            sess.run(update)
            print("  held out: loss %.5f accuracy %.5f" % tuple(sess.run([loss, accuracy])))
    total = sum(
        np.square(load_variable(hparams.optimizer, name)).sum()
        for name, _ in list_variables(hparams.optimizer)
        if name.endswith("weights")
    )
    print("  squares of the weights: %.4f" % total)


if __name__ == "__main__":
    train_data, test_data = make_reviews(300, seed=0), make_reviews(100, seed=1)
    for text in ("", "optimizer=Adagrad,learning_rate=0.2", "optimizer=SGD,learning_rate=0.5,hidden=[6]"):
        hparams = get_hparams(text)
        tags = train(hparams, train_data, 50)
        evaluate(hparams, test_data)
    print(tags)
