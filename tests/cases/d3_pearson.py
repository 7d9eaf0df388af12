# tf.contrib.metrics.streaming_pearson_correlation (needs metrics_impl._remove_squeezable_dimensions).
import tensorflow as tf

m, u = tf.contrib.metrics.streaming_pearson_correlation(tf.constant([0.1, 0.9, 0.4]), tf.constant([0.0, 1.0, 1.0]))
with tf.Session() as s:
    s.run(tf.local_variables_initializer())
    s.run(u)
    print(s.run(m))
