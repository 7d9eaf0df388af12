"""Reverses sequences of digits: a bidirectional encoder and a decoder made of while_loop and TensorArrays."""

import numpy as np
import tensorflow as tf

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)

DIGITS = 6
START, STOP = DIGITS, DIGITS + 1
VOCAB = DIGITS + 2
MAX_LEN = 6
UNITS = 24


def make_batch(rng, size):
    lengths = rng.randint(2, MAX_LEN, size)
    source = np.full((size, MAX_LEN), STOP, np.int32)
    target = np.full((size, MAX_LEN), STOP, np.int32)
    for i, n in enumerate(lengths):
        source[i, :n] = rng.randint(0, DIGITS, n)
        target[i, :n] = source[i, :n][::-1]
    return source, lengths.astype(np.int32), target


class NumpyNormal:
    """An initializer that draws from NumPy: the n-th variable always gets the same values."""

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)

    def __call__(self, shape, dtype=tf.float32, partition_info=None):
        shape = [int(n) for n in shape]
        return tf.constant(self.rng.normal(0, 1.0 / np.sqrt(shape[0]), shape), dtype=dtype)

    def get_config(self):
        return {}


def encoder(source, lengths, table):
    inputs = tf.nn.embedding_lookup(table, source)
    forward = tf.nn.rnn_cell.LSTMCell(UNITS // 2)
    backward = tf.nn.rnn_cell.LSTMCell(UNITS // 2)
    (_, _), (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
        forward, backward, inputs, sequence_length=lengths, dtype=tf.float32
    )
    return tf.concat([state_fw.h, state_bw.h], axis=1)


def decoder(cell, state, table, project, target=None):
    """Logits of MAX_LEN steps; the next input is the target where there is one, else the best word so far."""
    batch = tf.shape(state[0])[0]
    logits = tf.TensorArray(tf.float32, size=MAX_LEN, element_shape=[None, VOCAB])
    if target is not None:
        words = tf.TensorArray(tf.int32, size=MAX_LEN).unstack(tf.transpose(target))

    def condition(time, *_):
        return time < MAX_LEN

    def body(time, word, state, logits):
        output, state = cell(tf.nn.embedding_lookup(table, word), state)
        scores = project(output)
        word = words.read(time) if target is not None else tf.argmax(scores, axis=1, output_type=tf.int32)
        return time + 1, word, state, logits.write(time, scores)

    start = tf.fill([batch], START)
    *_, logits = tf.while_loop(condition, body, (tf.constant(0), start, state, logits), parallel_iterations=1)
    return tf.transpose(logits.stack(), [1, 0, 2])


source = tf.compat.v1.placeholder(tf.int32, [None, MAX_LEN])
lengths = tf.compat.v1.placeholder(tf.int32, [None])
target = tf.compat.v1.placeholder(tf.int32, [None, MAX_LEN])

with tf.compat.v1.variable_scope("model", initializer=NumpyNormal(1)):
    table = tf.compat.v1.get_variable("table", [VOCAB, 12])
    encoded = encoder(source, lengths, table)
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(UNITS) for _ in range(2)])
    state = (encoded, encoded)
    kernel = tf.compat.v1.get_variable("project", [UNITS, VOCAB])
    with tf.compat.v1.variable_scope("decoder", reuse=tf.compat.v1.AUTO_REUSE):
        train_logits = decoder(cell, state, table, lambda x: tf.matmul(x, kernel), target)
        infer_logits = decoder(cell, state, table, lambda x: tf.matmul(x, kernel))

weights = tf.sequence_mask(lengths + 1, MAX_LEN, dtype=tf.float32)
loss = tf.reduce_sum(
    weights * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=train_logits)
) / tf.reduce_sum(weights)
decoded = tf.argmax(infer_logits, axis=2, output_type=tf.int32)
right = tf.reduce_all(tf.equal(decoded, target) | tf.equal(weights, 0.0), axis=1)

step = tf.compat.v1.train.get_or_create_global_step()
rate = tf.compat.v1.train.exponential_decay(0.01, step, 100, 0.5, staircase=True)
variables = tf.compat.v1.trainable_variables()
gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
train_op = tf.compat.v1.train.AdamOptimizer(rate).apply_gradients(zip(gradients, variables), global_step=step)

for variable in variables:
    print(variable.op.name, variable.shape.as_list())
rng = np.random.RandomState(0)
held = dict(zip((source, lengths, target), make_batch(np.random.RandomState(99), 50)))
with tf.compat.v1.Session() as sess:
    sess.run(tf.compat.v1.global_variables_initializer())
    for i in range(160):
        feed = dict(zip((source, lengths, target), make_batch(rng, 32)))
        _, value, size = sess.run([train_op, loss, norm], feed)
        if i % 40 == 0 or i == 159:
            exact = sess.run(right, held).mean()
            print(
                f"step {i:3d} loss {value:.5f} norm {size:.5f} held loss {sess.run(loss, held):.5f} exact {exact:.5f}"
            )
    words = sess.run(decoded, held)
    for row in range(4):
        n = held[lengths][row]
        print(held[source][row, :n].tolist(), "->", words[row, :n].tolist())
