"""The steps of a dataset's function: numpy operations, calls of the host, compiled segments, branches and loops.

A function whose operations all have numpy forms is evaluated by numpy, one operation at a time. Else operations are
compiled for the CPU in segments between those of the host (Python functions, strings), which are called. A segment is
compiled once for all shapes of its inputs: what works on arrays of unknown size, such as decoded images, is left to
numpy where it can be. A branch or loop with operations of the host or of numpy inside has steps of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import jax
import numpy as np

from towerstrat.data.elements.types import Array
from towerstrat.errors import InvalidArgumentError, OutOfRangeError
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, dependencies, of_strings, runs_in_numpy
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import DType, float32, host_array, resource
from towerstrat.graph.lowering.error_records import found_on_host, no_error, record_size
from towerstrat.graph.lowering.lowering_errors import NeedsStatic
from towerstrat.graph.runtime.plans.plan import needs_host
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.graph.runtime.programs.program_cache import SINGLE_BYTES, ArrayFunction, OwnedPrograms
from towerstrat.graph.runtime.programs.state_arguments import effects
from towerstrat.platform import compilers

Values = dict[Tensor, Any]
CellValues = dict[StateVariable, Any]
"""Values of variables, or counts of draws."""
Step = Callable[[Runner, Values, CellValues, CellValues], None]
"""(session, values, variables, counters): adds the values of some operations to ``values``."""
Arrays = Sequence[Any]
"""Arrays of numpy or JAX."""
_FEW = 64
_ARITHMETIC = ("Add", "AddV2", "Sub", "Mul", "RealDiv")
_MOVES = ("Slice", "ExpandDims", "Squeeze", "Identity")
_RESIZES = ("ResizeBilinear", "ResizeBicubic", "ResizeArea")
_SHORT = 4
"""Operations that move, add or multiply numbers: so few are done by numpy before a program is called."""
_AS_WRITTEN = {"xla_disable_hlo_passes": "cse_barrier_expander"}
"""Keeps XLA's CPU backend from moving work over an optimization barrier: what is behind one is computed once."""


def steps_of(order: Sequence[Operation], results: Sequence[Tensor], constants: Values) -> list[Step]:
    """The steps that evaluate operations in order.

    Args:
      results: the tensors that are wanted.
      constants: takes the values of the constants among the operations and in their bodies.
    """
    steps: list[Step] = []
    segment: list[Operation] = []

    def finish() -> None:
        if len(segment) <= _SHORT and all(_by_numpy(op) and op.definition.numpy_takes_objects for op in segment):
            steps.extend(map(_NumpyStep, segment))
        else:
            own = set(segment)
            others = [op for op in order if op not in own]
            later = {t for op in others for t in op.inputs} | set(results) | captured_by_bodies(others)
            steps.append(Segment(tuple(segment), later, constants))
        segment.clear()

    constants.update((op.outputs[0], op.attrs["value"]) for op in order if op.type == "Const")
    compiled = _compiled([op for op in order if not is_known(op)])
    moved = _scaled_late([op for op in order if op not in compiled and not is_known(op)], order, set(results))
    for op in _in_few_segments([op for op in order if not is_known(op)], compiled):
        if op in compiled:
            segment.append(op)
            continue
        finish()
        if op in moved:
            steps += moved[op]
        elif op.definition.host is not None:
            steps.append(functools.partial(_call_host, op))
        elif op.bodies:
            steps.append(_Loop(op, constants) if op.type == "While" else _Branch(op, constants))
        else:
            steps.append(_NumpyStep(op))
    finish()
    return steps


def _compiled(ops: Sequence[Operation]) -> set[Operation]:
    """The operations that are compiled; the others are computed by numpy, called, or have steps of their own."""
    # One operation outside numpy makes a compiled segment worth its call: then numpy does what cannot be compiled, or
    # would be for each size anew, and the arithmetic with sizes that follows from it.
    numpy_only = all(_by_numpy(op) or op.definition.host is not None for op in ops)
    compiled: set[Operation] = set()
    sizes: set[Operation] = set()
    for op in ops:
        if op.definition.host is not None or (op.bodies and _has_steps(op)):
            continue
        if _by_numpy(op):
            follows = _is_small(op) and any(t.op in sizes for t in op.inputs)
            if follows or _is_unsized(op):
                sizes.add(op)
            if numpy_only or runs_in_numpy(op) or op in sizes:
                continue
        compiled.add(op)
    return compiled


