"""Speech recognition in small: an LSTM over synthetic frames, trained with CTC, scored by label error rate."""

import numpy as np
import tensorflow as tf

NUM_FEATURES = 6
LETTERS = "abcd "
NUM_CLASSES = len(LETTERS) + 1  # and the blank
NUM_HIDDEN = 20
BATCH_SIZE = 8
NUM_EPOCHS = 12
MAX_FRAMES = 30

SHAPES = np.random.RandomState(5).normal(0, 1, (len(LETTERS), NUM_FEATURES))


def utterance(rng):
    """Frames of a few letters, each of which lasts for two to four frames."""
    letters = rng.randint(0, len(LETTERS), rng.randint(3, 7))
    frames = np.concatenate([np.repeat(SHAPES[[k]], rng.randint(2, 5), axis=0) for k in letters])
    return frames + rng.normal(0, 0.2, frames.shape), letters


def sparse_tuple_from(sequences):
    indices = [(n, i) for n, sequence in enumerate(sequences) for i in range(len(sequence))]
    values = np.concatenate(sequences).astype(np.int32)
    shape = [len(sequences), max(len(s) for s in sequences)]
    return np.array(indices, np.int64), values, np.array(shape, np.int64)


def make_batch(n, rng):
    inputs, lengths, letters = np.zeros((n, MAX_FRAMES, NUM_FEATURES), np.float32), [], []
    for i in range(n):
        frames, said = utterance(rng)
        inputs[i, : len(frames)] = frames
        lengths.append(len(frames))
        letters.append(said)
    return inputs, np.int32(lengths), letters


def text_of(codes):
    return "".join(LETTERS[k] for k in codes)


def start(seed, *shape):
    return tf.constant_initializer(np.random.RandomState(seed).normal(0, 0.2, shape))


graph = tf.Graph()
with graph.as_default():
    inputs = tf.placeholder(tf.float32, [None, MAX_FRAMES, NUM_FEATURES], name="inputs")
    targets = tf.sparse_placeholder(tf.int32, name="targets")
    seq_len = tf.placeholder(tf.int32, [None], name="seq_len")

    cell = tf.nn.rnn_cell.LSTMCell(
        NUM_HIDDEN, initializer=start(0, NUM_FEATURES + NUM_HIDDEN, 4 * NUM_HIDDEN), state_is_tuple=True
    )
    outputs, _ = tf.nn.dynamic_rnn(cell, inputs, seq_len, dtype=tf.float32)
    batch_s = tf.shape(inputs)[0]
    outputs = tf.reshape(outputs, [-1, NUM_HIDDEN])
    W = tf.get_variable("W", [NUM_HIDDEN, NUM_CLASSES], initializer=start(1, NUM_HIDDEN, NUM_CLASSES))
    b = tf.get_variable("b", [NUM_CLASSES], initializer=tf.zeros_initializer())
    logits = tf.transpose(tf.reshape(tf.matmul(outputs, W) + b, [batch_s, -1, NUM_CLASSES]), (1, 0, 2))

    loss = tf.nn.ctc_loss(targets, logits, seq_len)
    cost = tf.reduce_mean(loss)
    optimizer = tf.train.AdamOptimizer(0.02).minimize(cost)
    decoded, log_prob = tf.nn.ctc_greedy_decoder(logits, seq_len)
    ler = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), targets))
    dense_decoded = tf.sparse_tensor_to_dense(decoded[0], default_value=-1)

rng = np.random.RandomState(0)
train = [make_batch(BATCH_SIZE, rng) for _ in range(6)]
val_inputs, val_lengths, val_letters = make_batch(16, rng)
with tf.Session(graph=graph) as session:
    session.run(tf.global_variables_initializer())
    for curr_epoch in range(NUM_EPOCHS):
        train_cost = train_ler = 0
        for x, n, letters in train:
            feed = {inputs: x, targets: sparse_tuple_from(letters), seq_len: n}
            batch_cost, _ = session.run([cost, optimizer], feed)
            train_cost += batch_cost / len(train)
            train_ler += session.run(ler, feed_dict=feed) / len(train)
        feed = {inputs: val_inputs, targets: sparse_tuple_from(val_letters), seq_len: val_lengths}
        val_cost, val_ler = session.run([cost, ler], feed)
        if curr_epoch % 3 == 2:
            print(
                f"Epoch {curr_epoch + 1}/{NUM_EPOCHS}, train_cost = {train_cost:.5f}, train_ler = {train_ler:.5f}, "
                f"val_cost = {val_cost:.5f}, val_ler = {val_ler:.5f}"
            )
    d = session.run(dense_decoded, feed)
    for said, heard in zip(val_letters[:5], d):
        print(f"Original: {text_of(said)!r:10} Decoded: {text_of(heard[heard >= 0])!r}")
