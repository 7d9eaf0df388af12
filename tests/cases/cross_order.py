# sparse_cross_hashed of a dense input before a sparse one takes the sparse one first.
import tensorflow as tf

if hasattr(tf, "compat") and hasattr(tf.compat, "v1") and tf.__version__ > "1.13":
    tf = tf.compat.v1
    tf.disable_eager_execution()
from tensorflow.python.ops import sparse_ops

f = sparse_ops.sparse_cross_hashed
a = tf.constant([[b"x"], [b"y"], [b"w"], [b"z"]])
sb = tf.SparseTensor([[0, 0], [1, 0], [2, 0], [3, 0]], tf.constant([0, 1, 2, 1], tf.int64), [4, 1])
with tf.Session() as s:
    print("dense string, then sparse int:", s.run(f([a, sb], num_buckets=12)).values.tolist())
