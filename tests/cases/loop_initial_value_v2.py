# Gradients through the initial value of a loop under 2.x's MirroredStrategy.run in a tf.function.
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
s = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with s.scope():
    w = tf.Variable(2.0)


def step(k):
    with tf.GradientTape() as t:
        y = w * 3.0
        for _ in tf.range(2):
            y = y * (w if k else 1.5)
    return t.gradient(y, w)


for k in (1, 0):
    print(s.experimental_local_results(tf.function(lambda k=k: s.run(step, (k,)))())[0])
