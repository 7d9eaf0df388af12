# tf.cond of IndexedSlices whose indices are int32 in one branch and int64 in the other.
import tensorflow as tf

i32 = tf.constant([1], tf.int32)
i64 = tf.constant([1], tf.int64)
v = tf.constant([[2.0]])
r = tf.cond(tf.constant(True), lambda: tf.IndexedSlices(v, i32), lambda: tf.IndexedSlices(v, i64))
with tf.Session() as s:
    print(r.indices.dtype, s.run(r.indices))
