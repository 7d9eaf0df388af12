"""Runtime error state of a lowering: the first failed check, and the predicate that masks variable writes after it.

TensorFlow raises where an operation fails, and what would come after it does not happen. A compiled program runs to its
end. So ``check`` evaluates each operation's ``InputCheck``, the first that fails stays in the ``ERROR_RECORD``, and
writes keep the old value where one has failed; the host raises after the program.

    gather(table, i)          table: [5, 2], i = [0, 7]      record [0, 0, 0, ...] -> [1, 1, 7, ...]
    v.assign_add(d)           new = where(failed(), v, v + d), noted in ``gated`` as masked by this record
    end of the step           restored(): where(failed(), old, new) for variables whose writes were not masked so

``failed()`` is one scalar for all shards: a ``psum`` over the axis per state of the record, however many checks there
were. An all-reduce that is made anyway takes this sum along (``failing``, ``failing_are``). ``scheduling`` puts writes
after all checks, because a write that comes before a check must be undone by a select over the whole variable.

In a loop over training steps each step begins with an empty record (``begin_step``) and a gate: whether an earlier step
failed. Where values are known (eagerly, on the host) a failed check raises at once.
"""

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
      gate: scalar bool, replicated: a check has failed before this evaluation; None: none can have.
      gated: state variable -> the error record that its writes were masked by; None where there was another, or none.
    """

    axis: Axis | None
    state: dict[StateVariable, Any]
    written: set[StateVariable]
    eager: bool

    def __init__(self, platform: str, parent: ErrorState | None):
        self._below = parent
        self.faults: ErrorRecords = ErrorRecords(platform) if parent is None else parent.faults
        self.gate: jax.Array | None = None
        self.gated: dict[StateVariable, Array | ByClass | None] = {}
        self._steps_alone = parent is None
        self._failed: tuple[Array | ByClass | None, jax.Array | None] = (None, None)
        self._found: tuple[Array | ByClass | None, jax.Array | None] = (None, None)
        self._checked: set[Operation] = set()

    def value(self, tensor: Tensor) -> Array:
        raise NotImplementedError

    def joined(self, value: Any) -> Array:
        raise NotImplementedError

    def read(self, cell: StateVariable, op: Operation) -> Array:
        raise NotImplementedError

    def write(self, cell: StateVariable, value: Array | ByClass, gate: Array | ByClass | None = None) -> None:
        raise NotImplementedError

    @property
    def fault(self) -> Array | ByClass | None:
        """The error record of the whole evaluation, as it is now; numpy where no check can have failed."""
        if not self._steps_alone and self._below is not None:
            return self._below.fault
        record: Array | ByClass | None = self.state.get(ERROR_RECORD)
        return record

    def begin_step(self, size: int, gate: jax.Array | None = None) -> None:
        """Make this fork a step of its own, which begins without a failed check.

        Args:
          size: elements of the error record.
          gate: scalar bool, whether an earlier step has failed; None: none can have.
        """
        self._steps_alone, self.gate = True, gate
        self.state[ERROR_RECORD] = no_error(size)

    def failed(self) -> jax.Array | None:
        """Scalar bool, replicated: whether a check has failed so far. None where none can have.

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

    def _failed_here(self) -> jax.Array:
        """Scalar bool: whether a check has failed so far on this shard."""
        fault, (record, found) = self.fault, self._found
        if found is not None and record is fault:
            return found
        assert fault is not None
        return jnp.asarray(self.joined(fault))[0] != 0

    def failing(self) -> jax.Array | None:
        """This shard's term of the sum behind ``failed``, a float32 scalar, to go along in another collective.

        None where ``failed`` is known already, where no check can have failed, and within branches and loops.
        """
        alone = self._steps_alone or self._below is None
        if not alone or not isinstance(self.fault, jax.Array) or self._failed[0] is self.fault:
            return None
        return failing(self._failed_here(), self.axis)

    def failing_are(self, total: jax.Array) -> None:
        """Take the sum over the axis of the terms that ``failing`` gave."""
        self._enter(total > 0)

    def _enter(self, found: jax.Array) -> None:
        self._failed = (self.fault, found if self.gate is None else self.gate | found)

    def update(self, cell: StateVariable, old: Array, new: Array) -> None:
        """Write a new value of a state variable, masked: the old one stays where a check has failed so far."""
        failed = self.failed()
        if failed is not None:
            new = jnp.where(failed, old, new)
        self.write(cell, new, self.fault)

    def is_gated(self, cell: StateVariable) -> bool:
        """Whether a state variable has its old value wherever a check has failed."""
        return cell not in self.written or self.gated.get(cell) is self.fault

    def stored(self, cell: StateVariable, value: Any) -> Any:
        """A state variable's value as one array.

        Raises:
          UnsupportedError: its shape differs by shard.
        """
        if isinstance(value, ByClass) and len(set(value.shapes)) > 1:
            raise UnsupportedError(
                f"Variable {cell.name} would have another shape on each {cell.axis.name if cell.axis else 'tower'}: "
                f"{sorted(set(value.shapes))}. Assign a value whose shape does not depend on the batch."
            )
        return self.joined(value)

    def restored(self, cell: StateVariable, old: Any) -> Any:
        """The value of a state variable after a step: the old one where a check has failed."""
        new, failed = self.state[cell], self.failed()
        if failed is None or self.is_gated(cell):
            return new
        new, old = self.stored(cell, new), self.stored(cell, old)
        return jax.tree.map(lambda n, o: jnp.where(failed, o, n), new, old)

    def check(self, op: Operation) -> None:
        """Evaluate the check of an operation's inputs, once.

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
        """Enter the result of a check in the error record, unless an earlier check has failed."""
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

    def _tested(self, tensor: Tensor) -> Array:
        """The value that a check looks at, without its derivative."""
        value = self.value(tensor)
        return lax.stop_gradient(value) if isinstance(value, jax.core.Tracer) else value
