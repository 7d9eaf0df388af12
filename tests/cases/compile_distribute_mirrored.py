# Keras' compile(distribute=MirroredStrategy of two towers), as of 1.11 to 1.13: each tower gets a batch.
import numpy as np
import tensorflow as tf

x = np.linspace(-1, 1, 4).astype(np.float32).reshape(4, 1)
strategy = tf.contrib.distribute.MirroredStrategy(devices=["/device:CPU:0", "/device:CPU:1"])
start = tf.keras.initializers.Constant(0.3)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=start, input_shape=(1,))])
model.compile(tf.train.GradientDescentOptimizer(0.1), "mse", distribute=strategy)
model.fit(tf.data.Dataset.from_tensors((x, 3 * x + 1)).repeat(), steps_per_epoch=2, epochs=1, verbose=0)
print([round(float(w.ravel()[0]), 5) for w in model.get_weights()])
