"""Transfer: init_from_checkpoint starts a net with the lower layers of another one, frozen or not."""

from __future__ import absolute_import, division, print_function

import argparse
import os

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser(description="Pretrains, then fine-tunes.")
parser.add_argument("--pretrain_steps", type=int, default=40)
parser.add_argument("--finetune_steps", type=int, default=30)
parser.add_argument("--batch_size", type=int, default=32)


def shapes(count, classes, seed):
    """Images of bars and boxes."""
    random = np.random.RandomState(seed)
    labels = random.randint(classes, size=count)
    images = random.normal(scale=0.2, size=(count, 10, 10, 1))
    for image, label in zip(images, labels):
        row, column = random.randint(1, 6, size=2)
        height, width = [(4, 1), (1, 4), (3, 3), (4, 2)][label]
        image[row : row + height, column : column + width] += 1.0
    return images.astype(np.float32), labels.astype(np.int32)


def conv(x, filters, name, random, trainable=True):
    kernel = random.normal(scale=np.sqrt(2.0 / (9 * x.shape[3].value)), size=(3, 3, x.shape[3].value, filters))
    return tf.layers.conv2d(
        x,
        filters,
        3,
        padding="same",
        activation=tf.nn.relu,
        kernel_initializer=tf.constant_initializer(kernel),
        trainable=trainable,
        name=name,
    )


def backbone(x, scope, random, trainable=True):
    with tf.variable_scope(scope):
        x = conv(x, 6, "conv1", random, trainable)
        x = tf.layers.max_pooling2d(x, 2, 2)
        x = conv(x, 8, "conv2", random, trainable)
        return tf.reduce_mean(x, axis=[1, 2])


def head(x, classes, scope, random):
    with tf.variable_scope(scope):
        kernel = random.normal(scale=0.3, size=(8, classes))
        return tf.layers.dense(x, classes, kernel_initializer=tf.constant_initializer(kernel))


def batches(data, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices(data).repeat().batch(batch_size)
    return dataset.make_one_shot_iterator().get_next()


def pretrain(args):
    with tf.Graph().as_default():
        random = np.random.RandomState(1)
        images, labels = batches(shapes(320, 3, seed=0), args.batch_size)
        logits = head(backbone(images, "net", random), 3, "head", random)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        train_op = tf.train.AdamOptimizer(0.02).minimize(loss, tf.train.get_or_create_global_step())
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(args.pretrain_steps):
                value, _ = sess.run([loss, train_op])
            print("pretrained: loss %.5f" % value)
            return saver.save(sess, os.path.join("pretrained", "model.ckpt"), global_step=args.pretrain_steps)


def finetune(args, checkpoint, frozen):
    with tf.Graph().as_default():
        random = np.random.RandomState(2)
        images, labels = batches(shapes(320, 4, seed=3), args.batch_size)
        features = backbone(images, "backbone", random, trainable=not frozen)
        logits = head(features, 4, "new_head", random)
        assignment_map = {}
        for name, _ in tf.train.list_variables(checkpoint):
            if name.startswith("net/") and "Adam" not in name:
                assignment_map[name] = name.replace("net/", "backbone/")
        tf.train.init_from_checkpoint(checkpoint, assignment_map)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        lower, upper = tf.train.GradientDescentOptimizer(0.01), tf.train.AdamOptimizer(0.05)
        ops = [upper.minimize(loss, var_list=tf.trainable_variables("new_head"))]
        if not frozen:
            ops.append(lower.minimize(loss, var_list=tf.trainable_variables("backbone")))
        conv1 = tf.global_variables("backbone/conv1/kernel")[0]
        test_x, test_y = shapes(80, 4, seed=4)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            before = sess.run(conv1)
            same = np.array_equal(before, tf.train.load_variable(checkpoint, "net/conv1/kernel"))
            for _ in range(args.finetune_steps):
                value = sess.run([loss] + ops)[0]
            moved = np.abs(sess.run(conv1) - before).max()
            test_logits = sess.run(logits, {images: test_x})
            accuracy = np.mean(np.argmax(test_logits, axis=1) == test_y)
            print("frozen=%s restored=%s trainable=%d" % (frozen, same, len(tf.trainable_variables())))
            print("  loss %.5f test accuracy %.5f conv1 moved by %.5f" % (value, accuracy, moved))


def main():
    args = parser.parse_args()
    tf.gfile.MakeDirs("pretrained")
    pretrain(args)
    checkpoint = tf.train.latest_checkpoint("pretrained")
    for name, shape in tf.train.list_variables(checkpoint):
        if "Adam" not in name:
            print(name, shape)
    finetune(args, checkpoint, frozen=True)
    finetune(args, checkpoint, frozen=False)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    main()
