# Dataset.interleave(deterministic=) under tensorflow.compat.v1 of 2.x.
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
d = tf.data.Dataset.range(2).interleave(
    lambda i: tf.data.Dataset.range(i + 1), cycle_length=2, num_parallel_calls=2, deterministic=False
)
n = d.make_one_shot_iterator().get_next()
with tf.Session() as s:
    print(s.run(n))
