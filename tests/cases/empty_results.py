# Operands that would be an error do none where the result is empty; integers are divided as machines divide them.
import numpy as np
import tensorflow as tf

none, zero = tf.constant([], tf.int32), tf.placeholder_with_default(np.int32(0), [])
for name, value in (
    ("floormod", tf.floormod(none, zero)),
    ("floordiv", tf.floordiv(none, zero)),
    ("truncatediv", tf.truncatediv(none, zero)),
    ("truncatemod", tf.truncatemod(none, zero)),
    ("pow", tf.pow(none, zero - 1)),
    ("gather", tf.gather(tf.zeros([3, 0]), [5])),
    ("segments", tf.sparse_segment_mean(tf.ones([3, 2]), none, none)),
    ("realdiv", tf.realdiv(tf.constant([-7, 8]), zero + [2, 3])),
    ("realdiv", tf.realdiv(tf.constant([7, 8], tf.int64), tf.to_int64(zero) + [2, 3])),
):
    with tf.Session() as session:
        found = session.run(value)
        print(name, found.dtype.name, found.shape, found.tolist())
