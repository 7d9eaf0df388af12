# Policy mixed_float16 in fit, without a strategy and on two mirrored replicas.
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
tf.keras.mixed_precision.set_global_policy("mixed_float16")
x = np.sin(np.arange(32).reshape(16, 2)).astype(np.float32)
start = tf.keras.initializers.Constant(0.3)
for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])):
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(2, kernel_initializer=start, use_bias=False, input_shape=(2,))]
        )
        model.compile(tf.keras.optimizers.SGD(0.1), "mse", jit_compile=False)
    model.fit(x, x, batch_size=8, epochs=2, verbose=0, shuffle=False)
    print(np.round(model.get_weights()[0], 3).tolist())
