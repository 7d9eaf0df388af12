# The gradient of a variable that is read after an assign in the same branch of a tf.cond.
import tensorflow as tf

w = tf.get_variable("w", initializer=2.0, use_resource=True)


def init():
    with tf.control_dependencies([tf.assign(w, 3.0)]):
        return tf.identity(w)


y = tf.cond(tf.placeholder_with_default(False, []), lambda: tf.identity(w), init) * 25.0
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    print(s.run(tf.gradients(y, w)[0]))
