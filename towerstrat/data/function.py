"""Functions of elements: traced once into a graph of their own, evaluated on the host.

Operations that have a numpy form are evaluated by numpy, one by one; the others are compiled for the CPU, a run of them
at a time; operations of the host (Python functions, strings) are called. The accelerator is not used.
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
from towerstrat.graph.ir.elements import Operation, Tensor, execution_order
from towerstrat.graph.ir.state import Cell, Flag, StateStore
from towerstrat.graph.ir.types import resource, string
from towerstrat.graph.lowering.lowering import NeedsStatic
from towerstrat.graph.runtime.compiled import SINGLE_BYTES, ArrayFunction, Programs
from towerstrat.graph.runtime.program import effects

Values = dict[Tensor, Any]


def call_form(value: Any) -> tuple[Any, ...]:
    """The arguments a function of one element gets: a plain tuple is spread out."""
    return value if type(value) is tuple else (value,)


class Function:
    """A function of the components of one element (and of what it captured).

    Args:
      function: the user's; takes the structure of an element.
      arguments: the structures of its arguments.
      name: what the function is for, in names and messages.
      outer: the graph around it.
      datasets: the class of results that are datasets rather than tensors, where the caller wants one.

    Attributes:
      outputs: the tensors it returns, flattened.
      value, structure: they in the structure that it returned, and its description.
      dataset: the dataset it returned, or None.
      dataset_inputs: the tensors which that dataset needs, in the order of ``outputs``.
      captures: the outside tensors it needs.
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
                given.append(structure.pack(tensors))
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

    def _placeholder(self, dtype: Any, dims: Any) -> Tensor:
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
                if cell not in counters and not isinstance(cell, Flag):
                    raise UnsupportedError(
                        f"{self.name}: {op.name} (created at {op.line}) writes variable {cell.name}. A function of a "
                        "dataset may read variables, as they were when its iterator was initialized, not write them."
                    )
            found.update((c, None) for c in op.reads if c not in counters and not isinstance(c, Flag))
        return list(found)

    def _outside(self, opening: Opening) -> tuple[Values, dict[Cell, Any]]:
        """Captured tensors and variables with their values of now."""
        captured: Values = {self.graph.captured[t]: opening.values[t] for t in self.captures}
        return captured, self._state(opening)

    def _state(self, opening: Opening) -> dict[Cell, Any]:
        state: dict[Cell, Any] = {}
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

    def _counters(self, opening: Opening) -> dict[Cell, Any]:
        """The random counters at the beginning. Those of operations without seeds differ by initialization."""
        start = np.uint32(zlib.crc32(repr(opening.entropy).encode()))
        operations = _all_operations(self.graph.get_operations())
        return {op.counter: start for op in operations if op.counter and op.attrs.get("seeds") == (None, None)}

    def bind_rows(self, opening: Opening, forms: Sequence[Array]) -> Callable[[Sequence[Any]], list[Array]] | None:
        """The function of many elements at once, stacked; None where it cannot be had.

        It can be had of functions of numbers without effects, random numbers and host operations, whose shapes do not
        depend on values.

        Args:
          forms: per component an array of one row or more, of the type and shape of those to come.
        """
        if self.cells and opening.live:
            return None
        captured, state = self._outside(opening)
        call = self.program.over_rows(forms, captured, state)
        if call is None:
            return None
        return lambda columns: call(columns, captured, state)

    def bind(self, opening: Opening) -> Callable[[Sequence[Any]], list[Array]]:
        """The function for one initialization: captured tensors and (unless live) variables as they are now."""
        captured, state = self._outside(opening)
        counters = opening.kept(self, lambda: self._counters(opening))
        program, inputs, session = self.program, self.inputs, opening.session
        live = bool(self.cells) and opening.live

        def call(element: Sequence[Any]) -> list[Array]:
            values: Values = dict(zip(inputs, element, strict=True))
            if captured:
                values.update(captured)
            return program.run(session, values, self._state(opening) if live else state, counters)

        return call


def _present(store: StateStore, cell: Cell) -> Array | None:
    """A copy of a variable's value. It may be read while another thread's program takes the old value's memory."""
    while True:
        value = store.get(cell)
        try:
            return None if value is None else np.array(value)
        except RuntimeError:
            if not value.is_deleted():
                raise


def _all_operations(ops: Iterable[Operation]) -> Iterable[Operation]:
    for op in ops:
        yield op
        for body in op.bodies:
            yield from _all_operations(body.ops)


