"""The registry of operation types: one ``OpDef`` per type holds all that the engine knows about it.

A type is added by one call, beside its public function. What the fields say is used by different interpreters of the
graph: ``rule`` while it is built, ``numpy`` to fold constants, ``kernel`` or ``lower`` while a program is traced,
``gradient`` or ``backward`` in a backward pass, ``host`` or ``stage`` between programs, ``execute`` eagerly.

    define_op("Relu", same, lambda x: jnp.maximum(x, 0), gradient=of_output(lambda g, y: jnp.where(y > 0, g, 0)))

    graph.add("Relu", [x])                    rule: ([x], {}) -> [Signature(float32, (None, 3))]
    lowering.execute(op)                      kernel: f32[8, 3] -> f32[8, 3]

Without ``gradient`` or ``backward`` the derivative is ``jax.vjp`` of the kernel. A rule works on anything with a
``dtype`` and ``dims``, so that it can be applied again to the shapes of a run (``lowering/shape_checks.py``). The
default shape rules ``same``, ``broadcasting``, ``scalar`` and ``nothing`` are here, too, and the table of Python's
operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import InputCheck
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import Array, DType

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Operation, Tensor
    from towerstrat.graph.ir.state import StateVariable

Attrs = Mapping[str, Any]
"""The attributes of an operation by name; each type says what it keeps there."""


class Signature(NamedTuple):
    """Element type and static shape of one output."""

    dtype: DType
    dims: Dims


class Typed(Protocol):
    """The part of a tensor that most shape rules need."""

    dtype: DType

    @property
    def dims(self) -> Dims: ...


class Eager(Protocol):
    """The eager context, as the ``execute`` of an operation type sees it."""

    def tensor(self, array: Array, dtype: DType) -> Tensor:
        """An eager tensor that holds ``array``."""

    def read(self, handle: Any) -> Tensor:
        """The value of the variable behind an eager handle. Raises FailedPreconditionError where it has none."""

    def is_initialized(self, handle: Any) -> Tensor:
        """Scalar bool: the variable behind an eager handle has a value."""

    def assign(self, cell: StateVariable, value: Any) -> None:
        """Store the value of an eager tensor in a state variable."""


class Unrolling(Protocol):
    """The eager execution of a traced function, one operation at a time. Values are eager tensors.

    Attributes:
      tensors: tensor of the function's graph -> its value.
    """

    tensors: dict[Tensor, Any]

    def execute(self, type: str, inputs: Sequence[Any], attrs: Attrs | None = None) -> list[Any]:
        """The outputs of one operation on eager tensors."""

    def copy(self, operations: Iterable[Operation]) -> None:
        """Executes operations of the function in order and enters their outputs in ``tensors``."""

    def inner(self, tensors: Mapping[Tensor, Any]) -> Unrolling:
        """The execution of a body on values for its loop variables; it adds nothing to this one's ``tensors``."""


Rule = Callable[[Sequence[Any], Attrs], Sequence[Signature]]
"""Shape rule: (inputs, attributes) -> one signature per output."""
Function = Callable[..., Any]
"""A function whose parameters depend on the operation type."""
Derivative = Literal["general", "linear", "bilinear", "quotient"]
"""The inputs whose values the cotangents of the inputs depend on; see ``OpDef``."""


