# Gradients through the rows of a vectorized_map made in a replica of 2.x's MirroredStrategy.
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
s = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with s.scope():
    w = tf.Variable(2.0)


def step():
    with tf.GradientTape() as t:
        y = tf.reduce_sum(tf.vectorized_map(lambda e: e * e, w * tf.constant([3.0, 6.0])))
    return t.gradient(y, w)


print(s.experimental_local_results(tf.function(lambda: s.run(step))())[0])