def _scaled_late(
    ops: Sequence[Operation], order: Sequence[Operation], results: Set[Tensor]
) -> dict[Operation, list[Step]]:
    """The steps of operations that are evaluated otherwise than one by one, each at its place.

    What an image is scaled by, number by number, waits until a slice of it is taken, or it is resized, where nothing
    else uses it but for its shape: ``convert_image_dtype`` before a crop and ``resize_images``.

    Args:
      ops: operations that numpy computes. order: all. results: tensors that are wanted as they are.
    """
    consumers: dict[Tensor, list[Operation]] = {}
    for op in order:
        for t in {*op.inputs, *captured_by_bodies([op])}:
            consumers.setdefault(t, []).append(op)
    own, moved = set(ops), dict[Operation, list[Step]]()

    def next_of(op: Operation) -> Operation | None:
        """The one operation that uses the output, and works on each number of it alike; None for others."""
        output = op.outputs[0]
        users = [user for user in consumers.get(output, ()) if user.type != "Shape" or user not in own]
        if output in results or len(users) != 1 or users[0] not in own or users[0].inputs.count(output) != 1:
            return None
        following = users[0]
        alike = following.type in (*_MOVES, *_RESIZES) or _scales(following)
        return following if alike and following.inputs[0] is output else None

    for op in ops:
        path: list[Operation] = [] if op in moved or not _scales(op) else [op]
        while path and (following := next_of(path[-1])) is not None:
            if following.type in _RESIZES and any(o.type in ("Add", "AddV2", "Sub") or o.outputs[0].dtype is not float32
                                                  for o in path if _scales(o)):  # fmt: skip
                break
            path.append(following)
        while path and path[-1].type not in ("Slice", *_RESIZES):
            path.pop()
        if path:
            moved |= _along(path, consumers, own)
    return moved


def _along(
    path: Sequence[Operation], consumers: Mapping[Tensor, Sequence[Operation]], own: Set[Operation]
) -> dict[Operation, list[Step]]:
    """The steps of operations, each of which takes the output of the one before, with those that scale at the end."""
    moved: dict[Operation, list[Step]] = {}
    current, dtype, scales = path[0].inputs[0], path[0].inputs[0].dtype, list[Operation]()
    for op in path:
        if op.type in _RESIZES:  # which gives what the casts give
            scales, dtype = [scale for scale in scales if scale.type != "Cast"], float32
        if op is path[-1]:
            break
        if _scales(op):
            scales.append(op)
            moved[op] = []
        else:
            moved[op] = [_NumpyStep(op, (current, *op.inputs[1:]), op.outputs[0], dtype)]
            current = op.outputs[0]
        for user in consumers[op.outputs[0]]:
            if user.type == "Shape" and user in own:
                moved[user] = [_NumpyStep(user, (current,))]
    last = path[-1]
    # What they give is of no use any more: their outputs stand for what each takes.
    places = [*(op.outputs[0] for op in scales), last.outputs[0]]
    steps: list[Step] = [_NumpyStep(last, (current, *last.inputs[1:]), places[0], dtype)]
    for op, place in zip(scales, places[1:], strict=True):
        steps.append(_NumpyStep(op, (op.outputs[0], *op.inputs[1:]), place))
    return moved | {last: steps}


def _scales(op: Operation) -> bool:
    """Whether an operation makes each number of its first input another one, by constants."""
    if op.type not in ("Cast", *_ARITHMETIC[:-1]) or not _by_numpy(op) or op.checks:
        return False
    return all(t.op.definition.constant and t.dims == () for t in op.inputs[1:])


def pays_in_threads(ops: Sequence[Operation]) -> bool:
    """Whether several elements are worth a thread each: numpy works on images, and nothing has effects or an order."""
    free = all(op.definition.host is None and (op.type == "Assert" or not op.definition.stateful) for op in ops)
    return free and not any(op.bodies and needs_host(op) for op in ops) and any(map(_is_unsized, ops))


def _in_few_segments(ops: Sequence[Operation], compiled: Set[Operation]) -> list[Operation]:
    """Operations in an order of as few segments as their dependencies allow; those with effects stay in order."""
    turns: dict[Operation, int] = {}
    effect: Operation | None = None
    for op in ops:
        before = [d for d in dependencies(op) if d in turns]
        if op.definition.stateful:
            before += [] if effect is None else [effect]
            effect = op
        turns[op] = max((turns[d] + ((d in compiled) != (op in compiled)) for d in before), default=0)
    return sorted(ops, key=lambda op: (turns[op], op in compiled))


def _has_steps(op: Operation) -> bool:
    """Whether a branch or loop is not compiled, for what is in it."""
    return needs_host(op) or of_strings(op) or (op.type == "If" and _is_of_unsized(op))


def _is_of_unsized(op: Operation) -> bool:
    return _is_unsized(op) or any(_is_of_unsized(inner) for body in op.bodies for inner in body.needed)


def _is_unsized(op: Operation) -> bool:
    """Whether an input or output has sizes, other than that of a batch, that are not known."""
    shapes = [t.dims for t in (*op.inputs, *op.outputs) if t.dtype is not resource]
    return any(dims is None or None in dims[1:] for dims in shapes)


