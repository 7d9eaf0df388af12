"""train_and_evaluate with TrainSpec and EvalSpec, early stopping, and warm starting a second run."""

from __future__ import absolute_import, division, print_function

import json
import os

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
FEATURES = 6


def make_data(count, seed):
    random = np.random.RandomState(seed)
    x = random.normal(size=(count, FEATURES)).astype(np.float32)
    y = (x[:, :2].prod(axis=1) + 0.1 * random.normal(size=count)).astype(np.float32)
    return {"x": x}, y[:, None]


def model_fn(features, labels, mode, params, config):
    random = np.random.RandomState(params["seed"])
    net = features["x"]
    for i, units in enumerate(params["hidden_units"]):
        kernel = random.normal(scale=0.5, size=(net.shape[1].value, units))
        net = tf.layers.dense(
            net,
            units,
            activation=tf.nn.elu,
            kernel_initializer=tf.constant_initializer(kernel),
            kernel_regularizer=tf.contrib.layers.l2_regularizer(1e-4),
            name="hidden_%d" % i,
        )
    output = tf.layers.dense(net, 1, kernel_initializer=tf.zeros_initializer(), name="output")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"value": output})
    loss = tf.losses.mean_squared_error(labels, output) + tf.losses.get_regularization_loss()
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {"mae": tf.metrics.mean_absolute_error(labels, output)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = tf.train.get_global_step()
    rate = tf.train.cosine_decay(params["learning_rate"], step, params["decay_steps"])
    train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(data, batch_size, training):
    dataset = tf.data.Dataset.from_tensor_slices(data)
    if training:
        dataset = dataset.repeat()
    return dataset.batch(batch_size)


def run(model_dir, warm_start_from=None, max_steps=200):
    train, validation = make_data(256, seed=0), make_data(128, seed=1)
    config = tf.estimator.RunConfig(
        model_dir=model_dir, save_checkpoints_steps=20, keep_checkpoint_max=20, save_summary_steps=50, tf_random_seed=1
    )
    params = {"hidden_units": [16, 8], "learning_rate": 0.03, "decay_steps": 200, "seed": 3}
    estimator = tf.estimator.Estimator(model_fn, params=params, config=config, warm_start_from=warm_start_from)
    os.makedirs(estimator.eval_dir())
    early_stopping = tf.contrib.estimator.stop_if_no_decrease_hook(
        estimator,
        metric_name="loss",
        max_steps_without_decrease=40,
        min_steps=60,
        run_every_secs=None,
        run_every_steps=20,
    )
    train_spec = tf.estimator.TrainSpec(
        input_fn=lambda: input_fn(train, 32, True), max_steps=max_steps, hooks=[early_stopping]
    )
    eval_spec = tf.estimator.EvalSpec(
        input_fn=lambda: input_fn(validation, 64, False), steps=None, start_delay_secs=0, throttle_secs=0
    )
    tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    history = tf.contrib.estimator.read_eval_metrics(estimator.eval_dir())
    for step, metrics in history.items():
        print("%s step %d: loss %.5f mae %.5f" % (model_dir, step, metrics["loss"], metrics["mae"]))
    return estimator


def main():
    os.environ["TF_CONFIG"] = json.dumps({})
    estimator = run("first")
    last = int(estimator.get_variable_value("global_step"))
    print("stopped at", last, "with checkpoint", os.path.basename(estimator.latest_checkpoint()))

    settings = tf.estimator.WarmStartSettings("first", vars_to_warm_start="hidden_.*")
    second = run("second", warm_start_from=settings, max_steps=60)
    features, labels = make_data(4, seed=2)
    predictions = second.predict(tf.estimator.inputs.numpy_input_fn(features, shuffle=False))
    for row, label in zip(predictions, labels):
        print("predicted %.5f wanted %.5f" % (row["value"][0], label[0]))


if __name__ == "__main__":
    main()
