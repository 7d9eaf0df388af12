"""An Estimator that is exported while it trains: BestExporter, FinalExporter, export_savedmodel, and a predictor."""

from __future__ import absolute_import, division, print_function

import os

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
MODEL_DIR = "house_prices"


def houses(count, seed):
    random = np.random.RandomState(seed)
    size = random.uniform(40, 200, size=(count, 1)).astype(np.float32)
    rooms = np.ceil(size / 30 + random.uniform(0, 2, size=(count, 1))).astype(np.float32)
    price = 2.0 * size + 15.0 * rooms + random.normal(scale=5.0, size=(count, 1))
    return {"size": size, "rooms": rooms}, price.astype(np.float32)


def model_fn(features, labels, mode, params):
    inputs = tf.concat([features["size"] / 100.0, features["rooms"] / 4.0], axis=1)
    output = tf.layers.dense(inputs, 1, kernel_initializer=tf.constant_initializer(1.0), name="price") * 100.0
    predictions = {"price": output, "rounded": tf.round(output)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        export_outputs = {
            "serving_default": tf.estimator.export.PredictOutput(predictions),
            "price": tf.estimator.export.RegressionOutput(output),
        }
        return tf.estimator.EstimatorSpec(mode, predictions=predictions, export_outputs=export_outputs)
    loss = tf.losses.huber_loss(labels, output, delta=10.0)
    metrics = {"rmse": tf.metrics.root_mean_squared_error(labels, output)}
    train_op = tf.train.AdamOptimizer(params["learning_rate"]).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def input_fn(data, training=False):
    dataset = tf.data.Dataset.from_tensor_slices(data)
    return (dataset.repeat() if training else dataset).batch(25)


def serving_input_receiver_fn():
    receiver_tensors = {
        "size": tf.placeholder(tf.float32, [None, 1], name="size"),
        "rooms": tf.placeholder(tf.float32, [None, 1], name="rooms"),
    }
    return tf.estimator.export.ServingInputReceiver(receiver_tensors, receiver_tensors)


def parsing_serving_input_fn():
    spec = {"size": tf.FixedLenFeature([1], tf.float32), "rooms": tf.FixedLenFeature([1], tf.float32)}
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)()


def example(size, rooms):
    feature = {
        "size": tf.train.Feature(float_list=tf.train.FloatList(value=[size])),
        "rooms": tf.train.Feature(float_list=tf.train.FloatList(value=[rooms])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def main():
    train, test = houses(200, seed=0), houses(50, seed=1)
    config = tf.estimator.RunConfig(MODEL_DIR, save_checkpoints_steps=40)
    estimator = tf.estimator.Estimator(model_fn, config=config, params={"learning_rate": 0.05})
    exporters = [
        tf.estimator.BestExporter("best", serving_input_receiver_fn, exports_to_keep=1),
        tf.estimator.FinalExporter("final", serving_input_receiver_fn),
    ]
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda: input_fn(train, True), max_steps=120),
        tf.estimator.EvalSpec(lambda: input_fn(test), steps=None, exporters=exporters, throttle_secs=0),
    )
    result = estimator.evaluate(lambda: input_fn(test))
    print("rmse %.4f loss %.4f at step %d" % (result["rmse"], result["loss"], result["global_step"]))
    for name in ("best", "final"):
        folder = os.path.join(MODEL_DIR, "export", name)
        (version,) = os.listdir(folder)
        predict = tf.contrib.predictor.from_saved_model(os.path.join(folder, version))
        found = predict({"size": [[100.0], [60.0]], "rooms": [[4.0], [2.0]]})
        print(name, "predicts", {key: np.round(value.ravel(), 3).tolist() for key, value in sorted(found.items())})

    path = estimator.export_savedmodel("exports", parsing_serving_input_fn, strip_default_attrs=True)
    print("exported to", os.path.dirname(path.decode()), sorted(os.listdir(path.decode())))
    predict = tf.contrib.predictor.from_saved_model(path.decode(), signature_def_key="price")
    found = predict({"inputs": [example(100.0, 4.0), example(150.0, 5.0)]})
    print("from examples:", np.round(found["outputs"].ravel(), 3).tolist())


if __name__ == "__main__":
    main()
