"""Operations as the original's messages: attributes by its names, nodes, graphs, device functions."""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.original_op_defs import definition

FOLDER = Path(__file__).parents[2] / "golden"
sys.path.insert(0, str(FOLDER))
from nodes_cases import SKIPPED, cases, nodes  # noqa: E402

GOLDEN = json.loads((FOLDER / "nodes.json").read_text())
CASES = cases()
OTHERWISE = {
    ("Assert", "T"): "constants among the values are part of the text",
    ("Assert", "summarize"): "the message is made when the graph is",
    ("Const", "value"): "ones and zeros of a known shape are one constant here",
    ("SelfAdjointEigV2", "compute_v"): "vectors are computed and left out",
    ("TensorArrayV3", "clear_after_read"): "an array's elements stay",
}
COMPOSED = {
    "depthwise_rate_SAME": "one dilated convolution",
    "embedding_mod": "a part less to stitch",
    **{case: "lengths given as numbers are int32" for case in CASES if "reverse_sequence" in case},
    "sparse_xent_half": "computed in the type that is given",
}
"""Cases in which operations of the same type do something else than the original's."""


def attribute_names(op):
    known = definition(op.type)
    return () if known is None else [n for n in known.attributes if n not in SKIPPED and has_attribute(op, n)]


def has_attribute(op, name):
    try:
        op.get_attr(name)
    except ValueError:
        return False
    return True


def test_attributes_are_the_originals():
    """Wherever a graph has as many operations of a type as the original's has, they have its attributes, in order."""
    compared = Counter()
    for name, wanted in GOLDEN.items():
        if name in COMPOSED:
            continue
        with tf.Graph().as_default() as graph:
            CASES[name](tf)
            found = nodes(graph, attribute_names)
        for kind in wanted.keys() & found.keys():
            if len(found[kind]) == len(wanted[kind]) and (name, kind) != ("further", "Shape"):
                compared[kind] += 1
                for own, other in zip(found[kind], wanted[kind], strict=True):
                    other = {k: v for k, v in other.items() if (kind, k) not in OTHERWISE}
                    assert {k: own.get(k) for k in other} == other, (name, kind)
    assert len(compared) >= 230


def test_every_type_of_the_original_has_its_attributes():
    known = [t for t in op_registry.types() if definition(t) is not None]
    assert len(known) > 300
    assert definition("Gelu") is None
    concat = definition("ConcatV2")
    assert [a.name for a in concat.inputs] == ["values", "axis"]
    assert concat.attributes["Tidx"].default == "int32"


def test_get_attr_gives_the_values_of_the_original():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    product = tf.matmul(x, x, transpose_b=True)
    assert product.op.get_attr("transpose_b") is True
    assert product.op.get_attr("T") is tf.float32
    assert x.op.get_attr("shape").dim[0].size == -1
    assert tf.concat([x, x, x], 0).op.get_attr("N") == 3
    pooled = tf.nn.max_pool(tf.zeros([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    assert pooled.op.get_attr("padding") == b"SAME"
    assert pooled.op.get_attr("ksize") == [1, 2, 2, 1]
    asserted = tf.identity_n([x, tf.constant(1)])[0].op
    assert asserted.get_attr("T") == [tf.float32, tf.int32]
    assert tf.squeeze(x).op.get_attr("squeeze_dims") == []
    with pytest.raises(ValueError, match="has no attribute 'axis'; it has: N, T, Tidx"):
        tf.concat([x, x], 0).op.get_attr("axis")
    value = tf.constant([1.0, 2.0]).op.get_attr("value")
    assert np.frombuffer(value.tensor_content, np.float32).tolist() == [1, 2]
    assert tf.constant(3).op.get_attr("value").int_val == [3]
    assert tf.constant(["a"]).op.get_attr("value").string_val == [b"a"]


def test_a_type_of_our_own_shows_its_attributes():
    moments = tf.nn.moments(tf.placeholder(tf.float32, [2, 3]), [0])[0].graph.get_operations()
    own = next(op for op in moments if definition(op.type) is None)
    assert own.node_def.op == own.type
    assert set(own.node_def.attr) <= set(own.attrs)


def test_lists_of_lists_are_left_out_of_messages():
    """No attribute of a message holds them."""
    product = tf.tensordot(tf.zeros([2, 3]), tf.zeros([3, 4]), [[1], [0]])
    assert all("axes" not in op.node_def.attr for op in product.graph.get_operations())


def test_graphs_are_messages():
    a, whole = tf.constant(1.0, name="a"), tf.constant([1, 2])
    with tf.control_dependencies([a]), tf.device("/gpu:1"):
        tf.split(whole, 2, name="b")[1] + 1
    graph = tf.get_default_graph()
    before = graph.version
    tf.placeholder(tf.int64, [None, 2], name="late")
    message = graph.as_graph_def(add_shapes=True)
    assert message == tf.Session().graph_def
    assert message.versions.producer == graph.graph_def_versions.producer == 27
    by_name = {node.name: node for node in message.node}
    assert by_name["add"].input[0] == "b:1"
    assert by_name["b"].input[-1] == "^a"
    assert by_name["b"].device == "/device:GPU:1"
    assert [d.size for d in by_name["late"].attr["_output_shapes"].list.shape[0].dim] == [-1, 2]
    assert [node.name for node in graph.as_graph_def(from_version=before).node] == ["late"]
    assert tf.GraphDef.FromString(message.SerializeToString()) == message
    assert list(tf.Graph().as_graph_def().node) == []


def test_device_functions_see_the_node():
    seen = []

    def place(op):
        seen.append((op.node_def.op, list(op.node_def.input), op.device))
        return "/cpu:0" if op.node_def.op == "VarHandleOp" else "/gpu:0"

    a = tf.constant(1.0, name="a")
    with tf.device(place):
        v = tf.get_variable("v", [2])
        doubled = tf.multiply(v, 2.0, name="doubled")
    with tf.device(place), tf.control_dependencies([a]), tf.device("/job:worker"):
        inner = tf.identity(doubled)
    assert v.device == "/cpu:0"
    assert doubled.device == inner.device == "/gpu:0"
    assert ("Identity", ["doubled", "^a"], "/job:worker") in seen


def test_a_device_function_and_names_around_it():
    with tf.device("/job:ps/task:1"), tf.device(lambda op: "/gpu:0"), tf.device("/cpu:1"):
        assert tf.constant(1).device == "/job:ps/task:1/device:GPU:0"
    with tf.device(lambda op: "/gpu:0"), tf.device(None), tf.device("/task:2"):
        assert tf.constant(1).device == "/task:2"
