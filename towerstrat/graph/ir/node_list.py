"""The operations of a graph: in order of creation, and by name."""

from __future__ import annotations

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.node_defs import NodeDefs
from towerstrat.graph.ir.shard_operations import ShardOperation


class NodeList:
    """The operations of a graph, with the views that single shards have of them.

    Attributes:
      operations: those that run, in order of creation.
      by_name: name -> operation, or view of a single shard.
      version: number of operations and views added so far.
      rewired: number of times that control inputs were added to existing operations.
      messages: the operations' messages, made once.
    """

    __slots__ = ("by_name", "messages", "operations", "rewired", "version")

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.by_name: dict[str, Operation] = {}
        self.version = 0
        self.rewired = 0
        self.messages = NodeDefs()

    def append(self, op: Operation) -> None:
        """Add an operation, whose ``index`` becomes its place in the order."""
        op.index = self.version
        self.version += 1
        self.operations.append(op)
        self.by_name[op.name] = op

    def add_view(self, view: ShardOperation) -> None:
        """Add a shard's view of an operation under its name."""
        view.index = self.version
        self.version += 1
        self.by_name[view.name] = view

    def list_with_views(self) -> list[Operation]:
        """The operations in order of creation, the views of each shard in place of what they stand for."""
        views = [op for op in self.by_name.values() if isinstance(op, ShardOperation)]
        seen = {view.whole for view in views}
        return sorted([*views, *(op for op in self.operations if op not in seen)], key=lambda op: op.index)
