# tf.metrics.recall_at_k with labels as SparseTensorValue.
import numpy as np
import tensorflow as tf

labels = tf.SparseTensorValue(
    indices=np.array([[0, 0], [1, 0]], np.int64),
    values=np.array([3, 2], np.int64),
    dense_shape=np.array([2, 1], np.int64),
)
p = tf.constant([[0.1, 0.3, 0.2, 0.4], [0.1, 0.2, 0.3, 0.4]])
m, u = tf.metrics.recall_at_k(labels, p, 1)
with tf.Session() as s:
    s.run(tf.local_variables_initializer())
    print(s.run(u), s.run(m))

# Rows with several labels, with some that come twice, and with none.
indices = np.array([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2], [4, 0]], np.int64)
scores = np.random.RandomState(0).rand(5, 6).astype("f")
for values in ([3, 2, 1, 0, 5, 4, 2], [3, 3, 1, 5, 5, 4, 9]):
    labels = tf.SparseTensor(indices, np.array(values, np.int64), [5, 3])
    first = tf.SparseTensor(indices[:-1], np.array(values[:-1], np.int64), [3, 3])
    updates = [tf.metrics.recall_at_k(labels, scores, k)[1] for k in (2, 4)]
    updates += [tf.metrics.precision_at_k(labels, scores, 4, class_id=5)[1]]
    updates += [tf.metrics.average_precision_at_k(first, scores[:3], k)[1] for k in (2, 4)]
    with tf.Session() as s:
        s.run(tf.local_variables_initializer())
        print([float(x) for x in s.run(updates)])
