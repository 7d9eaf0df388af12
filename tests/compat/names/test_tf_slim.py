"""The names that the package tf-slim serves, with the package and without it."""

import importlib
import sys

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.compat.running import towerstrat
from towerstrat import errors
from towerstrat.compat.importer import Finder, names_installed
from towerstrat.compat.names import missing_names, public_names, tf_slim

needs_package = pytest.mark.skipif(not tf_slim.available(), reason="tf-slim is not installed: pip install '.[contrib]'")


def test_names_are_of_the_original_and_nowhere_else():
    assert not set(tf_slim.NAMES) & set(public_names.names(1))
    for name in tf_slim.NAMES:
        assert missing_names.original_names(1)[name] == "TensorFlow 1.12"


@needs_package
def test_every_name_is_in_the_package():
    with names_installed():
        for module, attribute in tf_slim.NAMES.values():
            found = importlib.import_module(module)
            assert not attribute or hasattr(found, attribute)


def test_without_the_package_a_use_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(tf_slim, "available", lambda: False)
    contrib = Finder(1).root.contrib  # of which nobody has looked a name up
    for missing in (
        contrib.slim.conv2d,
        contrib.layers.layer_norm,
        contrib.losses.metric_learning.cluster_loss,
    ):
        with pytest.raises(errors.UnknownSymbolError, match=r"pip install 'towerstrat\[contrib\]'"):
            missing()


@needs_package
def test_the_library_binds_tensorflow_only_while_it_loads_the_package():
    assert tf.contrib.layers.fully_connected is tf.contrib.slim.fully_connected
    assert "tensorflow" not in sys.modules
    net = tf.contrib.slim.fully_connected(tf.ones([2, 3]), 4)
    assert net.shape.as_list() == [2, 4]


@needs_package
def test_names_of_2x_that_are_gone_leave_nothing_in_the_package(monkeypatch):
    """The inside of 2.x has no control_flow_ops.cond, with which streaming_concat begins."""
    for name in [name for name in sys.modules if name.partition(".")[0] == tf_slim.PACKAGE]:
        monkeypatch.delitem(sys.modules, name)
    with names_installed(2):
        importlib.import_module("tf_slim.metrics.metric_ops")
    with names_installed(1), tf.Graph().as_default():
        value, _ = importlib.import_module("tf_slim.metrics.metric_ops").streaming_concat(tf.ones([2]))
        assert value.shape.as_list() == [None]
    for name in [name for name in sys.modules if name.partition(".")[0] == tf_slim.PACKAGE]:
        monkeypatch.delitem(sys.modules, name)


def test_gradients_of_what_is_computed_again_are_the_originals():
    """The numbers are those of 1.12 and 1.15: sums of magnitudes of the loss and its gradients."""
    width, rows = 8, 4

    @tf.contrib.layers.recompute_grad
    def block(h):
        start = tf.constant_initializer
        w = tf.get_variable("a", [width, 4 * width], initializer=start(np.linspace(-0.2, 0.3, 4 * width**2)))
        u = tf.get_variable("b", [4 * width, width], initializer=start(np.linspace(-0.1, 0.2, 4 * width**2)))
        return h + tf.matmul(tf.tanh(tf.matmul(tf.tanh(h), w)), u)

    with tf.Graph().as_default():
        x = h = tf.placeholder(tf.float32, [rows, width])
        for layer in range(2):
            with tf.variable_scope(f"layer_{layer}", use_resource=True):
                h = block(h)
        loss = tf.reduce_mean(tf.square(h))
        gradients = tf.gradients(loss, [*tf.trainable_variables(), x])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = session.run([loss, *gradients], {x: np.linspace(-1, 1, rows * width).reshape(rows, width)})
    wanted = [3.1777596, 39.395706, 28.435047, 44.677337, 32.221863, 7.4496098]
    np.testing.assert_allclose([np.sum(np.abs(v)) for v in found], wanted, rtol=1e-6)


PROGRAM = """
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.contrib import layers
from tensorflow.contrib.framework.python.ops import arg_scope
from tensorflow.contrib.layers.python.layers import layers as inner, utils
from tensorflow.contrib.slim.nets import resnet_v1
from tensorflow.contrib.slim.python.slim.nets import inception_v3
import tensorflow.contrib.slim.nets as nets
import tf_slim

assert inner.conv2d is slim.conv2d is tf_slim.conv2d is layers.conv2d
assert nets.resnet_v1 is resnet_v1
assert slim.arg_scope is tf.contrib.framework.arg_scope is tf_slim.arg_scope is arg_scope
assert inception_v3.inception_v3 and utils.collect_named_outputs

@tf.contrib.framework.add_arg_scope
def scaled(x, by=1.0):
    return x * by

ones = tf.ones_initializer()
with tf.contrib.framework.arg_scope([slim.fully_connected], weights_initializer=ones), slim.arg_scope([scaled], by=3.0):
    y = scaled(slim.fully_connected(tf.ones([1, 2]), 1, activation_fn=None))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run(y).tolist())
"""


@needs_package
@pytest.mark.long
def test_paths_lead_to_one_package_and_one_stack_of_scopes(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    code, output, error = towerstrat("run", str(tmp_path / "program.py"))
    assert (code, output) == (0, "[[6.0]]\n"), error
