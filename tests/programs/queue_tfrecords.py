"""Writes TFRecord files, reads them through queues with a Coordinator, and trains until the input ends."""

from __future__ import absolute_import, division, print_function

import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_float("learning_rate", 0.05, "Initial learning rate.")
flags.DEFINE_integer("num_epochs", 3, "Number of epochs to run trainer.")
flags.DEFINE_integer("batch_size", 16, "Batch size.")
flags.DEFINE_string("train_dir", "records", "Directory with the training data.")
FLAGS = flags.FLAGS

IMAGE_PIXELS = 36
NUM_CLASSES = 3


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def convert_to(name, seed):
    """Converts a data set to a file of records."""
    random = np.random.RandomState(seed)
    filename = os.path.join(FLAGS.train_dir, name + ".tfrecords")
    print("Writing", filename)
    writer = tf.python_io.TFRecordWriter(filename)
    for _ in range(64):
        label = random.randint(NUM_CLASSES)
        image = np.clip(random.normal(80 * label + 40, 40, size=IMAGE_PIXELS), 0, 255).astype(np.uint8)
        features = {
            "height": _int64_feature(6),
            "width": _int64_feature(6),
            "label": _int64_feature(int(label)),
            "image_raw": _bytes_feature(image.tostring()),
        }
        example = tf.train.Example(features=tf.train.Features(feature=features))
        writer.write(example.SerializeToString())
    writer.close()


def read_and_decode(filename_queue):
    reader = tf.TFRecordReader()
    _, serialized_example = reader.read(filename_queue)
    features = tf.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([IMAGE_PIXELS])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    label = tf.cast(features["label"], tf.int32)
    return image, label


def inputs(names, batch_size, num_epochs):
    with tf.name_scope("input"):
        filenames = [os.path.join(FLAGS.train_dir, name + ".tfrecords") for name in names]
        filename_queue = tf.train.string_input_producer(filenames, num_epochs=num_epochs, shuffle=False)
        image, label = read_and_decode(filename_queue)
        # One thread and a plain queue: the order is that of the files.
        images, sparse_labels = tf.train.batch(
            [image, label], batch_size=batch_size, num_threads=1, capacity=200 + 3 * batch_size
        )
        return images, sparse_labels


def run_training():
    with tf.Graph().as_default():
        images, labels = inputs(["part-0", "part-1"], FLAGS.batch_size, FLAGS.num_epochs)
        initial = np.random.RandomState(3).normal(scale=0.1, size=(IMAGE_PIXELS, NUM_CLASSES))
        weights = tf.get_variable("weights", initializer=initial.astype(np.float32))
        biases = tf.get_variable("biases", [NUM_CLASSES], initializer=tf.zeros_initializer())
        logits = tf.nn.xw_plus_b(images, weights, biases)
        loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
        global_step = tf.train.get_or_create_global_step()
        train_op = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(loss, global_step=global_step)
        correct = tf.reduce_sum(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.int32))
        init_op = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())

        sess = tf.Session()
        sess.run(init_op)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        step, right = 0, 0
        try:
            while not coord.should_stop():
                _, loss_value, right_value = sess.run([train_op, loss, correct])
                right += right_value
                if step % 6 == 0:
                    print("Step %d: loss = %.5f" % (step, loss_value))
                step += 1
        except tf.errors.OutOfRangeError:
            print("Done training for %d epochs, %d steps." % (FLAGS.num_epochs, step))
        finally:
            coord.request_stop()
        coord.join(threads)
        print("global_step", sess.run(global_step), "right", right, "of", step * FLAGS.batch_size)
        sess.close()


def main(_):
    tf.gfile.MakeDirs(FLAGS.train_dir)
    for i in range(2):
        convert_to("part-%d" % i, seed=i)
    record = next(tf.python_io.tf_record_iterator(os.path.join(FLAGS.train_dir, "part-1.tfrecords")))
    feature = tf.train.Example.FromString(record).features.feature
    image = np.fromstring(feature["image_raw"].bytes_list.value[0], dtype=np.uint8)
    print("first image of part-1: label %d, pixels %s" % (feature["label"].int64_list.value[0], image[:4].tolist()))
    run_training()


if __name__ == "__main__":
    tf.app.run()
