"""``tf.assert_equal`` and its family: decided at once where values are known, as always eagerly, else at run time.

    tf.assert_equal(tf.constant(1), 2)        raises while the graph is built
    tf.assert_equal(x, 2), x a placeholder    an Assert operation, to be run by control dependencies

Ranks and types are decided from static shapes where these are known. Eagerly, and where 2.x says so, the functions
return None instead of an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, SupportsInt, TypeAlias

import jax.numpy as jnp
import numpy as np

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import define_op, scalar
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, bool_, float32, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.control.branches import group, no_op
from towerstrat.graph.ops.host.runtime_checks import assert_all
from towerstrat.graph.ops.math import elementwise  # noqa: F401  (registers the types)

Data: TypeAlias = "Sequence[object] | None"
"""What the message of a failed check says; None: the values that were checked."""
Sizes: TypeAlias = "ShapeLike | Iterable[Any]"
"""The sizes of a tensor: numbers and symbols."""
_TYPES = {"<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual", "==": "Equal", "!=": "NotEqual"}


def _describe(x: Tensor, role: str) -> str:
    """A value's name in a message, or its shape and dtype where it has no name."""
    if get_default_graph().executing_eagerly:
        return f"{role} (shape={x.shape} dtype={x.dtype.name}) = "
    return f"{role} ({x.name}) = "


def _comparison(sign: str, name: str) -> Callable[..., Operation | None]:
    def function(
        x: TensorLike, y: TensorLike, data: Data = None, summarize: int | None = None, message: str | None = None,
        name: str | None = None,
    ) -> Operation | None:  # fmt: skip
        return _compare(sign, x, y, data, summarize, message, name or default)

    default = name
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"An operation that raises InvalidArgumentError when it runs and ``x {sign} y`` is false for some entry.\n\n"
        "Args:\n  x, y: tensors of one element type, shapes broadcast.\n"
        "  data: what the message says instead of x and y.\n"
        "  message: the first words of the message."
    )
    return function


def _compare(
    sign: str, x: TensorLike, y: TensorLike, data: Data, summarize: int | None, message: str | None, name: str
) -> Operation | None:  # fmt: skip
    graph = get_default_graph()
    with graph.name_scope(name):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y")
        if data is None:
            words = "for every single element" if sign == "!=" else "element-wise"
            data = [message or "", f"Condition x {sign} y did not hold {words}:"]
            data += [_describe(x, "x"), x, _describe(y, "y"), y]
        condition = add_op(_TYPES[sign], [x, y])
        if sign == "==":
            _decide(x, y, data)
        return assert_all(condition, data, summarize)


def _decide(x: Tensor, y: Tensor, data: Sequence[object]) -> None:
    one_value, other = constant_value(x), constant_value(y)
    if one_value is None or other is None or np.all(one_value == other):
        return
    known = (constant_value(d) if isinstance(d, Tensor) else d for d in data)
    raise InvalidArgumentError(
        None, None, "\n".join(str(k if k is not None else d) for k, d in zip(known, data, strict=True))
    )


assert_equal = _comparison("==", "assert_equal")
assert_none_equal = _comparison("!=", "assert_none_equal")
assert_less = _comparison("<", "assert_less")
assert_less_equal = _comparison("<=", "assert_less_equal")
assert_greater = _comparison(">", "assert_greater")
assert_greater_equal = _comparison(">=", "assert_greater_equal")


def _with_zero(sign: str, swapped: bool, words: str, name: str) -> Callable[..., Operation | None]:
    def function(
        x: TensorLike,
        data: Data = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation | None:
        graph = get_default_graph()
        with graph.name_scope(name or default):
            x = convert_to_tensor(x, name="x")
            if data is None:
                data = [message or "", f"Condition {words} did not hold element-wise:", _describe(x, "x"), x]
            zero = convert_to_tensor(0, x.dtype)
            one_side, other = (zero, x) if swapped else (x, zero)
            inner = "assert_less_equal" if sign == "<=" else "assert_less"
            return _compare(sign, one_side, other, data, summarize, None, inner)

    default = name
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"An operation that raises InvalidArgumentError when it runs and ``{words}`` is false for some entry."
    )
    return function


