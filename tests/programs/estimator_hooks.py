"""A custom Estimator with hooks: logging, stopping at a step, and two of one's own."""

from __future__ import absolute_import, division, print_function

import logging
import re
import sys

import numpy as np
import tensorflow as tf


class Lines(logging.Handler):
    """Prints what TensorFlow logs, without times and rates."""

    def emit(self, record):
        line = record.getMessage()
        if line.startswith(("step =", "loss =", "accuracy")):
            print("log:", re.sub(r" \([\d.]+ sec\)", "", line))


class EarlyLossHook(tf.train.SessionRunHook):
    """Stops when the loss has not fallen for `patience` steps."""

    def __init__(self, loss_name, patience):
        self._loss_name, self._patience = loss_name, patience
        self.best, self.waited, self.calls = None, 0, []

    def begin(self):
        self.calls.append("begin")
        self._global_step = tf.train.get_global_step()

    def after_create_session(self, session, coord):
        self.calls.append("created at %d" % session.run(self._global_step))

    def before_run(self, run_context):
        return tf.train.SessionRunArgs({"loss": self._loss_name, "step": self._global_step})

    def after_run(self, run_context, run_values):
        loss = run_values.results["loss"]
        if self.best is None or loss < self.best - 1e-3:
            self.best, self.waited = loss, 0
        else:
            self.waited += 1
            if self.waited >= self._patience:
                run_context.request_stop()

    def end(self, session):
        self.calls.append("end at %d" % session.run(self._global_step))


class VariableNorms(tf.train.SessionRunHook):
    """Keeps the norm of the kernel at every tenth step."""

    def __init__(self):
        self.norms = []
        self._timer = tf.train.SecondOrStepTimer(every_steps=10)

    def begin(self):
        with tf.variable_scope("", reuse=True):
            self._kernel = tf.get_variable("dense/kernel")
        self._step = 0

    def before_run(self, run_context):
        if self._timer.should_trigger_for_step(self._step):
            self._timer.update_last_triggered_step(self._step)
            self.norms.append(np.linalg.norm(run_context.session.run(self._kernel)))
        self._step += 1


def model_fn(features, labels, mode, params):
    kernel = np.random.RandomState(1).normal(scale=0.5, size=(4, 2))
    logits = tf.layers.dense(features, 2, kernel_initializer=tf.constant_initializer(kernel))
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss = tf.identity(loss, name="my_loss")
    accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, 1), name="acc")
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})
    train_op = tf.train.GradientDescentOptimizer(params.learning_rate).minimize(loss, tf.train.get_global_step())
    every = tf.train.LoggingTensorHook({"loss": "my_loss"}, every_n_iter=20, formatter=params.formatter)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[every])


def make_input_fn(count, seed, epochs):
    random = np.random.RandomState(seed)
    x = random.normal(size=(count, 4)).astype(np.float32)
    y = (x[:, 0] - 2 * x[:, 1] > 0.2).astype(np.int32)
    return lambda: tf.data.Dataset.from_tensor_slices((x, y)).repeat(epochs).batch(count)


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    logger = logging.getLogger("tensorflow")
    logger.handlers[:] = [Lines()]
    logger.propagate = False
    params = tf.contrib.training.HParams(learning_rate=0.5, formatter=lambda values: "loss = %.5f" % values["loss"])
    estimator = tf.estimator.Estimator(
        model_fn, "hooked", tf.estimator.RunConfig(log_step_count_steps=1000), params=params
    )
    norms = VariableNorms()
    estimator.train(
        make_input_fn(128, 0, None), hooks=[tf.train.StopAtStepHook(last_step=45), norms], saving_listeners=None
    )
    print("norms", ["%.5f" % norm for norm in norms.norms])

    early = EarlyLossHook("my_loss:0", patience=3)
    estimator.train(make_input_fn(128, 0, None), steps=500, hooks=[early])
    print(early.calls, "best loss %.5f" % early.best)
    metrics = estimator.evaluate(make_input_fn(200, 1, 1), name="held_out")
    print("evaluated:", {key: "%.5f" % metrics[key] for key in sorted(metrics)})
    sys.stdout.flush()


if __name__ == "__main__":
    tf.app.run()
