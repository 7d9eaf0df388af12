# `if b:` of a variable, as layer libraries write it.
import tensorflow as tf

b = tf.Variable([0.0, 1.0])
print(bool(b), bool(tf.get_variable("g", [2])))
