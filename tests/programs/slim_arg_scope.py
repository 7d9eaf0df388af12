"""A slim net with arg_scope and end points, slim.learning's train op, evaluation by slim.metrics."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim

tf.app.flags.DEFINE_string("train_dir", "slim_train", "Directory where checkpoints are written to.")
tf.app.flags.DEFINE_integer("max_number_of_steps", 30, "The maximum number of training steps.")
tf.app.flags.DEFINE_float("weight_decay", 0.001, "The weight decay on the model weights.")
FLAGS = tf.app.flags.FLAGS

random = np.random.RandomState(0)


def numpy_initializer(shape, dtype=tf.float32, partition_info=None):
    scale = np.sqrt(2.0 / np.prod(shape[:-1]))
    return tf.constant(random.normal(scale=scale, size=shape), dtype)


def load_batch(count, seed, batch_size):
    data = np.random.RandomState(seed)
    labels = data.randint(4, size=count)
    images = data.normal(scale=0.3, size=(count, 12, 12, 3))
    for image, label in zip(images, labels):
        image[6 * (label // 2) : 6 * (label // 2) + 6, 6 * (label % 2) : 6 * (label % 2) + 6] += 0.8
    dataset = tf.data.Dataset.from_tensor_slices((images.astype(np.float32), labels)).repeat()
    images, labels = dataset.batch(batch_size).make_one_shot_iterator().get_next()
    return tf.reshape(images, [batch_size, 12, 12, 3]), slim.one_hot_encoding(tf.reshape(labels, [batch_size]), 4)


def net_arg_scope(weight_decay, is_training):
    batch_norm_params = {"is_training": is_training, "decay": 0.8, "updates_collections": None, "fused": False}
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        weights_regularizer=slim.l2_regularizer(weight_decay),
        weights_initializer=numpy_initializer,
        activation_fn=tf.nn.relu,
    ):
        with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, normalizer_params=batch_norm_params) as sc:
            return sc


def small_net(images, num_classes, scope="SmallNet", reuse=None):
    with tf.variable_scope(scope, "SmallNet", [images], reuse=reuse) as sc:
        end_points_collection = sc.name + "_end_points"
        with slim.arg_scope([slim.conv2d, slim.max_pool2d], outputs_collections=end_points_collection):
            net = slim.repeat(images, 2, slim.conv2d, 8, [3, 3], scope="conv1")
            net = slim.max_pool2d(net, [2, 2], scope="pool1")
            net = slim.conv2d(net, 12, [3, 3], stride=2, scope="conv2")
        net = slim.flatten(net)
        net = slim.stack(net, slim.fully_connected, [16, 12], scope="fc")
        net = slim.fully_connected(net, num_classes, activation_fn=None, scope="logits")
        end_points = slim.utils.convert_collection_to_dict(end_points_collection)
        end_points["Predictions"] = slim.softmax(net, scope="Predictions")
    return net, end_points


def train():
    with tf.Graph().as_default():
        slim.get_or_create_global_step()
        images, labels = load_batch(256, seed=1, batch_size=32)
        with slim.arg_scope(net_arg_scope(FLAGS.weight_decay, is_training=True)):
            logits, end_points = small_net(images, 4)
        for name in sorted(end_points):
            print(name, end_points[name].get_shape().as_list())
        slim.losses.softmax_cross_entropy(logits, labels)
        total_loss = slim.losses.get_total_loss()
        print("regularization losses:", len(slim.losses.get_regularization_losses()))
        optimizer = tf.train.RMSPropOptimizer(0.005, decay=0.9, momentum=0.5, epsilon=1.0)
        train_op = slim.learning.create_train_op(total_loss, optimizer, clip_gradient_norm=4.0)
        final_loss = slim.learning.train(
            train_op,
            FLAGS.train_dir,
            number_of_steps=FLAGS.max_number_of_steps,
            log_every_n_steps=10,
            save_summaries_secs=0,
            save_interval_secs=600,
        )
        print("final loss %.4f" % final_loss)


def evaluate():
    with tf.Graph().as_default():
        images, labels = load_batch(128, seed=2, batch_size=64)
        with slim.arg_scope(net_arg_scope(FLAGS.weight_decay, is_training=False)):
            logits, _ = small_net(images, 4)
        names_to_values, names_to_updates = slim.metrics.aggregate_metric_map(
            {
                "accuracy": slim.metrics.streaming_accuracy(tf.argmax(logits, 1), tf.argmax(labels, 1)),
                "recall_at_2": slim.metrics.streaming_sparse_recall_at_k(logits, tf.argmax(labels, 1), 2),
            }
        )
        checkpoint = tf.train.latest_checkpoint(FLAGS.train_dir)
        restore = slim.assign_from_checkpoint_fn(checkpoint, slim.get_variables_to_restore(exclude=["global_step"]))
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            restore(sess)
            for _ in range(2):
                sess.run(list(names_to_updates.values()))
            for name in sorted(names_to_values):
                print("%s: %.5f" % (name, sess.run(names_to_values[name])))
        print("model variables:", len(slim.get_model_variables()), "from", checkpoint)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    train()
    evaluate()
