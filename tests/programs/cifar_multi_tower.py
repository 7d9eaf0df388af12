"""Trains a small convnet on coloured tiles with towers on several GPUs, whose gradients are averaged on the CPU."""

from __future__ import absolute_import, division, print_function

import re

import numpy as np
import tensorflow as tf

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_integer("max_steps", 20, """Number of batches to run.""")
tf.app.flags.DEFINE_integer("num_gpus", 2, """How many GPUs to use.""")
tf.app.flags.DEFINE_integer("batch_size", 16, """Images of a tower's batch.""")
tf.app.flags.DEFINE_boolean("log_device_placement", False, """Whether to log device placement.""")

TOWER_NAME = "tower"
NUM_CLASSES = 4
INITIAL_LEARNING_RATE = 0.1
MOVING_AVERAGE_DECAY = 0.9

random = np.random.RandomState(11)


def make_tiles(count):
    data = np.random.RandomState(0)
    labels = data.randint(NUM_CLASSES, size=count)
    images = data.uniform(size=(count, 8, 8, 3)).astype(np.float32)
    for image, label in zip(images, labels):
        image[4 * (label // 2) : 4 * (label // 2) + 4, 4 * (label % 2) : 4 * (label % 2) + 4, label % 3] += 0.7
    return images, labels.astype(np.int32)


def _variable_on_cpu(name, shape, initializer):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def _variable_with_weight_decay(name, shape, stddev, wd):
    values = random.normal(scale=stddev, size=shape)
    var = _variable_on_cpu(name, shape, tf.constant_initializer(values, tf.float32))
    if wd:
        weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss")
        tf.add_to_collection("losses", weight_decay)
    return var


def inference(images):
    with tf.variable_scope("conv1") as scope:
        kernel = _variable_with_weight_decay("weights", [3, 3, 3, 8], 0.1, 0.0)
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        biases = _variable_on_cpu("biases", [8], tf.constant_initializer(0.0))
        conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    pool1 = tf.nn.max_pool(conv1, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool1")
    norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
    with tf.variable_scope("local2") as scope:
        dim = np.prod(norm1.get_shape().as_list()[1:])
        weights = _variable_with_weight_decay("weights", [dim, 16], 0.1, 0.004)
        biases = _variable_on_cpu("biases", [16], tf.constant_initializer(0.1))
        reshape = tf.reshape(norm1, [FLAGS.batch_size, -1])
        local2 = tf.nn.relu(tf.matmul(reshape, weights) + biases, name=scope.name)
    with tf.variable_scope("softmax_linear") as scope:
        weights = _variable_with_weight_decay("weights", [16, NUM_CLASSES], 1 / 16.0, 0.0)
        biases = _variable_on_cpu("biases", [NUM_CLASSES], tf.constant_initializer(0.0))
        return tf.add(tf.matmul(local2, weights), biases, name=scope.name)


def tower_loss(scope, images, labels):
    logits = inference(images)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection("losses", tf.reduce_mean(cross_entropy, name="cross_entropy"))
    losses = tf.get_collection("losses", scope)
    total_loss = tf.add_n(losses, name="total_loss")
    for item in losses + [total_loss]:
        loss_name = re.sub("%s_[0-9]*/" % TOWER_NAME, "", item.op.name)
        tf.summary.scalar(loss_name, item)
    return total_loss


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        grad = tf.reduce_mean(tf.concat(axis=0, values=grads), 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


def train():
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
        lr = tf.train.exponential_decay(INITIAL_LEARNING_RATE, global_step, 10, 0.5, staircase=True)
        opt = tf.train.GradientDescentOptimizer(lr)
        dataset = tf.data.Dataset.from_tensor_slices(make_tiles(128)).repeat().batch(FLAGS.batch_size)
        iterator = dataset.make_one_shot_iterator()
        tower_grads = []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(FLAGS.num_gpus):
                with tf.device("/gpu:%d" % i), tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                    images, labels = iterator.get_next()
                    images.set_shape([FLAGS.batch_size, 8, 8, 3])
                    loss = tower_loss(scope, images, labels)
                    tf.get_variable_scope().reuse_variables()
                    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                    tower_grads.append(opt.compute_gradients(loss))
        grads = average_gradients(tower_grads)
        summaries.append(tf.summary.scalar("learning_rate", lr))
        for grad, var in grads:
            if grad is not None:
                summaries.append(tf.summary.histogram(var.op.name + "/gradients", grad))
        apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
        variable_averages = tf.train.ExponentialMovingAverage(MOVING_AVERAGE_DECAY, global_step)
        with tf.control_dependencies([apply_gradient_op]):
            train_op = variable_averages.apply(tf.trainable_variables())
        saver = tf.train.Saver(tf.global_variables())
        summary_op = tf.summary.merge(summaries)

        config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=FLAGS.log_device_placement)
        with tf.Session(config=config) as sess:
            sess.run(tf.global_variables_initializer())
            for step in range(FLAGS.max_steps):
                _, loss_value = sess.run([train_op, loss])
                assert not np.isnan(loss_value), "Model diverged with loss = NaN"
                if (step + 1) % 5 == 0:
                    print("step %d, learning rate %.4f" % (step + 1, sess.run(lr)))
            tags = [value.tag for value in tf.Summary.FromString(sess.run(summary_op)).value]
            print(sorted(set(tags)))
            saver.save(sess, "./model.ckpt", global_step=global_step)
        reader = tf.train.NewCheckpointReader("./model.ckpt-%d" % FLAGS.max_steps)
        for var in tf.trainable_variables():
            name = variable_averages.average_name(var)
            value, average = reader.get_tensor(var.op.name), reader.get_tensor(name)
            print("%-25s %.5f  average %.5f" % (var.op.name, np.abs(value).sum(), np.abs(average).sum()))


def main(argv=None):  # pylint: disable=unused-argument
    train()


if __name__ == "__main__":
    tf.app.run()
