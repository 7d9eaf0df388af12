"""An Estimator whose steps run on the towers of contrib's MirroredStrategy: train, evaluate, predict."""

from __future__ import absolute_import, division, print_function

import argparse
import sys

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


def make_data(count, seed):
    random = np.random.RandomState(seed)
    x = random.normal(size=(count, 8)).astype(np.float32)
    w = np.random.RandomState(99).normal(size=(8, 3))
    return x, np.argmax(x.dot(w), axis=1).astype(np.int32)


def shard(tensor):
    """The rows of a tower."""
    context = tf.contrib.distribute.get_tower_context()
    return tensor[context.tower_id :: context.num_towers]


def cnn_model_fn(features, labels, mode, params):
    random = np.random.RandomState(params["seed"])

    def init(*shape):
        return tf.constant_initializer(random.normal(scale=0.3, size=shape).astype(np.float32))

    x = features["x"]
    if mode == tf.estimator.ModeKeys.TRAIN:
        x, labels = shard(x), shard(labels)
    net = tf.layers.dense(x, 16, activation=tf.nn.relu, kernel_initializer=init(8, 16))
    logits = tf.layers.dense(net, 3, kernel_initializer=init(16, 3))
    predictions = {"classes": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits, name="softmax_tensor")}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode=mode, predictions=predictions)

    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = tf.train.MomentumOptimizer(params["learning_rate"], 0.9)
        train_op = optimizer.minimize(loss=loss, global_step=tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)

    eval_metric_ops = {
        "accuracy": tf.metrics.accuracy(labels=labels, predictions=predictions["classes"]),
        "mean_probability": tf.metrics.mean(tf.reduce_max(predictions["probabilities"], axis=1)),
    }
    return tf.estimator.EstimatorSpec(mode=mode, loss=loss, eval_metric_ops=eval_metric_ops)


def input_fn(data, batch_size, epochs=1):
    features, labels = data
    dataset = tf.data.Dataset.from_tensor_slices(({"x": features}, labels))
    return dataset.repeat(epochs).batch(batch_size).prefetch(2)


class CountSteps(tf.train.SessionRunHook):
    def __init__(self):
        self.runs = 0

    def begin(self):
        self._step = tf.train.get_or_create_global_step()

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        self.runs += 1


def main(unused_argv):
    train, test = make_data(320, seed=0), make_data(64, seed=1)
    devices = ["/device:CPU:%d" % i for i in range(FLAGS.towers)]
    distribution = tf.contrib.distribute.MirroredStrategy(devices)
    config = tf.estimator.RunConfig(
        model_dir="mirrored_model",
        train_distribute=distribution,
        save_checkpoints_steps=20,
        session_config=tf.ConfigProto(device_count={"CPU": FLAGS.towers}),
    )
    classifier = tf.estimator.Estimator(
        model_fn=cnn_model_fn, config=config, params={"seed": 4, "learning_rate": FLAGS.learning_rate}
    )

    # The whole set in each step, and a part of it on each tower.
    for steps in (20, 40):
        hook = CountSteps()
        classifier.train(lambda: input_fn(train, 320, epochs=None), max_steps=steps, hooks=[hook])
        print("trained to", steps, "in", hook.runs, "runs")
        results = classifier.evaluate(lambda: input_fn(test, 16))
        print({key: "%.5f" % value for key, value in sorted(results.items())})

    predict_x = tf.estimator.inputs.numpy_input_fn({"x": test[0][:4]}, shuffle=False)
    for row, label in zip(classifier.predict(predict_x), test[1]):
        print(label, row["classes"], np.round(row["probabilities"], 5).tolist())
    print(classifier.get_variable_names())
    print("kernel %.5f" % np.abs(classifier.get_variable_value("dense/kernel")).sum())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--towers", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=0.05)
    FLAGS, unparsed = parser.parse_known_args()
    tf.app.run(main=main, argv=[sys.argv[0]] + unparsed)
