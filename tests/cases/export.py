# Estimator.export_savedmodel after training; the folder's name is a number.
import os

import numpy as np
import tensorflow as tf


def model_fn(features, labels, mode):
    p = tf.layers.dense(features["x"], 1)
    return tf.estimator.EstimatorSpec(
        mode,
        predictions=p,
        loss=None if labels is None else tf.losses.mean_squared_error(labels, p),
        train_op=None
        if labels is None
        else tf.train.GradientDescentOptimizer(0.1).minimize(
            tf.losses.mean_squared_error(labels, p), tf.train.get_global_step()
        ),
        export_outputs={"classify": tf.estimator.export.PredictOutput({"p": p})},
    )


e = tf.estimator.Estimator(model_fn, "out/exp")
e.train(lambda: tf.data.Dataset.from_tensors(({"x": np.ones((4, 2), "f")}, np.ones((4, 1), "f"))).repeat(), max_steps=2)
print(
    os.path.basename(
        e.export_savedmodel(
            "out/expd",
            tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 2])}),
        )
    ).isdigit()
)
