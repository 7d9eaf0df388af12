"""A letter model of names, trained with teacher forcing and searched with beams (tf.contrib.seq2seq)."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib import seq2seq

tf.logging.set_verbosity(tf.logging.ERROR)

NAMES = ["anna", "hanna", "johanna", "joanna", "susanna", "lena", "helena", "selena", "elena", "milena"]
NAMES += ["mila", "camila", "ludmila"]
LETTERS = "_" + "".join(sorted(set("".join(NAMES))))  # _ ends a name, and begins it
END = 0
MAX_LEN = max(map(len, NAMES)) + 1
UNITS = 24
BEAM = 4


def encode(name):
    codes = [LETTERS.index(letter) for letter in name] + [END]
    return codes + [END] * (MAX_LEN - len(codes)), len(codes)


class Normal:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def __call__(self, shape, dtype=tf.float32, partition_info=None):
        return tf.constant(self.rng.normal(0, 0.2, [int(n) for n in shape]), dtype)


def body(mode, letters=None, lengths=None, first=None):
    """Logits for training; the names of the beams, best first, for searching."""
    embedding = tf.get_variable("embedding", [len(LETTERS), 10])
    topics = tf.get_variable("topics", [len(LETTERS), UNITS])
    cell = tf.nn.rnn_cell.LSTMCell(UNITS, name="cell")
    output_layer = tf.layers.Dense(len(LETTERS), name="output")
    start = tf.nn.embedding_lookup(topics, first)
    state = tf.nn.rnn_cell.LSTMStateTuple(c=tf.zeros_like(start), h=start)
    batch = tf.size(first)
    if mode == "train":
        inputs = tf.concat([tf.fill([batch, 1], END), letters[:, :-1]], axis=1)
        helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(embedding, inputs), lengths)
        decoder = seq2seq.BasicDecoder(cell, helper, state, output_layer)
        outputs, _, _ = seq2seq.dynamic_decode(decoder, impute_finished=True, maximum_iterations=MAX_LEN)
        return outputs.rnn_output
    state = seq2seq.tile_batch(state, multiplier=BEAM)
    decoder = seq2seq.BeamSearchDecoder(
        cell=cell,
        embedding=embedding,
        start_tokens=tf.fill([batch], END),
        end_token=END,
        initial_state=state,
        beam_width=BEAM,
        output_layer=output_layer,
        length_penalty_weight=0.5,
    )
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=MAX_LEN)
    return outputs.predicted_ids, state.log_probs, lengths


codes, sizes = zip(*map(encode, NAMES))
codes, sizes = np.int32(codes), np.int32(sizes)
letters = tf.placeholder(tf.int32, [None, MAX_LEN])
lengths = tf.placeholder(tf.int32, [None])
first = tf.placeholder(tf.int32, [None])
with tf.variable_scope("names", initializer=Normal(3)):
    logits = body("train", letters, lengths, first)
with tf.variable_scope("names", reuse=True):
    found, scores, found_lengths = body("search", first=first)
weights = tf.sequence_mask(lengths, MAX_LEN, dtype=tf.float32)
loss = seq2seq.sequence_loss(logits, letters, weights)
train_op = tf.train.AdamOptimizer(0.02).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {letters: codes, lengths: sizes, first: codes[:, 0]}
    for step in range(80):
        value, _ = sess.run([loss, train_op], feed)
        if step % 20 == 0:
            print(f"step {step} loss {value:.5f}")
    print(f"loss at the end {sess.run(loss, feed):.5f}")
    beginnings = sorted({name[0] for name in NAMES})
    ids, log_probs = sess.run([found, scores], {first: [LETTERS.index(letter) for letter in beginnings]})
    for i, letter in enumerate(beginnings):
        for beam in range(2):
            word = "".join(LETTERS[k] for k in ids[i, :, beam] if k > 0)
            print(f"{letter}: {word:10s} log probability {log_probs[i, beam]:.5f}")
