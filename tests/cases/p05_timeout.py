# HANG: operation_timeout_in_ms, RunOptions(timeout_in_ms) and a dequeue of an empty queue.
import tensorflow as tf

q = tf.FIFOQueue(1, [tf.float32])
for conf, opt in ((tf.ConfigProto(operation_timeout_in_ms=500), None), (None, tf.RunOptions(timeout_in_ms=500))):
    with tf.Session(config=conf) as s:
        try:
            s.run(q.dequeue(), options=opt)
        except tf.errors.OpError as e:
            print(type(e).__name__)
