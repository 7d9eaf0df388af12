# The gradient of GradientTape.jacobian, eagerly and in a tf.function.
import tensorflow as tf

w = tf.Variable(2.0)


def step():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * w
        penalty = tf.reduce_sum(inner.jacobian(y, x))  # 2 w (1 + 2)
    return outer.gradient(penalty, w)


print(float(step()), float(tf.function(step)()))
