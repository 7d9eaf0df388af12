"""Input with random augmentation: processor time of a batch.

    python -m benchmarks.augmentation [original]

Prints milliseconds of processor time per batch of 128 images of 28 by 28, the least of five; with ``original`` (under
the Python that ``scripts/oracle`` prints) those of TensorFlow 1.12. Side by side on a busy machine, ours and the
original's: noise 1.5 and 4.6, crop 0.4 and 2.5, flip and brightness 0.4 and 3.7, crop and shuffle 0.4 and 4.2, from a
generator 1.4 and 7.2, from a generator with noise 3.1 and 12.6, filter 1.5 and 4.3.
"""

import sys
import time

import numpy as np

ORIGINAL = "original" in sys.argv
if ORIGINAL:
    import tensorflow as tf
else:
    import towerstrat.compat.v1 as tf

BATCH = 128
IMAGES = np.random.RandomState(0).randint(0, 255, (10000, 28, 28)).astype(np.uint8)
LABELS = np.arange(10000) % 10


def real(x):
    return tf.cast(x, tf.float32) / 255.0


def noise(x, y):
    return real(x) + 0.1 * tf.random_uniform([28, 28]), y


def crop(x, y):
    return tf.slice(tf.pad(real(x), [[2, 2], [2, 2]]), tf.random_uniform([2], 0, 5, tf.int32), [28, 28]), y


def flip(x, y):
    image = tf.cond(tf.random_uniform([]) < 0.5, lambda: tf.reverse(real(x), [1]), lambda: real(x))
    return image + tf.random_uniform([], -0.1, 0.1), y


def generator():
    while True:
        yield from zip(IMAGES, LABELS)  # noqa: B905  # the original runs under Python 3.6


def table():
    return tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).repeat()


def generated():
    return tf.data.Dataset.from_generator(generator, (tf.uint8, tf.int64), ([28, 28], []))


PIPELINES = {
    "noise": lambda: table().map(noise),
    "crop": lambda: table().map(crop),
    "flip and brightness": lambda: table().map(flip),
    "crop, shuffled": lambda: table().map(crop).shuffle(1000),
    "from a generator": generated,
    "from a generator, noise": lambda: generated().map(noise),
    "from a generator, noise, 4 parallel calls": lambda: generated().map(noise, 4),
    "filter": lambda: table().filter(lambda x, y: y < 5),
}


def measured(pipeline):
    with tf.Graph().as_default(), tf.Session() as session:
        following = pipeline().batch(BATCH).make_one_shot_iterator().get_next()
        for _ in range(20):
            session.run(following)
        found = []
        for _ in range(5):
            start = time.process_time()
            for _ in range(4):
                session.run(following)
            found.append((time.process_time() - start) / 4 * 1e3)
        return min(found)


if __name__ == "__main__":
    for name, pipeline in PIPELINES.items():
        print(f"{name:45} {measured(pipeline):6.2f} ms")
