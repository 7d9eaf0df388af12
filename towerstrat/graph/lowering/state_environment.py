"""The state variables of an evaluation: current values, what was written, and what masked the writes.

The interpreter's second environment. Tensors are bound once; a state variable (a variable's value, a random operation's
counter, the error record) is read and replaced as operations run, and the program returns what was written last:

>>> from towerstrat.graph.ir.types import float32
>>> v = StateVariable("v", float32, (1,))
>>> state = StateEnvironment({v: 1.0})
>>> state.write(v, state[v] + 1.0)
>>> state[v], state.written == {v}
(2.0, True)

A write may have been masked: ``where(failed, old, new)`` under the error record as it was then. ``is_masked`` tells the
end of a step whether that suffices, or the old value has to be selected again. Where shards are evaluated by class,
``by_class`` has an environment of each class, which sees what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.lowering_errors import uninitialized
from towerstrat.graph.lowering.shard_classes import ByClass, at


class StateEnvironment:
    """State variable -> current value (an array or a ``ByClass``) in one evaluation.

    Attributes:
      values: the current values.
      written: the state variables written so far.
      masked_by: state variable -> the error record that masked all of its writes; None: another one, or none.
      by_class: the environments of the evaluations per shard class.
    """

    def __init__(self, values: Mapping[StateVariable, Any]):
        self.values = dict(values)
        self.written: set[StateVariable] = set()
        self.masked_by: dict[StateVariable, Array | ByClass | None] = {}
        self.by_class: list[StateEnvironment] = []

    def __contains__(self, cell: object) -> bool:
        return cell in self.values

    def __getitem__(self, cell: StateVariable) -> Any:
        return self.values[cell]

    def get(self, cell: StateVariable, default: Any = None) -> Any:
        """The current value of a state variable, ``default`` where it has none."""
        return self.values.get(cell, default)

    def read(self, cell: StateVariable, op: Operation) -> Array:
        """The current value of a state variable. Raises FailedPreconditionError, naming ``op``, where it has none."""
        if cell not in self.values:
            raise uninitialized(cell, op)
        value: Array = self.values[cell]
        return value

    def write(self, cell: StateVariable, value: Array | ByClass, record: Array | ByClass | None = None) -> None:
        """Replace the value of a state variable, here and in the environments of each shard class.

        ``record`` is the error record that masked this write: the value is the old one where it has a failure.
        """
        self.values[cell] = value
        self.written.add(cell)
        self.masked_by[cell] = record if self.masked_by.get(cell, record) is record else None
        for shard_class, state in enumerate(self.by_class):
            state.values[cell] = at(value, shard_class)

    def is_masked(self, cell: StateVariable, record: Array | ByClass | None) -> bool:
        """Whether a state variable has its old value wherever ``record``, the present error record, has a failure."""
        return cell not in self.written or self.masked_by.get(cell) is record
