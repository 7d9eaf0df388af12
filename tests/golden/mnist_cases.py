"""Orders in which batches of MNIST come. Runs on both sides, and under Python 3.6."""

import gzip
import os

import numpy as np

COUNT = 10
SETS = {
    "seed": {"seed": 1}, "another seed": {"seed": 7, "reshape": False}, "bytes": {"seed": 1, "dtype": "uint8"},
    "the graph's seed": {}, "both seeds": {"seed": 3},
}  # fmt: skip
"""Arguments of DataSet; the graph has a seed where the name says so."""
BATCHES = {"shuffled": {}, "in order": {"shuffle": False}}
FILES = {
    "plain": {"validation_size": 2, "seed": 5},
    "one-hot": {"validation_size": 0, "seed": 5, "one_hot": True},
    "no training": {"validation_size": COUNT, "seed": 5, "reshape": False},
}


def images(count):
    """``[count, 2, 3, 1]``: the first byte of an image is its number."""
    return (np.arange(count * 6).reshape(count, 2, 3, 1) * 6 % 251).astype(np.uint8)


def labels(count):
    return np.arange(count).astype(np.uint8)


def write(folder):
    """MNIST's four files, small."""
    for kind, count in (("train", COUNT), ("t10k", 4)):
        for name, magic, shape, array in (
            ("images-idx3", 2051, (count, 2, 3), images(count)),
            ("labels-idx1", 2049, (count,), labels(count)),
        ):
            with gzip.open(os.path.join(folder, kind + "-" + name + "-ubyte.gz"), "wb") as file:
                file.write(np.array((magic,) + shape, ">u4").tobytes() + array.tobytes())


def shown(array):
    array = np.asarray(array)
    return [str(array.dtype), list(array.shape), array.astype(np.float64).round(6).ravel().tolist()]


def orders(tf, mnist):
    """Name of a case -> labels of ten batches of 3, and the first images."""
    found = {}
    for name, arguments in SETS.items():
        for how, batch in BATCHES.items():
            with tf.Graph().as_default():
                if "graph" in name or "both" in name:
                    tf.set_random_seed(11)
                data = mnist.DataSet(images(COUNT), labels(COUNT), **arguments)
                batches = [data.next_batch(3, **batch) for _ in range(10)]
            found[name + ", " + how] = {
                "labels": [b[1].tolist() for b in batches], "first": shown(batches[0][0]),
                "epochs": data.epochs_completed,
            }  # fmt: skip
    return found


def files(mnist, folder):
    """Name of a case -> what read_data_sets makes of the files in a folder."""
    found = {}
    for name, arguments in FILES.items():
        sets = mnist.read_data_sets(folder, **arguments)
        found[name] = {
            part: [shown(data.images), shown(data.labels), data.num_examples]
            for part, data in zip(sets._fields, sets)  # noqa: B905 (Python 3.6)
        }
    fake = mnist.read_data_sets(folder, fake_data=True, one_hot=True).train
    found["fake"] = [fake.num_examples] + [np.shape(v) for v in fake.next_batch(2, True)]
    return found
