"""Functions of datasets (``map``, ``filter``, ...): traced once into a graph of their own, evaluated on the CPU.

A function whose operations all have numpy forms is evaluated by numpy, one operation at a time. Else operations are
compiled for the CPU in segments between those of the host (Python functions, strings), which are called.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from towerstrat.data.pipeline import Array, Opening, ordinal
from towerstrat.data.structure import Structure, flatten, map_leaves
from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError, UnsupportedError
from towerstrat.graph.autograph.api import converted
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Operation, Tensor, execution_order, numpy_alone, of_strings
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import FAULT, Cell, StateStore
from towerstrat.graph.ir.types import DType, host_array, resource
from towerstrat.graph.lowering.faults import found_on_host, no_fault, record_size
from towerstrat.graph.lowering.refusals import NeedsStatic
from towerstrat.graph.runtime.compiled import SINGLE_BYTES, ArrayFunction, Programs
from towerstrat.graph.runtime.program import effects
from towerstrat.graph.runtime.runs import Runner

Values = dict[Tensor, Any]
CellValues = dict[Cell, Any]
"""Values of variables, or counts of draws."""
_Step = Callable[[Runner, Values, CellValues, CellValues], None]
"""(session, values, variables, counters): adds the values of some operations to ``values``."""
_RowsFunction = Callable[[Sequence[Array], Values, CellValues, CellValues], list[Array]]
"""(columns, captured, variables, counters of each row) -> columns of the outputs."""
_Arrays = Sequence[Any]
"""Arrays of numpy or JAX."""


def call_form(value: Any) -> tuple[Any, ...]:
    """The arguments for a function of one element: a plain tuple is spread out."""
    return value if type(value) is tuple else (value,)


class Function:
    """A traced function of the components of one element.

    Args:
      function: the user's function of a structure of tensors.
      arguments: the structures of its arguments.
      name: of the transformation, for names and messages.
      outer: the graph in which the dataset is made.
      datasets: the class of datasets, where the function may return one (``flat_map``).

    Attributes:
      inputs: the placeholders of the components.
      outputs: the tensors it returns, flattened.
      value, structure: the result with tensors in it, and its structure.
      dataset: the dataset it returned, or None.
      dataset_inputs: the tensors that the dataset needs, in the order of ``outputs``.
      captures: the outside tensors that it uses.
      cells: the variables that it reads.

    Raises:
      TypeError: the result is no structure of tensors. UnsupportedError: the function writes a variable.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Sequence[Structure], name: str, outer: Graph,
        datasets: Any = None,
    ):  # fmt: skip
        self.name = name
        self.graph = FunctionGraph(outer, name)
        self.graph.scope_name = f"{name}_{ordinal(outer)}"
        self.inputs: list[Tensor] = []
        with self.graph.as_default():
            given = []
            for structure in arguments:
                tensors = [self._placeholder(*c) for c in zip(structure.dtypes, structure.dims, strict=True)]
                self.inputs += tensors
                given.append(structure.values(tensors))
            value = converted(function)(*(call_form(given[0]) if len(given) == 1 else given))
            self.dataset: Any = None
            if datasets is not None and isinstance(value, datasets):
                self.dataset = value
                self.outputs = [self.graph.inside(t) for t in value.node.inputs()]
                self.dataset_inputs = value.node.inputs()
            else:
                value = map_leaves(self._converted, tuple(value) if isinstance(value, list) else value)
                self.value = value
                self.outputs = flatten(value)
                self.structure = Structure.of_tensors(value)
        self.captures = list(self.graph.captured)
        self.cells = self._cells()
        self.program = _Program(self)

    def _placeholder(self, dtype: DType, dims: Dims) -> Tensor:
        with self.graph.outside():
            return self.graph.add("Placeholder", (), {"dtype": dtype, "shape": dims}, "arg").outputs[0]

    def _converted(self, value: Any) -> Tensor:
        if value is None or hasattr(value, "make_one_shot_iterator"):
            raise TypeError(
                f"{self.name}: expected the function to return tensors, or a tuple or dict of them; got {value!r}."
            )
        try:
            return self.graph.inside(convert_to_tensor(value))
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self.name}: a returned value cannot be made a tensor: {error}") from None

    def _cells(self) -> list[Cell]:
        """The variables it reads. Raises UnsupportedError where it writes one."""
        counters = {op.counter for op in _all_operations(self.graph.get_operations())}
        found: dict[Cell, None] = {}
        for op in self.graph.get_operations():
            for cell in op.writes:
                if cell not in counters:
                    raise UnsupportedError(
                        f"{self.name}: {op.name} (created at {op.line}) writes variable {cell.name}. A function of a "
                        "dataset may read variables, as they were when its iterator was initialized, not write them."
                    )
            found.update((c, None) for c in op.reads if c not in counters)
        return list(found)

    def _outside(self, opening: Opening) -> tuple[Values, CellValues]:
        """The current values of captured tensors, and of variables."""
        captured: Values = {self.graph.captured[t]: opening.values[t] for t in self.captures}
        return captured, self._state(opening)

    def _state(self, opening: Opening) -> CellValues:
        """The current values of the variables. Raises FailedPreconditionError where one has none."""
        state: CellValues = {}
        for cell in self.cells:
            value = _present(opening.session.state, cell)
            if value is None:
                op = next(o for o in self.graph.get_operations() if cell in o.reads)
                raise FailedPreconditionError(
                    None, op, f"Attempting to use uninitialized value {cell.name} in a function of a dataset; run its "
                    "initializer before the iterator's."
                )  # fmt: skip
            state[cell] = value[0] if cell.per_position else value
        return state

    def _counters(self, opening: Opening) -> CellValues:
        """Initial counters of the random operations without a seed; they differ between initializations."""
        start = np.uint32(zlib.crc32(repr(opening.entropy).encode()))
        operations = _all_operations(self.graph.get_operations())
        return {op.counter: start for op in operations if op.counter and op.attrs.get("seeds") == (None, None)}

    @property
    def draws(self) -> list[Cell]:
        """The counters of the random operations."""
        return [op.counter for op in _all_operations(self.graph.get_operations()) if op.counter is not None]

    def _counts(self, opening: Opening) -> CellValues:
        """The counters of the random operations, as they are in this pass."""
        return opening.cached(self, lambda: self._counters(opening))

    def clock(self, opening: Opening) -> Callable[[int], int]:
        """Counts draws: a number of elements -> how many there were before, of this function and in this pass."""
        start, counts, draws = self._counters(opening), self._counts(opening), self.draws

        def clock(count: int) -> int:
            if not draws:
                return 0
            before = [counts.get(c, c.default) for c in draws]
            counts.update((c, np.uint32(int(n) + count & 0xFFFFFFFF)) for c, n in zip(draws, before, strict=True))
            return int(before[0]) - int(start.get(draws[0], draws[0].default)) & 0xFFFFFFFF

        return clock

    def bind_row(self, opening: Opening) -> Callable[[Sequence[Any], int], list[Array]]:
        """The function of one element and its place, the number of draws before it in this pass."""
        captured, state = self._outside(opening)
        start, draws = self._counters(opening), self.draws

        def call(element: Sequence[Any], place: int) -> list[Array]:
            values: Values = {**dict(zip(self.inputs, element, strict=True)), **captured}
            counts = {c: _after(start.get(c, c.default), place) for c in draws}
            return self.program.run(opening.session, values, state, counts)

        return call

    def bind_rows(
        self, opening: Opening, forms: Sequence[Array]
    ) -> Callable[[Sequence[Any], Array], list[Array]] | None:
        """The function of many elements at once: columns ``[n, ...]`` of components, and places -> columns of outputs.

        The random operations of an element with place p draw what they draw in call number p, one by one.

        None where the function does not vectorize (effects, host operations, strings, random operations in loops and
        branches, shapes that depend on values), or reads variables anew for each element.

        Args:
          forms: per component an array ``[n, ...]`` of the type and shape of the columns to come.
        """
        if self.cells and opening.live:
            return None
        captured, state = self._outside(opening)
        call = self.program.over_rows(forms, captured, state)
        if call is None:
            return None
        start, draws = self._counters(opening), self.draws

        def many(columns: Sequence[Any], places: Array) -> list[Array]:
            counts = {c: _after(start.get(c, c.default), places) for c in draws}
            return call(columns, captured, state, counts)

        return many

    def bind(self, opening: Opening) -> Callable[[Sequence[Any]], list[Array]]:
        """The function of one element, with the current values of captured tensors and (unless live) of variables."""
        captured, state = self._outside(opening)
        counters = self._counts(opening)
        program, inputs, session = self.program, self.inputs, opening.session
        live = bool(self.cells) and opening.live

        def call(element: Sequence[Any]) -> list[Array]:
            values: Values = dict(zip(inputs, element, strict=True))
            if captured:
                values.update(captured)
            return program.run(session, values, self._state(opening) if live else state, counters)

        return call


