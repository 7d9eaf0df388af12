"""The state variables that a program takes and returns: which of their buffers are donated.

Of ``v += w`` where both have a value, v is donated and w not. XLA writes the new v over the buffer of the old one:

    written    [v]
    donated    [v]
    undonated  [w]

A program that leaves the state as it was where a check fails selects between old and new values on the device. Where it
cannot, as v has no value before or its shape is not static, v is not donated, and the host decides (``unmaskable``).

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.variables.variables import Variable
>>> with Graph().as_default():
...     v, w = Variable(0.0, name="v"), Variable(1.0, name="w")
...     operations = [v.assign_add(w.read_value()).op, w.read_value().op]
>>> arguments = StateArguments(operations, present=[v.handle.op.attrs["cell"], w.handle.op.attrs["cell"]], masks=True)
>>> [[cell.name for cell in cells] for cells in (arguments.donated, arguments.undonated, arguments.unmaskable)]
[['v'], ['w'], []]
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.state import StateVariable


def effects(operations: Sequence[Operation]) -> tuple[list[StateVariable], list[StateVariable]]:
    """(variables read, variables written) by operations. What is written counts as read too: a write may be masked."""
    reads: dict[StateVariable, None] = {}
    writes: dict[StateVariable, None] = {}
    for op in operations:
        reads.update(dict.fromkeys(op.reads))
        writes.update(dict.fromkeys(op.writes))
        reads.update(dict.fromkeys(op.writes))
    return list(reads), list(writes)


class StateArguments:
    """A program's state variables, by what becomes of their buffers.

    Args:
      operations: of the program.
      present: the variables that have a value before it runs.
      masks: whether the program restores what it wrote where a check fails.

    Attributes:
      written: those that have a new value afterwards.
      donated: arguments whose buffers are reused for the new values.
      undonated: further arguments.
      unmaskable: written ones whose old value the device cannot select: there is none, or its shape may differ.
    """

    __slots__ = ("donated", "undonated", "unmaskable", "written")

    def __init__(self, operations: Sequence[Operation], present: Container[StateVariable], masks: bool):
        reads, self.written = effects(operations)
        self.unmaskable = {c for c in self.written if masks and (c not in present or c.dims is None or None in c.dims)}
        self.donated = [c for c in self.written if c in present and c not in self.unmaskable]
        written = set(self.written)
        self.undonated = [c for c in reads if c in present and (c not in written or c in self.unmaskable)]

    def forbid_writes(self) -> None:
        """Make all arguments ones that are only read."""
        self.undonated = list(dict.fromkeys([*self.undonated, *self.donated]))
        self.written, self.donated, self.unmaskable = [], [], set()
