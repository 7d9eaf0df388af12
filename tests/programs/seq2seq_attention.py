"""Translation in small: an encoder, a decoder with Bahdanau attention, greedy decoding (tf.contrib.seq2seq)."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib import seq2seq
from tensorflow.python.layers.core import Dense

PAD, SOS, EOS = 0, 1, 2
SOURCE = ["<pad>", "<s>", "</s>", "eins", "zwei", "drei", "vier", "rot", "blau", "haus", "auto"]
TARGET = ["<pad>", "<s>", "</s>", "one", "two", "three", "four", "red", "blue", "house", "car"]
MAX_WORDS = 5
UNITS = 20
BATCH = 20


def sentences(n, seed):
    """ "zwei rot haus" -> "house red two": words are translated, and their order is turned around."""
    rng = np.random.RandomState(seed)
    source, target, lengths = [], [], []
    for _ in range(n):
        words = rng.randint(3, len(SOURCE), rng.randint(2, MAX_WORDS + 1)).tolist()
        source.append(words + [PAD] * (MAX_WORDS - len(words)))
        target.append(words[::-1] + [EOS] + [PAD] * (MAX_WORDS - len(words)))
        lengths.append(len(words))
    return np.int32(source), np.int32(target), np.int32(lengths)


class Uniform(object):
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def __call__(self, shape, dtype=tf.float32, partition_info=None):
        return tf.constant(self.rng.uniform(-0.3, 0.3, [int(n) for n in shape]), dtype)


source = tf.placeholder(tf.int32, [None, MAX_WORDS])
target = tf.placeholder(tf.int32, [None, MAX_WORDS + 1])
lengths = tf.placeholder(tf.int32, [None])
batch_size = tf.size(lengths)

with tf.variable_scope("nmt", initializer=Uniform(0)):
    with tf.variable_scope("encoder"):
        source_embedding = tf.get_variable("embedding", [len(SOURCE), 12])
        encoder_outputs, encoder_state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(UNITS),
            tf.nn.embedding_lookup(source_embedding, source),
            sequence_length=lengths,
            dtype=tf.float32,
        )
    with tf.variable_scope("decoder") as scope:
        target_embedding = tf.get_variable("embedding", [len(TARGET), 12])
        attention = seq2seq.BahdanauAttention(UNITS, encoder_outputs, memory_sequence_length=lengths)
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.GRUCell(UNITS), attention, attention_layer_size=UNITS, alignment_history=True
        )
        state = cell.zero_state(batch_size, tf.float32).clone(cell_state=encoder_state)
        projection = Dense(len(TARGET), use_bias=False, name="projection")

        shifted = tf.concat([tf.fill([batch_size, 1], SOS), target[:, :-1]], axis=1)
        helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(target_embedding, shifted), lengths + 1)
        decoder = seq2seq.BasicDecoder(cell, helper, state, output_layer=projection)
        outputs, _, _ = seq2seq.dynamic_decode(decoder, swap_memory=True, scope=scope)
        logits = outputs.rnn_output

        scope.reuse_variables()
        helper = seq2seq.GreedyEmbeddingHelper(target_embedding, tf.fill([batch_size], SOS), EOS)
        decoder = seq2seq.BasicDecoder(cell, helper, state, output_layer=projection)
        greedy, final_state, greedy_lengths = seq2seq.dynamic_decode(
            decoder, maximum_iterations=MAX_WORDS + 2, scope=scope
        )
        alignments = tf.transpose(final_state.alignment_history.stack(), [1, 0, 2])

steps = tf.reduce_max(lengths) + 1
weights = tf.sequence_mask(lengths + 1, steps, dtype=tf.float32)
loss = seq2seq.sequence_loss(logits, target[:, :steps], weights)
global_step = tf.train.get_or_create_global_step()
train_op = tf.contrib.layers.optimize_loss(
    loss, global_step, learning_rate=0.01, optimizer="Adam", clip_gradients=5.0, summaries=[]
)

train = sentences(200, 0)
held = dict(zip((source, target, lengths), sentences(40, 1)))
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for epoch in range(10):
        for i in range(0, 200, BATCH):
            feed = dict(zip((source, target, lengths), (part[i : i + BATCH] for part in train)))
            _, value = sess.run([train_op, loss], feed)
        if epoch % 3 == 0:
            perplexity = np.exp(sess.run(loss, held))
            print(f"epoch {epoch} step {sess.run(global_step)} loss {value:.5f} held perplexity {perplexity:.5f}")
    saver.save(sess, "nmt/model.ckpt")

with tf.Session() as sess:
    saver.restore(sess, "nmt/model.ckpt")
    words, ends, where = sess.run([greedy.sample_id, greedy_lengths, alignments], held)
    exact = [words[i, : ends[i]].tolist() == [w for w in held[target][i] if w != PAD] for i in range(len(words))]
    print(f"exact: {np.mean(exact):.5f}")
    for i in range(4):
        text = " ".join(SOURCE[w] for w in held[source][i] if w != PAD)
        print(text, "->", " ".join(TARGET[w] for w in words[i, : ends[i] - 1]), where[i].argmax(axis=1)[: ends[i] - 1])
