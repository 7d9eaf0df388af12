# Keras' train_on_batch and test_on_batch under a strategy of 2 replicas equal evaluate.
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())
x = np.random.RandomState(0).rand(8, 4).astype(np.float32)
y = (x.sum(1) > 2).astype(np.int32)
with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((4,)),
            tf.keras.layers.Dense(1, "sigmoid", kernel_initializer=tf.keras.initializers.Constant(0.3)),
        ]
    )
    model.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
one = model.test_on_batch(x, y)
whole = model.evaluate(x, y, batch_size=8, verbose=0)
print("accuracy at most 1:", bool(one[1] <= 1), "equal to evaluate:", bool(np.allclose(one, whole, atol=1e-5)))
