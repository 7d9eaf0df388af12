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

Gradients are programs too. ``pull`` builds the gradient of the one operation as a graph, from the cotangents that are
given to those that are wanted, and jits it with the forward operation inside; XLA drops what the gradient does not use
(``PullbackProgram``). A gradient's own gradient is made the same way, so tapes can be nested.

Numpy rounds as programs do for types of ``same_bits``: of these it computes large inputs too, the first times that a
shape comes, since many image sizes never come again.

An input whose value the kernel needs while tracing (an axis, a shape) raises NeedsStatic; ``specialised`` then makes
that input a constant, for this and all later operations of the type. The same object, called with a graph's operation,
executes it when a part of a graph cannot be compiled as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from towerstrat.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor, execution_order, place_of, runs_in_numpy
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, OpDef
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ir.types import Array, DType, HostArray, host_array, resource
from towerstrat.graph.lowering.error_records import no_error, record_size
from towerstrat.graph.lowering.executor import Pullback
from towerstrat.graph.lowering.lowering_errors import NeedsStatic
from towerstrat.graph.ops.gradients.gradients import gradients_through
from towerstrat.graph.runtime.programs.program_cache import SINGLE_BYTES, ArrayFunction, OwnedPrograms
from towerstrat.platform import compilers
from towerstrat.platform.data_checks import DATA_CHECKS

SMALL = 4096
"""Elements up to which numpy computes what it can."""

FIRST_TIMES = 4
"""First calls of an exact type with new input shapes that numpy computes: many image sizes never come again."""

LARGEST_IMAGE = 1 << 22
"""Elements up to which numpy computes these first calls."""

DRAWS = frozenset([
    "RandomUniform", "RandomStandardNormal", "TruncatedNormal",
    "StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal",
])  # fmt: skip
"""Types that draw in blocks (``ops/random/host_draws.py``)."""
EARLY_DRAWS = 16
"""First draws of a shape, by the program that all shapes share; then the shape gets a faster one of its own."""


