"""A TPUEstimator with use_tpu=False, as people tried their models before they paid for a TPU."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf

tf.flags.DEFINE_bool("use_tpu", False, "Use TPUs rather than plain CPUs.")
tf.flags.DEFINE_string("model_dir", "model", "Estimator model_dir.")
tf.flags.DEFINE_integer("batch_size", 64, "Mini-batch size for the training.")
tf.flags.DEFINE_integer("train_steps", 40, "Total number of training steps.")
tf.flags.DEFINE_integer("iterations", 10, "Number of iterations per TPU training loop.")
tf.flags.DEFINE_float("learning_rate", 0.05, "Learning rate.")
FLAGS = tf.flags.FLAGS


def rings(count, seed):
    """Points on two rings."""
    random = np.random.RandomState(seed)
    labels = random.randint(2, size=count)
    angle = random.uniform(0, 2 * np.pi, size=count)
    radius = 1.0 + labels + random.normal(scale=0.15, size=count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points.astype(np.float32), labels.astype(np.int32)


def metric_fn(labels, logits):
    predictions = tf.argmax(logits, 1)
    return {
        "accuracy": tf.metrics.accuracy(labels=labels, predictions=predictions),
        "precision": tf.metrics.precision(labels=labels, predictions=predictions),
    }


def model_fn(features, labels, mode, params):
    random = np.random.RandomState(3)
    net = features["points"] if isinstance(features, dict) else features
    for i, units in enumerate([12, 12]):
        initial = random.normal(scale=0.5, size=(net.shape[1].value, units))
        net = tf.layers.dense(
            net, units, tf.nn.relu, name="hidden%d" % i, kernel_initializer=tf.constant_initializer(initial)
        )
    initial = random.normal(scale=0.5, size=(12, 2))
    logits = tf.layers.dense(net, 2, name="logits", kernel_initializer=tf.constant_initializer(initial))

    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"class_ids": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits)}
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions=predictions)

    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, eval_metrics=(metric_fn, [labels, logits]))

    learning_rate = tf.train.exponential_decay(FLAGS.learning_rate, tf.train.get_global_step(), 100, 0.96)
    optimizer = tf.train.AdamOptimizer(learning_rate=learning_rate)
    if FLAGS.use_tpu:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train_op)


def train_input_fn(params):
    dataset = tf.data.Dataset.from_tensor_slices(rings(640, seed=0))
    return dataset.cache().repeat().batch(params["batch_size"], drop_remainder=True)


def eval_input_fn(params):
    dataset = tf.data.Dataset.from_tensor_slices(rings(128, seed=1))
    return dataset.batch(params["batch_size"], drop_remainder=True)


def predict_input_fn(params):
    points, _ = rings(6, seed=2)
    return tf.data.Dataset.from_tensor_slices({"points": points}).batch(params["batch_size"])


def main(argv):
    del argv  # Unused.
    tf.logging.set_verbosity(tf.logging.WARN)
    run_config = tf.contrib.tpu.RunConfig(
        model_dir=FLAGS.model_dir,
        session_config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False),
        tpu_config=tf.contrib.tpu.TPUConfig(FLAGS.iterations, 8),
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn=model_fn,
        use_tpu=FLAGS.use_tpu,
        train_batch_size=FLAGS.batch_size,
        eval_batch_size=FLAGS.batch_size,
        predict_batch_size=2,
        config=run_config,
    )
    current_step = 0
    while current_step < FLAGS.train_steps:
        next_checkpoint = min(current_step + 20, FLAGS.train_steps)
        estimator.train(input_fn=train_input_fn, max_steps=next_checkpoint)
        current_step = next_checkpoint
        results = estimator.evaluate(input_fn=eval_input_fn, steps=2)
        print("step %d: %s" % (current_step, ", ".join("%s %.5f" % item for item in sorted(results.items()))))

    for prediction, label in zip(estimator.predict(input_fn=predict_input_fn), rings(6, seed=2)[1]):
        class_id = prediction["class_ids"]
        print("predicted %d (%.5f), expected %d" % (class_id, prediction["probabilities"][class_id], label))


if __name__ == "__main__":
    tf.app.run()