def _is_small(op: Operation) -> bool:
    """Whether the inputs and outputs are few numbers, such as sizes and places."""
    shapes = [t.dims for t in (*op.inputs, *op.outputs) if t.dtype is not resource]
    return all(dims is not None and math.prod(-1 if d is None else d for d in dims) in range(_FEW) for dims in shapes)


class _Region:
    """A branch, or the condition or body of a loop, as steps."""

    def __init__(self, block: Block, constants: Values):
        self.results = block.results
        self.steps = steps_of(block.needed, block.results, constants)

    def run(self, session: Runner, values: Values, state: CellValues, counters: CellValues) -> list[Any]:
        """The values of its results. ``values`` are those of all around it, and of its variables; they stay."""
        values = dict(values)
        for step in self.steps:
            step(session, values, state, counters)
        return [values[t] for t in self.results]


class _Branch:
    """An ``If`` operation: the steps of the branch that is taken."""

    def __init__(self, op: Operation, constants: Values):
        self.op = op
        self.regions = [_Region(block, constants) for block in op.bodies]

    def __call__(self, session: Runner, values: Values, state: CellValues, counters: CellValues) -> None:
        taken = self.regions[0 if bool(np.reshape(values[self.op.inputs[0]], ())) else 1]
        values.update(zip(self.op.outputs, taken.run(session, values, state, counters), strict=True))


class _Loop:
    """A ``While`` operation: the steps of its condition and body, iteration after iteration."""

    def __init__(self, op: Operation, constants: Values):
        self.op = op
        self.variables = op.attrs["variables"]
        self.cond, self.body = (_Region(block, constants) for block in op.bodies)

    def __call__(self, session: Runner, values: Values, state: CellValues, counters: CellValues) -> None:
        op, (cond_vars, body_vars) = self.op, self.variables
        limit = int(values[op.inputs[len(body_vars)]]) if op.attrs["bounded"] else None
        current, done = [values[t] for t in op.inputs[: len(body_vars)]], 0
        while limit is None or done < limit:
            around = {**values, **dict(zip(cond_vars, current, strict=True))}
            if not bool(np.reshape(self.cond.run(session, around, state, counters)[0], ())):
                break
            around = {**values, **dict(zip(body_vars, current, strict=True))}
            current = self.body.run(session, around, state, counters)
            done += 1
        values.update(zip(op.outputs, [*current, np.asarray(done, np.int32)], strict=True))


def is_known(op: Operation) -> bool:
    """Whether an operation is a constant, an input or a handle, so that no step is for it."""
    return op.definition.constant or (op.definition.is_placeholder and not op.inputs)


def _by_numpy(op: Operation) -> bool:
    """Whether an operation has a numpy form and touches no state."""
    return op.definition.numpy is not None and not op.reads and not op.writes


def captured_by_bodies(ops: Sequence[Operation]) -> set[Tensor]:
    """The outside tensors that the bodies of loops and branches use."""
    return {t for op in ops for body in op.bodies for t in body.captures()}


def _call_host(op: Operation, session: Runner, values: Values, state: CellValues, counters: CellValues) -> None:
    """Runs an operation of the host. A StopIteration that it raises becomes OutOfRangeError."""
    host = op.definition.host
    assert host is not None
    try:
        results = host(
            session, op, [_host(values[t]) if t.dtype is not resource else t.op.attrs["cell"] for t in op.inputs]
        )
    except StopIteration as error:
        raise OutOfRangeError(None, op, f"StopIteration: {error}") from error
    values.update(zip(op.outputs, results, strict=True))


def _host(value: Any) -> Array:
    return value if isinstance(value, np.ndarray) else np.asarray(value)


class _NumpyStep:
    """One operation, evaluated by its numpy form. Raises InvalidArgumentError where numpy raises.

    Args:
      inputs: the tensors whose values it takes, if they are not its own.
      output: the tensor that gets the value of its output, if that is another one. dtype: its type, likewise.
    """

    __slots__ = ("call", "check", "dtypes", "inputs", "op", "outputs")

    def __init__(
        self, op: Operation, inputs: tuple[Tensor, ...] | None = None, output: Tensor | None = None,
        dtype: DType | None = None,
    ):  # fmt: skip
        attrs = op.arguments
        self.op = op
        self.check = op.definition.check if op.checks else None
        assert op.definition.numpy is not None
        self.call = functools.partial(op.definition.numpy, **attrs)
        self.inputs = inputs or op.inputs
        self.outputs = op.outputs if output is None else [output]
        self.dtypes = [t.dtype.np for t in op.outputs] if dtype is None else [dtype.np]
        if op.type in _ARITHMETIC:
            self.call = functools.partial(_by_lines, self.call)

    def __call__(self, session: Runner, values: Values, state: CellValues, counters: CellValues) -> None:
        given = [values[t] for t in self.inputs]
        error = None if self.check is None else found_on_host(self.check, self.op, given)
        if error is not None:
            raise error
        try:
            results = self.call(*given)
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise InvalidArgumentError(None, self.op, str(error)) from error
        if len(self.outputs) == 1 and not isinstance(results, tuple | list):
            results = (results,)
        for tensor, dtype, result in zip(self.outputs, self.dtypes, results, strict=True):
            values[tensor] = host_array(result, dtype)


