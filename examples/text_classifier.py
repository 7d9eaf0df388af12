"""Learns from a csv file of short reviews whether they are favourable, as programs did in 2018.

    towerstrat run examples/text_classifier.py
    python3.6 examples/text_classifier.py                                     # TensorFlow 1.12 itself

The program writes the csv files and the vocabulary itself, from a small grammar. tf.data reads the lines, divides them
into words and looks these up in the vocabulary file; the model scores the mean of their embeddings.
"""

import os
import random
import tempfile

import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("folder", None, "Where the csv files are written; default a temporary folder.")
flags.DEFINE_integer("steps", 300, "Steps of training.")
flags.DEFINE_integer("batch_size", 32, "Reviews of one step.")
flags.DEFINE_float("learning_rate", 0.5, "Of Adagrad.")
FLAGS = flags.FLAGS

THINGS = ["the plot", "the cast", "the music", "the end", "every scene", "the camera"]
GOOD = ["a delight", "moving", "funny", "worth seeing", "sharp", "well made"]
BAD = ["a bore", "flat", "clumsy", "too long", "dull", "badly made"]
LINKS = ["is", "was", "felt", "seemed"]


def review(rng, favourable):
    parts = []
    for _ in range(rng.randint(1, 3)):
        words = (GOOD if favourable else BAD) if rng.random() < 0.9 else (BAD if favourable else GOOD)
        parts.append(f"{rng.choice(THINGS)} {rng.choice(LINKS)} {rng.choice(words)}")
    return " and ".join(parts)


def write_files(folder):
    """train.csv and test.csv with a header and the columns label and text, and the words of the former."""
    rng = random.Random(7)
    for name, count in (("train", 1000), ("test", 400)):
        with open(os.path.join(folder, name + ".csv"), "w") as file:
            file.write("label,text\n")
            for i in range(count):
                file.write(f"{i % 2},{review(rng, i % 2)}\n")
    words = {}
    with open(os.path.join(folder, "train.csv")) as file:
        for line in list(file)[1:]:
            for word in line.rstrip("\n").split(",")[1].split():
                words[word] = words.get(word, 0) + 1
    ordered = sorted(words, key=lambda word: (-words[word], word))
    with open(os.path.join(folder, "words.txt"), "w") as file:
        file.write("".join(word + "\n" for word in ordered))


def reviews(path, table):
    """A dataset of (ids of a review's words, label)."""

    def read_line(line):
        fields = tf.string_split([line], ",").values
        return table.lookup(tf.string_split([fields[1]]).values), tf.string_to_number(fields[0], tf.int32)

    return tf.data.TextLineDataset(path).skip(1).map(read_line)


def batches(dataset, size):
    """(ids ``[size, longest]`` with -1 behind the last word, labels ``[size]``)."""
    padding = tf.constant(-1, tf.int64), tf.constant(0)
    iterator = dataset.padded_batch(size, ([None], []), padding).make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


def logits_of(ids, size):
    """Logits ``[n]`` of ids ``[n, longest]``: from the mean of the words' embeddings."""
    with tf.variable_scope("text", reuse=tf.AUTO_REUSE):
        embeddings = tf.get_variable("words", [size, 16], initializer=tf.random_uniform_initializer(-0.1, 0.1, 3))
        is_word = tf.cast(ids >= 0, tf.float32)
        rows = tf.nn.embedding_lookup(embeddings, tf.maximum(ids, 0)) * tf.expand_dims(is_word, 2)
        mean = tf.reduce_sum(rows, 1) / tf.maximum(tf.reduce_sum(is_word, 1, keepdims=True), 1.0)
        return tf.squeeze(tf.layers.dense(mean, 1, name="score", kernel_initializer=tf.zeros_initializer()), 1)


def main(_):
    folder = FLAGS.folder or tempfile.mkdtemp()
    write_files(folder)
    train, test, vocabulary = (os.path.join(folder, name) for name in ("train.csv", "test.csv", "words.txt"))
    table = tf.contrib.lookup.index_table_from_file(vocabulary, num_oov_buckets=1)
    with open(vocabulary) as file:
        size = len(file.readlines()) + 1

    ids, labels = batches(reviews(train, table).shuffle(1000, seed=1).repeat(), FLAGS.batch_size)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits_of(ids, size))
    step = tf.train.get_or_create_global_step()
    training = tf.train.AdagradOptimizer(FLAGS.learning_rate).minimize(loss, step)

    test_ids, test_labels = batches(reviews(test, table), 400)
    guesses = tf.cast(logits_of(test_ids, size) > 0, tf.int32)
    right = tf.reduce_sum(tf.cast(tf.equal(guesses, test_labels), tf.int32))

    with tf.train.MonitoredTrainingSession(log_step_count_steps=None) as session:
        for count in range(1, FLAGS.steps + 1):
            _, value = session.run([training, loss])
            if count % 50 == 0:
                print(f"step {count:4d}  loss {value:.3f}")
        print(f"held-back reviews: {session.run(right)} of 400 right")


if __name__ == "__main__":
    tf.app.run()
