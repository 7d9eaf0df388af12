"""Runs that initialize variables: draws and constants are executed one by one, without one program for all of them.

Such a run happens once, and its program would be as large as the model, with a compilation of its own. Operations whose
type is ``needs_no_compile`` compile nothing for their shapes, so that the first initializer compiles one draw per
distribution, and later ones nothing.

    run(global_variables_initializer())     w1 = normal([784, 128]), b1 = zeros([128]), v = 2 * w1

    InitializationStage     w1 and b1                    no new program
    DeviceStage             v = 2 * w1                   depends on state written before it in the run

``split_initialization`` decides: only a run that assigns variables and reads none of their earlier values is taken
apart; every other run is a step, which happens often and is compiled whole:

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.variables.variables import Variable
>>> with Graph().as_default():
...     b = Variable([0.0, 0.0], name="b")
...     step = b.assign_add([1.0, 1.0]).op
>>> for run in ([*(t.op for t in b.initializer.inputs), b.initializer], [step]):
...     [[op.type for op in part] for part in split_initialization(run, set())]
[['VarHandleOp', 'Const', 'AssignVariableOp'], []]
[[], ['AssignAddVariableOp']]

A run with checks is not taken apart either, since a failed check must leave the state from before the whole run. What
the stage stores must be nobody else's array, as the next program may be given its memory (donation).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from typing import Any

import jax
import numpy as np

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import string
from towerstrat.graph.lowering.kernel_outputs import FOLD_LIMIT
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.runtime.plans.runner import Run
from towerstrat.graph.runtime.programs.eager_programs import SINGLE_OPERATIONS
from towerstrat.graph.runtime.programs.state_arguments import effects


class InitializationStage:
    """Initializers executed one by one, whose values are stored together at the end."""

    def __init__(self, ops: Sequence[Operation], outputs: Sequence[Tensor], fed: Set[Tensor]):
        self.ops = ops
        self.outputs = outputs
        self.fed = fed

    def run(self, run: Run) -> None:
        state = {c: v for c in effects(self.ops)[0] if (v := run.store.get(c)) is not None}
        fed = {t: v for t, v in run.values.items() if t in self.fed}
        platform = jax.local_devices()[0].platform
        lowering = Lowering(platform, None, state, fed, self.ops, eager=True, executor=SINGLE_OPERATIONS)
        lowering.values.update(run.values)
        lowering.run(self.ops)
        held = {id(v) for v in run.values.values()}
        values: dict[StateVariable, Any] = {}
        for cell in lowering.state.written:
            value = lowering.state[cell]
            # The store may give an array away: it must be nobody else's. By way of the host, a copy compiles nothing.
            owned = isinstance(value, jax.Array) and id(value) not in held
            values[cell] = value if owned else jax.device_put(np.array(value))
            held.add(id(value))
        run.store.update(values)
        run.values.update((t, lowering.value(t)) for t in self.outputs)


def split_initialization(ops: Sequence[Operation], fed: Set[Tensor]) -> tuple[Sequence[Operation], Sequence[Operation]]:
    """Return (operations of initializers to execute one by one first, operations to compile), both in order.

    Non-writing operations that both need are in both. The first is empty for a run that uses values from before it.
    """
    if not _initializes(ops):
        return (), ops
    constants: set[Operation] = set()
    free: set[Operation] = set()
    inside = set(ops)
    touched: set[StateVariable] = set()
    for op in ops:
        cells = {*op.reads, *op.writes}
        if not any(t in fed for t in op.outputs) and _is_constant(op, constants):
            constants.add(op)
        if (
            (op in constants or op.definition.needs_no_compile)
            and _stands_alone(op)
            and touched.isdisjoint(cells)
            and not any(t in fed for t in op.outputs)
            and all(t.op in free or t.op not in inside or t in fed for t in op.inputs)
            and all(c in free or c not in inside for c in op._control_inputs)
        ):
            free.add(op)
        else:
            touched |= cells
    # A gradient evaluates the operations of its path under their derivatives: they stay in its program.
    free -= {step for op in ops for step in op.attrs.get("path", ())}
    first = _needed(ops, free, [op for op in free if op.definition.writes])
    remaining = [op for op in ops if op not in first]
    shared = _needed(ops, {op for op in first if not op.writes}, [t.op for op in remaining for t in op.inputs])
    return [op for op in ops if op in first], [op for op in ops if op not in first or op in shared]


def _initializes(ops: Sequence[Operation]) -> bool:
    """Whether a run assigns variables, reads none written before it (but for random counters), and checks nothing."""
    written: set[StateVariable] = set()
    for op in ops:
        if any(c not in written and c is not op.counter for c in op.reads):
            return False
        if op.checks:
            return False  # What a failed check leaves must be the state from before the whole run.
        written.update(op.writes)
    return any(op.definition.writes for op in ops)


def _is_constant(op: Operation, constants: Set[Operation]) -> bool:
    """Whether numpy folds the operation, also inside of a program."""
    if op.axis is not None or op.definition.stateful or op.definition.random:
        return False
    if op.definition.constant:
        return True
    return op.definition.numpy is not None and all(t.op in constants and _is_small(t) for t in op.inputs)


def _is_small(tensor: Tensor) -> bool:
    dims = tensor.dims
    return dims is not None and None not in dims and math.prod(d for d in dims if d is not None) <= FOLD_LIMIT


def _stands_alone(op: Operation) -> bool:
    """Whether the operation has no mesh axis, no varying tensors and no strings."""
    tensors = (*op.inputs, *op.outputs)
    return (
        op.axis is None
        and all(c.axis is None for c in (*op.reads, *op.writes))
        and not any(t.varies or t.dtype is string for t in tensors)
    )


def _needed(ops: Sequence[Operation], among: Set[Operation], requested: Iterable[Operation]) -> set[Operation]:
    """The operations of ``among`` that are requested, or that these depend on, by inputs and control inputs."""
    needed = set(requested) & among
    for op in reversed(ops):
        if op in needed:
            needed.update(source for source in (*(t.op for t in op.inputs), *op._control_inputs) if source in among)
    return needed