class _Program:
    """The operations of a function as steps over a dictionary of values."""

    def __init__(self, function: Function):
        self.function = function
        self.constants: Values = {}
        self._steps: list[Any] | None = None
        self._over_rows: Programs[Callable[..., list[Array]]] = Programs()
        self._one_by_one: set[Hashable] = set()

    def run(self, session: Any, values: Values, state: dict[Cell, Any], counters: dict[Cell, Any]) -> list[Array]:
        """The outputs for these inputs. Advances the random counters."""
        if self._steps is None:
            self._steps = self._build()
        values.update(self.constants)
        for step in self._steps:
            step(session, values, state, counters)
        return [values[t] for t in self.function.outputs]

    def over_rows(self, forms: Sequence[Array], captured: Values, state: dict[Cell, Any]) -> Any:
        """(columns, captured, state) -> columns of the outputs, compiled; None where that cannot be done."""
        key = tuple((f.shape[1:], f.dtype) for f in (*forms, *(v[None] for v in captured.values())))
        found = self._over_rows.get(key)
        if found is None and key not in self._one_by_one:
            found = self._try_rows(forms, captured, state)
            if found is None:
                self._one_by_one.add(key)
            else:
                self._over_rows.add(key, found, SINGLE_BYTES)
        return found

    def _try_rows(self, forms: Sequence[Array], captured: Values, state: dict[Cell, Any]) -> Any:
        order = self._order()
        if any(not _pure(op) for op in order) or any(a.dtype.hasobject for a in (*forms, *captured.values())):
            return None
        constants = {op.outputs[0]: op.attrs["value"] for op in order if op.type == "Const"}
        outputs, inputs = self.function.outputs, self.function.inputs
        segment = _Segment(tuple(op for op in order if not _is_known(op)), set(outputs), constants)
        rows = [t for t in segment.inputs if t in inputs]
        fixed = [t for t in segment.inputs if t not in inputs]

        def of_row(given: Sequence[Any], others: Sequence[Any], cells: Sequence[Any]) -> Any:
            row = dict(zip((*rows, *fixed), (*given, *others), strict=True))
            return segment.function([row[t] for t in segment.inputs], cells)[0]

        compiled = jax.jit(jax.vmap(of_row, in_axes=(0, None, None)))

        def call(columns: Sequence[Any], captured: Values, state: dict[Cell, Any]) -> list[Array]:
            values: Values = dict(zip(inputs, columns, strict=True))
            if segment.outputs:
                given = [values[t] for t in rows], [captured[t] for t in fixed], [state[c] for c in segment.cells]
                with jax.enable_x64(True), jax.default_device(cpu_device()):
                    values.update(zip(segment.outputs, map(np.asarray, compiled(*given)), strict=True))
            alike = {**captured, **constants}
            size = len(columns[0])
            return [values[t] if t in values else np.broadcast_to(alike[t], (size, *alike[t].shape)) for t in outputs]

        form_of = dict(zip(inputs, forms, strict=True))
        try:
            with jax.enable_x64(True):
                jax.eval_shape(
                    jax.vmap(of_row, in_axes=(0, None, None)),
                    [form_of[t] for t in rows],
                    [captured[t] for t in fixed],
                    [state[c] for c in segment.cells],
                )
        except Exception:  # Whatever it is, the elements will tell it one by one.
            return None
        return call

    def _order(self) -> list[Operation]:
        function = self.function
        fed = {*function.inputs, *function.graph.captured.values()}
        effective = [op for op in function.graph.root.ops if op.definition.stateful or op.attrs.get("flag") is not None]
        targets = [t.op for t in function.outputs if t not in fed]
        return execution_order([*targets, *effective], function.graph.root, fed)

    def _build(self) -> list[Any]:
        function = self.function
        order = self._order()
        steps: list[Any] = []
        segment: list[Operation] = []

        def finish() -> None:
            if segment:
                later = {t for op in order for t in op.inputs} | set(function.outputs) | _captured_by_bodies(order)
                steps.append(_Segment(tuple(segment), later, self.constants))
                segment.clear()

        numpy_only = all(_by_numpy(op) or op.definition.host is not None or _is_known(op) for op in order)
        for op in order:
            if op.type == "Const":
                self.constants[op.outputs[0]] = op.attrs["value"]
            elif _is_known(op):
                continue
            elif op.definition.host is not None:
                finish()
                steps.append(functools.partial(_call_host, op))
            elif _by_numpy(op) and (numpy_only or _of_strings(op)):
                finish()
                steps.append(_NumpyStep(op))
            else:
                segment.append(op)
        finish()
        return steps


def _is_known(op: Operation) -> bool:
    """Whether the values of an operation are there before the function is called."""
    return op.definition.constant or (op.definition.given and not op.inputs)


def _by_numpy(op: Operation) -> bool:
    return op.definition.numpy is not None and not op.reads and not op.writes


def _pure(op: Operation) -> bool:
    definition = op.definition
    return (
        definition.host is None
        and not (definition.stateful or definition.random or definition.writes or definition.dynamic)
        and "flag" not in op.attrs
        and not _of_strings(op)
        and all(_pure(inner) for body in op.bodies for inner in body.needed)
    )


def _of_strings(op: Operation) -> bool:
    return any(t.dtype is string for t in (*op.inputs, *op.outputs))


def _captured_by_bodies(ops: Sequence[Operation]) -> set[Tensor]:
    return {t for op in ops for body in op.bodies for t in body.captures()}


