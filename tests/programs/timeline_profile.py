"""Tells where the time goes: RunMetadata, a timeline for chrome://tracing, and counts of parameters by tf.profiler."""

from __future__ import absolute_import, division, print_function

import json

import numpy as np
import tensorflow as tf
from tensorflow.python.client import timeline


class TimeLiner(object):
    """Merges the timelines of several steps."""

    _timeline_dict = None

    def update_timeline(self, chrome_trace):
        chrome_trace_dict = json.loads(chrome_trace)
        if self._timeline_dict is None:
            self._timeline_dict = chrome_trace_dict
        else:
            self._timeline_dict["traceEvents"] += [e for e in chrome_trace_dict["traceEvents"] if "ts" in e]

    def save(self, f_name):
        with open(f_name, "w") as f:
            json.dump(self._timeline_dict, f)


def build(batch_size):
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [batch_size, 16], name="x")
    y = tf.placeholder(tf.float32, [batch_size, 1], name="y")
    net = x
    for i, units in enumerate([32, 16, 1]):
        with tf.variable_scope("layer%d" % i):
            kernel = random.normal(scale=0.2, size=(net.shape[1].value, units)).astype(np.float32)
            net = tf.matmul(net, tf.get_variable("w", initializer=kernel), name="product")
            net = tf.nn.bias_add(net, tf.get_variable("b", [units], initializer=tf.zeros_initializer()))
            if units > 1:
                net = tf.nn.relu(net)
    loss = tf.losses.mean_squared_error(y, net)
    return x, y, loss, tf.train.AdamOptimizer(0.01).minimize(loss)


def main(_):
    random = np.random.RandomState(1)
    batch_size = 64
    x, y, loss, train_op = build(batch_size)
    data = random.normal(size=(batch_size, 16))
    feed = {x: data, y: np.maximum(data[:, :1], 0) - data[:, 1:2]}

    writer = tf.summary.FileWriter("profile", tf.get_default_graph())
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    many_runs_timeline = TimeLiner()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(30):
            if step % 10 == 9:
                run_metadata = tf.RunMetadata()
                _, value = sess.run([train_op, loss], feed, options=options, run_metadata=run_metadata)
                fetched_timeline = timeline.Timeline(run_metadata.step_stats)
                many_runs_timeline.update_timeline(fetched_timeline.generate_chrome_trace_format())
                writer.add_run_metadata(run_metadata, "step%03d" % step)
                print("step %d: loss %.5f, traced: %s" % (step, value, len(run_metadata.step_stats.dev_stats) > 0))
            else:
                sess.run(train_op, feed)
    writer.close()
    many_runs_timeline.save("timeline.json")
    with open("timeline.json") as f:
        events = json.load(f)["traceEvents"]
    print("events have names and durations:", all("name" in e for e in events), any("dur" in e for e in events))

    options = tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()
    options["output"] = "none"
    parameters = tf.profiler.profile(tf.get_default_graph(), options=options)
    print("parameters: %d" % parameters.total_parameters)
    for child in sorted(parameters.children, key=lambda node: node.name):
        print(" ", child.name, child.total_parameters)
    options = tf.profiler.ProfileOptionBuilder.float_operation()
    options["output"] = "none"
    flops = tf.profiler.profile(tf.get_default_graph(), options=options)
    products = sum(2 * batch_size * a * b for a, b in [(16, 32), (32, 16), (16, 1)])
    print("at least the forward products:", flops.total_float_ops >= products)


if __name__ == "__main__":
    tf.app.run()
