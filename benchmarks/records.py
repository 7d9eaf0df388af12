"""Records parsed per second, from a TFRecord file of 20,000 ``Example`` messages, and from lines of csv.

    python -m benchmarks.records [--original PYTHON36] [--rounds 5]

Prints thousands of records per second for common forms of pipelines, the best of the rounds; with ``--original`` those
of TensorFlow 1.12 beside them, measured in turn. A message has ten floats, a label, a text and a number; an image has
784 bytes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

if "tf112" in sys.argv:
    import tensorflow as tf
else:
    import towerstrat.compat.v1 as tf

COUNT, BATCH = 20000, 128
SPEC = {
    "values": tf.FixedLenFeature([10], tf.float32),
    "label": tf.FixedLenFeature([], tf.int64),
    "text": tf.FixedLenFeature([], tf.string),
    "weight": tf.FixedLenFeature([], tf.float32),
}
IMAGE = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}


def write(folder):
    with tf.python_io.TFRecordWriter(os.path.join(folder, "examples")) as writer:
        for i in range(COUNT):
            message = tf.train.Example()
            feature = message.features.feature
            feature["values"].float_list.value.extend([i + j / 10.0 for j in range(10)])
            feature["label"].int64_list.value.append(i)
            feature["text"].bytes_list.value.append(b"text %d" % i)
            feature["weight"].float_list.value.append(1.0)
            writer.write(message.SerializeToString())
    with tf.python_io.TFRecordWriter(os.path.join(folder, "images")) as writer:
        for i in range(COUNT):
            message = tf.train.Example()
            message.features.feature["image"].bytes_list.value.append(bytes(bytearray([i % 256] * 784)))
            message.features.feature["label"].int64_list.value.append(i % 10)
            writer.write(message.SerializeToString())
    with open(os.path.join(folder, "lines"), "w") as file:
        file.writelines(f"{i},{i}.5,text {i}\n" for i in range(COUNT))


def one(record):
    return tf.parse_single_example(record, SPEC)


def with_operations(record):
    found = one(record)
    return tf.reshape(found["values"], [2, 5]) / 2.0, tf.cast(found["label"], tf.int32)


def image(record):
    found = tf.parse_single_example(record, IMAGE)
    pixels = tf.reshape(tf.decode_raw(found["image"], tf.uint8), [28, 28])
    return tf.cast(pixels, tf.float32) / 255.0 - 0.5, tf.cast(found["label"], tf.int32)


def columns(line):
    return tf.decode_csv(line, [[0], [0.0], [""]])


def examples(folder):
    return tf.data.TFRecordDataset(os.path.join(folder, "examples"))


PIPELINES = {
    "read, batch": lambda f: examples(f).batch(BATCH),
    "batch, parse_example": lambda f: examples(f).batch(BATCH).map(lambda x: tf.parse_example(x, SPEC)),
    "parse_single_example, batch": lambda f: examples(f).map(one).batch(BATCH),
    "parse_single_example on 2 threads, batch": lambda f: examples(f).map(one, 2).batch(BATCH),
    "parse_single_example, shuffle, batch": lambda f: examples(f).map(one).shuffle(1000).batch(BATCH),
    "parse_single_example and operations, batch": lambda f: examples(f).map(with_operations).batch(BATCH),
    "images: parse, decode_raw, scale, batch": lambda f: (
        tf.data.TFRecordDataset(os.path.join(f, "images")).map(image).batch(BATCH)
    ),
    "csv: decode_csv, batch": lambda f: (
        tf.data.TextLineDataset(os.path.join(f, "lines")).map(lambda x: tuple(columns(x))).batch(BATCH)
    ),
    "csv: batch, decode_csv": lambda f: (
        tf.data.TextLineDataset(os.path.join(f, "lines")).batch(BATCH).map(lambda x: tuple(columns(x)))
    ),
}


def measured(pipeline, folder):
    """Thousands of records per second of one pass, after one batch."""
    with tf.Graph().as_default(), tf.Session() as session:
        following = pipeline(folder).repeat(2).make_one_shot_iterator().get_next()
        for _ in range(20):
            session.run(following)
        count, start = 0, time.perf_counter()
        try:
            while True:
                session.run(following)
                count += 1
        except tf.errors.OutOfRangeError:
            return count * BATCH / (time.perf_counter() - start) / 1e3


def sides(original, rounds, folder):
    """Rows of the table: the pipeline, ours, the original's and their ratio."""
    yield "| pipeline | ours | 1.12 | ours / 1.12 |\n|---|---|---|---|"
    for name, pipeline in PIPELINES.items():
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(measured(pipeline, folder))
            if original:
                command = [original, __file__, "tf112", name, folder]
                environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
                done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
                theirs.append(json.loads(done.stdout))
        beside = f"{max(theirs):.0f} | {max(ours) / max(theirs):.1f}" if theirs else " | "
        yield f"| {name} | {max(ours):.0f} | {beside} |"


if __name__ == "__main__":
    if "tf112" in sys.argv:
        tf.logging.set_verbosity(tf.logging.ERROR)
        print(json.dumps(measured(PIPELINES[sys.argv[2]], sys.argv[3])))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--original", help="a Python 3.6 with TensorFlow 1.12")
        parser.add_argument("--rounds", type=int, default=5)
        options = parser.parse_args()
        with tempfile.TemporaryDirectory() as where:
            write(where)
            for row in sides(options.original, options.rounds, where):
                print(row, flush=True)