assert_negative = _with_zero("<", False, "x < 0", "assert_negative")
assert_positive = _with_zero("<", True, "x > 0", "assert_positive")
assert_non_negative = _with_zero("<=", True, "x >= 0", "assert_non_negative")
assert_non_positive = _with_zero("<=", False, "x <= 0", "assert_non_positive")


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """An operation that raises InvalidArgumentError unless ``|x - y| < atol + rtol * |y|`` for every entry.

    ``rtol`` and ``atol`` are 10 times the element type's epsilon by default.
    """
    graph = get_default_graph()
    with graph.name_scope(name or "assert_near"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype, name="y")
        epsilon = 10 * float(np.finfo(x.dtype.np).eps)
        rtol = convert_to_tensor(epsilon if rtol is None else rtol, x.dtype, name="rtol")
        atol = convert_to_tensor(epsilon if atol is None else atol, x.dtype, name="atol")
        if data is None:
            data = [message or "", f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"]
            data += [_describe(x, "x"), x, _describe(y, "y"), y]
        tolerance = add_op("Add", [atol, add_op("Mul", [rtol, add_op("Abs", [y])])])
        return assert_all(add_op("Less", [add_op("Abs", [add_op("Sub", [x, y])]), tolerance]), data, summarize)


# ---- ranks -----------------------------------------------------------------------------------------------------


def _rank(
    x: TensorLike, ranks: Sequence[TensorLike], fits: Callable[[int, Sequence[int]], bool], sign: str, words: str,
    data: Data, summarize: int | None, message: str | None, name: str,
) -> Operation | None:  # fmt: skip
    graph = get_default_graph()
    with graph.name_scope(name):
        x = convert_to_tensor(x, name="x")
        expected = [convert_to_tensor(r, name="rank") for r in ranks]
        for rank in expected:
            assert_type(rank, int32)
        known = [constant_value(r) for r in expected]
        if any(k is not None and k.ndim != 0 for k in known):
            raise ValueError("Rank must be a scalar.")
        numbers = [int(k) for k in known if k is not None]
        if x.dims is not None and len(numbers) == len(expected):
            if not fits(len(x.dims), numbers):
                said = numbers[0] if sign != "in" else tuple(numbers)
                raise ValueError(
                    f"{message or ''}.  Tensor {x.name} must have {words} {said}.  Received rank {len(x.dims)}, "
                    f"shape {x.shape}"
                )
            passed: Operation | None = no_op("static_checks_determined_all_ok")
            return passed
        if data is None:
            data = [message or "", f"Tensor {x.name} must have {words}", *expected, "Received shape: ", arrays.shape(x)]
        actual = arrays.rank(x)
        kind = "Equal" if sign == "in" else _TYPES[sign]
        condition = add_op(kind, [actual, expected[0]])
        for rank in expected[1:]:
            condition = add_op("LogicalOr", [condition, add_op(kind, [actual, rank])])
        return assert_all(condition, data, summarize)


def assert_rank(
    x: TensorLike,
    rank: TensorLike,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """Check that ``x`` has this rank: ValueError now where the rank is known, else an operation that checks."""
    return _rank(x, [rank], lambda a, r: a == r[0], "==", "rank", data, summarize, message, name or "assert_rank")


def assert_rank_at_least(
    x: TensorLike,
    rank: TensorLike,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """Check that ``x`` has this rank or a higher one."""
    return _rank(
        x, [rank], lambda a, r: a >= r[0], ">=", "rank at least", data, summarize, message,
        name or "assert_rank_at_least",
    )  # fmt: skip


def assert_rank_in(
    x: TensorLike,
    ranks: Iterable[TensorLike],
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """Check that ``x`` has one of these ranks."""
    return _rank(
        x, list(ranks), lambda a, r: a in r, "in", "rank in", data, summarize, message, name or "assert_rank_in"
    )


# ---- shapes ----------------------------------------------------------------------------------------------------


def assert_shapes(
    shapes: Mapping[TensorLike, Sizes] | Sequence[tuple[TensorLike, Sizes]],
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """Check that tensors have the sizes given for them, and equal ones for equal symbols.

    A violation that is known now is a ValueError; sizes that are not known now are checked when it runs.

    Args:
      shapes: a dict or list of pairs of a tensor and its sizes: integers, symbols (equal symbols are equal sizes), None
        or ``"."`` for any size, and at the beginning ``...`` or ``"*"`` for any number of dimensions. A string is taken
        letter by letter. ``()`` is a scalar.
      data: what the error of a check that runs says instead of the tensor and its shape.
      summarize: how many entries of a tensor in ``data`` to show, by default 3.
      message: the first words of the message.
      name: of the name scope; by default "assert_shapes".
    """
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    graph = get_default_graph()
    with graph.name_scope(name or "assert_shapes"):
        by_symbol: dict[Hashable, tuple[int | Tensor, Tensor]] = {}
        checks = []
        for value, specification in pairs:
            tensor = convert_to_tensor(value)
            sizes, open_end = _sizes(specification)
            checks.append(_check_rank(tensor, len(sizes), open_end, data, summarize, message))
            rank = None if tensor.dims is None else len(tensor.dims)
            for axis, size in enumerate(sizes, start=-len(sizes)):
                if size in (None, "."):
                    continue
                known = None if rank is None or rank < -axis else tensor.dims[axis]  # type: ignore[index]
                actual = known if known is not None else arrays.shape(tensor)[axis]
                other = int(size) if _is_size(size) else by_symbol.setdefault(size, (actual, tensor))[0]
                checks.append(_size_is(tensor, actual, other, axis + len(sizes), data, summarize, message))
        operations = [c for c in checks if c is not None]
        return None if graph.executing_eagerly else group(*operations, name="shape_checks") if operations else no_op()


def _sizes(specification: Sizes) -> tuple[list[Any], bool]:
    """The sizes of a specification, and whether more dimensions may come before them."""
    sizes = (
        list(specification) if isinstance(specification, str | list | tuple) else TensorShape(specification).as_list()
    )
    open_end = bool(sizes) and (sizes[0] is Ellipsis or sizes[0] == "*")
    if any(s is Ellipsis or s == "*" for s in sizes[1:]):
        raise ValueError(
            f"Symbol `...` or `*` for any number of dimensions is only allowed at the beginning: {specification}."
        )
    return sizes[1:] if open_end else sizes, open_end


def _is_size(size: SupportsInt | str) -> bool:
    try:
        int(size)
    except (TypeError, ValueError):
        return False
    return True


def _check_rank(
    tensor: Tensor, count: int, open_end: bool, data: Data, summarize: int | None, message: str | None
) -> Operation | None:
    if open_end:
        return assert_rank_at_least(tensor, count, data, summarize, message)
    if count == 0 and tensor.dims == (1,):
        return None
    return assert_rank(tensor, count, data, summarize, message)


def _size_is(
    tensor: Tensor, actual: int | Tensor, other: int | Tensor, axis: int, data: Data, summarize: int | None,
    message: str | None,
) -> Operation | None:  # fmt: skip
    if isinstance(actual, int) and isinstance(other, int):
        if actual != other:
            raise ValueError(
                f"{message or ''}.  Tensor {tensor!r} dimension {axis} must have size {other}.  Received size "
                f"{actual}, shape {tensor.shape}"
            )
        return None
    if data is None:
        data = [message or "", f"Tensor {tensor.name} dimension {axis} must have size", other, "Received shape: "]
        data = [convert_to_tensor(d) if isinstance(d, int) else d for d in [*data, arrays.shape(tensor)]]
    return assert_all(
        add_op("Equal", [convert_to_tensor(actual, int32), convert_to_tensor(other, int32)]), data, summarize
    )


# ---- types -----------------------------------------------------------------------------------------------------


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation | None:
    """Raise TypeError unless the tensor has this dtype. Returns an operation that does nothing."""
    graph = get_default_graph()
    with graph.name_scope(name or "assert_type"):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype is not as_dtype(tf_type):
            raise TypeError(
                f"{message or ''}  {tensor.name} must be of type {as_dtype(tf_type)!r}, got {tensor.dtype!r}"
            )
        passed: Operation | None = no_op("statically_determined_correct_type")
        return passed


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation | None:
    """Raise TypeError unless ``x`` has an integer dtype. Returns an operation that does nothing."""
    graph = get_default_graph()
    with graph.name_scope(name or "assert_integer"):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f'{message or ""}  Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype!r}')
        passed: Operation | None = no_op("statically_determined_was_integer")
        return passed


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """The tensor. Raises ValueError, which ``message`` begins, unless its shape is known to be that of a scalar."""
    tensor = convert_to_tensor(tensor, name=name or "assert_scalar")
    if tensor.dims != ():
        first = f"{message}  " if message else ""
        raise ValueError(f"{first}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
    return tensor


def assert_proper_iterable(values: object) -> None:
    """Raise TypeError unless ``values`` is iterable and no tensor, array or string."""
    if isinstance(values, Tensor | np.ndarray | bytes | str):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_same_float_dtype(tensors: Any = None, dtype: DTypeLike | None = None) -> DType:
    """The floating type that all tensors (None among them are skipped) and ``dtype`` have; float32 where none says.

    Raises:
      ValueError: they differ, or are not floating.
    """
    common = None if dtype is None else as_dtype(dtype)
    first = None
    for item in tensors or ():
        if item is None:
            continue
        kind = as_dtype(item.dtype)
        if common is None:
            common, first = kind, item
        elif kind is not common:
            named = f" as {first.name}" if first is not None else ""
            raise ValueError(f"{item.name}, type={kind!r}, must be of the same type ({common!r}){named}.")
    if common is None:
        return float32
    if not common.is_floating:
        raise ValueError(f"Expected floating point type, got {common!r}.")
    return common


def is_numeric_tensor(tensor: object) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex
    )


def _steps(x: TensorLike, kind: str, name: str) -> Tensor:
    graph = get_default_graph()
    with graph.name_scope(name):
        x = convert_to_tensor(x)
        if not is_numeric_tensor(x):
            raise TypeError(f"Expected x to be numeric, instead found: {x}")
        flat = arrays.reshape(x, [-1])
        return add_op(kind, [flat])


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no entry is smaller than the one before it, in row-major order."""
    return _steps(x, "IsNonDecreasing", name or "is_non_decreasing")


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each entry is larger than the one before it, in row-major order."""
    return _steps(x, "IsStrictlyIncreasing", name or "is_strictly_increasing")


define_op(
    "IsNonDecreasing",
    scalar(bool_),
    lambda x: jnp.all(x[1:] >= x[:-1]),
    differentiable=False,
    numpy=lambda x: np.all(x[1:] >= x[:-1]),
)
define_op(
    "IsStrictlyIncreasing",
    scalar(bool_),
    lambda x: jnp.all(x[1:] > x[:-1]),
    differentiable=False,
    numpy=lambda x: np.all(x[1:] > x[:-1]),
)