class Argument(Protocol):
    """Protocol of an input: an eager tensor, or a ``Value``. A variable's handle has a ``cell`` besides."""

    array: Array
    dtype: DType
    dims: Dims

    def host(self) -> HostArray:
        """The value on the host."""


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
      places: placeholders of the inputs, in a graph of its own.
      dynamic: the shape of a result depends on values, so that it is not compiled.
      early: how many more times it is executed without being compiled by itself.
      host_form: (numpy arrays) -> outputs, where numpy can compute it.
      first_times: how many more times numpy computes it for inputs that are not small.
      record: error record of its bodies and its gradient, which it takes among its state; None where they check
        nothing.
      arrays: indices of the inputs that are arguments of the program; the others are constants of it.
    """

    def __init__(self, definition: OpDef, attrs: Attrs, inputs: Sequence[Argument], static: Sequence[int]):
        graph = Graph()
        self.graph = graph
        with graph.as_default():
            self.places = [_stand_in(graph, t) for t in inputs]
            self.op = graph.add(definition.type, self.places, attrs)
        self.definition = definition
        self.differentiable = definition.differentiable
        self.dynamic = definition.dynamic
        self.early = EARLY_DRAWS if definition.type in DRAWS else 0
        self.dtypes = [t.dtype for t in self.op.outputs]
        self.types = [d.np for d in self.dtypes]
        self.first_times = FIRST_TIMES if definition.same_bits and all(map(_plain, inputs)) else 0
        self.host_form: Callable[..., Any] | None = None
        if definition.numpy is not None:
            self.host_form = definition.numpy
            self.arguments = self.op.arguments
        self.cells = list(dict.fromkeys((*self.op.reads, *self.op.writes)))
        self.record: HostArray | None = None
        backward = definition.check is not None and definition.check.backward
        if self.op.checks and (self.op.bodies or backward):  # its own inputs are checked before it is executed
            self.record = no_error(record_size([self.op]))
            self.cells.append(ERROR_RECORD)
        known = {self.places[i]: inputs[i].host() for i in static if i < len(inputs)}
        self.arrays = [i for i, p in enumerate(self.places) if p not in known and p.dtype is not resource]
        self.known = known
        self.function = _function(self, [self.op], self.op.outputs)
        self.jitted = compilers.jit(self.function, self.function.platform)
        self.pulls: dict[tuple[tuple[bool, ...], tuple[bool, ...]], PullbackProgram] = {}

    def on_host(self, arrays: Sequence[HostArray]) -> list[Array]:
        """Compute the outputs by numpy.

        Raises:
          InvalidArgumentError: numpy raises for these values. ResourceExhaustedError: the result is too large.
        """
        assert self.host_form is not None
        try:
            found = self.host_form(*arrays, **self.arguments)
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise InvalidArgumentError(None, self.op, f"{error} (operation {self.op.type})") from error
        except MemoryError as error:
            raise ResourceExhaustedError(None, self.op, f"{error} (operation {self.op.type})") from error
        values = [found] if len(self.types) == 1 and not isinstance(found, tuple | list) else found
        return [host_array(v, t) for v, t in zip(values, self.types, strict=True)]

    def pull(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> PullbackProgram | None:
        """The pullback program: from cotangents of the outputs in ``given`` to those of the inputs in ``wanted``.

        None where no wanted input is connected.
        """
        key = (wanted, given)
        if key not in self.pulls:
            self.pulls[key] = PullbackProgram(self, wanted, given)
        return self.pulls[key] if self.pulls[key].outputs else None


class PullbackProgram:
    """The VJP of an execution, as one jitted function of its inputs and cotangents.

    The forward operation is evaluated inside; XLA leaves out what the gradient does not need.

    Attributes:
      results: per wanted input its gradient in the graph: a tensor, IndexedSlices, or None.
    """

    differentiable = True

    def __init__(self, execution: OperationProgram | _Results, wanted: tuple[bool, ...], given: tuple[bool, ...]):
        graph: Graph = execution.graph
        self.graph = graph
        self.op: Operation | PullbackProgram = execution.op
        with graph.as_default():
            ys = [t for t, g in zip(execution.op.outputs, given, strict=True) if g]
            self.seeds = [placeholder(t.dtype, t.dims) for t in ys]
            xs = [p for p, w in zip(execution.places, wanted, strict=True) if w]
            self.results = gradients_through(ys, xs, self.seeds)
        self.outputs: list[Tensor] = []
        for found in self.results:
            if isinstance(found, IndexedSlices):
                self.outputs += [found.values, found.indices]
            elif found is not None:
                self.outputs.append(found)
        self.places: list[Tensor] = [*execution.places, *self.seeds]
        self.cells: list[StateVariable] = execution.cells
        self.known: Mapping[Tensor, Array] = execution.known
        self.dynamic: bool = execution.dynamic
        self.early = 0
        self.arrays = [i for i, p in enumerate(self.places) if p not in self.known and p.dtype is not resource]
        self.dtypes = [t.dtype for t in self.outputs]
        self.host_form = None
        self.first_times = 0
        self.function = _function(self, [t.op for t in self.outputs], self.outputs)
        self.jitted = compilers.jit(self.function, self.function.platform)
        self.pulls: dict[tuple[tuple[bool, ...], tuple[bool, ...]], PullbackProgram] = {}

    def pull(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> PullbackProgram | None:
        """As ``OperationProgram.pull``: the gradient of this gradient."""
        key = (wanted, given)
        if key not in self.pulls:
            self.pulls[key] = PullbackProgram(_Results(self), wanted, given)
        return self.pulls[key] if self.pulls[key].outputs else None


class _Results:
    """A pullback program in the role of an execution, whose outputs are the gradients: for second derivatives."""

    def __init__(self, pull: PullbackProgram):
        self.graph: Graph = pull.graph
        self.op = pull
        self.places: list[Tensor] = pull.places
        self.cells: list[StateVariable] = pull.cells
        self.known: Mapping[Tensor, Array] = pull.known
        self.dynamic: bool = pull.dynamic


Executable = OperationProgram | PullbackProgram


def _function(executable: Executable, operations: Sequence[Operation], outputs: Sequence[Tensor]) -> ArrayFunction:
    inputs = [executable.places[i] for i in executable.arrays]
    order = execution_order(operations, executable.graph.root, {*inputs, *executable.known})
    return ArrayFunction(order, inputs, outputs, executable.known, executable.cells, compilers.default_platform())


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
            found = executions.get(key)
        except TypeError:
            key = _frozen(key)
            found = executions.get(key)
        if found is None:
            found = OperationProgram(definition, attrs, inputs, static)
            if key is not None:
                executions.add(key, found, SINGLE_BYTES)
        return found

    def forget(self) -> None:
        """Drop all compiled programs; operations are compiled again when they are executed next."""
        self._executions.clear()

    def _known_inputs(self, definition: OpDef, count: int, attrs: Attrs) -> tuple[int, ...]:
        """Indices of the inputs whose values are constants of the program."""
        known, more = definition.known(count, attrs), self._static.get(definition.type)
        return known if more is None else (*known, *more)

    def specialised(self, execution: OperationProgram, needed: NeedsStatic, inputs: Sequence[Any]) -> OperationProgram:
        """The program with the value of one more input as a constant, for this and later operations of the type."""
        definition = execution.definition
        position = place_of(needed.tensor, execution.places)
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
        arrays = self._known(executable, inputs)
        if arrays is not None:
            assert isinstance(executable, OperationProgram)
            return executable.on_host(arrays), ()
        given = [inputs[i].array for i in executable.arrays]
        with jax.enable_x64(True):
            if executable.dynamic or executable.early:
                executable.early -= executable.early > 0
                return executable.function(given, state, eager=True, executor=self if executable.dynamic else None)
            found: tuple[Sequence[Array], Sequence[Array | None]] = executable.jitted(given, state)
            return found

    def _known(self, executable: Executable, inputs: Sequence[Argument]) -> list[HostArray] | None:
        """The inputs as numpy, where numpy is to compute the outputs."""
        if executable.host_form is None or executable.cells:
            return None
        arrays, large = [], False
        alone = runs_in_numpy(executable.op)
        view = executable.definition.view and _on_cpu()
        limit = LARGEST_IMAGE if executable.first_times and _on_cpu() else SMALL
        for argument in inputs:
            array = argument.array
            if not (alone or view) and array.size > limit:
                return None
            large = large or array.size > SMALL
            if not isinstance(array, np.ndarray):
                if not (alone or _on_cpu()) and array.size > 1 and not executable.dtypes[0].is_integer:
                    return None
                array = np.asarray(array)
            arrays.append(array)
        executable.first_times -= large and executable.first_times > 0
        return arrays

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
                    execution = self.specialised(execution, needed, inputs)
        except OpError as error:
            if error.op is not execution.op:
                raise
            raise InvalidArgumentError(None, op, error.message) from error.__cause__

        def pull(wanted: Sequence[bool], cotangents: Sequence[Array | None]) -> list[Array | None]:
            seeds = [Value(c, t.dtype) for c, t in zip(cotangents, op.outputs, strict=True) if c is not None]
            return self._pulled(execution, inputs, tuple(wanted), seeds, tuple([c is not None for c in cotangents]))

        return outputs, pull

    def _pulled(
        self, execution: OperationProgram, inputs: Sequence[Value], wanted: tuple[bool, ...], seeds: Sequence[Value],
        given: tuple[bool, ...],
    ) -> list[Array | None]:  # fmt: skip
        """The cotangents of the inputs, None for those that are not wanted or not connected."""
        while True:
            pull = execution.pull(wanted, given)
            if pull is None:
                return [None] * len(inputs)
            try:
                found = iter(self.compute(pull, [*inputs, *seeds], ())[0])
                break
            except NeedsStatic as needed:
                execution = self.specialised(execution, needed, inputs)
        connected = iter(pull.results)
        return [_as_array(next(found)) if w and next(connected) is not None else None for w in wanted]


SINGLE_OPERATIONS = SingleOperations()
"""The process's single operations, compiled once for all sessions and eager code."""


def _stand_in(graph: Graph, tensor: Any) -> Tensor:
    """A placeholder with an eager tensor's dtype and shape; for a variable's handle, one of a new state variable."""
    if tensor.dtype is not resource:
        return graph.add("Placeholder", (), {"dtype": tensor.dtype, "shape": tensor.dims}, "x").outputs[0]
    cell = tensor.cell
    own = StateVariable(cell.name, cell.dtype, cell.dims, default=cell.default)
    return graph.add("VarHandleOp", (), {"cell": own}, "handle").outputs[0]


def _as_array(value: Any) -> Array:
    return value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value)


def _plain(value: Argument) -> bool:
    """Whether the elements are integers, booleans, or floats of 32 or 64 bits."""
    kind = value.dtype.np
    return kind.kind in "biu" or (kind.kind == "f" and kind.itemsize > 2)


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


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
