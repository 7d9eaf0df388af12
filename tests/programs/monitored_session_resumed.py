"""MonitoredTrainingSession with checkpoints: it is interrupted, and the program goes on where it was."""

from __future__ import absolute_import, division, print_function

import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("checkpoint_dir", "checkpoints", "Where the session saves.")
flags.DEFINE_integer("batch_size", 10, "Rows of a step.")
FLAGS = flags.FLAGS


class Interrupted(Exception):
    pass


class InterruptAt(tf.train.SessionRunHook):
    """As if somebody had pulled the plug after a step."""

    def __init__(self, step):
        self._at = step

    def begin(self):
        self._global_step = tf.train.get_global_step()

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._global_step)

    def after_run(self, run_context, run_values):
        if run_context.session.run(self._global_step) >= self._at:
            raise Interrupted("after step %d" % self._at)


class Saved(tf.train.CheckpointSaverListener):
    def begin(self):
        self.steps = []

    def after_save(self, session, global_step_value):
        self.steps.append(int(global_step_value))


def build():
    """A logistic regression whose batches are picked by the global step, so that going on means the same batches."""
    random = np.random.RandomState(0)
    x = random.normal(size=(100, 5)).astype(np.float32)
    y = (x.dot(random.normal(size=(5, 1))) > 0).astype(np.float32)
    global_step = tf.train.get_or_create_global_step()
    start = tf.cast(tf.floormod(global_step * FLAGS.batch_size, 100), tf.int32)
    batch_x = tf.constant(x)[start : start + FLAGS.batch_size]
    batch_y = tf.constant(y)[start : start + FLAGS.batch_size]
    w = tf.get_variable("w", [5, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.losses.sigmoid_cross_entropy(batch_y, tf.matmul(batch_x, w) + b)
    tf.summary.scalar("loss", loss)
    optimizer = tf.train.AdamOptimizer(0.1)
    train_op = optimizer.minimize(loss, global_step=global_step)
    total = tf.losses.sigmoid_cross_entropy(y, tf.matmul(x, w) + b, loss_collection=None)
    return train_op, loss, total, global_step


def train(last_step, interrupt_at=None):
    with tf.Graph().as_default():
        train_op, loss, _, global_step = build()
        listener = Saved()
        saver_hook = tf.train.CheckpointSaverHook(
            FLAGS.checkpoint_dir, save_steps=10, saver=tf.train.Saver(max_to_keep=3), listeners=[listener]
        )
        hooks = [tf.train.StopAtStepHook(last_step=last_step), tf.train.NanTensorHook(loss), saver_hook]
        if interrupt_at:
            hooks.append(InterruptAt(interrupt_at))
        losses = []
        try:
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=FLAGS.checkpoint_dir, hooks=hooks, save_checkpoint_secs=None, save_summaries_steps=10
            ) as sess:
                begun = sess.run_step_fn(lambda step_context: step_context.session.run(global_step))
                print("begins at step", begun)
                while not sess.should_stop():
                    _, value = sess.run([train_op, loss])
                    losses.append(value)
        except Interrupted as error:
            print("interrupted", error)
        print("%d steps, last loss %.5f, saved at %s" % (len(losses), losses[-1], listener.steps))


def evaluate():
    with tf.Graph().as_default():
        _, _, total, global_step = build()
        scaffold = tf.train.Scaffold()
        creator = tf.train.ChiefSessionCreator(scaffold, checkpoint_dir=FLAGS.checkpoint_dir)
        with tf.train.MonitoredSession(creator) as sess:
            value, step = sess.run([total, global_step])
            print("evaluated at step %d: %.5f" % (step, value))


def main(_):
    tf.logging.set_verbosity(tf.logging.ERROR)
    train(last_step=50, interrupt_at=24)
    evaluate()
    train(last_step=50)
    evaluate()
    state = tf.train.get_checkpoint_state(FLAGS.checkpoint_dir)
    print([os.path.basename(path) for path in state.all_model_checkpoint_paths])
    for name, shape in tf.train.list_variables(FLAGS.checkpoint_dir):
        print(name, shape)


if __name__ == "__main__":
    tf.app.run()
