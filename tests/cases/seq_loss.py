# tf.contrib.seq2seq.sequence_loss.
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [2, 3, 4])
y = tf.constant([[0, 1, 2], [1, 2, 3]])
loss = tf.contrib.seq2seq.sequence_loss(logits=x, targets=y, weights=tf.ones([2, 3]))
with tf.Session() as s:
    print(s.run(loss, {x: np.zeros((2, 3, 4))}))
