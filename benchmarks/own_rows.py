"""CPU milliseconds of input pipelines in one process, and in one of two and of four that make their own rows.

    python -m benchmarks.own_rows [--rounds 5]

Processes are played by their shares: no other process is started. "before" is one of two that makes all rows and keeps
its own. The least of the rounds, which are taken in turn.
"""

import argparse
import os
import tempfile
import time

import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat.data.pipeline.nodes import IteratorContext
from towerstrat.data.pipeline.prefetch import Prefetch
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.towers.engine.batch_splitting import BatchSplit
from towerstrat.towers.engine.local_batches import split_rows

COUNT, IMAGES = 8000, 1500
WIDE = {
    **{f"c{k}": tf.FixedLenFeature([], tf.int64) for k in range(26)},
    **{f"d{k}": tf.FixedLenFeature([], tf.float32) for k in range(13)},
    "label": tf.FixedLenFeature([], tf.int64),
}
IMAGE = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}


def integers(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def write(folder, random):
    pixels = np.clip(np.cumsum(random.normal(0, 3, (50, 96, 96, 3)), axis=2) + 128, 0, 255).astype(np.uint8)
    with tf.Session() as session:
        image = tf.placeholder(tf.uint8, [96, 96, 3])
        encoded = tf.image.encode_jpeg(image)
        jpegs = [session.run(encoded, {image: each}) for each in pixels]
    with tf.python_io.TFRecordWriter(f"{folder}/wide") as writer:
        for i in range(COUNT):
            features = {f"c{k}": integers([int(random.integers(0, 1000))]) for k in range(26)}
            floats = {f"d{k}": tf.train.Feature(float_list=tf.train.FloatList(value=[k * i])) for k in range(13)}
            features = tf.train.Features(feature={**features, **floats, "label": integers([i % 2])})
            writer.write(tf.train.Example(features=features).SerializeToString())
    with tf.python_io.TFRecordWriter(f"{folder}/jpegs") as writer:
        for i in range(IMAGES):
            image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpegs[i % 50]]))
            features = tf.train.Features(feature={"image": image, "label": integers([i % 10])})
            writer.write(tf.train.Example(features=features).SerializeToString())
    with open(f"{folder}/lines", "w") as file:
        file.writelines(",".join(map(str, random.integers(0, 1000, 20))) + "\n" for _ in range(COUNT))


def parsed(record):
    return tf.parse_single_example(record, WIDE)


def stacked(record):
    found = parsed(record)
    numbers = tf.stack([found[f"d{k}"] for k in range(13)])
    return tf.stack([found[f"c{k}"] for k in range(26)]), tf.log(numbers + 1.0), found["label"]


def columns(line):
    found = tf.decode_csv(line, [[0]] * 20)
    return tf.stack(found[:19]), found[19]


def decoded(record):
    found = tf.parse_single_example(record, IMAGE)
    image = tf.image.decode_jpeg(found["image"], 3)
    image.set_shape([96, 96, 3])
    image = tf.image.random_flip_left_right(tf.random_crop(image, [80, 80, 3]))
    return tf.cast(image, tf.float32) / 255.0, found["label"]


def augmented(image, label):
    image = tf.image.resize_image_with_crop_or_pad(tf.cast(image, tf.float32) / 255.0, 36, 36)
    image = tf.image.random_flip_left_right(tf.random_crop(image, [32, 32, 3]))
    return tf.image.per_image_standardization(image), label


def pipelines(folder, random):
    images, labels = random.integers(0, 255, (4000, 32, 32, 3), np.uint8), np.arange(4000)

    def records(name):
        return tf.data.TFRecordDataset(os.path.join(folder, name))

    def lines():
        return tf.data.TextLineDataset(os.path.join(folder, "lines"))

    def table():
        return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(4000, seed=1)

    def numbers():
        return tf.data.Dataset.from_generator(lambda: iter(range(COUNT)), tf.int64, [])

    return {
        "shuffled, 40 features parsed": lambda: records("wide").shuffle(2000, seed=1).map(parsed).batch(256),
        "40 features stacked, shuffled": lambda: records("wide").map(stacked).shuffle(2000, seed=1).batch(256),
        "batches of 40 features parsed": lambda: (
            records("wide").shuffle(2000, seed=1).batch(256).map(lambda texts: tf.parse_example(texts, WIDE))
        ),
        "20 columns of csv, shuffled": lambda: lines().map(columns).shuffle(1000, seed=1).batch(256),
        "jpegs decoded, shuffled": lambda: records("jpegs").map(decoded, 4).shuffle(500, seed=1).batch(64),
        "images in memory augmented": lambda: table().map(augmented).batch(128),
        "numbers of a generator": lambda: numbers().map(lambda x: (x * 2, tf.cast(x, tf.float32) / 3.0)).batch(128),
    }


def seconds(node, session):
    """CPU time of a pass."""
    tensors = node.inputs()
    values = dict(zip(tensors, session.run(tensors) if tensors else [], strict=True))
    opening = IteratorContext(session, node, values, (1, 2))
    start = time.process_time()
    for _ in node.open(opening):
        pass
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default():
            write(folder, random)
        for name, make in pipelines(folder, random).items():
            with tf.Graph().as_default(), tf.Session() as session:
                tf.set_random_seed(1)
                node, half = make().node, LocalIndices(4, (0, 1))
                forms = [
                    BatchSplit(Prefetch(node, 1), LocalIndices(4)),
                    BatchSplit(Prefetch(node, 1), half),
                    split_rows(node, half),
                    split_rows(node, LocalIndices(8, (0, 1))),
                ]
                found = [[seconds(form, session) for form in forms] for _ in range(rounds + 1)][1:]
            one, before, two, four = (1e3 * min(each) for each in zip(*found, strict=True))
            print(
                f"{name:30} one {one:6.0f}  of two {two:6.0f} (before {before:6.0f})  of four {four:6.0f}", flush=True
            )


if __name__ == "__main__":
    main()
