# tf.train.batch(dynamic_pad=True) of a sequence and a scalar.
import tensorflow as tf

n = tf.train.range_input_producer(4, shuffle=False).dequeue() + 1
vec, lab = tf.train.batch([tf.range(n), tf.cast(n, tf.int64)], 4, dynamic_pad=True)  # a scalar beside a sequence
with tf.Session() as s:
    c = tf.train.Coordinator()
    t = tf.train.start_queue_runners(s, c)
    try:
        print(s.run([vec, lab]))
    except Exception as e:
        print(type(e).__name__, str(e)[:200])
    c.request_stop()
    try:
        c.join(t, stop_grace_period_secs=5)
    except Exception as e:
        print("join:", type(e).__name__, str(e)[:200])
