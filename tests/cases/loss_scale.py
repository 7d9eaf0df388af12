# LossScaleOptimizer, whose scale changes, in MirroredStrategy.run on two replicas: the second step overflows.
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weight = tf.Variable(1.0)
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1), initial_scale=8.0)


def step(x):
    with tf.GradientTape() as tape:
        loss = optimizer.get_scaled_loss(weight * x / 2.0)
    [gradient] = optimizer.get_unscaled_gradients(tape.gradient(loss, [weight]))
    optimizer.apply_gradients([(gradient, weight)])


run = tf.function(lambda x: strategy.run(step, (x,)))
for x in (1.0, np.inf):
    run(tf.constant(x))
    print(round(float(weight.numpy()), 4), float(optimizer.loss_scale.numpy()))
