# tensorflow_probability compares argument specifications while it is imported: there are no annotations.
import tensorflow as tf
from tensorflow.python.util import tf_inspect

for f in (tf.concat, tf.rank, tf.size, tf.shape, tf.zeros_like, tf.range, tf.cast):
    print(tf_inspect.getfullargspec(f))
