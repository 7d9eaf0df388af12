"""Input of images: how many a second the training pipelines of Inception and of CIFAR prepare.

    python -m benchmarks.images [original] [NAME ...]

Prints images per second and milliseconds of processor time for each, the best of five rounds; with ``original`` (the
Python that ``scripts/oracle`` prints) those of TensorFlow 1.12 for the same text. Two parallel calls, batches of 32 and
128.
"""

import base64
import os
import sys
import tempfile
import time

import numpy as np

ORIGINAL = "original" in sys.argv
if ORIGINAL:
    import tensorflow as tf
else:
    import towerstrat.compat.v1 as tf

ROUND = 1.0
"""Seconds of one round."""
FOLDER = os.path.join(tempfile.gettempdir(), "benchmark_images")


def photos(count=32):
    """Files of about 500 x 375 pixels, of different sizes: smooth shapes and some noise."""
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, "photos.txt")
    if not os.path.exists(path):
        random = np.random.RandomState(0)
        with tf.Graph().as_default(), tf.Session() as session:
            image = tf.placeholder(tf.uint8, [None, None, 3])
            file = tf.image.encode_jpeg(image, quality=90)
            lines = []
            for _ in range(count):
                height, width = random.randint(330, 420), random.randint(440, 560)
                y, x = np.mgrid[0:height, 0:width]
                waves = [np.sin(x / random.uniform(9, 60) + y / random.uniform(9, 60) + i) for i in range(3)]
                pixels = np.stack(waves, -1) * 100 + 128 + random.randn(height, width, 3) * 6
                data = session.run(file, {image: np.clip(pixels, 0, 255).astype(np.uint8)})
                lines.append(base64.b64encode(data).decode())
        with open(path, "w") as writer:
            writer.write("\n".join(lines))
    with open(path) as reader:
        return [base64.b64decode(line) for line in reader.read().split()]


def distorted(data):
    """As Inception's programs train on it: a random box, 299 x 299, mirrored, colours."""
    image = tf.image.convert_image_dtype(tf.image.decode_jpeg(data, channels=3), tf.float32)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.shape(image), tf.constant([[[0.0, 0.0, 1.0, 1.0]]]), min_object_covered=0.1, area_range=(0.05, 1.0)
    )
    image = tf.image.resize_images(tf.slice(image, begin, size), [299, 299])
    image.set_shape([299, 299, 3])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 32.0 / 255.0)
    image = tf.image.random_saturation(image, 0.5, 1.5)
    image = tf.image.random_hue(image, 0.2)
    image = tf.image.random_contrast(image, 0.5, 1.5)
    return (tf.clip_by_value(image, 0.0, 1.0) - 0.5) * 2.0


def resnet(data):
    """As the official ResNet trains on it: a window of the file, 224 x 224, mirrored, means taken off."""
    box = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(data), tf.constant([[[0.0, 0.0, 1.0, 1.0]]]), area_range=[0.05, 1.0]
    )
    y, x, _ = tf.unstack(box[0])
    height, width, _ = tf.unstack(box[1])
    image = tf.image.decode_and_crop_jpeg(data, tf.stack([y, x, height, width]), channels=3)
    image = tf.image.resize_images(tf.image.random_flip_left_right(image), [224, 224])
    return image - tf.constant([[[123.68, 116.78, 103.94]]])


def evaluated(data):
    """As Inception's programs evaluate: the middle, 299 x 299."""
    image = tf.image.convert_image_dtype(tf.image.decode_jpeg(data, channels=3), tf.float32)
    image = tf.image.resize_images(tf.image.central_crop(image, 0.875), [299, 299])
    return (image - 0.5) * 2.0


def cifar(record):
    """As the CIFAR tutorial trains: a record of bytes, padded, cut out, mirrored, standardized."""
    pixels = tf.reshape(tf.decode_raw(record, tf.uint8), [3, 32, 32])
    image = tf.cast(tf.transpose(pixels, [1, 2, 0]), tf.float32)
    image = tf.image.resize_image_with_crop_or_pad(image, 40, 40)
    image = tf.image.random_flip_left_right(tf.random_crop(image, [32, 32, 3]))
    return tf.image.per_image_standardization(image)


def cifar_table(image):
    """The same from a table of images."""
    image = tf.image.resize_image_with_crop_or_pad(tf.cast(image, tf.float32), 40, 40)
    image = tf.image.random_flip_left_right(tf.random_crop(image, [32, 32, 3]))
    return tf.image.per_image_standardization(image)


def table():
    return np.random.RandomState(1).randint(0, 256, (2000, 32, 32, 3)).astype(np.uint8)


def records():
    return [image.transpose(2, 0, 1).tobytes() for image in table()]


PIPELINES = {
    "Inception, training": (photos, distorted, 32),
    "Inception, evaluation": (photos, evaluated, 32),
    "ResNet, training": (photos, resnet, 32),
    "CIFAR, training, records": (records, cifar, 128),
    "CIFAR, training, table": (table, cifar_table, 128),
}


def measured(source, function, batch):
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.from_tensor_slices(source()).repeat().map(function, 2).batch(batch).prefetch(2)
        following = data.make_one_shot_iterator().get_next()
        for _ in range(4):
            session.run(following)
        best, least = 0.0, float("inf")
        for _ in range(5):
            start, used, done = time.perf_counter(), time.process_time(), 0
            while time.perf_counter() < start + ROUND:
                session.run(following)
                done += batch
            best = max(best, done / (time.perf_counter() - start))
            least = min(least, (time.process_time() - used) / done * 1e3)
        return best, least


def main():
    wanted = [name for name in sys.argv[1:] if name != "original"]
    for name, pipeline in PIPELINES.items():
        if not wanted or any(word in name for word in wanted):
            print("%-28s %8.0f images/s %8.2f ms" % ((name,) + measured(*pipeline)))  # noqa: UP031


if __name__ == "__main__":
    main()
