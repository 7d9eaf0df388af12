"""Reads digits from MNIST's files and learns them with a TPUEstimator, as programs did in 2018.

    towerstrat run examples/tpu/mnist.py --make_data --data_dir /tmp/mnist
    towerstrat run --towers 8 examples/tpu/mnist.py --data_dir /tmp/mnist --model_dir /tmp/mnist_model
    python3.6 examples/tpu/mnist.py --use_tpu=false --data_dir /tmp/mnist                   # TensorFlow 1.12 itself

The folder has the four files of http://yann.lecun.com/exdb/mnist, unpacked. --make_data writes invented ones in their
place: digits of seven strokes, moved and noisy.
"""

import os
import struct

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("data_dir", None, "The folder with the files.")
flags.DEFINE_bool("make_data", False, "Write invented digits there, and stop.")
flags.DEFINE_string("model_dir", None, "Where checkpoints are written; default a temporary folder.")
flags.DEFINE_integer("batch_size", 128, "Images of one step, over all towers.")
flags.DEFINE_integer("train_steps", 300, "Steps of training.")
flags.DEFINE_integer("iterations", 50, "Steps on the device before it returns to the host.")
flags.DEFINE_float("learning_rate", 0.05, "At the first step; it falls from there.")
flags.DEFINE_bool("use_tpu", True, "Whether to train on towers; TensorFlow without a TPU needs false.")
flags.DEFINE_string("tpu", None, "The TPU to use; the local machine where it is not given.")
FLAGS = flags.FLAGS

TESTED = 1024
"""Images of the test files that evaluation uses, in whole batches."""


def read(part):
    """A dataset of (784 numbers between 0 and 1, class)."""

    def decode_image(record):
        return tf.cast(tf.reshape(tf.decode_raw(record, tf.uint8), [784]), tf.float32) / 255.0

    def decode_label(record):
        return tf.to_int32(tf.reshape(tf.decode_raw(record, tf.uint8), []))

    name = os.path.join(FLAGS.data_dir, part)
    images = tf.data.FixedLengthRecordDataset(name + "-images-idx3-ubyte", 28 * 28, header_bytes=16)
    labels = tf.data.FixedLengthRecordDataset(name + "-labels-idx1-ubyte", 1, header_bytes=8)
    return tf.data.Dataset.zip((images.map(decode_image), labels.map(decode_label)))


def train_input_fn(params):
    data = read("train").cache().shuffle(2000).repeat()
    return data.apply(tf.contrib.data.batch_and_drop_remainder(params["batch_size"])).prefetch(2)


def eval_input_fn(params):
    data = read("t10k").take(TESTED)
    return data.apply(tf.contrib.data.batch_and_drop_remainder(params["batch_size"]))


def predict_input_fn(params):
    data = read("t10k").take(32).map(lambda image, label: image)
    return data.batch(params["batch_size"])


def convnet(images, training):
    """Logits of the ten classes."""
    net = tf.reshape(images, [-1, 28, 28, 1])
    net = tf.layers.conv2d(net, 16, 5, strides=2, padding="same", activation=tf.nn.relu)
    net = tf.layers.conv2d(net, 32, 5, strides=2, padding="same", activation=tf.nn.relu)
    net = tf.layers.dense(tf.layers.flatten(net), 128, activation=tf.nn.relu)
    net = tf.layers.dropout(net, rate=0.4, training=training)
    return tf.layers.dense(net, 10)


def metric_fn(labels, logits):
    classes = tf.argmax(logits, axis=1, output_type=tf.int32)
    return {"accuracy": tf.metrics.accuracy(labels=labels, predictions=classes)}


def model_fn(features, labels, mode, params):
    logits = convnet(features, training=mode == tf.estimator.ModeKeys.TRAIN)
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"class_ids": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits)}
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [labels, logits]))
    step = tf.train.get_global_step()
    rate = tf.train.exponential_decay(params["learning_rate"], step, decay_steps=100, decay_rate=0.8)
    optimizer = tf.train.MomentumOptimizer(rate, momentum=0.9)
    if params["use_tpu"]:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))


STROKES = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
"""Which of the strokes of a calculator's digits are lit: a at the top, then clockwise, g in the middle."""
PLACES = {
    "a": np.s_[0:2, 0:10], "b": np.s_[0:10, 8:10], "c": np.s_[8:18, 8:10], "d": np.s_[16:18, 0:10],
    "e": np.s_[8:18, 0:2], "f": np.s_[0:10, 0:2], "g": np.s_[8:10, 0:10],
}  # fmt: skip


def make_data(folder):
    """Writes invented files in MNIST's format."""
    tf.gfile.MakeDirs(folder)
    chance = np.random.RandomState(1)
    for part, count in (("train", 4000), ("t10k", TESTED)):
        labels = chance.randint(0, 10, count).astype(np.uint8)
        images = chance.randint(0, 60, [count, 28, 28]).astype(np.uint8)
        for image, label in zip(images, labels):  # noqa: B905
            top, left = chance.randint(0, 10), chance.randint(0, 18)
            for stroke in STROKES[label]:
                image[top : top + 18, left : left + 10][PLACES[stroke]] = chance.randint(150, 256)
        name = os.path.join(folder, part)
        with tf.gfile.GFile(name + "-images-idx3-ubyte", "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        with tf.gfile.GFile(name + "-labels-idx1-ubyte", "wb") as file:
            file.write(struct.pack(">II", 2049, count) + labels.tobytes())


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    if FLAGS.make_data:
        make_data(FLAGS.data_dir)
        return
    cluster = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu) if FLAGS.use_tpu and FLAGS.tpu else None
    config = tf.contrib.tpu.RunConfig(
        cluster=cluster,
        model_dir=FLAGS.model_dir,
        session_config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False),
        tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=FLAGS.iterations),
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn=model_fn,
        config=config,
        use_tpu=FLAGS.use_tpu,
        params={"learning_rate": FLAGS.learning_rate, "use_tpu": FLAGS.use_tpu},
        train_batch_size=FLAGS.batch_size,
        eval_batch_size=FLAGS.batch_size,
        predict_batch_size=FLAGS.batch_size,
    )
    estimator.train(train_input_fn, max_steps=FLAGS.train_steps)
    results = estimator.evaluate(eval_input_fn, steps=TESTED // FLAGS.batch_size)
    print("step {global_step}  loss {loss:.4f}  accuracy {accuracy:.4f}".format(**results))
    found = [row["class_ids"] for row in estimator.predict(predict_input_fn)]
    print("digits:", *found)


if __name__ == "__main__":
    tf.app.run()
