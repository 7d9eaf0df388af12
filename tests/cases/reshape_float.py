# tf.reshape whose sizes are float64 scalars among Python integers: packed with a cast.
import tensorflow as tf

f = tf.zeros([48, 4])
m = tf.zeros([4])
s = tf.sqrt(tf.shape(f)[0] / (3 * tf.shape(m)[0]))
print(s)
try:
    print(tf.reshape(f, [s, s, 3, -1]))
except Exception as e:
    print(type(e).__name__, str(e)[:200])
