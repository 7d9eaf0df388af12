# keras_to_tpu_model(...).fit(a function that makes the data set).
import numpy as np
import tensorflow as tf

i = tf.keras.Input(shape=(3,))
m = tf.keras.Model(i, tf.keras.layers.Dense(1)(i))
r = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
m = tf.contrib.tpu.keras_to_tpu_model(m, strategy=tf.contrib.tpu.TPUDistributionStrategy(r))
m.compile(tf.train.RMSPropOptimizer(0.05), tf.losses.log_loss)


def f():
    d = tf.data.Dataset.from_tensor_slices((np.random.rand(100, 3).astype("f"), np.random.rand(100, 1).astype("f")))
    return d.repeat().batch(16, drop_remainder=True)


m.fit(f, epochs=1, steps_per_epoch=3)
print("done")
