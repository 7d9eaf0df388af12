"""The ``axis`` argument of operations: an attribute where it is known, else a further input.

Such an input is the last one, and the attribute is then None; the lowering asks for its value, so that an integer that
is fed becomes a constant of the compiled program.

    concat([a, b], 1)           ConcatV2(a, b; axis=1)
    concat([a, b], axis_fed)    ConcatV2(a, b, axis_fed; axis=None)   static shape: the sizes that all axes agree on

``define_along`` wraps a type's rule, kernel, gradient formula and check, so that these see an integer ``axis`` only.

>>> normal_axis(-1, 3), _shared([(2, 3), (4, 3)])
(2, (None, 3))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.integer_arguments import integer
from towerstrat.graph.ir.op_registry import Attrs, Rule, Signature, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.building.op_builder import reserve_name


def normal_axis(axis: int, rank: int, label: str = "axis") -> int:
    """A dimension counted from the front. Raises ValueError where it is out of range."""
    if not -rank <= axis < rank:
        raise ValueError(f"Expected {label} in [{-rank}, {rank}) for a tensor of rank {rank}, got {axis}.")
    return axis % rank


def known_axis(axis: TensorLike, listed: bool = False) -> int | Tensor:
    """An axis as an integer, or as the integer tensor whose value only a run knows.

    Args:
      axis: an integer, a scalar integer array or tensor, or a variable.
      listed: a list, array or tensor of a single integer is taken too.

    Raises:
      TypeError: it is no integer. ValueError: a tensor of several entries.
    """
    if isinstance(axis, Convertible):
        axis = convert_to_tensor(axis)
    if not isinstance(axis, Tensor) or constant_value(axis) is not None:
        return integer(axis, listed=listed)
    if not axis.dtype.is_integer:
        raise TypeError(f"Expected an integer axis, got {axis!r}. Use tf.cast.")
    if axis.dims is not None and (any(d not in (1, None) for d in axis.dims) if listed else axis.dims != ()):
        raise ValueError(f"Expected a single integer as axis, got {axis!r}.")
    return axis


def along(
    type: str, inputs: Sequence[Tensor], axis: int | Tensor, attrs: Attrs | None = None, name: str | None = None
) -> list[Tensor]:
    """Add an operation along an axis, of a type that ``define_along`` made; return its outputs."""
    values: Attrs = {"axis": axis, **(attrs or {})}
    if isinstance(axis, Tensor):
        inputs, values = (*inputs, axis), {**values, "axis": None}
    return get_default_graph().add(type, inputs, values, name).outputs


def unary_along(
    type: str, x: TensorLike, axis: int | Tensor, attrs: Attrs | None = None, name: str | None = None
) -> Tensor:
    """``along`` for one value, which is converted to a tensor; returns the first output."""
    if not isinstance(x, Tensor):
        name = reserve_name(get_default_graph(), name or type)
        x = convert_to_tensor(x, name=f"{name}x/")
    return along(type, (x,), axis, attrs, name or type)[0]


def define_along(type: str, rule: Rule, kernel: Callable[..., Any], *, new: bool = False, **fields: Any) -> None:
    """Register a type whose rule, kernel, numpy form, gradient formula and check get the axis as an integer attribute.

    Args:
      type: the operation type.
      rule: ``(inputs, attrs)`` -> dtypes and shapes of the outputs.
      kernel: of arrays, with ``axis`` as a keyword.
      new: the axis is a dimension that the result has more than the first input.
      **fields: those of ``define_op``.
    """
    for form in ("numpy", "gradient"):
        if form in fields:
            fields[form] = (_formula if form == "gradient" else _kernel)(fields[form], new)
    if "check" in fields:
        fields["check"] = _check(fields["check"])
    define_op(type, _rule(rule, new), _kernel(kernel, new), axis_from_input=True, **fields)


def _rule(rule: Rule, new: bool) -> Rule:
    def ruled(inputs: Sequence[Any], attrs: Attrs) -> Sequence[Signature]:
        if attrs["axis"] is not None:
            return rule(inputs, attrs)
        *others, axis = inputs
        known, dims = constant_value(axis), others[0].dims
        if known is not None:
            return rule(others, {**attrs, "axis": int(known.reshape(()))})
        return _common(lambda a: rule(others, {**attrs, "axis": a}), 1 if dims is None else len(dims) + new)

    return ruled


def _common(signatures: Callable[[int], Sequence[Signature]], rank: int) -> list[Signature]:
    """The signatures with the sizes that all axes agree on; an axis that the rule refuses is left out.

    Raises:
      ValueError: the rule refuses every axis.
    """
    accepted, refusal = [], ValueError("Expected a tensor of rank 1 or higher, got a scalar.")
    for axis in range(rank):
        try:
            accepted.append(signatures(axis))
        except ValueError as error:
            refusal = error
    if not accepted:
        raise refusal
    return [Signature(s[0].dtype, _shared([t.dims for t in s])) for s in zip(*accepted, strict=True)]


def _shared(dims: Sequence[Dims]) -> Dims:
    """The sizes that shapes have in common; None where their ranks differ."""
    first, *others = dims
    if first is None or any(d is None or len(d) != len(first) for d in others):
        return None
    return tuple(
        [size if all(d is not None and d[i] == size for d in others) else None for i, size in enumerate(first)]
    )


def _value(axis: Array, x: Array, new: bool) -> int:
    if np.size(axis) != 1:
        raise ValueError(f"Expected a single integer as axis, got shape {np.shape(axis)}.")
    return normal_axis(int(np.reshape(axis, ())), np.ndim(x) + new)


def _kernel(kernel: Callable[..., Any], new: bool) -> Callable[..., Any]:
    def computed(*args: Any, axis: int | None, **attrs: Any) -> Any:
        if axis is None:
            *args, axis_value = args  # type: ignore[assignment]
            axis = _value(axis_value, args[0], new)
        return kernel(*args, axis=axis, **attrs)

    return computed


def _formula(formula: Callable[..., Any], new: bool) -> Callable[..., Any]:
    def pulled(inputs: Sequence[Any], *values: Any, axis: int | None, **attrs: Any) -> list[Any]:
        if axis is not None:
            return list(formula(inputs, *values, axis=axis, **attrs))
        *others, axis_value = inputs
        return [*formula(others, *values, axis=_value(axis_value, others[0], new), **attrs), None]

    return pulled


def _check(check: InputCheck) -> InputCheck:
    def test(op: Operation, values: Sequence[Any]) -> CheckResult | None:
        axis, rank = op.attrs["axis"], np.ndim(values[0])
        axis = values[len(op.inputs) - 1] if axis is None else axis
        # The kernel asks for an axis that is not known, and refuses one that there is not.
        fits = input_checks.on_host(axis) and np.size(axis) == 1 and -rank <= axis < rank
        return check.test(op, values) if fits else None

    return InputCheck(test, check.values, check.words, check.after)