def _call_host(op: Operation, session: Any, values: Values, state: Any, counters: Any) -> None:
    try:
        host: Any = op.definition.host
        results = host(
            session, op, [_host(values[t]) if t.dtype is not resource else t.op.attrs["cell"] for t in op.inputs]
        )
    except StopIteration as error:
        raise OutOfRangeError(None, op, f"StopIteration: {error}") from error
    values.update(zip(op.outputs, results, strict=True))


def _host(value: Any) -> Array:
    return value if isinstance(value, np.ndarray) else np.asarray(value)


class _NumpyStep:
    """One operation, by its numpy form."""

    __slots__ = ("call", "dtypes", "inputs", "op", "outputs")

    def __init__(self, op: Operation):
        attrs = op.arguments
        self.op = op
        function: Any = op.definition.numpy
        self.call = functools.partial(function, **attrs)
        self.inputs = op.inputs
        self.outputs = op.outputs
        self.dtypes = [t.dtype.np for t in op.outputs]

    def __call__(self, session: Any, values: Values, state: Any, counters: Any) -> None:
        try:
            results = self.call(*[values[t] for t in self.inputs])
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise InvalidArgumentError(None, self.op, str(error)) from error
        if len(self.outputs) == 1 and not isinstance(results, tuple | list):
            results = (results,)
        for tensor, dtype, result in zip(self.outputs, self.dtypes, results, strict=True):
            if not isinstance(result, np.ndarray) or result.dtype != dtype:
                result = _as_array(result, dtype)
            values[tensor] = result


def _as_array(result: Any, dtype: Any) -> Array:
    if dtype.hasobject and not isinstance(result, np.ndarray):
        array = np.empty((), object)
        array[()] = result
        return array
    return np.asarray(result, dtype)


class _Segment:
    """Operations that are compiled together for the CPU.

    Where one of them needs a value to know a shape, or makes a shape from values, they are evaluated one by one.
    """

    def __init__(self, ops: tuple[Operation, ...], later: set[Tensor], constants: Mapping[Tensor, Any]):
        own = set(ops)
        self.ops = ops
        used = dict.fromkeys([*(t for op in ops for t in op.inputs), *_captured_by_bodies(ops)])
        outside = [t for t in used if t.op not in own and t.dtype is not resource]
        self.constants = {t: constants[t] for t in outside if t in constants}
        self.handles = {t: t.op.attrs["cell"] for t in used if t.dtype is resource and t.op not in own}
        self.inputs = [t for t in outside if t not in constants]
        self.outputs = [t for op in ops for t in op.outputs if t in later and t.dtype is not resource]
        reads, writes = effects(ops)
        self.flags = [c for c in writes if isinstance(c, Flag)]
        self.counters = [c for c in writes if not isinstance(c, Flag)]
        self.cells = [c for c in reads if not isinstance(c, Flag) and c not in set(self.counters)]
        self.eager = any(_dynamic(op) for op in ops)
        known = {**self.constants, **self.handles}
        cells = [*self.counters, *self.flags, *self.cells]
        self.function = ArrayFunction(ops, self.inputs, self.outputs, known, cells, "cpu")
        self._programs: Programs[Callable[..., Any]] = Programs()

    def __call__(self, session: Any, values: Values, state: dict[Cell, Any], counters: dict[Cell, Any]) -> None:
        given = [values[t] for t in self.inputs]
        before = [counters.get(c, c.default) for c in self.counters]
        cells = [state[c] for c in self.cells]
        with jax.enable_x64(True), jax.default_device(cpu_device()):
            outputs, after, flags = self._evaluate(given, before, cells)
            values.update((t, np.asarray(v)) for t, v in zip(self.outputs, outputs, strict=True))
            counters.update((c, np.asarray(v)) for c, v in zip(self.counters, after, strict=True))
        for flag, raised in zip(self.flags, flags, strict=True):
            if raised:
                raise InvalidArgumentError(None, flag.op, flag.message)

    def _evaluate(self, given: Sequence[Any], counters: Sequence[Any], cells: Sequence[Any]) -> Any:
        """The outputs, and what the counters and flags are afterwards."""
        state = [*counters, *(np.zeros((), np.bool_) for _ in self.flags), *cells]
        outputs, after = self._call(given, state)
        raised = len(self.counters)
        return outputs, after[:raised], after[raised : raised + len(self.flags)]

    def _call(self, given: Sequence[Any], state: Sequence[Any]) -> Any:
        if not self.eager:
            key = tuple([(v.shape, v.dtype) for v in given])
            jitted = self._programs.get(key) or self._programs.add(key, jax.jit(self.function), SINGLE_BYTES)
            try:
                return jitted(given, state)
            except NeedsStatic:
                self.eager = True
        return self.function(given, state)


def _dynamic(op: Operation) -> bool:
    return op.definition.dynamic or any(_dynamic(inner) for body in op.bodies for inner in body.needed)


@functools.cache
def cpu_device() -> Any:
    """The device that functions of datasets run on."""
    return jax.local_devices(backend="cpu")[0]
