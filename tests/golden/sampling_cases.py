"""Losses over samples that are given, and sparse values, on the original and on towerstrat. Python 3.6 too.

A case is a function of the namespace ``tf`` that returns tensors: values, and gradients.
"""

import numpy as np

LABELS = np.array([[1, 2], [3, 4], [5, 1]], np.int64)


def numbers(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def loss(name, parts=1, strategy="div", num_true=2, **kwargs):
    def case(tf):
        x = tf.constant(numbers(0, 3, 4))
        weights, biases = tf.constant(numbers(1, 10, 4)), tf.constant(numbers(2, 10))
        samples = tf.constant(np.array([4, 1, 7, 0], np.int64))
        true, sampled = tf.constant(np.abs(numbers(3, 3, num_true))), tf.constant(np.abs(numbers(4, 4)))
        labels = tf.constant(LABELS[:, :num_true])
        table = [weights[i::parts] for i in range(parts)] if parts > 1 else weights
        found = getattr(tf.nn, name)(
            table, biases, labels, x, 4, 10, num_true, sampled_values=(samples, true, sampled),
            partition_strategy=strategy, **kwargs
        )  # fmt: skip
        return [found] + _gradients(tf, found, [x, weights, biases])

    return case


def _gradients(tf, y, xs):
    return [] if tf.executing_eagerly() else [tf.convert_to_tensor(g) for g in tf.gradients(y, xs)]


CASES = {
    "nce": loss("nce_loss"),
    "nce_parts": loss("nce_loss", parts=2, strategy="mod"),
    "nce_one": loss("nce_loss", num_true=1),
    "nce_hits": loss("nce_loss", remove_accidental_hits=True),
    "sampled_softmax": loss("sampled_softmax_loss"),
    "sampled_softmax_one": loss("sampled_softmax_loss", num_true=1),
    "sampled_softmax_hits": loss("sampled_softmax_loss", remove_accidental_hits=False, parts=3, strategy="mod"),
    "accidental": lambda tf: list(tf.nn.compute_accidental_hits(LABELS, np.array([4, 1, 7, 0], np.int64), 2)),
    "dense": lambda tf: [
        tf.sparse_to_dense([[0, 1], [1, 0]], [2, 3], [5.0, 6.0], 1.0),
        tf.sparse_to_dense([1, 3], [5], 1, 0),
        tf.sparse_to_dense(2, [4], 7),
        tf.sparse_to_dense(np.zeros([0, 2], np.int64), np.array([2, 2], np.int64), np.zeros(0, np.float32), 2.0),
        tf.sparse_to_dense(tf.concat([[[0], [1]], [[2], [0]]], 1), tf.stack([2, 3]), 1.0, 0.0),
    ],
}


def run(tf, case):
    with tf.Graph().as_default(), tf.Session() as sess:
        return [np.asarray(value).tolist() for value in sess.run(case(tf))]