@dataclass(frozen=True)
class OpDef:
    """The definition of one operation type, immutable.

    Attributes:
      type: the name, as in TensorFlow's ``OpDef``.
      rule: (inputs, attributes) -> output signatures; raises ValueError or TypeError on inputs that do not fit.
      kernel: a pure function ``kernel(*arrays, **attributes)`` on JAX arrays; returns an array, or a tuple of arrays
        where the type has several outputs. A random type's kernel takes a JAX key first.
      numpy: the same on numpy arrays, used while lowering where every input is known (shape arithmetic).
      static: positions of inputs whose values must be known while lowering; the kernel gets them as numpy arrays.
      sized_by: positions of inputs whose values decide the shape of the result, where they are known.
      axis_from_input: where the attribute ``axis`` is None it is the last input, whose value must be known likewise.
      lower: (lowering, operation) -> output values, for types that need more than their inputs' arrays (state, regions,
        the axis). Takes precedence over ``kernel``.
      gradient: the type's gradient formula, used instead of ``jax.vjp`` of the kernel: (inputs, outputs, output
        cotangents, **attributes) -> cotangent per input, None for zeros. ``outputs`` are what later operations see: a
        fed value counts, as in TensorFlow's formulas. Output cotangents that nothing gives are None.
      constants: positions of inputs by which TensorFlow has no gradient (None), though they are floating.
      backward: the type's own gradient, used instead of ``jax.vjp``: (lowering, operation, output cotangents, gradient
        operation) -> cotangent per input tensor. In tower context the cotangents of a collective with a replicated
        output are summed over the axis before it is called.
      sources: (operation, place of an output) -> the tensors that the output depends on differentiably, of a type where
        these are other ones than the inputs.
      differentiable: False where TensorFlow registers no gradient.
      derivative: the inputs whose values the inputs' cotangents depend on differentiably, for gradients of gradients:
        "linear" none, as of sums, and of types that are linear piece by piece (Max, Sign); "bilinear" for each input
        the other ones, as of products; "quotient" for the first input, in which the type is linear, the other ones,
        and for these all; "general" all of them.
      additive: linear in all its operands of numbers together, f(a + b) = f(a) + f(b).
      entrywise: an entry of a result depends on the entries of the inputs at the same place alone (shapes broadcast).
      polynomial: of an entrywise type: a result is a polynomial of the inputs, so that its derivatives are finite.
      passes_rows: a cotangent of its result that is sparse, IndexedSlices, stays so for the input.
      same_bits: the numpy form and a compiled program give the same bits: it moves entries, or rounds once. (What is
        smaller than the smallest normal number is 0 in programs.)
      check: a test of the values of its inputs, which may fail in a run.
      random: the kernel draws; the operation has a counter in the session's state and a new key at each execution.
      platform: the kernel takes ``platform="cpu" | "gpu" | "tpu"`` as a keyword.
      host: ``host(session, operation, values)`` runs in Python on numpy values, before or after a device program;
        returns a sequence of output values.
      stage: the name of the stage of a run that carries it out where its bodies hold operations of the host; with
        ``host``: always.
      object_valued: its output is no array yet, so that it can be made where the host needs it.
      dynamic: the shape of a result depends on values, so the operation cannot be compiled.
      needs_no_compile: executed by itself it compiles nothing, or one program that all shapes share. Runs that
        initialize variables execute it eagerly.
      stateful: has a side effect; never folded.
      reads, writes: it reads, or writes, the state variables behind those inputs that are handles.
      callback: calls Python while a device program runs; a run waits for its calls.
      collective: combines values along the named axis; its output is replicated, unless ``always_varies``.
      handles_shard_classes: ``lower`` takes inputs whose shape differs by shard; other types are evaluated once per
        shard class.
      index_dependent: selects an input by axis index: operations of it are evaluated once per shard class.
      own: the attribute that may differ by shard; "_own" then has a list of those of all.
      always_varies: its output may differ along the axis even where its inputs do not.
      varying: (operation) -> one bool per output, True where it may differ along the axis; for types of which the
        inputs do not decide it.
      hidden: attributes that are the engine's own, not shown in a node definition. They may hold parts of the graph.
      constant: its outputs are known when the graph is built: it needs no device and no feed.
      is_placeholder: its value comes from outside the graph or region that holds it: a placeholder, a loop variable.
      numpy_takes_objects: the numpy form also works on arrays of objects, entry by entry: it moves entries, or adds,
        subtracts and multiplies them. Partially known shapes are followed through it.
      view: the numpy form does not touch the values, however many there are.
      execute: (eager context, inputs, attributes) -> outputs, used instead of kernel and numpy form under eager
        execution.
      unroll: of a type with bodies: (unrolling, operation) executes it eagerly, one operation at a time.
      narrow: of a type with bodies: (operation, used tensors) -> the operation for those of its outputs that are used.
      nodes: ``nodes(writer, operation)`` writes it as nodes of the original, where those are not one node of this type
        with the attributes as the original has them; see ``node_writer``.
    """

    type: str
    rule: Rule
    kernel: Function | None = None
    numpy: Function | None = None
    static: tuple[int, ...] = ()
    sized_by: tuple[int, ...] = ()
    axis_from_input: bool = False
    lower: Callable[..., Sequence[Array]] | None = None
    gradient: Function | None = None
    constants: tuple[int, ...] = ()
    backward: Callable[..., Mapping[Tensor, Any]] | None = None
    sources: Callable[[Operation, int], Sequence[Tensor]] | None = None
    differentiable: bool = True
    derivative: Derivative = "general"
    additive: bool = False
    entrywise: bool = False
    polynomial: bool = False
    passes_rows: bool = False
    same_bits: bool = False
    check: InputCheck | None = None
    random: bool = False
    platform: bool = False
    host: Function | None = None
    stage: str | None = None
    object_valued: bool = False
    dynamic: bool = False
    needs_no_compile: bool = False
    stateful: bool = False
    reads: bool = False
    writes: bool = False
    callback: bool = False
    collective: bool = False
    handles_shard_classes: bool = False
    index_dependent: bool = False
    own: str | None = None
    always_varies: bool = False
    varying: Callable[[Operation], Sequence[bool]] | None = None
    hidden: tuple[str, ...] = ()
    constant: bool = False
    is_placeholder: bool = False
    numpy_takes_objects: bool = False
    view: bool = False
    execute: Callable[[Eager, Sequence[Any], Attrs], list[Any]] | None = None
    unroll: Callable[[Unrolling, Operation], None] | None = None
    narrow: Callable[[Operation, Set[Tensor]], Operation] | None = None
    nodes: Callable[..., None] | None = None

    def known(self, count: int, attrs: Attrs) -> tuple[int, ...]:
        """Indices of the inputs, ``count`` in all, whose values must be known while lowering."""
        return (*self.static, count - 1) if self.axis_from_input and attrs["axis"] is None else self.static

    @property
    def reads_value(self) -> bool:
        """Whether it is a differentiable read: its cotangent goes to the variable's handle."""
        return self.reads and self.backward is not None


