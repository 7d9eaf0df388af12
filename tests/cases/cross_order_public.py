# tf.sparse.cross and tf.sparse.cross_hashed of 2.x take the sparse input first.
import tensorflow as tf

a = tf.constant([[b"x"], [b"y"]])
sb = tf.sparse.from_dense(tf.constant([[1], [2]], tf.int64))
print(
    "tf.sparse.cross_hashed",
    tf.sparse.cross_hashed([a, sb], num_buckets=1000003).values.numpy().tolist(),
    tf.sparse.cross([a, sb]).values.numpy().tolist(),
)
