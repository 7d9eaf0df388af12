"""TPUEstimator with a host_call that writes summaries, eval_metrics, and an exponentially decayed rate."""

from __future__ import absolute_import, division, print_function

import glob
import os

import numpy as np
import tensorflow as tf
from absl import app, flags
from tensorflow.contrib import summary

FLAGS = flags.FLAGS
flags.DEFINE_bool("use_tpu", False, "True to use a TPU.")
flags.DEFINE_string("model_dir", "host_call_model", "Where checkpoints and summaries are.")
flags.DEFINE_integer("train_batch_size", 32, "Batch size for training.")
flags.DEFINE_integer("iterations_per_loop", 5, "Steps between two looks of the host.")
flags.DEFINE_float("base_learning_rate", 0.4, "Rate of a batch of 256.")
flags.DEFINE_float("weight_decay", 1e-3, "Of the kernels.")

STEPS_PER_EPOCH = 10


def learning_rate_schedule(current_epoch):
    scaled_lr = FLAGS.base_learning_rate * (FLAGS.train_batch_size / 64.0)
    decay_rate = scaled_lr * current_epoch / 1.0
    for mult, start_epoch in [(1.0, 1), (0.1, 2)]:
        decay_rate = tf.where(current_epoch < start_epoch, decay_rate, scaled_lr * mult)
    return decay_rate


def data(count, seed):
    random = np.random.RandomState(seed)
    images = random.uniform(size=(count, 6, 6, 1)).astype(np.float32)
    labels = (images[:, :3].sum(axis=(1, 2, 3)) > images[:, 3:].sum(axis=(1, 2, 3))).astype(np.int32)
    return images, labels


def network(images, is_training):
    random = np.random.RandomState(8)
    kernel = tf.constant_initializer(random.normal(scale=0.4, size=(3, 3, 1, 4)))
    net = tf.layers.conv2d(images, 4, 3, padding="same", use_bias=False, kernel_initializer=kernel)
    net = tf.layers.batch_normalization(net, momentum=0.8, training=is_training)
    net = tf.layers.flatten(tf.nn.relu(net))
    kernel = tf.constant_initializer(random.normal(scale=0.1, size=(144, 2)))
    return tf.layers.dense(net, 2, kernel_initializer=kernel)


def model_fn(features, labels, mode, params):
    batch_size = params["batch_size"]
    logits = network(features, mode == tf.estimator.ModeKeys.TRAIN)
    one_hot_labels = tf.one_hot(labels, 2)
    cross_entropy = tf.losses.softmax_cross_entropy(logits=logits, onehot_labels=one_hot_labels, label_smoothing=0.1)
    decayed = [tf.nn.l2_loss(v) for v in tf.trainable_variables() if "batch_normalization" not in v.name]
    loss = cross_entropy + FLAGS.weight_decay * tf.add_n(decayed)

    host_call = train_op = eval_metrics = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        global_step = tf.train.get_global_step()
        current_epoch = tf.cast(global_step, tf.float32) / STEPS_PER_EPOCH
        learning_rate = learning_rate_schedule(current_epoch)
        optimizer = tf.train.MomentumOptimizer(learning_rate=learning_rate, momentum=0.9, use_nesterov=True)
        if FLAGS.use_tpu:
            optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
        update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(update_ops):
            train_op = optimizer.minimize(loss, global_step)

        def host_call_fn(gs, lr, ce):
            """Writes scalars of a step; the arguments have a batch dimension."""
            gs = gs[0]
            writer = summary.create_file_writer(FLAGS.model_dir, max_queue=FLAGS.iterations_per_loop)
            with writer.as_default(), summary.always_record_summaries():
                summary.scalar("learning_rate", lr[0], step=gs)
                summary.scalar("current_epoch", ce[0], step=gs)
                return summary.all_summary_ops()

        gs_t = tf.reshape(global_step, [1])
        host_call = (host_call_fn, [gs_t, tf.reshape(learning_rate, [1]), tf.reshape(current_epoch, [1])])

    if mode == tf.estimator.ModeKeys.EVAL:

        def metric_fn(labels, logits):
            top_1 = tf.metrics.accuracy(labels, tf.argmax(logits, axis=1))
            in_top = tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.float32)
            return {"top_1_accuracy": top_1, "in_top_1": tf.metrics.mean(in_top)}

        eval_metrics = (metric_fn, [labels, logits])

    assert batch_size == FLAGS.train_batch_size
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode=mode, loss=loss, train_op=train_op, host_call=host_call, eval_metrics=eval_metrics
    )


def input_fn(params):
    images, labels = data(320 if params["is_training"] else 96, seed=int(params["is_training"]))
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
    return dataset.apply(tf.contrib.data.batch_and_drop_remainder(params["batch_size"])).prefetch(2)


def main(unused_argv):
    config = tf.contrib.tpu.RunConfig(
        model_dir=FLAGS.model_dir,
        save_checkpoints_steps=10,
        tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=FLAGS.iterations_per_loop, num_shards=8),
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        use_tpu=FLAGS.use_tpu,
        model_fn=model_fn,
        config=config,
        params={"is_training": True},
        train_batch_size=FLAGS.train_batch_size,
        eval_batch_size=FLAGS.train_batch_size,
    )
    estimator.train(input_fn=input_fn, max_steps=30)
    result = estimator.evaluate(input_fn=input_fn, steps=3)
    print({key: round(float(value), 5) for key, value in sorted(result.items())})
    print(tf.train.latest_checkpoint(FLAGS.model_dir))
    tags = set()
    for path in sorted(glob.glob(os.path.join(FLAGS.model_dir, "events*"))):
        tags.update(v.tag for event in tf.train.summary_iterator(path) for v in event.summary.value)
    print(sorted(tag for tag in tags if "sec" not in tag))


if __name__ == "__main__":
    app.run(main)
