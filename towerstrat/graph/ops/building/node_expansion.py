"""Write an operation as the nodes of several: for types that the original builds of smaller ones.

Here such a type is one operation, with a kernel and a gradient of its own. ``expansion`` takes the same formula written
with the functions of the graph, and gives what ``OpDef.nodes`` takes: the operations of the formula, below the
operation's name.

>>> import towerstrat.compat.v1 as tf
>>> from towerstrat.graph.ir.node_writer import node_defs
>>> with tf.Graph().as_default():
...     y = tf.nn.swish(tf.placeholder(tf.float32, [2], name="x"), name="swish")
>>> for node in node_defs(y.op):
...     print(node.op, node.name, list(node.input))
Sigmoid swish/Sigmoid ['x']
Mul swish/Mul ['x', 'swish/Sigmoid']
Identity swish ['swish/Mul']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.node_writer import NodeWriter, name_of
from towerstrat.graph.ir.tensor_conversion import placeholder


def expansion(function: Callable[..., Tensor | Sequence[Tensor]]) -> Callable[[NodeWriter, Operation], None]:
    """A writer of nodes, from a formula.

    Args:
      function: ``function(*inputs, **attributes)`` on tensors -> the outputs; attributes are those that a kernel takes.
    """

    def write(writer: NodeWriter, op: Operation) -> None:
        graph = Graph()
        with graph.as_default():
            inputs = [placeholder(t.dtype, t.dims) for t in op.inputs]
            results = nest.flatten(function(*inputs, **op.arguments))
        writer.graft(graph, {t.op: name_of(outer) for t, outer in zip(inputs, op.inputs, strict=True)}, results)

    return write
