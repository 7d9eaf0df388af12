"""A BiLSTM-CRF that tags words of made-up sentences with names of persons and places (tf.contrib.crf)."""

import numpy as np
import tensorflow as tf

TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
PEOPLE = [["john"], ["mary", "smith"], ["paul", "jones"], ["anna"]]
PLACES = [["berlin"], ["paris"], ["london"]]
WORDS = ["the", "in", "met", "saw", "of", "lives", "and", "mister"]
VOCAB = sorted({w for group in PEOPLE + PLACES for w in group} | set(WORDS))
MAX_LEN = 9
HIDDEN = 12


def sentence(rng):
    words, tags = [], []
    while len(words) < 5:
        kind = rng.randint(4)
        if kind == 0:
            person = PEOPLE[rng.randint(len(PEOPLE))]
            words += person
            tags += [1] + [2] * (len(person) - 1)
        elif kind == 1:
            words += ["in", PLACES[rng.randint(len(PLACES))][0]]
            tags += [0, 3]
        else:
            words.append(WORDS[rng.randint(len(WORDS))])
            tags.append(0)
    return words, tags


def batch(n, seed):
    rng = np.random.RandomState(seed)
    x, y = np.zeros((n, MAX_LEN), np.int32), np.zeros((n, MAX_LEN), np.int32)
    lengths = np.zeros(n, np.int32)
    for i in range(n):
        words, tags = sentence(rng)
        lengths[i] = len(words)
        x[i, : len(words)] = [VOCAB.index(word) for word in words]
        y[i, : len(words)] = tags
    return x, y, lengths


def initial(seed):
    def make(shape, dtype=tf.float32, partition_info=None):
        return tf.constant(np.random.RandomState(seed).normal(0, 0.3, [int(n) for n in shape]), dtype)

    return make


words = tf.placeholder(tf.int32, [None, MAX_LEN], name="words")
tags = tf.placeholder(tf.int32, [None, MAX_LEN], name="tags")
lengths = tf.placeholder(tf.int32, [None], name="lengths")

embeddings = tf.nn.embedding_lookup(tf.get_variable("embeddings", [len(VOCAB), 8], initializer=initial(0)), words)
with tf.variable_scope("bi-lstm", initializer=initial(1)):
    cell_fw = tf.contrib.rnn.LSTMCell(HIDDEN)
    cell_bw = tf.contrib.rnn.LSTMCell(HIDDEN)
    (output_fw, output_bw), _ = tf.nn.bidirectional_dynamic_rnn(
        cell_fw, cell_bw, embeddings, sequence_length=lengths, dtype=tf.float32
    )
    output = tf.concat([output_fw, output_bw], axis=-1)
with tf.variable_scope("proj"):
    W = tf.get_variable("W", shape=[2 * HIDDEN, len(TAGS)], initializer=initial(2))
    b = tf.get_variable("b", shape=[len(TAGS)], initializer=tf.zeros_initializer())
    scores = tf.reshape(tf.matmul(tf.reshape(output, [-1, 2 * HIDDEN]), W) + b, [-1, MAX_LEN, len(TAGS)])

transitions = tf.get_variable("transitions", [len(TAGS), len(TAGS)], initializer=tf.zeros_initializer())
log_likelihood, transition_params = tf.contrib.crf.crf_log_likelihood(scores, tags, lengths, transitions)
loss = tf.reduce_mean(-log_likelihood)
decoded, best_score = tf.contrib.crf.crf_decode(scores, transition_params, lengths)
train_op = tf.train.AdamOptimizer(0.02).minimize(loss)

x, y, n = batch(120, 0)
held_x, held_y, held_n = batch(40, 1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(6):
        for i in range(0, 120, 20):
            feed = {words: x[i : i + 20], tags: y[i : i + 20], lengths: n[i : i + 20]}
            _, value = sess.run([train_op, loss], feed)
        feed = {words: held_x, tags: held_y, lengths: held_n}
        unary, matrix, held_loss = sess.run([scores, transition_params, loss], feed)
        right = total = 0
        for score, truth, length in zip(unary, held_y, held_n):
            viterbi, _ = tf.contrib.crf.viterbi_decode(score[:length], matrix)
            right += np.sum(np.equal(viterbi, truth[:length]))
            total += length
        print(f"epoch {epoch} loss {value:.5f} held {held_loss:.5f} accuracy {100.0 * right / total:.2f}%")
    paths, best = sess.run([decoded, best_score], feed)
    print("transitions\n", np.round(matrix, 5))
    for i in range(3):
        text = " ".join(f"{VOCAB[w]}/{TAGS[t]}" for w, t in zip(held_x[i][: held_n[i]], paths[i]))
        print(f"{text}  ({best[i]:.5f})")