def _after(start: Any, count: Any) -> Array:
    """A counter, or several, some draws later: modulo 2**32."""
    return np.asarray((int(start) + np.asarray(count)) & 0xFFFFFFFF, np.uint32)


def _present(store: StateStore, cell: Cell) -> Array | None:
    """A copy of a variable's value, or None.

    Another thread's program may donate the array while it is read; then the new value is read.
    """
    while True:
        value = store.get(cell)
        try:
            return None if value is None else np.array(value)
        except RuntimeError:
            if not value.is_deleted():
                raise


def _all_operations(ops: Iterable[Operation]) -> Iterable[Operation]:
    """Operations and those of their bodies."""
    for op in ops:
        yield op
        for body in op.bodies:
            yield from _all_operations(body.ops)


class _Program:
    """A function as steps that read and add values: numpy operations, host calls, compiled segments.

    Attributes:
      constants: the values of constant operations, known once the steps are built.
    """

    def __init__(self, function: Function):
        self.function = function
        self.constants: Values = {}
        self._steps: list[_Step] | None = None
        self._over_rows: Programs[_RowsFunction] = Programs()
        self._one_by_one: set[Hashable] = set()

    def run(self, session: Runner, values: Values, state: CellValues, counters: CellValues) -> list[Array]:
        """Runs the steps on the inputs in ``values``; returns the outputs and advances the random counters."""
        if self._steps is None:
            self._steps = self._build()
        values.update(self.constants)
        for step in self._steps:
            step(session, values, state, counters)
        return [values[t] for t in self.function.outputs]

    def over_rows(self, forms: Sequence[Array], captured: Values, state: CellValues) -> _RowsFunction | None:
        """The vectorized function for these types and shapes, compiled; None where it does not vectorize."""
        key = tuple((f.shape[1:], f.dtype) for f in (*forms, *(v[None] for v in captured.values())))
        found = self._over_rows.get(key)
        if found is None and key not in self._one_by_one:
            found = self._try_rows(forms, captured, state)
            if found is None:
                self._one_by_one.add(key)
            else:
                self._over_rows.add(key, found, SINGLE_BYTES)
        return found

    def _try_rows(self, forms: Sequence[Array], captured: Values, state: CellValues) -> _RowsFunction | None:
        """The function under ``jax.vmap`` over its inputs, checked by ``jax.eval_shape``; None where that raises."""
        order = self._order()
        if any(not _pure(op, op.definition.random) for op in order) or any(
            a.dtype.hasobject for a in (*forms, *captured.values())
        ):
            return None
        constants = {op.outputs[0]: op.attrs["value"] for op in order if op.type == "Const"}
        outputs, inputs = self.function.outputs, self.function.inputs
        segment = _Segment(tuple(op for op in order if not _is_known(op)), set(outputs), constants)
        rows = [t for t in segment.inputs if t in inputs]
        fixed = [t for t in segment.inputs if t not in inputs]

        def of_row(given: _Arrays, counts: _Arrays, others: _Arrays, cells: _Arrays) -> _Arrays:
            row = dict(zip((*rows, *fixed), (*given, *others), strict=True))
            outputs, after = segment.function([row[t] for t in segment.inputs], [*counts, *segment.record, *cells])
            first = len(segment.counters)
            return outputs, after[first : first + len(segment.record)]

        over_rows = jax.vmap(of_row, in_axes=(0, 0, None, None))
        compiled = jax.jit(over_rows)

        def call(columns: Sequence[Array], captured: Values, state: CellValues, counts: CellValues) -> list[Array]:
            values: Values = dict(zip(inputs, columns, strict=True))
            if segment.outputs:
                given = (
                    [values[t] for t in rows],
                    [counts[c] for c in segment.counters],
                    [captured[t] for t in fixed],
                    [state[c] for c in segment.cells],
                )
                with jax.enable_x64(True), jax.default_device(cpu_device()):
                    made, records = compiled(*given)
                    values.update(zip(segment.outputs, map(np.asarray, made), strict=True))
                segment.raise_found(records)
            alike = {**captured, **constants}
            size = len(columns[0])
            return [values[t] if t in values else np.broadcast_to(alike[t], (size, *alike[t].shape)) for t in outputs]

        form_of = dict(zip(inputs, forms, strict=True))
        try:
            with jax.enable_x64(True):
                jax.eval_shape(
                    over_rows,
                    [form_of[t] for t in rows],
                    [np.zeros(1, np.uint32) for _ in segment.counters],
                    [captured[t] for t in fixed],
                    [state[c] for c in segment.cells],
                )
        except Exception:  # whatever it is: evaluation one by one raises it again for the element that it is about
            return None
        return call

    def _order(self) -> list[Operation]:
        """The operations that the outputs need and those with effects, in order."""
        function = self.function
        fed = {*function.inputs, *function.graph.captured.values()}
        effective = [op for op in function.graph.root.ops if op.definition.stateful]
        targets = [t.op for t in function.outputs if t not in fed]
        return execution_order([*targets, *effective], function.graph.root, fed)

    def _build(self) -> list[_Step]:
        """The steps; constants are collected on the way."""
        function = self.function
        order = self._order()
        steps: list[_Step] = []
        segment: list[Operation] = []

        def finish() -> None:
            if segment:
                later = {t for op in order for t in op.inputs} | set(function.outputs) | _captured_by_bodies(order)
                steps.append(_Segment(tuple(segment), later, self.constants))
                segment.clear()

        # One operation outside numpy makes a compiled segment worth its call: then numpy does strings only.
        numpy_only = all(_by_numpy(op) or op.definition.host is not None or _is_known(op) for op in order)
        for op in order:
            if op.type == "Const":
                self.constants[op.outputs[0]] = op.attrs["value"]
            elif _is_known(op):
                continue
            elif op.definition.host is not None:
                finish()
                steps.append(functools.partial(_call_host, op))
            elif _by_numpy(op) and (numpy_only or numpy_alone(op)):
                finish()
                steps.append(_NumpyStep(op))
            else:
                segment.append(op)
        finish()
        return steps


