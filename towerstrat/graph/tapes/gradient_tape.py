"""``tf.GradientTape``: reverse-mode gradients of the operations it recorded, eagerly and in graphs.

Eagerly the tape is a Wengert list. The context hands each executed operation to all tapes as a ``Record``; a tape keeps
those on tensors that it follows, and follows their outputs. ``gradient`` walks the records backwards, sums cotangents
per tensor (``_Sums``) and calls each record's ``backward``, a VJP of eager operations, which outer tapes record in
turn. Of ``y = x * x; z = sin(y)`` it keeps Mul (x, x) -> y and Sin (y) -> z, and goes from z: 1 to y: cos(y) to
x: x * cos(y) + x * cos(y).

In a graph nothing is kept but spans of time: ``gradient`` adds the ``Gradients`` operation that ``tf.gradients`` adds,
with paths only through operations that were added while the tape recorded (``_has``):

>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> with Graph().as_default():
...     with GradientTape(persistent=True) as tape:
...         tape.watch(x := placeholder("float32", []))
...         y = x * x
...     tape.gradient(y, x).op.type, tape.gradient(y * y, x)
('Gradients', None)

Cotangents of row lookups stay IndexedSlices as long as nothing else is added to them and the operations on the way
allow it (``_rows_back``), so that embeddings get sparse updates.

A function called eagerly under a tape is one record (``functions/traced.py``). A path that leads through operations
executed before a function, asked for inside of it, cannot be followed and raises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import Cotangent, ExecutionRecord, ReadRecord, Record, Tape, context
from towerstrat.graph.eager.tensor import EagerTensor, Handle
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.given_arguments import UnconnectedGradients
from towerstrat.graph.ir.graph import Graph, enter, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int64
from towerstrat.graph.lowering.differentiability import carries_gradient
from towerstrat.graph.lowering.python_gradients import Seeds, Source, Sources
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.gradients.gradient_paths import passes_rows, reached_from
from towerstrat.graph.ops.gradients.gradients import gradients_through
from towerstrat.graph.ops.indexing import gather_scatter, segments
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.runtime.programs.eager_programs import OperationProgram
from towerstrat.graph.tapes.vectorized import vectorized_map
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import logs


class GradientTape:
    """Records operations on watched tensors, for reverse-mode differentiation.

    Eagerly it keeps the executed operations. In a graph it notes which operations were added while it recorded;
    ``gradient`` then adds the operation that ``tf.gradients`` adds, with paths through those only.

    Args:
      persistent: whether ``gradient`` may be called more than once.
      watch_accessed_variables: whether trainable variables are watched when they are read.

    >>> from towerstrat.graph.eager import mode
    >>> from towerstrat.graph.ir.tensor_conversion import constant
    >>> with mode.eager_mode(), GradientTape() as tape:
    ...     x = constant(3.0)
    ...     tape.watch(x)
    ...     y = x * x
    >>> float(tape.gradient(y, x))
    6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._context = context()
        self._recording = False
        self._used = False
        self.reset()

    def reset(self) -> None:
        """Clear the tape: drop all records and watched tensors."""
        self._records: list[Record] = []
        self._followed: dict[int, Tensor] = {}
        """``id(tensor)`` -> watched eager tensors and what depends on them; the tensor is kept so that its id stays."""
        self._watched: dict[Tensor, None] = {}
        self._variables: dict[Tensor, Variable] = {}
        """Handle -> watched variable."""
        self._spans: dict[Graph, list[list[float]]] = {}
        """Per graph the ranges ``[first, last)`` of operations, by index, that were added while the tape recorded."""
        if self._recording:
            self._open()

    # ---- recording -------------------------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError("Tape is already recording.")
        self._start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        self._recording = True
        self._context.tapes.active.append(self)
        self._open()

    def _open(self) -> None:
        """Begin a span in the current graph."""
        graph = get_default_graph()
        if not graph.executing_eagerly:
            self._spans.setdefault(graph, []).append([graph.version, math.inf])

    def _stop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._recording = False
        self._context.tapes.active.remove(self)
        for graph, spans in self._spans.items():
            if spans[-1][1] == math.inf:
                spans[-1][1] = graph.version

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Pause recording inside.

        Raises:
          ValueError: the tape is not recording.
        """
        self._stop()
        try:
            yield
        finally:
            self._start()

    def watch(self, tensor: Sources) -> None:
        """Record operations on ``tensor`` from now on: a tensor or variable, or a structure of them.

        Raises:
          ValueError: a leaf that is neither.
        """
        for item in nest.flatten(tensor):
            handle = getattr(item, "handle", None)
            if handle is None and not isinstance(item, Tensor):
                raise ValueError(
                    f"Passed in object {item!r} of type {type(item).__name__!r}, not tf.Tensor or tf.Variable."
                )
            dtype = item.dtype
            if not dtype.is_differentiable:
                logs.log_first_n(
                    logs.WARN, "The dtype of the watched tensor must be floating (e.g. tf.float32), got %s",
                    5, dtype.name,
                )  # fmt: skip
            self._watch(item if handle is None else handle)
            if handle is not None:
                self._variables[handle] = item

    def _watch(self, tensor: Tensor) -> None:
        if isinstance(tensor, EagerTensor):
            self._followed[id(tensor)] = tensor
        self._watched[tensor] = None

    def access(self, handle: Handle) -> None:
        """Watch a trainable variable that is read, unless ``watch_accessed_variables`` is False."""
        if self._watch_accessed_variables and id(handle) not in self._followed:
            self._followed[id(handle)] = handle
            self._variables[handle] = handle.variable()

    def follows(self, tensors: Iterable[Tensor]) -> bool:
        """Whether one of the tensors is watched, or depends on a watched one."""
        return any(id(t) in self._followed for t in tensors)

    def record(self, record: Record) -> None:
        """Keep an executed operation with an input that the tape follows, and follow its outputs."""
        if not self.follows(record.inputs):
            return
        if isinstance(record, ExecutionRecord) and not record.execution.differentiable:
            return
        for tensor in record.outputs:
            if tensor.dtype.is_differentiable:
                self._followed[id(tensor)] = tensor
        self._records.append(record)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The watched variables, in the order in which they were made."""
        variables = dict(self._variables)
        for graph in self._spans:
            variables.update((h, v) for h, v in graph.variables_read(self._has) if v.trainable)
        by_number = {v.cell.number: v for v in variables.values() if v is not None}
        return tuple([by_number[number] for number in sorted(by_number)])

    # ---- gradients -------------------------------------------------------------------------------------------

    def gradient(
        self, target: Sources, sources: Sources, output_gradients: Seeds = None,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
    ) -> Any:  # fmt: skip
        """The gradient of the sum of ``target`` by ``sources``.

        Args:
          target: tensors, in any structure.
          sources: tensors and variables, in any structure.
          output_gradients: cotangents of the targets, in one structure; None means ones.
          unconnected_gradients: the result where the target does not depend on the source: None or zeros.

        Returns:
          A structure like ``sources`` of tensors; IndexedSlices for variables that are only read by row lookups.

        Raises:
          RuntimeError: a second call on a tape that is not persistent.
          ValueError: ``output_gradients`` and ``target`` differ in number.
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        self._finish()
        flat = nest.flatten(sources)
        targets = [t for t in nest.flatten(target) if t is not None]
        seeds = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
        if len(seeds) != len(targets):
            raise ValueError(f"Expected {len(targets)} output_gradients, one for each target, got {len(seeds)}.")
        gradients = self._gradients(targets, flat, seeds)
        if unconnected is UnconnectedGradients.ZERO:
            gradients = [arrays.zeros_like(s) if g is None else g for s, g in zip(flat, gradients, strict=True)]
        return nest.pack_sequence_as(sources, gradients) if nest.is_sequence(sources) else gradients[0]

    def _finish(self) -> None:
        """End recording before a gradient is taken. Raises RuntimeError where the tape was used up before."""
        if self._used and not self._persistent:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). "
                "Pass persistent=True to GradientTape, and delete the tape when it is not needed any more."
            )
        self._used = True
        graph = get_default_graph()
        if self._recording and graph.building_function:
            # A function that is traced while the tape records is recorded from its beginning.
            self._spans.setdefault(graph, [[0, math.inf]])
        if self._recording and not self._persistent:
            self._stop()

    def _gradients(
        self, targets: Sequence[Source], sources: Sequence[Source], seeds: Sequence[Source | None]
    ) -> list[Cotangent]:
        """The gradient by each source, in the graph or eager context that is current.

        Args:
          targets: tensors, variables or values that can be converted.
          sources: tensors and variables.
          seeds: the targets' cotangents, None for ones.

        Raises:
          UnsupportedError: a path goes through operations executed eagerly before the function that asks.
        """
        graph = get_default_graph()
        if graph.executing_eagerly:
            return self._eagerly([_tensor_or_handle(t) for t in targets], sources, seeds)
        if targets and all(isinstance(t, EagerTensor) for t in (*targets, *(g for g in seeds if g is not None))):
            with enter(self._context):
                return self._gradients(targets, sources, seeds)
        tensors = [convert_to_tensor(t) for t in targets]
        self._check_executed(graph, [graph.own(t) for t in tensors], sources)
        return self._in_graph(tensors, sources, seeds)

    # ---- in graphs -------------------------------------------------------------------------------------------

    def _check_executed(self, graph: Graph, targets: Sequence[Tensor], sources: Sequence[Source]) -> None:
        """Raise UnsupportedError where targets in a function depend on sources through executed operations."""
        if not self._records or not isinstance(graph, FunctionGraph):
            return
        for source in (getattr(s, "handle", s) for s in sources):
            reached = self._relevant([id(source)])[1]
            between = [t for t in graph.captured if t is not source and id(t) in reached]
            followed = reached_from([graph.captured[t] for t in between], self._has)
            target = next((t for t in targets if t in followed), None)
            if target is not None:
                raise UnsupportedError(
                    f"GradientTape.gradient inside of {graph.what}: {target.name} (created at {target.op.line}) "
                    f"depends on {source!r} by operations that were executed before the function. Pass the source to "
                    "the function and compute there what lies between, or return the target and ask for the gradient "
                    "outside."
                )

    def _has(self, op: Operation) -> bool:
        """Whether an operation was added to its graph while the tape recorded."""
        spans = self._spans.get(op.graph)
        return spans is not None and any(first <= op.graph.time_of(op) < last for first, last in spans)

    def _in_graph(
        self, targets: Sequence[Tensor], sources: Sequence[Source], seeds: Sequence[Source | None]
    ) -> list[Cotangent]:
        """Add the ``Gradients`` operation, over recorded operations, for sources that depend on watched tensors."""
        graph = get_default_graph()
        useful = [(t, g) for t, g in zip(targets, seeds, strict=True) if t.dtype.is_differentiable]
        tensors = [graph.own(_tensor_or_handle(s)) for s in sources]
        watched = [graph.own(t) for t in self._watched if isinstance(t, EagerTensor) or _encloses(t._graph, graph)]
        if isinstance(graph, FunctionGraph):
            watched += [inner for outer, inner in graph.captured.items() if id(outer) in self._followed]
        if self._watch_accessed_variables:
            watched += [h for h, v in graph.variables_read(self._has) if v.trainable]
        followed = reached_from(watched, self._has)
        known = [i for i, t in enumerate(tensors) if t in followed]
        result: list[Cotangent] = [None] * len(tensors)
        if known and useful:
            # tf.gradients has no default cotangent for complex targets; a tape's is one.
            useful_seeds = [arrays.ones_like(t) if g is None and t.dtype.is_complex else g for t, g in useful]
            gradients = gradients_through(
                [t for t, _ in useful], [tensors[i] for i in known], useful_seeds, recorded=self._has
            )
            for i, gradient in zip(known, gradients, strict=True):
                result[i] = gradient
        return result

    # ---- eagerly ---------------------------------------------------------------------------------------------

    def _eagerly(
        self, targets: Sequence[Tensor], sources: Sequence[Source], seeds: Sequence[Source | None]
    ) -> list[Cotangent]:
        """Walk the records backwards, by operations that are executed and that outer tapes record."""
        keys = [id(_tensor_or_handle(s)) for s in sources]
        records, reached = self._relevant([i for i in keys if i in self._followed])
        sums = _Sums()
        for target, seed in zip(targets, seeds, strict=True):
            if not target.dtype.is_differentiable and target.dtype.name != "resource":
                logs.log_first_n(
                    logs.WARN, "The dtype of the target tensor must be floating (e.g. tf.float32) when calling "
                    "GradientTape.gradient, got %s", 5, target.dtype.name,
                )  # fmt: skip
            elif id(target) in reached:
                value = self._context.read(target) if isinstance(target, Handle) else target
                sums.add(id(target), arrays.ones_like(value) if seed is None else convert_to_tensor(seed, value.dtype))
        # Records are in the order of execution, so each output's cotangent is complete when its record comes.
        for record in reversed(records):
            passed = _rows_back(record, sums.rows(id(record.outputs[0])))
            if passed is not None:
                for tensor, rows in zip(record.inputs, passed, strict=True):
                    if id(tensor) in reached:
                        sums.add(id(tensor), rows)
                continue
            cotangents = [sums.total(id(t)) for t in record.outputs]
            if all(c is None for c in cotangents):
                continue
            requested = [id(t) in reached for t in record.inputs]
            for tensor, cotangent in zip(record.inputs, record.backward(requested, cotangents), strict=True):
                if cotangent is not None and id(tensor) in reached:
                    sums.add(id(tensor), cotangent)
        return [sums.result(p) if p in reached else None for p in keys]

    def _relevant(self, sources: Sequence[int]) -> tuple[list[Record], set[int]]:
        """The records that depend on the sources (ids of tensors), and the ids of their differentiable outputs."""
        reached = set(sources)
        records: list[Record] = []
        for record in self._records:
            if any(id(t) in reached for t in record.inputs):
                records.append(record)
                reached.update(id(t) for t in record.outputs if carries_gradient(t))
        return records, reached

    # ---- jacobians -------------------------------------------------------------------------------------------

    def jacobian(
        self, target: TensorLike, sources: Sources,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Any:  # fmt: skip
        """The Jacobian of ``target`` by each source: ``[*target.shape, *source.shape]``.

        ``parallel_iterations`` and ``experimental_use_pfor``: scheduling of the original; they change no value.
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        self._finish()
        flat = nest.flatten(sources)
        tensor = convert_to_tensor(target)
        row_lists = self._rows_of(tensor, flat)
        shape = arrays.shape(tensor)
        result = []
        for source, rows in zip(flat, row_lists, strict=True):
            if rows is None:
                like = arrays.zeros(arrays.concat([shape, arrays.shape(source)], 0), source.dtype)
                result.append(like if unconnected is UnconnectedGradients.ZERO else None)
                continue
            jacobian = arrays.reshape(rows, arrays.concat([shape, arrays.shape(source)], 0))
            if tensor.dims is not None and source.shape.raw is not None:
                jacobian.set_shape((*tensor.dims, *source.shape.raw))
            result.append(jacobian)
        return nest.pack_sequence_as(sources, result) if nest.is_sequence(sources) else result[0]

    def _rows_of(self, target: Tensor, sources: Sequence[Any]) -> list[Tensor | None]:
        """The rows of each source's Jacobian: ``[target's size, *source.shape]``, or None where it is not connected."""
        flat_size = arrays.reshape(arrays.size(target), [])
        first = self._gradients([target], sources, [None])
        connected = [i for i, g in enumerate(first) if g is not None]
        if not connected:
            return [None] * len(sources)

        def row(j: TensorLike) -> list[Tensor]:
            seed = arrays.reshape(gather_scatter.one_hot(j, flat_size, dtype=target.dtype), arrays.shape(target))
            gradients = self._gradients([target], [sources[i] for i in connected], [seed])
            return [
                arrays.zeros_like(sources[i]) if g is None else convert_to_tensor(g)
                for i, g in zip(connected, gradients, strict=True)
            ]

        if get_default_graph().executing_eagerly:
            by_row = [row(j) for j in range(int(np.asarray(flat_size)))]
            stacked = [arrays.stack(column) for column in zip(*by_row, strict=True)] if by_row else [
                arrays.zeros([0, *sources[i].shape.as_list()], sources[i].dtype) for i in connected
            ]  # fmt: skip
        else:
            stacked = vectorized_map(row, arrays.range(flat_size))
        result: list[Tensor | None] = [None] * len(sources)
        for i, rows in zip(connected, stacked, strict=True):
            result[i] = rows
        return result

    def batch_jacobian(
        self, target: Any, source: Any, unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Any:  # fmt: skip
        """The Jacobian of ``target[i]`` by ``source[i]`` for each i: ``[b, *target.shape[1:], *source.shape[1:]]``.

        ``parallel_iterations`` and ``experimental_use_pfor``: scheduling of the original; they change no value.

        Raises:
          ValueError: the batches have different sizes, or the target's dimensions after the first are not known.
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        self._finish()
        target, source = convert_to_tensor(target), source
        t, s = target.shape, source.shape
        if t.rank is None or s.rank is None or t.rank < 1 or not t[:1].is_compatible_with(s[:1]):
            raise ValueError(f"Need first dimension of target shape ({t}) and source shape ({s}) to match.")
        batch = arrays.shape(target)[0]
        columns = arrays.reshape(target, arrays.stack([batch, -1])) if t[1:].num_elements() != 0 else None
        width = t[1:].num_elements()
        if width is None or columns is None:
            raise ValueError(f"Expected a target whose dimensions after the first are known, got shape {t}.")
        rows = []
        for k in range(width):
            seed = arrays.reshape(
                arrays.tile(
                    arrays.reshape(gather_scatter.one_hot(k, width, dtype=target.dtype), [1, width]),
                    arrays.stack([batch, 1]),
                ),
                arrays.shape(target),
            )
            rows.append(self._gradients([target], [source], [seed])[0])
        shape = arrays.concat([arrays.shape(target), arrays.shape(source)[1:]], 0)
        reached = [r for r in rows if r is not None]
        if len(reached) < width:
            return arrays.zeros(shape, source.dtype) if unconnected is UnconnectedGradients.ZERO else None
        return arrays.reshape(arrays.stack([convert_to_tensor(r) for r in reached], axis=1), shape)


class _Sums:
    """Sums of cotangents by ``id(tensor)``, computed by eager operations, so that outer tapes record them."""

    def __init__(self) -> None:
        self._parts: dict[int, list[Tensor | IndexedSlices]] = {}

    def add(self, key: int, value: Tensor | IndexedSlices) -> None:
        self._parts.setdefault(key, []).append(value)

    def rows(self, key: int) -> IndexedSlices | None:
        """The sum as IndexedSlices, where nothing else was added."""
        parts = self._parts.get(key, [])
        rows = [p for p in parts if isinstance(p, IndexedSlices)]
        if not rows or len(rows) < len(parts):
            return None
        if len(rows) == 1:
            return rows[0]
        kind = int64 if any(p.indices.dtype is int64 for p in rows) else rows[0].indices.dtype
        indices = arrays.concat([cast(p.indices, kind) for p in rows], 0)
        return IndexedSlices(arrays.concat([p.values for p in rows], 0), indices, rows[0].dense_shape)

    def total(self, key: int) -> Tensor | None:
        """The sum as a dense tensor, or None where nothing was added."""
        parts = self._parts.get(key)
        if not parts:
            return None
        rows = self.rows(key)
        if rows is not None:
            return convert_to_tensor(rows)
        tensors = [convert_to_tensor(p) for p in parts]
        total = tensors[0] if len(tensors) == 1 else segments.add_n(tensors)
        self._parts[key] = [total]
        return total

    def result(self, key: int) -> Cotangent:
        """The sum: IndexedSlices where nothing else was added, or a tensor, or None."""
        rows = self.rows(key)
        return self.total(key) if rows is None else rows


def _rows_back(record: Record, rows: IndexedSlices | None) -> list[IndexedSlices] | None:
    """The inputs' cotangents as IndexedSlices, where the output's are rows and the operation keeps rows; else None."""
    if rows is None or isinstance(record, ReadRecord):
        return None if rows is None else [rows]
    execution = record.execution if isinstance(record, ExecutionRecord) else None
    if not isinstance(execution, OperationProgram) or not passes_rows(execution.op):
        return None
    values = -rows.values if execution.op.type == "Neg" else rows.values
    return [IndexedSlices(cast(values, t.dtype), rows.indices, rows.dense_shape) for t in record.inputs]


def _encloses(outer: Graph, graph: Graph) -> bool:
    """Whether ``outer`` is ``graph``, or a graph around the function that it belongs to."""
    around: Graph | None = graph
    while around is not None and around is not outer:
        around = getattr(around, "outer", None)
    return around is not None


def _tensor_or_handle(value: Source) -> Tensor:
    """The tensor to differentiate by: a variable's handle, the values of IndexedSlices, or the tensor itself."""
    handle: Tensor | None = getattr(value, "handle", None)
    if handle is not None:
        return handle
    return value.values if isinstance(value, IndexedSlices) else convert_to_tensor(value)


@contextmanager
def recorded_by(tapes: Iterable[Tape]) -> Iterator[None]:
    """Let these tapes record operations inside too, such as those of other threads."""
    active = context().tapes.active
    before = list(active)
    active.extend(tape for tape in tapes if tape not in before)
    try:
        yield
    finally:
        active[:] = before