def _by_lines(call: Callable[..., Array], x: Array, y: Array) -> Array:
    """Arithmetic with a number for each channel; numpy, slow where so few are repeated, gets a line of them."""
    channels = y.size
    if not 1 < channels < _FEW <= x.size or x.ndim < max(2, y.ndim) or {x.shape[-1], y.shape[-1]} != {channels}:
        return call(x, y)
    return call(x.reshape(-1, channels * x.shape[-2]), np.tile(y.reshape(-1), x.shape[-2])).reshape(x.shape)


class Segment:
    """Operations that are compiled together for the CPU, once per signature of their inputs.

    Where a shape depends on a value they are evaluated one by one, uncompiled.

    Args:
      later: the tensors that later steps or the result use.
      constants: tensors whose values are known.
    """

    def __init__(self, ops: tuple[Operation, ...], later: set[Tensor], constants: Mapping[Tensor, Array]):
        own = set(ops)
        self.ops = ops
        used = dict.fromkeys([*(t for op in ops for t in op.inputs), *captured_by_bodies(ops)])
        outside = [t for t in used if t.op not in own and t.dtype is not resource]
        self.constants = {t: constants[t] for t in outside if t in constants}
        self.handles = {t: t.op.attrs["cell"] for t in used if t.dtype is resource and t.op not in own}
        self.inputs = [t for t in outside if t not in constants]
        self.outputs = [t for op in ops for t in op.outputs if t in later and t.dtype is not resource]
        reads, writes = effects(ops)
        self.counters = writes
        self.record = [no_error(record_size(ops))] if any(op.checks for op in ops) else []
        self.cells = [c for c in reads if c not in set(writes)]
        self.eager = any(_dynamic(op) for op in ops)
        known = {**self.constants, **self.handles}
        cells = [*self.counters, *(ERROR_RECORD for _ in self.record), *self.cells]
        self.function = ArrayFunction(ops, self.inputs, self.outputs, known, cells, "cpu")
        self._programs: OwnedPrograms[Callable[..., Any]] = OwnedPrograms()

    def __call__(self, session: Runner, values: Values, state: CellValues, counters: CellValues) -> None:
        given = [values[t] for t in self.inputs]
        before = [counters.get(c, c.default) for c in self.counters]
        cells = [state[c] for c in self.cells]
        with jax.enable_x64(True), jax.default_device(cpu_device()):
            outputs, after, records = self._evaluate(given, before, cells)
            values.update((t, np.asarray(v)) for t, v in zip(self.outputs, outputs, strict=True))
            counters.update((c, np.asarray(v)) for c, v in zip(self.counters, after, strict=True))
        self.raise_found(records)

    def raise_found(self, records: Sequence[Array]) -> None:
        """Raises the error of the first check that failed, if one did."""
        for record in records:
            if (error := self.function.error(record)) is not None:
                raise error

    def _evaluate(
        self, given: Sequence[Array], counters: Sequence[Array], cells: Sequence[Array]
    ) -> tuple[Arrays, Arrays, Arrays]:
        """(outputs, new counters, the record of failed checks if there is one)."""
        state = [*counters, *self.record, *cells]
        outputs, after = self._call(given, state)
        raised = len(self.counters)
        return outputs, after[:raised], after[raised : raised + len(self.record)]

    def _call(self, given: Sequence[Array], state: Sequence[Array]) -> tuple[Arrays, Arrays]:
        """(outputs, new values of the state); the latter has the counters and the record first."""
        if not self.eager:
            key = tuple([(v.shape, v.dtype) for v in given])
            jitted = self._programs.get(key) or self._programs.add(
                key, compilers.jit(self.function, "cpu", _AS_WRITTEN), SINGLE_BYTES
            )
            try:
                return jitted(given, state)
            except NeedsStatic:
                self.eager = True
        return self.function(given, state)


def _dynamic(op: Operation) -> bool:
    """Whether the shape of a result depends on values, in the operation or its bodies."""
    return op.definition.dynamic or any(_dynamic(inner) for body in op.bodies for inner in body.needed)


@functools.cache
def cpu_device() -> jax.Device:
    """The device that functions of datasets run on: the CPU, whatever the accelerator is."""
    return jax.local_devices(backend="cpu")[0]