def _is_known(op: Operation) -> bool:
    """Whether an operation is a constant, an input or a handle, so that no step is for it."""
    return op.definition.constant or (op.definition.given and not op.inputs)


def _by_numpy(op: Operation) -> bool:
    """Whether an operation has a numpy form and touches no state."""
    return op.definition.numpy is not None and not op.reads and not op.writes


def _pure(op: Operation, random: bool = False) -> bool:
    """Whether an operation is a function of numeric arrays of known shapes, so that ``jax.vmap`` applies.

    Args:
      random: whether it may draw; those in its bodies may not.
    """
    definition = op.definition
    return (
        definition.host is None
        and definition.random <= random
        and not (definition.stateful or definition.writes or definition.dynamic)
        and not of_strings(op)
        and not numpy_alone(op)
        and all(_pure(inner) for body in op.bodies for inner in body.needed)
    )


def _captured_by_bodies(ops: Sequence[Operation]) -> set[Tensor]:
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
    """One operation, evaluated by its numpy form. Raises InvalidArgumentError where numpy raises."""

    __slots__ = ("call", "check", "dtypes", "inputs", "op", "outputs")

    def __init__(self, op: Operation):
        attrs = op.arguments
        self.op = op
        self.check = op.definition.check if op.checks else None
        assert op.definition.numpy is not None
        self.call = functools.partial(op.definition.numpy, **attrs)
        self.inputs = op.inputs
        self.outputs = op.outputs
        self.dtypes = [t.dtype.np for t in op.outputs]

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


