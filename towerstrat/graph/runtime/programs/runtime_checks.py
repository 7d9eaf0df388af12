"""The runtime checks of one program: its error record while it is traced, and the error that a record means.

    traced    begin: no check has failed      the operations' checks enter failures      finish: the record, an output
    run       record                                                                     error(record)

Whether a check can fail at all is known once the program is traced: of ``tf.gather(x, [0, 1])`` with x of three rows
none can, and nothing is read back.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     row = tf.gather(tf.zeros([5, 2]), tf.placeholder(tf.int32, []))
>>> checks, state = RuntimeChecks([row.op], atomic=True), {}
>>> checks.begin(state)
>>> checks.evaluated, [cell is ERROR_RECORD for cell in state], state[ERROR_RECORD].any()
(True, [True], np.False_)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import jax

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.error_records import ErrorRecords, no_error, record_size
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.shard_classes import ByClass


class RuntimeChecks:
    """The checks of a program's operations.

    Args:
      operations: of the program.
      atomic: a run in which a check fails leaves the state as it was.

    Attributes:
      evaluated: whether some operation checks something.
      can_fail: whether a check can fail; before the program is traced, whether some operation checks something.
      records: decodes error records, once the program is traced.
      record_size: number of elements of the error record.
    """

    __slots__ = ("atomic", "can_fail", "evaluated", "record_size", "records")

    def __init__(self, operations: Sequence[Operation], atomic: bool):
        self.atomic = atomic
        self.evaluated = any(op.checks for op in operations)
        self.can_fail = self.evaluated
        self.records: ErrorRecords | None = None
        self.record_size = record_size(operations) if self.evaluated else 0

    def drop(self) -> None:
        """Leave all checks out of the program."""
        self.evaluated = self.can_fail = False

    def begin(self, state: dict[StateVariable, Array]) -> None:
        """Put the empty error record in the state of a lowering."""
        if self.evaluated:
            state[ERROR_RECORD] = no_error(self.record_size)

    def mask_writes(self, lowering: Lowering, before: Mapping[StateVariable, Array], but: Set[StateVariable]) -> None:
        """Select the old values of written variables where a check failed, if the program is atomic.

        Args:
          lowering: has evaluated the operations.
          before: the variables' old values.
          but: variables that stay as they were written.
        """
        if self.evaluated and self.atomic:
            for cell in lowering.state.written & before.keys() - but:
                lowering.state.values[cell] = lowering.errors.old_if_failed(cell, before[cell])

    def finish(self, lowering: Lowering) -> Array:
        """The error record of this shard, after the operations were evaluated; an empty one where no check can fail."""
        record = lowering.state[ERROR_RECORD]
        self.records = lowering.errors.records
        self.can_fail = isinstance(record, jax.Array | ByClass)
        return lowering.classes.padded_value(record) if self.can_fail else no_error(1)

    def error(self, record: Array) -> InvalidArgumentError | None:
        """The error of the first failed check in a run's error record, or None. Waits for the run."""
        return self.records.error(record) if self.can_fail and self.records is not None else None
