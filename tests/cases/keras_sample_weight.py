# tf.keras of 1.12 divides a weighted loss by the sum of the weights.
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(32, 4).astype(np.float32)
y = (x.sum(1) > 2).astype(np.float32)
model = tf.keras.models.Sequential(
    [tf.keras.layers.Dense(1, "sigmoid", kernel_initializer=tf.keras.initializers.Constant(0.3), input_shape=(4,))]
)
model.compile(tf.train.GradientDescentOptimizer(0.1), "binary_crossentropy")
history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, sample_weight=np.linspace(0, 1, 32))
print([round(float(v), 4) for v in history.history["loss"]])
