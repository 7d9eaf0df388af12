"""Nodes as the original defines them. Their values there: ``python -m pytest -p tests.node_forms.recorder``."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.ir.node_writer import NodeWriter, node_defs
from towerstrat.graph.ir.original_op_defs import NO_DEFAULT, definition
from towerstrat.graph.ops.indexing import sorting


def x(*dims, dtype=tf.float32):
    return tf.placeholder(dtype, dims, name="x")


FORMS = {
    "an axis": (lambda: tf.reduce_sum(x(2, 3), 1), ["Const", "Sum"]),
    "all axes": (lambda: tf.reduce_max(x(2, 3)), ["Const", "Max"]),
    "all axes of any rank": (lambda: tf.reduce_max(tf.placeholder(tf.float32, name="x")),
                             ["Rank", "Const", "Const", "Range", "Max"]),
    "an axis that is an input": (lambda: tf.reduce_sum(x(2, 3), x(dtype=tf.int32)), ["Sum"]),
    "an axis in front": (lambda: tf.split(x(2, 3), 3, 1)[0], ["Const", "Split"]),
    "an axis behind a list": (lambda: tf.concat([x(2), x(2)], 0), ["Const", "ConcatV2"]),
    "a permutation": (lambda: tf.transpose(x(2, 3)), ["Const", "Transpose"]),
    "a length": (lambda: tf.spectral.rfft(x(8)), ["Const", "RFFT"]),
    "a shape": (lambda: tf.random_poisson(x(3), [2]), ["Const", "RandomPoissonV2"]),
    "draws": (lambda: tf.random_uniform([2, 3], 1.0, 3.0), ["Const", "RandomUniform", "Const", "Const", "Mul", "Add"]),
    "ones of another type": (lambda: tf.ones_like(x(None), tf.int64), ["Shape", "Const", "Fill"]),
    "the last axis": (lambda: tf.nn.softmax(x(2, 3)), ["Softmax"]),
    "another axis": (lambda: tf.nn.softmax(x(2, 3), axis=0),
                     ["Const", "Transpose", "Softmax", "Const", "Transpose", "Identity"]),
    "training": (lambda: tf.nn.fused_batch_norm(x(2, 3, 3, 1), [1.0], [0.0])[0], ["Const", "Const", "FusedBatchNorm"]),
    "an adjoint": (lambda: tf.matmul(x(2, 2, dtype=tf.complex64), x(2, 2, dtype=tf.complex64), adjoint_a=True),
                   ["Conj", "MatMul"]),
    "a batch's transpose": (
        lambda: tf.matmul(x(1, 2, 2, dtype=tf.complex64), x(1, 2, 2, dtype=tf.complex64), transpose_a=True),
        ["Conj", "BatchMatMul"]),
    "batches that broadcast": (lambda: tf.matmul(x(4, 2, 2), x(1, 2, 2)), ["BatchMatMulV2"]),
    "a formula": (lambda: tf.nn.swish(x(2)), ["Sigmoid", "Mul", "Identity"]),
    "two results": (lambda: tf.nn.moments(x(2, 3), [0])[0],
                    ["Const", "Mean", "Sub", "Square", "Const", "Mean", "Squeeze", "IdentityN"]),
    "labels first": (
        lambda: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x(2, 3), logits=x(2, 3)),
        ["SoftmaxCrossEntropyWithLogits"]),
}  # fmt: skip


def built(name):
    with tf.Graph().as_default():
        return FORMS[name][0]().op


@pytest.mark.parametrize("name", FORMS)
def test_nodes_are_those_of_the_original(name):
    op = built(name)
    nodes = node_defs(op)
    assert [node.op for node in nodes] == FORMS[name][1]
    assert nodes[-1].name == op.name
    made = {node.name for node in nodes}
    for node in nodes:
        known = definition(node.op)
        if not any(argument.many for argument in known.inputs):
            assert len(node.input) == len(known.inputs), node
        assert {key for key, a in known.attributes.items() if a.default is NO_DEFAULT} <= set(node.attr), node
        assert all(i in made or i.partition(":")[0] in op.graph.nodes.by_name for i in node.input), node


def test_a_constant_has_the_value_and_a_name_of_its_own():
    with tf.Graph().as_default() as graph:
        with tf.name_scope("Sum/"):
            tf.constant(0, name="reduction_indices")
        graph.unique_name("other")
        total = tf.reduce_sum(x(2, 3), [-1], name="Sum")
    constant, node = node_defs(total.op)
    assert constant.name not in graph.nodes.by_name
    assert node.input == ["x", constant.name]
    assert tf.contrib.util.make_ndarray(constant.attr["value"].tensor).tolist() == [-1]
    assert sum(n.name == constant.name for n in graph.as_graph_def().node) == 1


def test_nodes_of_a_formula_have_names_of_their_own():
    with tf.Graph().as_default() as graph:
        with tf.name_scope("swish/"):
            tf.constant(0, name="Mul")
        graph._names.clear()  # whatever the program named
        swish = tf.nn.swish(x(2), name="swish")
    names = [node.name for node in graph.as_graph_def().node]
    assert len(set(names)) == len(names)
    assert node_defs(swish.op)[-1].input == ["swish/Mul_1"]


def test_formulas_give_the_operations_values():
    """The nodes of a formula, built again here by hand."""
    value = np.float32([[-1.0, 0.5], [2.0, 0.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        crelu, graph_def = tf.nn.crelu(tf.constant(value), name="y"), tf.get_default_graph().as_graph_def()
        found = session.run(crelu)
    assert [n.op for n in graph_def.node if n.name.startswith("y")] == ["Neg", "Const", "ConcatV2", "Relu", "Identity"]
    np.testing.assert_array_equal(found, np.maximum(np.concatenate([value, -value], -1), 0))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: tf.transpose(tf.placeholder(tf.float32)), "all axes, of a tensor of unknown rank"),
        (lambda: tf.spectral.rfft(tf.placeholder(tf.float32, [None])), "the size of a transformed dimension"),
        (lambda: sorting.argsort(tf.placeholder(tf.float32)), "unknown rank"),
        (lambda: tf.gradients(tf.square(v := x(3)), v)[0], "no operation type Gradients"),
    ],
)
def test_what_has_no_nodes_says_why(make, why):
    with tf.Graph().as_default():
        op = make().op
        described = tf.get_default_graph().as_graph_def()
    with pytest.raises(ValueError, match=why):
        node_defs(op, strict=True)
    assert [n.op for n in described.node if n.name == op.name] == [op.type]


def test_a_formula_that_fails_ends_no_description(monkeypatch):
    """A graph is described with every checkpoint."""

    def fail(*args):
        raise TypeError("not these")

    with tf.Graph().as_default() as graph:
        y = tf.nn.swish(x(2), name="y")
    monkeypatch.setattr(NodeWriter, "graft", fail)
    assert [(n.name, n.op) for n in graph.as_graph_def().node] == [("x", "Placeholder"), ("y", "Swish")]
    with pytest.raises(TypeError, match="not these"):
        node_defs(y.op, strict=True)
