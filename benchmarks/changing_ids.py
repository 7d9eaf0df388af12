"""Time of training steps whose number of ids changes each time: words, their embeddings' means, a dense layer, Adagrad.

    python -m benchmarks.changing_ids [--original PYTHON36] [--steps 100]

Prints milliseconds of the first step, and the mean and the median of the others; with ``--original`` those of
TensorFlow 1.12 beside them. A batch has 32 examples of 1 to 12 words.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time

if "tf112" in sys.argv:
    import tensorflow as tf
else:
    import towerstrat.compat.v1 as tf


def training():
    """(placeholders of texts and of labels, what a step fetches)."""
    texts, labels = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None])
    words = tf.string_split(texts)
    ids = tf.SparseTensor(words.indices, tf.string_to_hash_bucket_fast(words.values, 1000), words.dense_shape)
    rows = tf.nn.embedding_lookup_sparse(tf.get_variable("table", [1000, 16]), ids, None, combiner="mean")
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(rows, 1)[:, 0])
    return texts, labels, [loss, tf.train.AdagradOptimizer(0.1).minimize(loss)]


def measured(steps):
    """Milliseconds: (first step, mean of the others, median of the others)."""
    draws = random.Random(0)
    with tf.Graph().as_default(), tf.Session() as session:
        texts, labels, fetches = training()
        session.run(tf.global_variables_initializer())
        times = []
        for _ in range(steps):
            sizes = [draws.randint(1, 12) for _ in range(32)]
            given = [" ".join(f"word{draws.randint(0, 2999)}" for _ in range(n)) for n in sizes]
            start = time.perf_counter()
            session.run(fetches, {texts: given, labels: sizes})
            times.append((time.perf_counter() - start) * 1e3)
    first, rest = times[0], sorted(times[1:])
    return first, sum(rest) / len(rest), rest[len(rest) // 2]


def row(name, found):
    return f"| {name} | {found[0]:.0f} | {found[1]:.1f} | {found[2]:.2f} |"


if __name__ == "__main__":
    if "tf112" in sys.argv:
        tf.logging.set_verbosity(tf.logging.ERROR)
        print(json.dumps(measured(int(sys.argv[2]))))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--original", help="a Python 3.6 with TensorFlow 1.12")
        parser.add_argument("--steps", type=int, default=100)
        options = parser.parse_args()
        print("| | first step, ms | mean of the others | median |\n|---|---|---|---|")
        print(row("ours", measured(options.steps)), flush=True)
        if options.original:
            command = [options.original, __file__, "tf112", str(options.steps)]
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            print(row("1.12", json.loads(done.stdout)))