_TYPES: dict[str, OpDef] = {}


def register(definition: OpDef) -> OpDef:
    """Adds a type to the registry.

    Raises:
      ValueError: the name is taken.
    """
    if definition.type in _TYPES:
        raise ValueError(f"The operation type {definition.type!r} is registered already.")
    _TYPES[definition.type] = definition
    return definition


def define_op(type: str, rule: Rule, kernel: Function | None = None, **fields: Any) -> OpDef:
    """Registers ``OpDef(type, rule, kernel, **fields)``."""
    return register(OpDef(type, rule, kernel, **fields))


def lookup(type: str) -> OpDef:
    """The definition of a type. Raises KeyError where there is none."""
    return _TYPES[type]


def types() -> tuple[str, ...]:
    """The names of all types, sorted."""
    return tuple(sorted(_TYPES))


_OPERATORS: dict[str, Function] = {}


def define_operator(name: str, function: Function) -> None:
    """Registers ``function(tensor, *operands)`` as Python's operator ``name`` (such as ``"__add__"``) on tensors.

    Raises:
      ValueError: the operator has a function already.
    """
    if name in _OPERATORS:
        raise ValueError(f"The operator {name!r} is defined already.")
    _OPERATORS[name] = function


def operator(name: str) -> Function:
    """The function registered for an operator."""
    return _OPERATORS[name]


def same(inputs: Sequence[Typed], attrs: Attrs) -> list[Signature]:
    """Shape rule: one output, of the first input's element type and shape."""
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def broadcasting(inputs: Sequence[Typed], attrs: Attrs) -> list[Signature]:
    """Shape rule: one output, of the first input's element type and the shape that the inputs broadcast to.

    Raises:
      ValueError: the shapes do not broadcast.
    """
    dims = inputs[0].dims
    for other in inputs[1:]:
        dims = shapes.broadcast(dims, other.dims)
    return [Signature(inputs[0].dtype, dims)]


def scalar(dtype: DType) -> Rule:
    """The shape rule of types with one scalar output."""
    return lambda inputs, attrs: [Signature(dtype, ())]


def nothing(inputs: Sequence[Typed], attrs: Attrs) -> list[Signature]:
    """Shape rule: no output; the operation is run for its effect."""
    return []
