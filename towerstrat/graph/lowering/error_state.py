"""Runtime error state of a lowering: the first failed check, and the predicate that masks variable writes after it.

TensorFlow raises where an operation fails, and what would come after it does not happen. A compiled program runs to its
end. So ``check`` evaluates each operation's ``InputCheck``, the first that fails stays in the ``ERROR_RECORD``, and
writes keep the old value where one has failed; the host raises after the program.

    v.assign_add(d)     new = where(failed(), v, v + d), noted in the state as masked by this record
    end of the step     old_if_failed(): where(failed(), old, new) for variables whose writes were not masked so

``failed()`` is one scalar for all shards: a ``psum`` over the axis per state of the record, however many checks there
were. An all-reduce that is made anyway takes this sum along (``failure_count``, ``set_failure_count``). ``scheduling``
puts writes after all checks, because a write that comes before a check must be undone by a select over the whole
variable.

>>> import towerstrat.compat.v1 as tf
>>> from towerstrat.graph.lowering.input_checks import rows
>>> from towerstrat.graph.lowering.vjp_scope import VjpScope
>>> with tf.Graph().as_default():
...     op = tf.gather(tf.zeros([5, 2]), [0, 7]).op
>>> state = StateEnvironment({ERROR_RECORD: no_error(5)})
>>> errors = ErrorState(ErrorRecords("cpu"), state, ClassEvaluation(VjpScope()), None)
>>> errors.failed() is None                                             # no check can have failed
True
>>> errors.find(op, rows(jnp.array([0, 7]), 5))
>>> bool(errors.failed()), errors.record.tolist()
(True, [1, 1, 7, 0, 0])

In a loop over training steps each step begins with an empty record (``begin_step``) and ``failed_before``: whether an
earlier step failed. Where values are known (eagerly, on the host) a failed check raises at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from towerstrat.graph.ir.check_definitions import CheckResult
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.class_evaluation import ClassEvaluation
from towerstrat.graph.lowering.error_records import ErrorRecords, failed_anywhere, failing, found_on_host, no_error
from towerstrat.graph.lowering.shard_classes import ByClass
from towerstrat.graph.lowering.state_environment import StateEnvironment


class ErrorState:
    """The failed checks of an evaluation: of the whole program, or of one step of a loop over steps.

    Args:
      records: the checks that the program evaluates.
      state: has the error record, where the program has one.
      classes: the shard classes of the evaluation.
      axis: the named axis that it is mapped over, or None.
      outer: of the evaluation that this one's was forked from, whose record it goes on with.

    Attributes:
      failed_before: scalar bool, replicated: a check has failed before this evaluation; None: none can have.
    """

    def __init__(
        self, records: ErrorRecords, state: StateEnvironment, classes: ClassEvaluation, axis: Axis | None,
        outer: ErrorState | None = None,
    ):  # fmt: skip
        self.records = records
        self.failed_before: jax.Array | None = None
        self._state = state
        self._classes = classes
        self._axis = axis
        self._outer = outer
        self._failed: tuple[Array | ByClass | None, jax.Array | None] = (None, None)
        self._first: tuple[Array | ByClass | None, jax.Array | None] = (None, None)
        self._checked: set[Operation] = set()

    def fork(self, state: StateEnvironment, classes: ClassEvaluation) -> ErrorState:
        """The error state of an evaluation inside of this one's, on a state of its own."""
        return ErrorState(self.records, state, classes, self._axis, self)

    @property
    def record(self) -> Array | ByClass | None:
        """The error record of the whole evaluation, as it is now; numpy where no check can have failed."""
        if self._outer is not None:
            return self._outer.record
        record: Array | ByClass | None = self._state.get(ERROR_RECORD)
        return record

    def begin_step(self, size: int, failed_before: jax.Array | None = None) -> None:
        """Make this fork a step of its own, which begins without a failed check.

        Args:
          size: elements of the error record.
          failed_before: scalar bool, whether an earlier step has failed; None: none can have.
        """
        self._outer, self.failed_before = None, failed_before
        self._state.values[ERROR_RECORD] = no_error(size)

    def failed(self) -> jax.Array | None:
        """Scalar bool, replicated: whether a check has failed so far. None where none can have.

        Along an axis this is one collective for all checks up to now.
        """
        if self._outer is not None:
            return self._outer.failed()
        record = self.record
        if not isinstance(record, jax.Array | ByClass):
            return self.failed_before
        if self._failed[0] is not record:
            self._enter(failed_anywhere(self._failure_here(), self._axis))
        return self._failed[1]

    def _failure_here(self) -> jax.Array:
        """Scalar bool: whether a check has failed so far on this shard."""
        record, (after_first, bad) = self.record, self._first
        if bad is not None and after_first is record:
            return bad
        assert record is not None
        return jnp.asarray(self._classes.padded_value(record))[0] != 0

    def failure_count(self) -> jax.Array | None:
        """This shard's term of the sum behind ``failed``, a float32 scalar, to go along in another collective.

        None where ``failed`` is known already, where no check can have failed, and within branches and loops.
        """
        if self._outer is not None or not isinstance(self.record, jax.Array) or self._failed[0] is self.record:
            return None
        return failing(self._failure_here(), self._axis)

    def set_failure_count(self, total: jax.Array) -> None:
        """Take the sum over the axis of the terms that ``failure_count`` gave."""
        self._enter(total > 0)

    def _enter(self, failed: jax.Array) -> None:
        before = self.failed_before
        self._failed = (self.record, failed if before is None else before | failed)

    def is_masked(self, cell: StateVariable) -> bool:
        """Whether a state variable has its old value wherever a check has failed."""
        return self._state.is_masked(cell, self.record)

    def old_if_failed(self, cell: StateVariable, old: Array | ByClass) -> Array | ByClass:
        """The value of a state variable after a step: the old one where a check has failed."""
        new: Array | ByClass = self._state[cell]
        failed = self.failed()
        if failed is None or self.is_masked(cell):
            return new
        return jnp.where(failed, self._classes.stored(cell, old), self._classes.stored(cell, new))

    def has_checked(self, op: Operation) -> bool:
        """Whether the check of an operation's inputs was evaluated."""
        return op in self._checked

    def check(self, op: Operation, values: Sequence[Array], alone: bool) -> None:
        """Evaluate the check of an operation's inputs.

        Args:
          op: of a type that has a check.
          values: what the check looks at: the inputs, and of a check of results the outputs.
          alone: the operation is executed by itself, on known values.

        Raises:
          InvalidArgumentError: the values are known, and wrong, and the operation is executed by itself.
        """
        check = op.definition.check
        assert check is not None
        self._checked.add(op)
        if alone or ERROR_RECORD not in self._state:
            if not any(isinstance(values[i], jax.core.Tracer) for i in check.values if i < len(values)):
                error = found_on_host(check, op, values)
                if error is not None:
                    raise error
            return
        result = check.test(op, values)
        if result is not None:
            self.find(op, result)

    def find(self, op: Operation, result: CheckResult) -> None:
        """Enter the result of a check in the error record, unless an earlier check has failed."""
        if ERROR_RECORD not in self._state or not (isinstance(result.bad, jax.core.Tracer) or bool(result.bad)):
            return
        before, bad = self._state[ERROR_RECORD], jnp.asarray(result.bad)
        present = self._classes.padded_value(before)
        record = vary(self.records.record(op, result, present.shape[0]), self._axis)
        chosen = jnp.where(bad & (present[0] == 0), record, present)
        after = vary(lax.stop_gradient(chosen), self._axis)
        self._state.write(ERROR_RECORD, after)
        if not isinstance(before, jax.Array | ByClass):  # then it says what this check says, at less cost
            self._first = (after, lax.stop_gradient(bad))
