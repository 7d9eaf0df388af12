# Keras fit(iterator), eagerly.
import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
m = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
m.compile(tf.train.GradientDescentOptimizer(0.01), "mse")
d = tf.data.Dataset.from_tensor_slices((np.ones((8, 2), "f"), np.ones((8, 1), "f"))).repeat().batch(4)
try:
    print(len(m.fit(d.make_one_shot_iterator(), steps_per_epoch=2, epochs=1, verbose=0).history["loss"]))
except Exception as e:
    print(type(e).__name__, str(e)[:160])
