"""Warm-up and decay, clipping by the global norm, and moving averages that are what is evaluated."""

from __future__ import absolute_import, division, print_function

import argparse
import os

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--steps", type=int, default=80)
parser.add_argument("--warmup_steps", type=int, default=20)
parser.add_argument("--peak_rate", type=float, default=0.3)
parser.add_argument("--clip", type=float, default=0.5)
parser.add_argument("--decay", type=float, default=0.95)
parser.add_argument("--schedule", choices=["exponential", "polynomial", "piecewise", "cosine"], default=None)
args = parser.parse_args()


def make_batch(step, batch_size=24):
    """Noisy sums of digits: a batch is a function of the step."""
    random = np.random.RandomState(100 + step)
    x = random.randint(0, 10, size=(batch_size, 4)).astype(np.float32) / 10.0
    y = x.sum(axis=1, keepdims=True) ** 2 + random.standard_t(3, size=(batch_size, 1)) * 0.1
    return x, y.astype(np.float32)


def schedule(kind, global_step):
    after = tf.maximum(global_step - args.warmup_steps, 0)
    left = args.steps - args.warmup_steps
    if kind == "exponential":
        rate = tf.train.exponential_decay(args.peak_rate, after, 20, 0.5, staircase=False)
    elif kind == "polynomial":
        rate = tf.train.polynomial_decay(args.peak_rate, after, left, end_learning_rate=0.01, power=2.0)
    elif kind == "piecewise":
        rate = tf.train.piecewise_constant(after, [20, 40], [args.peak_rate, args.peak_rate / 3, args.peak_rate / 10])
    else:
        rate = tf.train.cosine_decay_restarts(args.peak_rate, after, first_decay_steps=left // 3)
    warmup = args.peak_rate * tf.cast(global_step, tf.float32) / args.warmup_steps
    return tf.cond(global_step < args.warmup_steps, lambda: warmup, lambda: rate)


def build_net(x):
    random = np.random.RandomState(1)
    w1 = tf.get_variable("w1", initializer=random.normal(scale=0.5, size=(4, 16)).astype(np.float32))
    b1 = tf.get_variable("b1", [16], initializer=tf.zeros_initializer())
    w2 = tf.get_variable("w2", initializer=random.normal(scale=0.3, size=(16, 1)).astype(np.float32))
    return tf.matmul(tf.nn.softplus(tf.matmul(x, w1) + b1), w2)


def train(kind):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [None, 1])
    global_step = tf.train.get_or_create_global_step()
    loss = tf.losses.huber_loss(y, build_net(x))
    rate = schedule(kind, global_step)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    grads, variables = zip(*optimizer.compute_gradients(loss))
    clipped, norm = tf.clip_by_global_norm(grads, args.clip)
    apply_op = optimizer.apply_gradients(zip(clipped, variables), global_step=global_step)
    ema = tf.train.ExponentialMovingAverage(args.decay, num_updates=global_step)
    with tf.control_dependencies([apply_op]):
        train_op = ema.apply(tf.trainable_variables())
    saver = tf.train.Saver()
    path = os.path.join(".", kind)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        rates, clips = [], 0
        for step in range(args.steps):
            feed = dict(zip((x, y), make_batch(step)))
            rates.append(sess.run(rate))
            _, norm_value = sess.run([train_op, norm], feed)
            clips += norm_value > args.clip
        saver.save(sess, path)
        print(kind, "rates:", ["%.5f" % r for r in rates[::13]], "clipped", clips, "of", args.steps)
    return path


def evaluate(path):
    """The loss with the variables themselves, then with their shadows under the variables' names."""
    for averaged in (False, True):
        tf.reset_default_graph()
        data = [make_batch(step) for step in range(1000, 1010)]
        x, y = [np.concatenate(parts) for parts in zip(*data)]
        predictions = build_net(tf.constant(x))
        loss = tf.losses.huber_loss(y, predictions)
        saver = tf.train.Saver()
        if averaged:
            ema = tf.train.ExponentialMovingAverage(args.decay)
            saver = tf.train.Saver(ema.variables_to_restore())
        with tf.Session() as sess:
            saver.restore(sess, path)
            value, w2 = sess.run([loss, tf.trainable_variables()[-1]])
            print("  %-9s loss %.5f w2 %.5f" % ("averages:" if averaged else "raw:", value, w2.sum()))


if __name__ == "__main__":
    for kind in [args.schedule] if args.schedule else ["exponential", "polynomial", "piecewise", "cosine"]:
        evaluate(train(kind))
