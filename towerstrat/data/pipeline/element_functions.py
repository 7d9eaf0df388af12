"""Functions of datasets (``map``, ``filter``, ...): traced once into a graph of their own, evaluated on the CPU.

It is evaluated step by step (``steps.py``), or for many elements at once where ``jax.vmap`` applies.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import jax
import numpy as np

from towerstrat.data.elements.structure import Structure, flatten, in_parts, map_leaves
from towerstrat.data.elements.types import Array
from towerstrat.data.pipeline.function_steps import (
    Arrays,
    CellValues,
    Segment,
    Step,
    Values,
    captured_by_bodies,
    cpu_device,
    is_known,
    pays_in_threads,
    steps_of,
)
from towerstrat.data.pipeline.hoisted_parsing import HoistedParsing, leading
from towerstrat.data.pipeline.iterator_state import Resumable
from towerstrat.data.pipeline.nodes import IteratorContext, Part, next_seed_ordinal
from towerstrat.errors import FailedPreconditionError, UnsupportedError
from towerstrat.graph.autograph.api import converted
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor, execution_order, of_strings, runs_in_numpy
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.graph.runtime.programs.program_cache import SINGLE_BYTES, OwnedPrograms
from towerstrat.platform import compilers
from towerstrat.platform.memory import keep_freed_memory
from towerstrat.platform.plain import State

_RowsFunction = Callable[[Sequence[Array], Values, CellValues, CellValues], list[Array]]
"""(columns, captured, variables, counters of each row) -> columns of the outputs."""


def call_form(value: Any) -> tuple[Any, ...]:
    """The arguments for a function of one element: a plain tuple is spread out."""
    return value if type(value) is tuple else (value,)


class Counts(dict[StateVariable, Any], Resumable):
    """The counters of a function's random operations in one pass."""

    def state(self) -> State:
        return {cell.name: int(count) for cell, count in self.items()}

    def resume(self, state: State) -> None:
        self.update((cell, np.uint32(state[cell.name])) for cell in list(self))


