"""Two tasks on one trunk: losses with weights, an optimizer for the trunk and another for the heads."""

from __future__ import absolute_import, division, print_function

import collections

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = tf.app.flags
flags.DEFINE_integer("steps", 60, "Steps of training.")
flags.DEFINE_float("alpha", 0.3, "Weight of the regression.")
flags.DEFINE_enum("mode", "joint", ["joint", "alternate"], "Both losses at once, or one after the other.")
FLAGS = flags.FLAGS

Batch = collections.namedtuple("Batch", ["x", "kind", "size"])
random = np.random.RandomState(10)


def make_batches(count, batch_size):
    x = random.normal(size=(count, 10)).astype(np.float32)
    kind = np.argmax(x[:, :4], axis=1).astype(np.int32)
    size = np.abs(x[:, 4:7]).sum(axis=1, keepdims=True).astype(np.float32)
    return [Batch(*[part[i : i + batch_size] for part in (x, kind, size)]) for i in range(0, count, batch_size)]


def dense(x, units, name, activation=None):
    with tf.variable_scope(name):
        initial = random.normal(scale=np.sqrt(2.0 / x.shape[1].value), size=(x.shape[1].value, units))
        w = tf.get_variable("w", initializer=initial.astype(np.float32))
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
        y = tf.nn.bias_add(tf.matmul(x, w), b)
        return activation(y) if activation else y


class MultiTask(object):
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 10], "x")
        self.kind = tf.placeholder(tf.int32, [None], "kind")
        self.size = tf.placeholder(tf.float32, [None, 1], "size")
        with tf.variable_scope("trunk"):
            shared = dense(self.x, 24, "layer1", tf.nn.relu)
            shared = dense(shared, 16, "layer2", tf.nn.relu)
        with tf.variable_scope("classifier"):
            self.logits = dense(shared, 4, "out")
        with tf.variable_scope("regressor"):
            self.sizes = dense(dense(shared, 8, "hidden", tf.tanh), 1, "out")
        cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.kind, logits=self.logits)
        self.class_loss = tf.reduce_mean(cross_entropy)
        self.size_loss = tf.reduce_mean(tf.squared_difference(self.sizes, self.size))
        self.loss = (1 - FLAGS.alpha) * self.class_loss + FLAGS.alpha * self.size_loss
        self.accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(self.logits, self.kind, 1), tf.float32))
        self.global_step = tf.Variable(0, trainable=False, name="global_step")

    def train_ops(self):
        trunk = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="trunk")
        heads = [v for v in tf.trainable_variables() if v not in trunk]
        slow = tf.train.MomentumOptimizer(0.02, 0.9, name="slow")
        fast = tf.train.AdamOptimizer(0.02, name="fast")
        if FLAGS.mode == "alternate":
            tasks = [("classifier", self.class_loss), ("regressor", self.size_loss)]
            return [
                fast.minimize(loss, self.global_step, var_list=[v for v in tf.trainable_variables() if scope in v.name])
                for scope, loss in tasks
            ]
        grads = tf.gradients(self.loss, trunk + heads)
        trunk_grads, heads_grads = grads[: len(trunk)], grads[len(trunk) :]
        trunk_grads, norm = tf.clip_by_global_norm(trunk_grads, 1.0)
        self.norm = norm
        with tf.control_dependencies(trunk_grads + heads_grads + [self.accuracy]):  # all from the same values
            train_trunk = slow.apply_gradients(zip(trunk_grads, trunk))
            train_heads = fast.apply_gradients(zip(heads_grads, heads), global_step=self.global_step)
        return [tf.group(train_trunk, train_heads)]


def main(_):
    train, test = make_batches(320, 32), make_batches(100, 100)[0]
    model = MultiTask()
    train_ops = model.train_ops()
    feeds = [{model.x: b.x, model.kind: b.kind, model.size: b.size} for b in train]
    test_feed = {model.x: test.x, model.kind: test.kind, model.size: test.size}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(FLAGS.steps):
            op = train_ops[step % len(train_ops)]
            _, class_loss, size_loss, norm = sess.run(
                [op, model.class_loss, model.size_loss, model.norm], feeds[step % len(feeds)]
            )
            if step % 12 == 0:
                print("step %2d class %.5f size %.5f norm %.5f" % (step, class_loss, size_loss, norm))
        accuracy, size_loss = sess.run([model.accuracy, model.size_loss], test_feed)
        print("test accuracy %.5f size loss %.5f after %d steps" % (accuracy, size_loss, sess.run(model.global_step)))
        slots = sorted(v.op.name for v in tf.global_variables() if "slow" in v.name or "fast" in v.name)
        print(len(slots), "slots:", slots[:3])


if __name__ == "__main__":
    tf.app.run()
