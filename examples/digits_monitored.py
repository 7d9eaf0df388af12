"""Trains on handwritten digits by a monitored session: saves, logs, writes summaries, goes on where it was stopped.

    towerstrat run examples/digits_monitored.py --folder /tmp/digits
    towerstrat run examples/digits_monitored.py --folder /tmp/digits --steps 600

The second command goes on from the last checkpoint of the first. A hook of the program's own evaluates the digits that
were held back, and stops when enough of them are right.

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`.
"""

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("folder", None, "Where checkpoints and summaries are; empty for none.")
flags.DEFINE_integer("steps", 300, "The step at which training ends.")
flags.DEFINE_integer("every", 100, "Steps between checkpoints, summaries and evaluations.")
flags.DEFINE_float("enough", 0.98, "The share of held-back digits that is enough.")
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_integer("batch_size", 64, "Examples of one step.")
FLAGS = flags.FLAGS

HELD_BACK = 360


def load_digits():
    """Returns ((images, labels) to train on, (images, labels) that are held back)."""
    if FLAGS.data:
        digits = np.load(FLAGS.data)
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn import datasets

        digits = datasets.load_digits()
        images, labels = digits.images, digits.target
    images = images.astype(np.float32).reshape([-1, 8, 8, 1]) / 16
    labels = labels.astype(np.int32)
    order = np.random.RandomState(0).permutation(len(images))
    test, train = order[:HELD_BACK], order[HELD_BACK:]
    return (images[train], labels[train]), (images[test], labels[test])


def convnet(images):
    """Logits of the ten classes."""
    with tf.variable_scope("digits", reuse=tf.AUTO_REUSE):
        net = tf.layers.conv2d(images, 8, 3, padding="same", activation=tf.nn.relu, name="conv")
        net = tf.layers.max_pooling2d(net, 2, 2, name="pool")
        net = tf.layers.flatten(net)
        net = tf.layers.dense(net, 32, activation=tf.nn.relu, name="hidden")
        return tf.layers.dense(net, 10, name="logits")


class EvaluationHook(tf.train.SessionRunHook):
    """Evaluates the held-back digits every so many steps, and stops when enough of them are right."""

    def __init__(self, images, labels, every, enough):
        self._held = images, labels
        self._timer = tf.train.SecondOrStepTimer(every_steps=every)
        self._enough = enough

    def begin(self):
        images, labels = self._held
        self._step = tf.train.get_global_step()
        found = tf.argmax(convnet(tf.constant(images)), 1, output_type=tf.int32)
        self._right = tf.reduce_mean(tf.cast(tf.equal(found, labels), tf.float32))

    def after_create_session(self, session, coord):
        self._timer.update_last_triggered_step(session.run(self._step))

    def after_run(self, run_context, run_values):
        step = run_context.session.run(self._step)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            right = run_context.session.run(self._right)
            print(f"step {step:4d}  held-back digits: {right * HELD_BACK:.0f} of {HELD_BACK} right")
            if right >= self._enough:
                run_context.request_stop()


def main(unused_argv):
    tf.logging.set_verbosity(tf.logging.INFO)
    (images, labels), held_back = load_digits()
    tf.set_random_seed(1)
    data = tf.data.Dataset.from_tensor_slices((images, labels))
    data = data.shuffle(len(images), seed=2).repeat().batch(FLAGS.batch_size)
    image_batch, label_batch = data.make_one_shot_iterator().get_next()
    loss = tf.losses.sparse_softmax_cross_entropy(label_batch, convnet(image_batch))
    tf.summary.scalar("loss", loss)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(2e-3).minimize(loss, step)

    hooks = [
        tf.train.StopAtStepHook(last_step=FLAGS.steps),
        tf.train.NanTensorHook(loss),
        tf.train.LoggingTensorHook({"step": step, "loss": loss}, every_n_iter=FLAGS.every),
        EvaluationHook(held_back[0], held_back[1], FLAGS.every, FLAGS.enough),
    ]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=FLAGS.folder,
        hooks=hooks,
        save_checkpoint_steps=FLAGS.every,
        save_checkpoint_secs=None,
        save_summaries_steps=FLAGS.every,
        log_step_count_steps=FLAGS.every,
    ) as session:
        while not session.should_stop():
            session.run(train)


if __name__ == "__main__":
    tf.app.run()
