# Early stopping of tf.contrib.estimator with its defaults, where the estimator trains under a strategy.
import numpy as np
import tensorflow as tf


def model_fn(features, labels, mode):
    loss = tf.reduce_mean(tf.square(tf.layers.dense(features, 1) - labels))
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    )


def input_fn():
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 24
    return tf.data.Dataset.from_tensors((x, x[:, :1])).repeat()


strategy = tf.contrib.distribute.MirroredStrategy(["/device:CPU:0", "/device:CPU:1"])
config = tf.estimator.RunConfig(train_distribute=strategy, session_config=tf.ConfigProto(device_count={"CPU": 2}))
estimator = tf.estimator.Estimator(model_fn, config=config)
hook = tf.contrib.estimator.stop_if_no_decrease_hook(estimator, "loss", 1000000)
estimator.train(input_fn, steps=3, hooks=[hook])
print(estimator.get_variable_value("global_step"))
