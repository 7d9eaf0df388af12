# The gradient of a gradient through tf.custom_gradient, with tapes in a tf.function.
import tensorflow as tf

w = tf.Variable(0.9)


@tf.custom_gradient
def square(y):
    return y * y, lambda d: 2.0 * y * d


@tf.function
def step():
    x = tf.constant(0.3)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = square(tf.sin(x) * w) * x
        gradient = inner.gradient(y, x)
        penalty = gradient * gradient
    return [penalty] + outer.gradient(penalty, [w, x])


print([f"{float(v):.4f}" for v in step()])
