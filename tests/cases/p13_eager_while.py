# tf.while_loop, eagerly, whose body returns a tuple.
import tensorflow as tf

tf.enable_eager_execution()
r = tf.while_loop(lambda i: tf.less(i, 10), lambda i: (tf.add(i, 1),), [tf.constant(0)])
print(type(r).__name__, [int(t) for t in r])
