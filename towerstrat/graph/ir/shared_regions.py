"""Branches and loop bodies that all towers build together, because they meet (``merge_call``) inside.

Usually each tower traces a region of its own, and the finished ones are compared (``region_inputs``). With a collective
inside, every tower must run the same region. So the first tower's operations are entered in it, and each other tower,
when it makes one, gets the first's: all must make the same, except for constants and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.op_registry import Attrs
from towerstrat.graph.ir.user_lines import UserLine

_SWAPPED = {
    "Less": "Greater", "Greater": "Less", "LessEqual": "GreaterEqual", "GreaterEqual": "LessEqual", "Equal": "Equal",
    "NotEqual": "NotEqual",
}  # fmt: skip
"""Comparisons -> those of the operands in the other order: Python asks a part first, which is of the subclass."""


class SharedRegion:
    """Operations of all shards in one region: the first makes them, the others must make the same but for constants.

    Args:
      block: the region, with what the first shard has made in it.
      axis: the shards' axis.
      take_own: (operation, axis index, attributes) -> whether the operation has these on the shard; it may come to, by
        a constant or seed there.
    """

    def __init__(self, block: Block, axis: Axis, take_own: Callable[[Operation, int, Attrs], bool]):
        self.block = block
        self._axis = axis
        self._take_own = take_own
        self._makers: dict[Operation, set[int]] = {}
        """The operations since the shards met -> the shards that made them."""
        self._by_inputs: dict[tuple[Any, ...], list[Operation]] = {}
        self._results: tuple[Any, ...] = ()
        self._predicate: Tensor | None = None
        self._takers: set[int] = set()
        """The shards that made the operation whose body this is."""
        for op in block.ops:
            self.note(op, 0)

    def note(self, op: Operation, position: int) -> None:
        """Register an operation that the first shard has made."""
        self._makers[op] = {position}
        self._by_inputs.setdefault((op.type, *map(id, op._inputs)), []).append(op)

    def find(
        self, type: str, position: int, inputs: Sequence[Tensor], attrs: Attrs, controls: Sequence[Operation],
        line: UserLine,
    ) -> Operation | None:  # fmt: skip
        """The operation of the first shard that this one makes too; None for the first. Notes that it does.

        Raises:
          RuntimeError: the first shard has made no such operation.
        """
        if position == 0:
            return None
        candidates = self._by_inputs.get((type, *map(id, inputs)), [])
        if type == "Const":  # no inputs tell them apart
            candidates = sorted(candidates, key=lambda op: op.line != line)
        if type in _SWAPPED:
            candidates = [*candidates, *self._by_inputs.get((_SWAPPED[type], *map(id, reversed(inputs))), ())]
        for op in candidates:
            if position in self._makers[op]:
                continue
            if set(op._control_inputs) == set(controls) and self._take_own(op, position, attrs):
                self._makers[op].add(position)
                return op
        raise self._difference(f"{type}, created at {line}, of {position}")

    def take(self, position: int, first: Operation | None) -> None:
        """Check a shard's region against the first's, as it makes the operation whose body the region is.

        Args:
          position: the axis index of the shard.
          first: that of the first shard, which this one makes too; None: there is none.

        Raises:
          RuntimeError: it differs from that of the first shard.
        """
        if position == 0:
            self._results, self._predicate = self.block.results, self.block.predicate
        else:
            self._check(position)
            if first is None or [*map(id, self.block.results)] != [*map(id, self._results)]:
                raise self._difference(f"what {position} takes out of it or decides by")
            self.block.predicate = self._predicate
        self._takers.add(position)

    def meet(self) -> bool:
        """Close a stretch, all shards being at the same point; returns whether they have left the region.

        Raises:
          RuntimeError: not all of them have made the same.
        """
        for position in range(self._axis.size):
            self._check(position)
        if self._takers and len(self._takers) < self._axis.size:
            raise self._difference("not all have left it")
        self._makers, self._by_inputs = {}, {}
        return bool(self._takers)

    def _check(self, position: int) -> None:
        for op, makers in self._makers.items():
            if position not in makers and not op.definition.constant:
                raise self._difference(f"{op.name} (type {op.type}, created at {op.line}), not of {position}")

    def _difference(self, description: str) -> RuntimeError:
        return RuntimeError(
            f"The {self._axis.name}s meet inside {self.block.what}, where all have to do the same, but they differ: "
            f"{description}. Do outside of it what differs, or take tensors in with values of each.\n"
            f"  at: {self.block.line}"
        )
