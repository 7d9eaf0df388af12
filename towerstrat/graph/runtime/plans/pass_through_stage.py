"""Plan segments beside host loops that only forward values: done in Python, without a device program.

A loop that the host runs leaves segments of ``Exit``, ``Identity``, ``Assert`` and reads of integer counters around it;
each would be a device program of its own, for no arithmetic at all. ``passes`` finds such segments. An ``Assert``
becomes a pending check of the run, raised with its late errors. A read copies its scalar: the next program may
donate the store's array.

    for batch in dataset: ...            DataLoop
    return loss, step                    Exit, Identity, read of step: run.values[...] = run.values[...]

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> from towerstrat.graph.ops.array import array_kernels, arrays  # registers their types
>>> with Graph().as_default():
...     loss = arrays.identity(last := constant(0.5))
>>> run = Run(None, None, {last: np.float32(0.25)}, {})
>>> if passes([loss.op], set()):
...     PassThroughStage([loss.op]).run(run)
>>> run.values[loss] is run.values[last]
True
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import partial
from typing import Any

import numpy as np

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.error_records import found_on_host
from towerstrat.graph.lowering.lowering_errors import uninitialized
from towerstrat.graph.runtime.plans.runner import EffectFreeStage, Run

_PASSING = ("Exit", "Identity")
_HANDLE = "VarHandleOp"


class PassThroughStage(EffectFreeStage):
    """Forwarding operations that the host carries out faster than a device program would start: see ``passes``.

    Args:
      ops: in execution order, without those that were carried out before.
    """

    def __init__(self, ops: Sequence[Operation]):
        self.ops = [op for op in ops if op.type != _HANDLE]

    def run(self, run: Run) -> None:
        for op in self.ops:
            if op.type in _PASSING:
                run.values[op.outputs[0]] = run.values[op.inputs[0]]
            elif op.reads:
                run.values[op.outputs[0]] = _read(run, op)
            elif op.checks:
                run.checks.append(partial(_error, op, [run.values[t] for t in op.inputs]))


def passes(ops: Sequence[Operation], fed: Container[Tensor]) -> bool:
    """Whether all operations forward a value, assert, or read a replicated integer scalar, and none is fed."""
    return all(_passes(op) and not any(t in fed for t in op.outputs) for op in ops)


def _passes(op: Operation) -> bool:
    if op.type == "ReadVariableOp":
        cell = op.reads[0]
        return op.axis is None and cell.dims == () and cell.dtype.is_integer and not cell.may_differ
    if op.type == "Assert":
        return op.axis is None and not any(t.varies for t in op.inputs)
    return op.type in _PASSING or op.type == _HANDLE


def _read(run: Run, op: Operation) -> Array:
    (cell,) = op.reads
    value: Any = run.store.get(cell)
    if value is None:
        raise uninitialized(cell, op)
    return np.array(value)  # the store's own array may be donated to the next program


def _error(op: Operation, values: Sequence[Array]) -> InvalidArgumentError | None:
    check = op.definition.check
    if check is None or np.asarray(values[0]).all():
        return None
    return found_on_host(check, op, [np.asarray(v) for v in values])
