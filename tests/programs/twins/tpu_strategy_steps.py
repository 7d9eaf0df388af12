"""The training of tpu_strategy_steps.py on one device: the batches of its towers are one, and no step is hidden."""

from __future__ import absolute_import, division, print_function

import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from tpu_strategy_steps import FLAGS, Model, make_waves


def main(_):
    train, test = make_waves(640, seed=0), make_waves(128, seed=1)
    model = Model(seed=2)
    dataset = tf.data.Dataset.from_tensor_slices(train).repeat().batch(FLAGS.batch_size, drop_remainder=True)
    images, labels = dataset.make_one_shot_iterator().get_next()
    logits = model(images)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    train_op = tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
    correct = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels), tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(1, FLAGS.runs * FLAGS.steps_per_run + 1):
            _, loss_value, correct_value = sess.run([train_op, loss, correct])
            if step % FLAGS.steps_per_run == 0:
                print("step %d loss %.5f correct %d" % (step, loss_value, correct_value))
        logits = sess.run(model(tf.constant(test[0])))
        print("accuracy %.5f largest logit %.5f" % (np.mean(np.argmax(logits, 1) == test[1]), logits.max()))


if __name__ == "__main__":
    tf.app.run()
