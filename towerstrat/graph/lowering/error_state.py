"""What an evaluation knows of failed checks: the record, the gate that keeps writes from happening, what is gated."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.check_definitions import CheckResult
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.error_records import ErrorRecords, failed_anywhere, failing, found_on_host, no_error
from towerstrat.graph.lowering.shard_classes import ByClass


class ErrorState:
    """The part of a lowering that is about checks of operations' inputs.

    Attributes:
      faults: the checks that the program evaluates.
      gate: scalar bool, equal at all positions: a check has failed before this evaluation; None: none can have.
      gated: cell -> the record of failed checks that its writes were gated by; None where there was another, or none.
    """

    axis: Axis | None
    state: dict[StateVariable, Any]
    written: set[StateVariable]
    eager: bool

    def __init__(self, platform: str, parent: ErrorState | None):
        self._below = parent
        self.faults: ErrorRecords = ErrorRecords(platform) if parent is None else parent.faults
        self.gate: Any = None
        self.gated: dict[StateVariable, Any] = {}
        self._steps_alone = parent is None
        self._failed: tuple[Any, Any] = (None, None)
        self._found: tuple[Any, Any] = (None, None)
        self._checked: set[Operation] = set()

    def value(self, tensor: Tensor) -> Any:
        raise NotImplementedError

    def joined(self, value: Any) -> Any:
        raise NotImplementedError

    def read(self, cell: StateVariable, op: Operation) -> Any:
        raise NotImplementedError

    def write(self, cell: StateVariable, value: Any, gate: Any = None) -> None:
        raise NotImplementedError

    @property
    def fault(self) -> Any:
        """The record of failed checks of the whole evaluation, as it is now; numpy where no check can have failed."""
        return self.state.get(ERROR_RECORD) if self._steps_alone or self._below is None else self._below.fault

    def begin_step(self, size: int, gate: Any = None) -> None:
        """Makes this fork a step of its own, which begins without a failed check.

        Args:
          size: elements of the record.
          gate: whether a step before it has failed.
        """
        self._steps_alone, self.gate = True, gate
        self.state[ERROR_RECORD] = no_error(size)

    def failed(self) -> Any:
        """Scalar bool, equal at all positions: whether a check has failed so far. None where none can have.

        Along an axis this is one collective for all checks up to now.
        """
        if not self._steps_alone and self._below is not None:
            return self._below.failed()
        fault = self.fault
        if not isinstance(fault, jax.Array | ByClass):
            return self.gate
        if self._failed[0] is not fault:
            self._enter(failed_anywhere(self._failed_here(), self.axis))
        return self._failed[1]

    def _failed_here(self) -> Any:
        """Scalar bool: whether a check has failed so far at this position."""
        fault = self.fault
        return self._found[1] if self._found[0] is fault else self.joined(fault)[0] != 0

    def failing(self) -> Any:
        """What ``failed`` would add up along the axis, for a collective that is made anyway.

        None where it is known already, where no check can have failed, and within branches and loops.
        """
        alone = self._steps_alone or self._below is None
        if not alone or not isinstance(self.fault, jax.Array) or self._failed[0] is self.fault:
            return None
        return failing(self._failed_here(), self.axis)

    def failing_are(self, total: Any) -> None:
        """Takes the sum along the axis of what ``failing`` gave."""
        self._enter(total > 0)

    def _enter(self, found: Any) -> None:
        self._failed = (self.fault, found if self.gate is None else self.gate | found)

    def update(self, cell: StateVariable, old: Array, new: Array) -> None:
        """Writes a value that depends on the old one's entries alone; where a check has failed it stays the old one."""
        failed = self.failed()
        if failed is not None:
            new = jnp.where(failed, old, new)
        self.write(cell, new, self.fault)

    def is_gated(self, cell: StateVariable) -> bool:
        """Whether a cell has its old value wherever a check has failed."""
        return cell not in self.written or self.gated.get(cell) is self.fault

    def stored(self, cell: StateVariable, value: Any) -> Any:
        """A cell's value as one array.

        Raises:
          UnsupportedError: its shape differs by position.
        """
        if isinstance(value, ByClass) and len(set(value.shapes)) > 1:
            raise UnsupportedError(
                f"Variable {cell.name} would have another shape on each {cell.axis.name if cell.axis else 'tower'}: "
                f"{sorted(set(value.shapes))}. Assign a value whose shape does not depend on the batch."
            )
        return self.joined(value)

    def restored(self, cell: StateVariable, old: Any) -> Any:
        """The value of a cell after a step: the old one where a check has failed."""
        new, failed = self.state[cell], self.failed()
        if failed is None or self.is_gated(cell):
            return new
        new, old = self.stored(cell, new), self.stored(cell, old)
        return jax.tree.map(lambda n, o: jnp.where(failed, o, n), new, old)

    def check(self, op: Operation) -> None:
        """Evaluates what can be wrong with an operation's inputs, once.

        Raises:
          InvalidArgumentError: the values are known, and wrong, and the operation is executed by itself.
        """
        check = op.definition.check
        if check is None or op in self._checked:
            return
        self._checked.add(op)
        values = [self.read(t.op.attrs["cell"], op) if t.dtype is resource else self._tested(t) for t in op.inputs]
        values += [self._tested(t) for t in op.outputs] if check.after else []
        if self.eager or ERROR_RECORD not in self.state:
            if not any(isinstance(values[i], jax.core.Tracer) for i in check.values if i < len(values)):
                error = found_on_host(check, op, values)
                if error is not None:
                    raise error
            return
        finding = check.test(op, values)
        if finding is not None:
            self.find(op, finding)

    def find(self, op: Operation, finding: CheckResult) -> None:
        """Enters what a check of an operation found in the record of failed checks; the first that fails stays."""
        if ERROR_RECORD not in self.state or not (isinstance(finding.bad, jax.core.Tracer) or bool(finding.bad)):
            return
        before, bad = self.state[ERROR_RECORD], jnp.asarray(finding.bad)
        fault = self.joined(before)
        record = vary(self.faults.record(op, finding, fault.shape[0]), self.axis)
        chosen = jnp.where(bad & (fault[0] == 0), record, fault)
        after = vary(lax.stop_gradient(chosen), self.axis)
        self.write(ERROR_RECORD, after)
        if not isinstance(before, jax.Array | ByClass):  # then it says what this check says, at less cost
            self._found = (after, lax.stop_gradient(bad))

    def _tested(self, tensor: Tensor) -> Any:
        """The value of an input as a check sees it: without its derivative."""
        value = self.value(tensor)
        return lax.stop_gradient(value) if isinstance(value, jax.core.Tracer) else value
