# Evaluation under MirroredStrategy with a metric of thresholds.
import numpy as np
import tensorflow as tf

X = np.random.RandomState(0).rand(64, 3).astype(np.float32)
Y = (X.sum(1) > 1.5).astype(np.int32)


def model_fn(features, labels, mode, params):
    score = tf.sigmoid(tf.reduce_sum(features["x"], 1) - 1.4)
    loss = tf.reduce_mean(score) + 0.0 * tf.get_variable("v", [], initializer=tf.zeros_initializer())
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    metrics = (
        {"auc": tf.metrics.auc(labels, score)}
        if params["auc"]
        else {"precision": tf.metrics.precision_at_thresholds(labels, score, [0.5])}
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(8)


for auc in (True, False):
    strategy = tf.contrib.distribute.MirroredStrategy(["/device:CPU:0", "/device:CPU:1"])
    config = tf.estimator.RunConfig(
        train_distribute=strategy, eval_distribute=strategy, session_config=tf.ConfigProto(device_count={"CPU": 2})
    )
    estimator = tf.estimator.Estimator(model_fn, config=config, params={"auc": auc})
    estimator.train(input_fn, steps=1)
    try:
        result = estimator.evaluate(input_fn)
        print("auc" if auc else "precision", f"{np.ravel(result['auc' if auc else 'precision'])[0]:.2f}")
    except Exception as error:
        print(type(error).__name__, str(error)[:60])
