# tf.train.shuffle_batch of a SparseTensor (programs for text in images).
import tensorflow as tf

lab = tf.SparseTensor([[0], [1]], tf.constant([3, 4]), [2])  # one example's sparse labels (OCR programs)
try:
    img, sp = tf.train.shuffle_batch([tf.zeros([2]), lab], 3, capacity=20, min_after_dequeue=5)
    with tf.Session() as s:
        c = tf.train.Coordinator()
        t = tf.train.start_queue_runners(s, c)
        print(s.run([img, sp])[1])
        c.request_stop()
        c.join(t, stop_grace_period_secs=5)
except TypeError as e:
    print("TypeError", str(e)[:150])
