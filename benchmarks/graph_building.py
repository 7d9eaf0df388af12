# ruff: noqa: UP032
"""What building a graph costs, by call that the user makes. Runs under the original and under towerstrat:

    python3.6 benchmarks/graph_building.py              # TensorFlow 1.12
    towerstrat run benchmarks/graph_building.py
    python -m benchmarks.run --building --original python3.6      # both, and a table

Prints a line "name microseconds" for each call: the median over rounds, each with a new graph; of CPU time by `--cpu`.
"""

import sys
import time

import numpy as np
import tensorflow as tf

ROUNDS = 7
CALLS = 40
CLOCK = time.process_time if "--cpu" in sys.argv else time.perf_counter


def _inputs():
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    images = tf.placeholder(tf.float32, [None, 16, 16, 8], name="images")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    w = tf.get_variable("w", [64, 64])
    return x, images, labels, w


def _small_net(x):
    for i in range(3):
        x = tf.layers.dense(x, 64, activation=tf.nn.relu, name="net_{}".format(i), reuse=tf.AUTO_REUSE)
    return tf.reduce_mean(x)


def _scoped(x, i):
    with tf.name_scope("scope"):
        return tf.identity(x)


def _attention(x):
    heads = tf.transpose(tf.reshape(x, [-1, 4, 16]), [1, 0, 2])
    return tf.matmul(tf.nn.softmax(tf.matmul(heads, heads, transpose_b=True)), heads)


# name -> (inputs, number of this call) -> anything
CASES = [
    ("x + y", lambda g, i: g[0] + g[0]),
    ("x * 2.0", lambda g, i: g[0] * 2.0),
    ("tf.constant", lambda g, i: tf.constant([[1.0, 2.0], [3.0, 4.0]])),
    ("tf.placeholder", lambda g, i: tf.placeholder(tf.float32, [None, 10])),
    ("tf.matmul", lambda g, i: tf.matmul(g[0], g[3])),
    ("tf.nn.relu", lambda g, i: tf.nn.relu(g[0])),
    ("tf.reshape", lambda g, i: tf.reshape(g[0], [-1, 8, 8])),
    ("tf.transpose", lambda g, i: tf.transpose(g[0], [1, 0])),
    ("tf.concat", lambda g, i: tf.concat([g[0], g[0]], axis=1)),
    ("x[:, 1:3]", lambda g, i: g[0][:, 1:3]),
    ("tf.reduce_mean", lambda g, i: tf.reduce_mean(g[0], axis=1)),
    ("tf.cast", lambda g, i: tf.cast(g[2], tf.float32)),
    ("tf.one_hot", lambda g, i: tf.one_hot(g[2], 10)),
    ("tf.name_scope + tf.identity", lambda g, i: _scoped(g[0], i)),
    ("tf.control_dependencies + tf.no_op", lambda g, i: _controlled(g[0])),
    ("tf.cond", lambda g, i: tf.cond(tf.constant(True), lambda: g[0] + 1.0, lambda: g[0] - 1.0)),
    ("tf.while_loop", lambda g, i: tf.while_loop(lambda n, a: n < 3, lambda n, a: (n + 1, a + 1.0), (0, g[0]))),
    ("tf.nn.conv2d", lambda g, i: tf.nn.conv2d(g[1], np.ones((3, 3, 8, 8), np.float32), [1, 1, 1, 1], "SAME")),
    ("tf.get_variable", lambda g, i: tf.get_variable("v{}".format(i), [8, 8])),
    ("tf.get_variable, reused", lambda g, i: _reused()),
    ("tf.Variable", lambda g, i: tf.Variable(np.zeros((8, 8), np.float32))),
    ("assign_add", lambda g, i: tf.assign_add(g[3], np.ones((64, 64), np.float32))),
    ("tf.layers.dense", lambda g, i: tf.layers.dense(g[0], 32, activation=tf.nn.relu)),
    ("tf.layers.conv2d", lambda g, i: tf.layers.conv2d(g[1], 8, 3, padding="same", activation=tf.nn.relu)),
    ("tf.layers.max_pooling2d", lambda g, i: tf.layers.max_pooling2d(g[1], 2, 2)),
    ("tf.layers.batch_normalization", lambda g, i: tf.layers.batch_normalization(g[1], training=True)),
    ("tf.layers.dropout", lambda g, i: tf.layers.dropout(g[0], 0.5, training=True)),
    ("attention by hand", lambda g, i: _attention(g[0])),
    ("tf.losses.sparse_softmax_cross_entropy", lambda g, i: tf.losses.sparse_softmax_cross_entropy(g[2], g[0])),
    ("tf.metrics.accuracy", lambda g, i: tf.metrics.accuracy(g[2], g[2])),
    ("tf.gradients of 3 dense layers", lambda g, i: tf.gradients(_net(g), tf.trainable_variables())),
    ("AdamOptimizer.minimize of 3 dense layers", lambda g, i: tf.train.AdamOptimizer().minimize(_net(g))),
    ("tf.global_variables_initializer", lambda g, i: tf.global_variables_initializer()),
]
_NETS = {}


def _net(inputs):
    """A small net that is built once for each graph."""
    if inputs[0] not in _NETS:
        _NETS.clear()
        _NETS[inputs[0]] = _small_net(inputs[0])
    return _NETS[inputs[0]]


def _reused():
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        return tf.get_variable("w", [64, 64])


def _controlled(x):
    with tf.control_dependencies([x]):
        return tf.no_op()


def measure(call):
    """Microseconds of one call: the median over rounds of the mean of a round."""
    rounds = []
    for _ in range(ROUNDS):
        with tf.Graph().as_default():
            inputs = _inputs()
            _net(inputs)
            call(inputs, CALLS)
            start = CLOCK()
            for i in range(CALLS):
                call(inputs, i)
            rounds.append((CLOCK() - start) / CALLS)
    return 1e6 * sorted(rounds)[len(rounds) // 2]


def main():
    for name, call in CASES:
        print("{:45} {:9.1f}".format(name, measure(call)), flush=True)


if __name__ == "__main__":
    main()
