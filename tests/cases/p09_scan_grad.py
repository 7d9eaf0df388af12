# Gradient of a scan's second output, which stands under stop_gradient only.
import tensorflow as tf

a, b = tf.Variable(0.0), tf.Variable(0.0)
l0, l1 = tf.scan(lambda acc, x: (a, b), tf.zeros(5), initializer=(0.0, 0.0))
g = tf.gradients(tf.reduce_sum(l0 + tf.stop_gradient(l1)), [a, b])
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    print(g[1] is None)
    print(s.run(g))
