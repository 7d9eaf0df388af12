"""Creates and initializes the variables of a small BERT, and prints how long that takes, as JSON.

towerstrat run benchmarks/bert_variables.py [--adam]
python3.6 benchmarks/bert_variables.py [--adam]      # TensorFlow 1.12 itself
"""

import json
import sys
import time

import tensorflow as tf

HIDDEN, LAYERS, VOCABULARY, INNER, POSITIONS = 128, 4, 30522, 512, 512


def make_variables(with_slots):
    """BERT's: kernels truncated normal, biases zeros, scales ones; with two zero slots each for Adam."""
    normal = tf.truncated_normal_initializer(stddev=0.02)
    zeros, ones = tf.zeros_initializer(), tf.ones_initializer()

    def dense(name, inputs, outputs):
        tf.get_variable(name + "/kernel", [inputs, outputs], initializer=normal)
        tf.get_variable(name + "/bias", [outputs], initializer=zeros)

    def normalization(name):
        tf.get_variable(name + "/beta", [HIDDEN], initializer=zeros)
        tf.get_variable(name + "/gamma", [HIDDEN], initializer=ones)

    for name, rows in (("word", VOCABULARY), ("token_type", 2), ("position", POSITIONS)):
        tf.get_variable(name + "_embeddings", [rows, HIDDEN], initializer=normal)
    normalization("embeddings")
    for layer in range(LAYERS):
        with tf.variable_scope(f"layer_{layer}"):
            for name in ("query", "key", "value", "output"):
                dense("attention/" + name, HIDDEN, HIDDEN)
            normalization("attention")
            dense("intermediate", HIDDEN, INNER)
            dense("output", INNER, HIDDEN)
            normalization("output")
    dense("pooler", HIDDEN, HIDDEN)
    if with_slots:
        for variable in tf.trainable_variables():
            for slot in ("m", "v"):
                name = variable.op.name + "/adam_" + slot
                tf.get_variable(name, variable.shape.as_list(), initializer=zeros, trainable=False)


def timed(call, argument):
    start = time.perf_counter()
    call(argument)
    return time.perf_counter() - start


def measure(with_slots):
    """Seconds of the first initialization of a process, of another operation, of the same, and of another graph's."""
    found = {}
    for kind in ("first", "second graph"):
        with tf.Graph().as_default(), tf.Session() as session:
            make_variables(with_slots)
            initialize = tf.global_variables_initializer()
            found[kind] = timed(session.run, initialize)
            if kind == "first":
                other = tf.variables_initializer(tf.global_variables())
                found["second operation"] = timed(session.run, other)
                found["same operation"] = timed(session.run, other)
    return found


if __name__ == "__main__":
    print(json.dumps(measure("--adam" in sys.argv)))
