"""Parts of a run, beside loops that the host begins, which hand values on and check them: no device program."""

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
    """Operations that the host carries out faster than a device would begin to: see ``passes``.

    Args:
      ops: in execution order, but for those that were carried out before.
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
    """Whether operations hand values on, assert something of them, or read single integers, and do nothing else."""
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
