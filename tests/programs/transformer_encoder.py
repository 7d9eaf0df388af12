"""A transformer encoder that sorts short sequences: multi-head attention with masks, noam schedule, label smoothing."""

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as tf1

tf1.logging.set_verbosity(tf1.logging.ERROR)

VOCAB = 10  # 0 is padding
MAX_LEN = 6
D_MODEL = 16
HEADS = 4
D_FF = 32
BLOCKS = 2
WARMUP = 40
BATCH = 32


def make_batch(rng, n):
    x, y = np.zeros((n, MAX_LEN), np.int32), np.zeros((n, MAX_LEN), np.int32)
    for i in range(n):
        size = rng.randint(3, MAX_LEN + 1)
        x[i, :size] = rng.randint(1, VOCAB, size)
        y[i, :size] = np.sort(x[i, :size])
    return x, y


class Glorot:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def __call__(self, shape, dtype=tf.float32, partition_info=None):
        shape = [int(n) for n in shape]
        bound = np.sqrt(6.0 / (shape[0] + shape[-1]))
        return tf.constant(self.rng.uniform(-bound, bound, shape), dtype)

    def get_config(self):
        return {}


def positional_encoding():
    position = np.arange(MAX_LEN)[:, None] / np.power(10000.0, 2 * (np.arange(D_MODEL)[None] // 2) / D_MODEL)
    position[:, 0::2], position[:, 1::2] = np.sin(position[:, 0::2]), np.cos(position[:, 1::2])
    return tf.constant(position, tf.float32)


def ln(inputs, epsilon=1e-6, scope="ln"):
    with tf1.variable_scope(scope):
        mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
        gamma = tf1.get_variable("gamma", [D_MODEL], initializer=tf1.ones_initializer())
        beta = tf1.get_variable("beta", [D_MODEL], initializer=tf1.zeros_initializer())
        return gamma * (inputs - mean) * tf.math.rsqrt(variance + epsilon) + beta


def multihead_attention(queries, keys, key_mask, scope):
    with tf1.variable_scope(scope):
        q, k, v = (
            tf1.layers.dense(x, D_MODEL, use_bias=False, name=name)
            for x, name in ((queries, "q"), (keys, "k"), (keys, "v"))
        )
        q, k, v = (tf.concat(tf.split(x, HEADS, axis=2), axis=0) for x in (q, k, v))
        scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(D_MODEL / HEADS)
        padding = tf.tile(key_mask, [HEADS, 1])[:, None, :]
        scores = tf.where(tf.tile(padding, [1, MAX_LEN, 1]), tf.fill(tf.shape(scores), -1e9), scores)
        weights = tf.nn.softmax(scores)
        outputs = tf.concat(tf.split(tf.matmul(weights, v), HEADS, axis=0), axis=2)
        return ln(tf1.layers.dense(outputs, D_MODEL, use_bias=False, name="out") + queries), weights


def feed_forward(inputs, scope):
    with tf1.variable_scope(scope):
        outputs = tf1.layers.dense(inputs, D_FF, activation=tf.nn.relu, name="inner")
        return ln(tf1.layers.dense(outputs, D_MODEL, name="outer") + inputs)


def noam_scheme(init_lr, global_step, warmup_steps):
    step = tf.cast(global_step + 1, dtype=tf.float32)
    return init_lr * warmup_steps**0.5 * tf.minimum(step * warmup_steps**-1.5, step**-0.5)


def label_smoothing(inputs, epsilon=0.1):
    return (1 - epsilon) * inputs + epsilon / inputs.get_shape().as_list()[-1]


x = tf1.placeholder(tf.int32, [None, MAX_LEN])
y = tf1.placeholder(tf.int32, [None, MAX_LEN])
with tf1.variable_scope("encoder", initializer=Glorot(0)):
    padding = tf.equal(x, 0)
    table = tf1.get_variable("lookup", [VOCAB, D_MODEL])
    enc = tf.nn.embedding_lookup(table, x) * D_MODEL**0.5 + positional_encoding()
    for i in range(BLOCKS):
        with tf1.variable_scope(f"num_blocks_{i}"):
            enc, attention = multihead_attention(enc, enc, padding, "self_attention")
            enc = feed_forward(enc, "positionwise")
    logits = tf.einsum("ntd,dk->ntk", enc, tf1.get_variable("project", [D_MODEL, VOCAB]))

y_ = label_smoothing(tf.one_hot(y, depth=VOCAB))
ce = tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=tf.stop_gradient(y_))
nonpadding = tf.cast(tf.not_equal(y, 0), tf.float32)
loss = tf.reduce_sum(ce * nonpadding) / (tf.reduce_sum(nonpadding) + 1e-7)
guess = tf.argmax(logits, axis=-1, output_type=tf.int32)
accuracy = tf.reduce_sum(tf.cast(tf.equal(guess, y), tf.float32) * nonpadding) / tf.reduce_sum(nonpadding)

global_step = tf1.train.get_or_create_global_step()
lr = noam_scheme(0.01, global_step, WARMUP)
optimizer = tf1.train.AdamOptimizer(lr, beta2=0.98, epsilon=1e-9)
train_op = optimizer.minimize(loss, global_step=global_step)

rng = np.random.RandomState(0)
held = dict(zip((x, y), make_batch(np.random.RandomState(1), 100)))
with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    print("weights", len(tf1.trainable_variables()))
    for step in range(120):
        rate, value, _ = sess.run([lr, loss, train_op], dict(zip((x, y), make_batch(rng, BATCH))))
        if step % 20 == 19:
            held_loss, held_accuracy = sess.run([loss, accuracy], held)
            print(f"step {step + 1} lr {rate:.6f} loss {value:.5f} held {held_loss:.5f} accuracy {held_accuracy:.5f}")
    found, weights = sess.run([guess, attention], held)
    for i in range(3):
        print(held[x][i], "->", found[i] * (held[y][i] > 0), "wanted", held[y][i])
    print("attention of padding", float(np.max(weights[: len(found)] * (held[x] == 0)[:, None, :])))
