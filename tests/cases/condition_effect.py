# A write in the condition of a differentiated loop counts for the last evaluation of the condition too.
import tensorflow as tf

count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), use_resource=True)


def cond(i, a):
    with tf.control_dependencies([tf.assign_add(count, 1.0)]):
        return (tf.identity(i) < 2) & (tf.reduce_sum(a) > -1e9)


x = tf.constant([0.3, -0.7])
y = tf.while_loop(cond, lambda i, a: (i + 1, a * 0.5), [0, x], parallel_iterations=1)[1]
gradient = tf.gradients(tf.reduce_sum(y), x)[0]
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(y)
    first = session.run(count)
    session.run([y, gradient])
    print(first, session.run(count))
