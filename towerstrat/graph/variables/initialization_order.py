"""Initial values that read other variables: use the other's initial value where it has none yet.

In the original's graphs single initializers can be run in any order:

    a = tf.Variable(2.)             b = tf.Variable(a * 3.)
    session.run(b.initializer)      # 6., although a is not initialized
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.operation_copying import Copying, path_from


def guard(graph: Graph, initial: Tensor, variables: Iterable[Any]) -> Tensor:
    """An initial value in which reads of variables fall back to their initial values.

    Reads inside of loops and branches are left as they are.

    Args:
      graph: gets copies of the operations between the reads and the value.
      initial: a tensor of ``graph``; returned as it is where it reads no variable.
      variables: those whose reads are looked for.
    """
    path = path_from(initial, lambda op: op.type == "ReadVariableOp" and op.axis is None)
    if not path or initial.op.block is not graph.root:
        return initial
    by_handle = {v.handle: v for v in variables}
    copying = Copying(graph, {})
    with graph.outside():
        for op in path:
            read = by_handle.get(op.inputs[0]) if op.type == "ReadVariableOp" else None
            if read is not None:
                copying.tensors[op.outputs[0]] = read.initialized_value()
            elif any(t in copying.tensors for t in op.inputs):
                copying.copy_beside(op)
    return copying.tensors.get(initial, initial)
