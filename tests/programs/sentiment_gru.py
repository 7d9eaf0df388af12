"""Are they pleased? A GRU with sequence_length over padded sentences of a made-up language of reviews."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
flags = tf.app.flags
flags.DEFINE_integer("hidden", 16, "units of the GRU")
flags.DEFINE_integer("batch_size", 25, "sentences per step")
flags.DEFINE_integer("epochs", 5, "passes over the data")
flags.DEFINE_float("learning_rate", 0.01, "of Adam")
FLAGS = flags.FLAGS

PAD = "<pad>"
GOOD = ["great", "lovely", "fine", "superb"]
BAD = ["awful", "boring", "poor", "dire"]
NEUTRAL = ["the", "film", "plot", "was", "actors", "and", "very", "music"]
VOCAB = [PAD, "not"] + GOOD + BAD + NEUTRAL
MAX_LEN = 10


def make_sentences(n, seed):
    """Word numbers, lengths and labels; "not" turns the next word of praise or blame around."""
    rng = np.random.RandomState(seed)
    words, lengths, labels = np.zeros((n, MAX_LEN), np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    for i in range(n):
        label = rng.randint(2)
        negated = rng.rand() < 0.3
        sentence = [NEUTRAL[k] for k in rng.randint(len(NEUTRAL), size=rng.randint(2, MAX_LEN - 2))]
        mood = (GOOD if label != negated else BAD)[rng.randint(4)]
        where = rng.randint(len(sentence) + 1)
        sentence[where:where] = ["not", mood] if negated else [mood]
        words[i, : len(sentence)] = [VOCAB.index(word) for word in sentence]
        lengths[i], labels[i] = len(sentence), label
    return words, lengths, labels


def from_numpy(seed, scale=0.25):
    def initializer(shape, dtype=tf.float32, partition_info=None):
        return tf.cast(np.random.RandomState(seed).normal(0, scale, shape), dtype)

    return initializer


def model(words, lengths):
    embedding = tf.get_variable("embedding", [len(VOCAB), 8], initializer=from_numpy(1, 0.5))
    inputs = tf.nn.embedding_lookup(embedding, words)
    cell = tf.contrib.rnn.GRUCell(FLAGS.hidden, kernel_initializer=from_numpy(2))
    outputs, state = tf.nn.dynamic_rnn(cell, inputs, sequence_length=lengths, dtype=tf.float32)
    mask = tf.expand_dims(tf.sequence_mask(lengths, MAX_LEN, dtype=tf.float32), -1)
    average = tf.reduce_sum(outputs * mask, axis=1) / tf.cast(lengths, tf.float32)[:, None]
    features = tf.concat([average, state], axis=1)
    return tf.layers.dense(features, 2, kernel_initializer=from_numpy(3), name="logits")


def main(_):
    words = tf.placeholder(tf.int32, [None, MAX_LEN], "words")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    labels = tf.placeholder(tf.int32, [None], "labels")
    logits = model(words, lengths)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    global_step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
    gradients = optimizer.compute_gradients(loss)
    clipped = [(tf.clip_by_norm(g, 1.0), v) for g, v in gradients if g is not None]
    train_op = optimizer.apply_gradients(clipped, global_step)

    prediction = tf.argmax(logits, axis=1, output_type=tf.int32)
    with tf.name_scope("evaluation"):
        accuracy, update_accuracy = tf.metrics.accuracy(labels, prediction)
        auc, update_auc = tf.metrics.auc(labels, tf.nn.softmax(logits)[:, 1])
        _, update_loss = tf.metrics.mean(loss)
    reset = tf.variables_initializer(tf.get_collection(tf.GraphKeys.LOCAL_VARIABLES))

    x, n, y = make_sentences(300, 0)
    held = dict(zip([words, lengths, labels], make_sentences(100, 1)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.epochs):
            sess.run(reset)
            for i in range(0, len(x), FLAGS.batch_size):
                part = slice(i, i + FLAGS.batch_size)
                feed = {words: x[part], lengths: n[part], labels: y[part]}
                _, train_loss, _, _ = sess.run([train_op, update_loss, update_accuracy, update_auc], feed)
            scores = sess.run([accuracy, auc])
            held_loss, held_prediction = sess.run([loss, prediction], held)
            print(
                f"step {sess.run(global_step):3d} loss {train_loss:.5f} accuracy {scores[0]:.5f} auc {scores[1]:.5f} "
                f"held loss {held_loss:.5f} accuracy {np.mean(held_prediction == held[labels]):.5f}"
            )
        for sentence in ["the film was great", "the plot was not great and very boring", "not dire", "actors awful"]:
            codes = [VOCAB.index(word) for word in sentence.split()]
            row = np.zeros((1, MAX_LEN), np.int32)
            row[0, : len(codes)] = codes
            chance = sess.run(tf.nn.softmax(logits), {words: row, lengths: [len(codes)]})[0, 1]
            print(f"{sentence:40s} {chance:.5f}")


if __name__ == "__main__":
    tf.app.run()
