"""Freezes a trained graph into constants, writes it as a .pb, and predicts with the graph that is read from it."""

from __future__ import absolute_import, division, print_function

import argparse
import os

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import graph_util


def make_data(count, seed):
    random = np.random.RandomState(seed)
    x = random.uniform(-1, 1, size=(count, 3)).astype(np.float32)
    return x, (x[:, :1] * x[:, 1:2] + x[:, 2:]).astype(np.float32)


def freeze_graph(sess, model_dir, output_node_names):
    """Replaces the variables by constants, and leaves out what the outputs do not need."""
    output_graph = os.path.join(model_dir, "frozen_model.pb")
    output_graph_def = graph_util.convert_variables_to_constants(
        sess, tf.get_default_graph().as_graph_def(), output_node_names.split(",")
    )
    with tf.gfile.GFile(output_graph, "wb") as f:
        f.write(output_graph_def.SerializeToString())
    kinds = {node.op for node in output_graph_def.node}
    print("variables in the final graph:", sorted(kind for kind in kinds if "Variable" in kind))
    print("optimizer in the final graph:", sorted(kind for kind in kinds if "Adam" in kind))
    return output_graph


def train_and_freeze(model_dir, output_node_names, steps):
    random = np.random.RandomState(0)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="input/x")
        keep_prob = tf.placeholder_with_default(1.0, [], name="keep_prob")
        hidden = tf.layers.dense(
            x, 20, tf.nn.tanh, kernel_initializer=tf.constant_initializer(random.normal(scale=0.7, size=(3, 20)))
        )
        hidden = tf.nn.dropout(hidden, keep_prob)
        kernel = tf.constant_initializer(random.normal(scale=0.3, size=(20, 1)))
        y = tf.identity(tf.layers.dense(hidden, 1, kernel_initializer=kernel), name="output/prediction")
        target = tf.placeholder(tf.float32, [None, 1], name="target")
        loss = tf.reduce_mean(tf.square(y - target), name="loss")
        train_op = tf.train.AdamOptimizer(0.02).minimize(loss)
        saver = tf.train.Saver()
        data = make_data(200, seed=1)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(steps):
                value, _ = sess.run([loss, train_op], {x: data[0], target: data[1]})
            print("trained: loss %.5f" % value)
            saver.save(sess, os.path.join(model_dir, "model"))
            test = make_data(5, seed=2)[0]
            wanted = sess.run(y, {x: test})
            return test, wanted, freeze_graph(sess, model_dir, output_node_names)


def load_graph(frozen_graph_filename):
    with tf.gfile.GFile(frozen_graph_filename, "rb") as f:
        graph_def = tf.GraphDef()
        graph_def.ParseFromString(f.read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="prefix")
    return graph


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_dir", type=str, default="frozen_model", help="Model folder to export")
    parser.add_argument("--output_node_names", type=str, default="output/prediction", help="Comma separated.")
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.gfile.MakeDirs(args.model_dir)

    inputs, wanted, path = train_and_freeze(args.model_dir, args.output_node_names, args.steps)
    graph = load_graph(path)
    x = graph.get_tensor_by_name("prefix/input/x:0")
    y = graph.get_tensor_by_name("prefix/output/prediction:0")
    with tf.Session(graph=graph) as sess:
        found = sess.run(y, feed_dict={x: inputs})
    for row, value in zip(inputs, found[:, 0]):
        print(np.round(row, 4).tolist(), "-> %.5f" % value)
    print("same as before freezing:", np.allclose(found, wanted, atol=1e-6))