class _Segment:
    """Operations that are compiled together for the CPU, once per signature of their inputs.

    Where a shape depends on a value they are evaluated one by one, uncompiled.

    Args:
      later: the tensors that later steps or the result use.
      constants: tensors whose values are known.
    """

    def __init__(self, ops: tuple[Operation, ...], later: set[Tensor], constants: Mapping[Tensor, Array]):
        own = set(ops)
        self.ops = ops
        used = dict.fromkeys([*(t for op in ops for t in op.inputs), *_captured_by_bodies(ops)])
        outside = [t for t in used if t.op not in own and t.dtype is not resource]
        self.constants = {t: constants[t] for t in outside if t in constants}
        self.handles = {t: t.op.attrs["cell"] for t in used if t.dtype is resource and t.op not in own}
        self.inputs = [t for t in outside if t not in constants]
        self.outputs = [t for op in ops for t in op.outputs if t in later and t.dtype is not resource]
        reads, writes = effects(ops)
        self.counters = writes
        self.record = [no_fault(record_size(ops))] if any(op.checks for op in ops) else []
        self.cells = [c for c in reads if c not in set(writes)]
        self.eager = any(_dynamic(op) for op in ops)
        known = {**self.constants, **self.handles}
        cells = [*self.counters, *(FAULT for _ in self.record), *self.cells]
        self.function = ArrayFunction(ops, self.inputs, self.outputs, known, cells, "cpu")
        self._programs: Programs[Callable[..., Any]] = Programs()

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
    ) -> tuple[_Arrays, _Arrays, _Arrays]:
        """(outputs, new counters, the record of failed checks if there is one)."""
        state = [*counters, *self.record, *cells]
        outputs, after = self._call(given, state)
        raised = len(self.counters)
        return outputs, after[:raised], after[raised : raised + len(self.record)]

    def _call(self, given: Sequence[Array], state: Sequence[Array]) -> tuple[_Arrays, _Arrays]:
        """(outputs, new values of the state); the latter has the counters and the record first."""
        if not self.eager:
            key = tuple([(v.shape, v.dtype) for v in given])
            jitted = self._programs.get(key) or self._programs.add(key, jax.jit(self.function), SINGLE_BYTES)
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
