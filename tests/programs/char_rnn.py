"""Minimal character-level language model with a two-layer LSTM, unrolled, that goes on with a text greedily."""

import numpy as np
import tensorflow as tf

text = (
    """the cat sat on the mat. the dog sat on the log. the cat saw the dog and the dog saw the cat.
the cat ran to the mat and the dog ran to the log. """
    * 4
)
chars = sorted(set(text))
data_size, vocab_size = len(text), len(chars)
char_to_ix = {ch: i for i, ch in enumerate(chars)}
ix_to_char = dict(enumerate(chars))
print(f"data has {data_size} characters, {vocab_size} unique.")

hidden_size = 32
num_layers = 2
seq_length = 12
batch_size = 8
num_epochs = 12
learning_rate = 0.02
grad_clip = 5.0


class Weights(object):
    """Initial values that do not depend on TensorFlow's random streams."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def __call__(self, shape, dtype=None, partition_info=None):
        return tf.constant(self.rng.uniform(-0.15, 0.15, [int(n) for n in shape]), dtype or tf.float32)


def batches():
    codes = np.array([char_to_ix[ch] for ch in text], np.int32)
    length = (len(codes) - 1) // batch_size
    x = codes[: batch_size * length].reshape(batch_size, length)
    y = codes[1 : batch_size * length + 1].reshape(batch_size, length)
    for start in range(0, length - seq_length + 1, seq_length):
        yield x[:, start : start + seq_length], y[:, start : start + seq_length]


class CharRNN(object):
    def __init__(self, batch_size, seq_length):
        self.inputs = tf.placeholder(tf.int32, [batch_size, seq_length], name="inputs")
        self.targets = tf.placeholder(tf.int32, [batch_size, seq_length], name="targets")
        cells = [tf.nn.rnn_cell.BasicLSTMCell(hidden_size, forget_bias=1.0) for _ in range(num_layers)]
        cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=True)
        self.initial_state = cell.zero_state(batch_size, tf.float32)
        embedding = tf.get_variable("embedding", [vocab_size, hidden_size])
        inputs = tf.nn.embedding_lookup(embedding, self.inputs)
        inputs = [tf.squeeze(step, [1]) for step in tf.split(inputs, seq_length, 1)]
        outputs, self.final_state = tf.nn.static_rnn(cell, inputs, self.initial_state)
        output = tf.reshape(tf.concat(outputs, 1), [-1, hidden_size])
        softmax_w = tf.get_variable("softmax_w", [hidden_size, vocab_size])
        softmax_b = tf.get_variable("softmax_b", [vocab_size], initializer=tf.zeros_initializer())
        self.logits = tf.matmul(output, softmax_w) + softmax_b
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            logits=self.logits, labels=tf.reshape(self.targets, [-1])
        )
        self.cost = tf.reduce_mean(losses)
        self.prediction = tf.argmax(self.logits, 1)

    def train_op(self):
        tvars = tf.trainable_variables()
        grads, self.norm = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), grad_clip)
        return tf.train.AdamOptimizer(learning_rate).apply_gradients(zip(grads, tvars))


with tf.variable_scope("rnnlm", initializer=Weights(0)):
    model = CharRNN(batch_size, seq_length)
with tf.variable_scope("rnnlm", reuse=True):
    sampler = CharRNN(1, 1)
train_op = model.train_op()
saver = tf.train.Saver(tf.trainable_variables())


def sample(sess, prime, n):
    state = sess.run(sampler.initial_state)
    for ch in prime[:-1]:
        state = sess.run(sampler.final_state, {sampler.inputs: [[char_to_ix[ch]]], sampler.initial_state: state})
    result, ch = prime, prime[-1]
    for _ in range(n):
        feed = {sampler.inputs: [[char_to_ix[ch]]], sampler.initial_state: state}
        best, state = sess.run([sampler.prediction, sampler.final_state], feed)
        ch = ix_to_char[int(best[0])]
        result += ch
    return result


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("parameters", sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables()))
    for epoch in range(num_epochs):
        state = sess.run(model.initial_state)
        costs = []
        for x, y in batches():
            feed = {model.inputs: x, model.targets: y}
            for i, (c, h) in enumerate(model.initial_state):
                feed[c], feed[h] = state[i].c, state[i].h
            cost, state, norm, _ = sess.run([model.cost, model.final_state, model.norm, train_op], feed)
            costs.append(cost)
        print(f"epoch {epoch:2d}, train_loss = {np.mean(costs):.5f}, perplexity {np.exp(np.mean(costs)):.5f}")
    saver.save(sess, "save/model.ckpt")
    print(repr(sample(sess, "the ", 50)))

with tf.Session() as sess:
    saver.restore(sess, tf.train.latest_checkpoint("save"))
    print(repr(sample(sess, "the dog", 50)))
