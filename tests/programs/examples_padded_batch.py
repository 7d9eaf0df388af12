"""Sentences as SequenceExamples of words, padded batches, an embedding with a mask; greedy decoding of labels."""

from __future__ import print_function

import collections
import logging
import sys

import numpy as np
import tensorflow as tf

log = logging.getLogger("tagger")
log.setLevel(logging.INFO)
log.propagate = False
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(name)s - %(message)s"))
log.addHandler(handler)

VOCABULARY = ["<pad>", "the", "a", "cat", "dog", "bird", "sees", "hears", "small", "old"]
TAGS = ["<pad>", "DET", "DET", "NOUN", "NOUN", "NOUN", "VERB", "VERB", "ADJ", "ADJ"]
TAG_IDS = {tag: i for i, tag in enumerate(sorted(set(TAGS)))}


def sentences(count, seed):
    random = np.random.RandomState(seed)

    def phrase():
        words = [random.choice(["the", "a"])]
        words += [random.choice(["small", "old"]) for _ in range(random.randint(3))]
        return words + [random.choice(["cat", "dog", "bird"])]

    for _ in range(count):
        yield phrase() + [random.choice(["sees", "hears"])] + phrase()


def make_example(words):
    ids = [VOCABULARY.index(word) for word in words]
    features = tf.train.Features(
        feature={
            "length": tf.train.Feature(int64_list=tf.train.Int64List(value=[len(ids)])),
            "tokens": tf.train.Feature(int64_list=tf.train.Int64List(value=ids)),
            "tags": tf.train.Feature(int64_list=tf.train.Int64List(value=[TAG_IDS[TAGS[i]] for i in ids])),
            "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[" ".join(words).encode()])),
        }
    )
    return tf.train.Example(features=features)


def write(path, count, seed):
    with tf.python_io.TFRecordWriter(path) as writer:
        for words in sentences(count, seed):
            writer.write(make_example(words).SerializeToString())


def parse(serialized):
    parsed = tf.parse_single_example(
        serialized,
        {
            "length": tf.FixedLenFeature([], tf.int64),
            "tokens": tf.VarLenFeature(tf.int64),
            "tags": tf.VarLenFeature(tf.int64),
            "text": tf.FixedLenFeature([], tf.string, default_value=""),
        },
    )
    return {
        "length": parsed["length"],
        "tokens": tf.sparse_tensor_to_dense(parsed["tokens"]),
        "tags": tf.cast(tf.sparse_tensor_to_dense(parsed["tags"]), tf.int32),
        "text": parsed["text"],
    }


def dataset(path, batch_size):
    shapes = {"length": [], "tokens": [None], "tags": [None], "text": []}
    return tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=2).padded_batch(batch_size, shapes).prefetch(1)


def main():
    write("train.tfrecord", 64, seed=0)
    write("test.tfrecord", 10, seed=1)
    train = dataset("train.tfrecord", 16).repeat(20)
    test = dataset("test.tfrecord", 4)
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    batch = iterator.get_next()
    log.info("shapes %s", sorted((k, s.as_list()) for k, s in train.output_shapes.items()))

    random = np.random.RandomState(2)
    with tf.variable_scope("tagger"):
        table = tf.get_variable("table", initializer=random.normal(size=(len(VOCABULARY), 6)).astype(np.float32))
        kernel = tf.get_variable("kernel", initializer=random.normal(size=(6, len(TAG_IDS))).astype(np.float32))
    logits = tf.tensordot(tf.nn.embedding_lookup(table, batch["tokens"]), kernel, axes=1)
    mask = tf.sequence_mask(batch["length"], dtype=tf.float32)
    crossent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["tags"], logits=logits)
    loss = tf.reduce_sum(crossent * mask) / tf.reduce_sum(mask)
    predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
    right = tf.reduce_sum(tf.cast(tf.equal(predictions, batch["tags"]), tf.float32) * mask)
    train_op = tf.train.RMSPropOptimizer(0.1).minimize(loss)

    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), iterator.make_initializer(train)])
        widths = collections.Counter()
        step = 0
        while True:
            try:
                value, tokens, _ = sess.run([loss, batch["tokens"], train_op])
            except tf.errors.OutOfRangeError:
                break
            widths[tokens.shape[1]] += 1
            if step % 20 == 0:
                log.info("step %d loss %.5f", step, value)
            step += 1
        log.info("widths of batches %s", sorted(widths.items()))

        sess.run(iterator.make_initializer(test))
        names = sorted(TAG_IDS)
        total = words = 0
        try:
            while True:
                found, lengths, texts, n = sess.run([predictions, batch["length"], batch["text"], right])
                total, words = total + n, words + lengths.sum()
                print(texts[0].decode(), "->", " ".join(names[i] for i in found[0][: lengths[0]]))
        except tf.errors.OutOfRangeError:
            log.info("test accuracy %.5f of %d words", total / words, words)


if __name__ == "__main__":
    main()
