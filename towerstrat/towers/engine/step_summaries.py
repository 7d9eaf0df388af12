"""Summaries that a step makes and collects: the host computes them after the loop, from values of the last step."""

from __future__ import annotations

from collections.abc import Mapping

from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, runs_in_numpy
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives.all_reduce import select


class Collected:
    """The tensors in collections that belong to a step and that the host alone can compute, such as strings.

    Args:
      block: the step.

    Attributes:
      sources: the tensors of the step that they are computed from.
    """

    def __init__(self, graph: Graph, block: Block):
        self._graph, self._block = graph, block
        self._operations: dict[Operation, None] = {}
        self.sources: list[Tensor] = []
        for key in graph.get_all_collection_keys():
            for value in graph.get_collection(key):
                if isinstance(value, Tensor) and value.op.block is block and runs_in_numpy(value.op):
                    self._visit(value)

    def _visit(self, tensor: Tensor) -> None:
        op = tensor.op
        if op.block is not self._block or op in self._operations:
            return
        if runs_in_numpy(op) or op.definition.constant:
            for source in op.inputs:
                self._visit(source)
            self._operations[op] = None
        elif tensor not in self.sources:
            self.sources.append(tensor)

    def leave(self, outputs: Mapping[Tensor, Tensor], axis: Axis | None) -> None:
        """Puts in their places in collections what is computed from outputs of the loop.

        Args:
          outputs: those of the loop that hold ``sources``.
          axis: the towers' axis; of values that differ by tower the first one's are taken.
        """
        known = {t: select(o, axis, 0) if axis is not None and o.varies else o for t, o in outputs.items()}
        for op in self._operations:
            inputs = [known.get(t, t) for t in op.inputs]
            copied = self._graph.add(op.type, inputs, op.attrs, self._graph.unique_name(op.name) + "/")
            known.update(zip(op.outputs, copied.outputs, strict=True))
        for key in self._graph.get_all_collection_keys():
            values = self._graph.get_collection_ref(key)
            values[:] = [known.get(v, v) if isinstance(v, Tensor) else v for v in values]