class Function(Part):
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
      whole: the function of which this one is the rest, if it is one; see ``_Program.divided``.

    Raises:
      TypeError: the result is no structure of tensors. UnsupportedError: the function writes a variable.
    """

    kind = "Function"

    whole: Function | None = None

    def __init__(
        self, function: Callable[..., Any], arguments: Sequence[Structure], name: str, outer: Graph,
        datasets: Any = None,
    ):  # fmt: skip
        self.name = name
        self.graph = FunctionGraph(outer, name)
        self.graph.scope_name = f"{name}_{next_seed_ordinal(outer)}"
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
                value = map_leaves(self._converted, in_parts(tuple(value) if isinstance(value, list) else value))
                self.outputs = flatten(value)
                self.structure = Structure.of_tensors(value)
                self.value = self.structure.values(self.outputs)
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

    def _cells(self) -> list[StateVariable]:
        """The variables it reads. Raises UnsupportedError where it writes one."""
        counters = {op.counter for op in _all_operations(self.graph.get_operations())}
        found: dict[StateVariable, None] = {}
        for op in self.graph.get_operations():
            for cell in op.writes:
                if cell not in counters:
                    raise UnsupportedError(
                        f"{self.name}: {op.name} (created at {op.line}) writes variable {cell.name}. A function of a "
                        "dataset may read variables, as they were when its iterator was initialized, not write them."
                    )
            found.update((c, None) for c in op.reads if c not in counters)
        return list(found)

    def _outside(self, opening: IteratorContext) -> tuple[Values, CellValues]:
        """The current values of captured tensors, and of variables."""
        captured: Values = {self.graph.captured[t]: opening.values[t] for t in self.captures}
        return captured, self._state(opening)

    def _state(self, opening: IteratorContext) -> CellValues:
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
            state[cell] = value[0] if cell.is_varying else value
        return state

    def _counters(self, opening: IteratorContext) -> CellValues:
        """Initial counters of the random operations; those without a seed differ between initializations."""
        start = np.uint32(zlib.crc32(repr(opening.entropy).encode()))
        return {
            counter: start if op.attrs.get("seeds") == (None, None) else counter.default
            for op in _all_operations(self.graph.get_operations())
            if (counter := op.counter) is not None
        }

    @property
    def draws(self) -> list[StateVariable]:
        """The counters of the random operations."""
        return [op.counter for op in _all_operations(self.graph.get_operations()) if op.counter is not None]

    def _counts(self, opening: IteratorContext) -> Counts:
        """The counters of the random operations, as they are in this pass."""
        counts: Counts = opening.cached(self.whole or self, lambda: Counts(self._counters(opening)))
        return counts

    def draw_counter(self, opening: IteratorContext) -> Callable[[int], int]:
        """Counts draws: a number of elements -> how many there were before, of this function and in this pass."""
        start, counts, draws = self._counters(opening), self._counts(opening), self.draws

        def count_draws(count: int) -> int:
            if not draws:
                return 0
            before = [counts.get(c, c.default) for c in draws]
            counts.update((c, np.uint32(int(n) + count & 0xFFFFFFFF)) for c, n in zip(draws, before, strict=True))
            return int(before[0]) - int(start.get(draws[0], draws[0].default)) & 0xFFFFFFFF

        return count_draws

    def bind_row(self, opening: IteratorContext) -> Callable[[Sequence[Any], int], list[Array]]:
        """The function of one element and its place, the number of draws before it in this pass."""
        captured, state = self._outside(opening)
        start, draws = self._counters(opening), self.draws

        def call(element: Sequence[Any], place: int) -> list[Array]:
            values: Values = {**dict(zip(self.inputs, element, strict=True)), **captured}
            counts = {c: _after(start.get(c, c.default), place) for c in draws}
            return self.program.run(opening.session, values, state, counts)

        return call

    def of_one_element(self) -> bool:
        """Whether what it gives for an element depends on that, and on the draws before it, alone: without effects."""
        order = self.program.order()
        # What a branch or a loop draws is counted as often as it is executed, which depends on elements before.
        inside = [inner for op in order for body in op.bodies for inner in _all_operations(body.ops)]
        return not self.cells and all(map(_is_free, [*order, *inside])) and all(op.counter is None for op in inside)

    def may_fail(self, batches: bool = False) -> bool:
        """Whether there may be elements that it raises for: it checks, parses, or is no function of known shapes.

        Args:
          batches: whether elements are batches, of any number of rows.
        """
        if any(t.dims is None or None in t.dims[batches:] for t in self.inputs):
            return True
        order = list(_all_operations(self.program.order()))
        return any(op.checks or op.type == "Assert" or not _pure(op, op.definition.random) for op in order)

    def pays_in_threads(self) -> bool:
        """Whether several elements at a time are worth a thread each."""
        return not self.cells and pays_in_threads(self.program.order())

    def bind_rows(
        self, opening: IteratorContext, forms: Sequence[Array]
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

    def bind(self, opening: IteratorContext) -> Callable[[Sequence[Any]], list[Array]]:
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


def _present(store: StateStore, cell: StateVariable) -> Array | None:
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


def _is_free(op: Operation) -> bool:
    """Whether an operation has no effect but to draw."""
    free = op.type == "Assert" or op.counter is not None or not op.definition.stateful
    return free and op.definition.host is None


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
        self._steps: list[Step] | None = None
        self._over_rows: OwnedPrograms[_RowsFunction] = OwnedPrograms()
        self._one_by_one: set[Hashable] = set()

    def run(self, session: Runner, values: Values, state: CellValues, counters: CellValues) -> list[Array]:
        """Runs the steps on the inputs in ``values``; returns the outputs and advances the random counters."""
        if self._steps is None:
            order = self.order()
            self._steps = steps_of(order, self.function.outputs, self.constants)
            if pays_in_threads(order):
                keep_freed_memory()
        values.update(self.constants)
        for step in self._steps:
            step(session, values, state, counters)
        return [values[t] for t in self.function.outputs]

    @cached_property
    def divided(self) -> tuple[HoistedParsing, Function | None] | None:
        """The operations that parse elements, many at once, and the rest of the function, of what they give.

        None where there are no such operations, or (in the place of the rest) no others.
        """
        function = self.function
        ops, constants = leading(self.order(), function.inputs)
        if not ops:
            return None
        rest = copy(function)
        rest.whole = function
        rest.inputs = [*function.inputs, *(t for op in ops for t in op.outputs)]
        rest.program = _Program(rest)
        order = rest.program.order()
        used = {t for op in order for t in op.inputs} | captured_by_bodies(order) | set(function.outputs)
        rest.inputs = [t for t in rest.inputs if t in used]
        if not order and set(function.outputs) <= set(rest.inputs):
            return HoistedParsing(ops, function.inputs, function.outputs, constants), None
        return HoistedParsing(ops, function.inputs, rest.inputs, constants), rest

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
        order = self.order()
        if any(not _pure(op, op.definition.random) for op in order):
            return None
        constants = {op.outputs[0]: op.attrs["value"] for op in order if op.type == "Const"}
        outputs, inputs = self.function.outputs, self.function.inputs
        segment = Segment(tuple(op for op in order if not is_known(op)), set(outputs), constants)
        rows = [t for t in segment.inputs if t in inputs]
        fixed = [t for t in segment.inputs if t not in inputs]
        form_of = {**dict(zip(inputs, forms, strict=True)), **captured}
        if any(form_of[t].dtype.hasobject for t in (*rows, *fixed)):
            return None

        def of_row(given: Arrays, counts: Arrays, others: Arrays, cells: Arrays) -> Arrays:
            row = dict(zip((*rows, *fixed), (*given, *others), strict=True))
            outputs, after = segment.function([row[t] for t in segment.inputs], [*counts, *segment.record, *cells])
            first = len(segment.counters)
            return outputs, after[first : first + len(segment.record)]

        over_rows = jax.vmap(of_row, in_axes=(0, 0, None, None))
        compiled = compilers.jit(over_rows, "cpu")

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

    def order(self) -> list[Operation]:
        """The operations that the outputs need and those with effects, in order."""
        function = self.function
        fed = {*function.inputs, *function.graph.captured.values()}
        effective = [op for op in function.graph.root.ops if op.definition.stateful]
        targets = [t.op for t in function.outputs if t not in fed]
        return execution_order([*targets, *effective], function.graph.root, fed)


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
        and not runs_in_numpy(op)
        and all(_pure(inner) for body in op.bodies for inner in body.needed)
    )
