"""Programs of single operations, for eager execution: each jitted once per type, attributes and signature.

``SingleOperations.find`` returns the ``OperationProgram`` of a signature, and ``compute`` runs it, in one of three
ways:

    add of two float32[2]       numpy: it has a numpy form, the inputs are small (``SMALL``) and on the host or a CPU
    matmul of [512, 512]        jitted, the same function for all calls with this signature
    where of a large array      evaluated without jit, as the result's shape depends on values (``dynamic``)

>>> from towerstrat.graph.ir.op_registry import lookup
>>> from towerstrat.graph.ir.types import float32
>>> from towerstrat.graph.ops.math import elementwise  # registers its types
>>> pair = [Value(np.float32(x), float32) for x in ([1, 2], [10, 20])]
>>> SINGLE_OPERATIONS.compute(SINGLE_OPERATIONS.find(lookup("Add"), pair, {}), pair, ())
([array([11., 22.], dtype=float32)], ())

Gradients are programs too (``PullbackProgram``). ``Pullbacks.find`` builds the gradient of the one operation as a
graph, from the cotangents that are given to those that are wanted, and jits it with the forward operation inside; XLA
drops what the gradient does not use. A gradient's own gradient is made the same way, so tapes can be nested.

Numpy rounds as programs do for types of ``same_bits``: of these it computes large inputs too, the first times that a
shape comes, since many image sizes never come again.

An input whose value the kernel needs while tracing (an axis, a shape) raises NeedsStatic; ``specialise`` then makes
that input a constant, for this and all later operations of the type. The same object, called with a graph's operation,
executes it when a part of a graph cannot be compiled as a whole.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import numpy as np

from towerstrat.errors import InvalidArgumentError, OpError
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor, place_of
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, OpDef
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ir.types import Array, DType, HostArray, resource
from towerstrat.graph.lowering.error_records import no_error, record_size
from towerstrat.graph.lowering.executor import Pullback
from towerstrat.graph.lowering.lowering_errors import NeedsStatic
from towerstrat.graph.ops.gradients.gradients import gradients_through
from towerstrat.graph.runtime.programs.computation import CompiledComputation, Computation
from towerstrat.graph.runtime.programs.host_form import Argument, HostForm
from towerstrat.graph.runtime.programs.program_cache import SINGLE_BYTES, OwnedPrograms
from towerstrat.platform.data_checks import DATA_CHECKS

DRAWS = frozenset([
    "RandomUniform", "RandomStandardNormal", "TruncatedNormal",
    "StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal",
])  # fmt: skip
"""Types that draw in blocks (``ops/random/host_draws.py``)."""
EARLY_DRAWS = 16
"""First draws of a shape, by the program that all shapes share; then the shape gets a faster one of its own."""


class Value:
    """A plain array as an ``Argument``."""

    __slots__ = ("array", "dims", "dtype")

    def __init__(self, array: Array, dtype: DType):
        self.array = array
        self.dtype = dtype
        self.dims: Dims = array.shape

    def host(self) -> HostArray:
        return np.asarray(self.array)


class OperationProgram:
    """The program of one operation type with its attributes, for inputs of given dtypes and shapes.

    Args:
      static: indices of inputs whose values are constants of the program.

    Attributes:
      op: the operation, on placeholders of the inputs in a graph of its own.
      computation: its outputs as a function of these.
      compiled: the computation as a jitted function.
      host: the computation by numpy; None where it has no numpy form, or state.
      dtypes: of the outputs.
      differentiable: whether the type has a gradient.
      record: error record of its bodies and its gradient, which it takes among its state; None where they check
        nothing.
      pullbacks: its gradients.
    """

    __slots__ = (
        "compiled", "computation", "definition", "differentiable", "dtypes", "host", "op", "pullbacks", "record"
    )  # fmt: skip

    def __init__(self, definition: OpDef, attrs: Attrs, inputs: Sequence[Argument], static: Sequence[int]):
        graph = Graph()
        with graph.as_default():
            places = [_stand_in(graph, t) for t in inputs]
            op = graph.add(definition.type, places, attrs)
        cells = list(dict.fromkeys((*op.reads, *op.writes)))
        self.record: HostArray | None = None
        backward = definition.check is not None and definition.check.backward
        if op.checks and (op.bodies or backward):  # its own inputs are checked before it is executed
            self.record = no_error(record_size([op]))
            cells.append(ERROR_RECORD)
        known = {places[i]: inputs[i].host() for i in static if i < len(inputs)}
        self.op = op
        self.definition = definition
        self.differentiable = definition.differentiable
        self.dtypes = [t.dtype for t in op.outputs]
        self.computation = Computation(graph, places, [op], op.outputs, cells, known, definition.dynamic)
        self.compiled = CompiledComputation(self.computation, EARLY_DRAWS if definition.type in DRAWS else 0)
        self.host = HostForm(op, inputs) if definition.numpy is not None and not cells else None
        self.pullbacks = Pullbacks(self.computation, op)


class PullbackProgram:
    """The VJP of a computation, as one jitted function of its inputs and cotangents.

    The forward operation is evaluated inside; XLA leaves out what the gradient does not need.

    Args:
      forward: the computation.
      op: the operation that it is of; None where it is a gradient itself.
      requested: for each input of the computation whether its cotangent is an output.
      seeded: for each output of the computation whether its cotangent is an input.

    Attributes:
      results: per requested input its gradient in the graph: a tensor, IndexedSlices, or None.
      computation: the tensors of these as a function of the forward inputs and the cotangents.
      compiled: the computation as a jitted function.
      dtypes: of the outputs.
      pullbacks: the gradients of this gradient.
    """

    __slots__ = ("compiled", "computation", "dtypes", "op", "pullbacks", "results")

    differentiable = True
    host = None

    def __init__(
        self, forward: Computation, op: Operation | None, requested: tuple[bool, ...], seeded: tuple[bool, ...]
    ):  # fmt: skip
        graph = forward.graph
        with graph.as_default():
            ys = [t for t, has_seed in zip(forward.outputs, seeded, strict=True) if has_seed]
            seeds = [placeholder(t.dtype, t.dims) for t in ys]
            xs = [p for p, w in zip(forward.places, requested, strict=True) if w]
            self.results = gradients_through(ys, xs, seeds)
        outputs: list[Tensor] = []
        for gradient in self.results:
            if isinstance(gradient, IndexedSlices):
                outputs += [gradient.values, gradient.indices]
            elif gradient is not None:
                outputs.append(gradient)
        self.op = op
        self.dtypes = [t.dtype for t in outputs]
        self.computation = dataclasses.replace(
            forward, places=[*forward.places, *seeds], operations=[t.op for t in outputs], outputs=outputs
        )
        self.compiled = CompiledComputation(self.computation)
        self.pullbacks = Pullbacks(self.computation, None)


class Pullbacks:
    """The pullback programs of a computation, each made when it is first asked for.

    Args:
      computation: the computation.
      op: the operation that it is of; None where it is a gradient itself.
    """

    __slots__ = ("_computation", "_op", "_programs")

    def __init__(self, computation: Computation, op: Operation | None):
        self._computation = computation
        self._op = op
        self._programs: dict[tuple[tuple[bool, ...], tuple[bool, ...]], PullbackProgram] = {}

    def find(self, requested: tuple[bool, ...], seeded: tuple[bool, ...]) -> PullbackProgram | None:
        """The pullback program: from cotangents of the outputs in ``seeded`` to those of the inputs in ``requested``.

        None where no requested input is connected.
        """
        program = self._programs.get((requested, seeded))
        if program is None:
            program = self._programs[requested, seeded] = PullbackProgram(
                self._computation, self._op, requested, seeded
            )
        return program if program.computation.outputs else None


Executable = OperationProgram | PullbackProgram


class SingleOperations:
    """Cache of single operations' programs, and their executor: eagerly, or where a graph part is not compiled.

    Called with an operation and its inputs' values it is the executor of a lowering.
    """

    def __init__(self) -> None:
        self._executions: defaultdict[str, OwnedPrograms[OperationProgram]] = defaultdict(OwnedPrograms)
        self._static: dict[str, tuple[int, ...]] = {}

    def find(self, definition: OpDef, inputs: Sequence[Any], attrs: Attrs) -> OperationProgram:
        """The program of an operation for inputs of these dtypes and shapes.

        Raises:
          ValueError: the inputs do not fit the type.
        """
        static = self._known_inputs(definition, len(inputs), attrs)
        executions = self._executions[definition.type]
        key: Hashable = (
            tuple([(k, v.__class__, v) for k, v in attrs.items()]) if attrs else (),
            DATA_CHECKS.on,
            tuple([(t.dtype, t.dims) for t in inputs]),
        )
        if definition.reads or definition.writes:
            key = (key, tuple([(t.cell.dtype, t.cell.dims) for t in inputs if t.dtype is resource]))
        if static:
            key = (key, tuple([inputs[i].host().tobytes() for i in static if i < len(inputs)]))
        try:
            program = executions.get(key)
        except TypeError:
            key = _frozen(key)
            program = executions.get(key)
        if program is None:
            program = OperationProgram(definition, attrs, inputs, static)
            if key is not None:
                executions.add(key, program, SINGLE_BYTES)
        return program

    def forget(self) -> None:
        """Drop all compiled programs; operations are compiled again when they are executed next."""
        self._executions.clear()

    def _known_inputs(self, definition: OpDef, count: int, attrs: Attrs) -> tuple[int, ...]:
        """Indices of the inputs whose values are constants of the program."""
        known, extra = definition.known(count, attrs), self._static.get(definition.type)
        return known if extra is None else (*known, *extra)

    def specialise(self, execution: OperationProgram, needed: NeedsStatic, inputs: Sequence[Any]) -> OperationProgram:
        """The program with the value of one more input as a constant, for this and later operations of the type."""
        definition = execution.definition
        position = place_of(needed.tensor, execution.computation.places)
        if position is None:
            raise needed
        self._static[definition.type] = (*self._static.get(definition.type, ()), position)
        return self.find(definition, inputs, execution.op.attrs)

    def compute(
        self, executable: Executable, inputs: Sequence[Argument], state: Sequence[Array | None]
    ) -> tuple[Sequence[Array], Sequence[Array | None]]:
        """Compute (outputs, new values of the state variables): by numpy, eagerly, or by the jitted function.

        Raises:
          InvalidArgumentError: these values cannot be computed; ``op`` is the execution's. NeedsStatic.
        """
        host = executable.host
        if host is not None and (arrays := host.take(inputs)) is not None:
            return host.compute(arrays), ()
        return executable.compiled.run(inputs, state, self)

    def __call__(self, op: Operation, values: Sequence[Array]) -> tuple[list[Array], Pullback]:
        """Execute an operation of a graph on these values: (outputs, pullback)."""
        inputs = [Value(v, t.dtype) for v, t in zip(values, op.inputs, strict=True)]
        execution = self.find(op.definition, inputs, op.attrs)
        try:
            while True:
                try:
                    outputs = [_as_array(v) for v in self.compute(execution, inputs, ())[0]]
                    break
                except NeedsStatic as needed:
                    execution = self.specialise(execution, needed, inputs)
        except OpError as error:
            if error.op is not execution.op:
                raise
            raise InvalidArgumentError(None, op, error.message) from error.__cause__

        def pull(requested: Sequence[bool], cotangents: Sequence[Array | None]) -> list[Array | None]:
            seeds = [Value(c, t.dtype) for c, t in zip(cotangents, op.outputs, strict=True) if c is not None]
            return self._pull_back(
                execution, inputs, tuple(requested), seeds, tuple([c is not None for c in cotangents])
            )

        return outputs, pull

    def _pull_back(
        self, execution: OperationProgram, inputs: Sequence[Value], requested: tuple[bool, ...], seeds: Sequence[Value],
        seeded: tuple[bool, ...],
    ) -> list[Array | None]:  # fmt: skip
        """The cotangents of the inputs, None for those that are not requested or not connected."""
        while True:
            pull = execution.pullbacks.find(requested, seeded)
            if pull is None:
                return [None] * len(inputs)
            try:
                results = iter(self.compute(pull, [*inputs, *seeds], ())[0])
                break
            except NeedsStatic as needed:
                execution = self.specialise(execution, needed, inputs)
        connected = iter(pull.results)
        return [_as_array(next(results)) if w and next(connected) is not None else None for w in requested]


SINGLE_OPERATIONS = SingleOperations()
"""The process's single operations, compiled once for all sessions and eager code."""


def _stand_in(graph: Graph, tensor: Any) -> Tensor:
    """A placeholder with an eager tensor's dtype and shape; for a variable's handle, one of a new state variable."""
    if tensor.dtype is not resource:
        return graph.add("Placeholder", (), {"dtype": tensor.dtype, "shape": tensor.dims}, "x").outputs[0]
    cell = tensor.cell
    copy = StateVariable(cell.name, cell.dtype, cell.dims, default=cell.default)
    return graph.add("VarHandleOp", (), {"cell": copy}, "handle").outputs[0]


def _as_array(value: Any) -> Array:
    return value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value)


def _frozen(value: Any) -> Any:
    """A key like ``value`` that can be hashed, with lists and arrays in it; None where there is none."""
    try:
        key = _hashable(value)
        hash(key)
    except TypeError:
        return None
    return key


def _hashable(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return (type(value), tuple([_hashable(v) for v in value]))
    if isinstance(value, dict):
        return tuple([(k, _hashable(v)) for k, v in value.items()])
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype, value.tobytes())
    return value
