# The gradient of a gradient through tf.custom_gradient, whose gradient function uses the forward pass.
import tensorflow as tf

x = tf.constant(0.3)
w = tf.get_variable("w", initializer=0.9, use_resource=True)


@tf.custom_gradient
def square(y):
    return y * y, lambda d: 2.0 * y * d


gradient = tf.gradients(square(tf.sin(x) * w) * x, x)[0]
penalty = gradient * gradient
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print([f"{v:.4f}" for v in session.run([penalty] + tf.gradients(penalty, [w, x]))])
