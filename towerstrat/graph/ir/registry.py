"""The operation types: one record per type holds everything about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import DType


class Signature(NamedTuple):
    """What is known of one output while the graph is built."""

    dtype: DType
    dims: Dims


class Typed(Protocol):
    """What a rule sees of an input: a tensor."""

    dtype: DType

    @property
    def dims(self) -> Dims: ...


class Unrolling(Protocol):
    """The execution of a function's operations one by one: eager tensors in the place of the function's.

    Attributes:
      tensors: tensor of the function -> eager tensor.
    """

    tensors: dict[Any, Any]

    def execute(self, type: str, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None) -> list[Any]:
        """The outputs of one operation on eager tensors."""

    def copy(self, operations: Iterable[Any]) -> None:
        """Executes operations of the function in order; their outputs are in ``tensors`` afterwards."""

    def inner(self, tensors: Mapping[Any, Any]) -> Unrolling:
        """An execution of a body, with these values for its variables; what it computes stays there."""


Rule = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Signature]]


@dataclass(frozen=True)
class OpDef:
    """Everything about one operation type.

    Attributes:
      type: the original's name of the type.
      rule: (inputs, attributes) -> output signatures; raises ValueError or TypeError on inputs that cannot work.
      kernel: a pure function ``kernel(*arrays, **attributes)`` on JAX arrays; returns an array, or a tuple of arrays
        where the type has several outputs. A random type's kernel takes a JAX key first.
      numpy: the same on numpy arrays, used while lowering where every input is known (shape arithmetic).
      static: positions of inputs whose values must be known while lowering; the kernel gets them as numpy arrays.
      lower: for types that are not a function of their inputs' arrays: (lowering, operation) -> output values.
      backward: the type's own gradient where JAX's of the kernel is not it: (lowering, operation, cotangents, gradient
        operation) -> cotangent per tensor. A collective's cotangents, asked for in tower context, come summed over
        the positions.
      differentiable: False where the original gives no gradient.
      random: draws; has a counter in the session's state and a key of its own at each execution.
      platform: the kernel takes ``platform="cpu" | "gpu" | "tpu"`` as a keyword.
      host: ``host(session, operation, values)`` runs in Python on numpy values, before or after a device program;
        returns a sequence of output values.
      stage: the name of the stage of a run that carries it out where its bodies hold operations of the host; with
        ``host``: always.
      object_valued: its output is no array yet, so that it can be made where the host needs it.
      dynamic: the shape of a result depends on values, so the operation cannot be compiled.
      stateful: has an effect of its own; never folded.
      reads, writes: whether the cells behind the inputs that are handles are read, written.
      callback: calls Python while a device program runs; a run waits for its calls.
      collective: combines along the named axis; its output is equal everywhere.
      joint: ``lower`` knows what to do with inputs whose shape differs by position; other types are evaluated for each
        kind of position by itself.
      per_position: its output may differ along the axis even where its inputs do not.
      varying: (operation) -> for each output whether it may differ along the axis, where the inputs do not decide it.
      hidden: attributes that are the engine's own, not shown in a node definition. They may hold parts of the graph.
      constant: its outputs are known when the graph is built: it needs no device and no feed.
      given: its value comes from outside the graph or region that it stands in: a placeholder, a loop variable.
      entrywise: the numpy form works on arrays of objects too, entry by entry: it moves entries, or adds, subtracts and
        multiplies them. Static shapes are followed through it where only some entries are known.
      view: the numpy form does not touch the values, however many there are.
      execute: where operations are executed when they are made: (eager context, inputs, attributes) -> outputs, in the
        place of kernel and numpy form.
      unroll: of a type with bodies: (unrolling, operation) executes it step by step on eager tensors.
    """

    type: str
    rule: Rule
    kernel: Callable[..., Any] | None = None
    numpy: Callable[..., Any] | None = None
    static: tuple[int, ...] = ()
    lower: Callable[..., Sequence[Any]] | None = None
    backward: Callable[..., Mapping[Any, Any]] | None = None
    differentiable: bool = True
    random: bool = False
    platform: bool = False
    host: Callable[..., Any] | None = None
    stage: str | None = None
    object_valued: bool = False
    dynamic: bool = False
    stateful: bool = False
    reads: bool = False
    writes: bool = False
    callback: bool = False
    collective: bool = False
    joint: bool = False
    per_position: bool = False
    varying: Callable[[Any], Sequence[bool]] | None = None
    hidden: tuple[str, ...] = ()
    constant: bool = False
    given: bool = False
    entrywise: bool = False
    view: bool = False
    execute: Callable[[Any, Sequence[Any], Mapping[str, Any]], list[Any]] | None = None
    unroll: Callable[[Unrolling, Any], None] | None = None

    @property
    def reads_value(self) -> bool:
        """Whether it hands a variable's value on, and the gradient back to the variable."""
        return self.reads and self.backward is not None


_TYPES: dict[str, OpDef] = {}


def register(definition: OpDef) -> OpDef:
    """Adds a type.

    Raises:
      ValueError: when the name is taken.
    """
    if definition.type in _TYPES:
        raise ValueError(f"The operation type {definition.type!r} is registered already.")
    _TYPES[definition.type] = definition
    return definition


def define(type: str, rule: Rule, kernel: Callable[..., Any] | None = None, **fields: Any) -> OpDef:
    """Registers ``OpDef(type, rule, kernel, **fields)``."""
    return register(OpDef(type, rule, kernel, **fields))


def lookup(type: str) -> OpDef:
    return _TYPES[type]


def types() -> tuple[str, ...]:
    return tuple(sorted(_TYPES))


_OPERATORS: dict[str, Callable[..., Any]] = {}


def define_operator(name: str, function: Callable[..., Any]) -> None:
    """Makes ``function(tensor, *operands)`` what Python's operator ``name`` (``"__add__"``) does.

    Raises:
      ValueError: the operator has a function already.
    """
    if name in _OPERATORS:
        raise ValueError(f"The operator {name!r} is defined already.")
    _OPERATORS[name] = function


def operator(name: str) -> Callable[..., Any]:
    """The function of an operator."""
    return _OPERATORS[name]


def same(inputs: Sequence[Typed], attrs: Mapping[str, Any]) -> list[Signature]:
    """One output like the first input."""
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def broadcasting(inputs: Sequence[Typed], attrs: Mapping[str, Any]) -> list[Signature]:
    """One output of the first input's type and the inputs' common shape."""
    dims = inputs[0].dims
    for other in inputs[1:]:
        dims = shapes.broadcast(dims, other.dims)
    return [Signature(inputs[0].dtype, dims)]


def scalar(dtype: DType) -> Rule:
    return lambda inputs, attrs: [Signature(dtype, ())]


def nothing(inputs: Sequence[Typed], attrs: Mapping[str, Any]) -> list[Signature]:
    """No output: the operation is run for its effect."""
    return []
