# An Estimator with MirroredStrategy whose model has batch normalization.
import numpy as np
import tensorflow as tf


def model_fn(features, labels, mode):
    x = tf.layers.dense(features["x"], 6)
    x = tf.layers.batch_normalization(x, training=mode == tf.estimator.ModeKeys.TRAIN, name="bn")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - labels))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def input_fn():
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 24
    return tf.data.Dataset.from_tensors(({"x": x}, x[:, :1])).repeat(20)


strategy = tf.contrib.distribute.MirroredStrategy(["/device:CPU:0", "/device:CPU:1"])
config = tf.estimator.RunConfig(train_distribute=strategy, session_config=tf.ConfigProto(device_count={"CPU": 2}))
estimator = tf.estimator.Estimator(model_fn, config=config)
estimator.train(input_fn, max_steps=3)
print(
    "trained",
    estimator.get_variable_value("global_step"),
    np.isfinite(estimator.get_variable_value("bn/moving_mean")).all(),
)
