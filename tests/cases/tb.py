# Keras' TensorBoard callback with its defaults, and fit's own progress bar (verbose=1 is part of it).
import numpy as np
import tensorflow as tf

tf.enable_v2_behavior() if hasattr(tf, "enable_v2_behavior") else None
m = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
m.compile("sgd", "mse")
m.fit(np.ones((16, 2), "f"), np.ones((16, 1), "f"), epochs=1, callbacks=[tf.keras.callbacks.TensorBoard("out/tb")])
print("done")
