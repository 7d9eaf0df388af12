"""From Python and numpy values to tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.composite import Convertible
from towerstrat.graph.ir.core import Graph, get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.registry import Signature, define
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.types import DType, as_dtype, float32, int32, int64, string


def _constant_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(attrs["dtype"], attrs["value"].shape)]


def _no_placeholder(context: Any, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any]:
    raise RuntimeError(
        "tf.placeholder() is not compatible with eager execution: call functions with values, or build a graph inside "
        "`with tf.Graph().as_default():`."
    )


define(
    "Const",
    _constant_rule,
    lower=lambda lowering, op: [op.attrs["value"]],
    execute=lambda context, inputs, attrs: [context.tensor(attrs["value"], attrs["dtype"])],
    constant=True,
    hidden=("value",),
)
define(
    "Placeholder",
    lambda inputs, attrs: [Signature(attrs["dtype"], attrs["shape"])],
    lower=lambda lowering, op: lowering.missing_feed(op),
    execute=_no_placeholder,
    given=True,
)
define(
    "PlaceholderWithDefault",
    lambda inputs, attrs: [Signature(inputs[0].dtype, attrs["shape"])],
    kernel=lambda x, *, shape: x,
    numpy=lambda x, *, shape: x,
    given=True,
)

ConversionFunction = Callable[..., Any]


def register_tensor_conversion_function(
    base_type: Any, conversion_func: ConversionFunction, priority: int = 100
) -> None:
    """Teaches ``convert_to_tensor`` a type: ``conversion_func(value, dtype=None, name=None, as_ref=False)``.

    The function may return NotImplemented to pass. Lower priorities are asked first.
    """
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _CONVERSIONS.append((priority, base_type, conversion_func))
    _CONVERSIONS.sort(key=lambda entry: entry[0])


def numpy_value(value: Any, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    """A Python or numpy value as the array that ``tf.constant`` would hold.

    Raises:
      TypeError: the values do not fit ``dtype`` (a float where integers are wanted, a string among numbers).
      ValueError: nested sequences of unequal lengths.
    """
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        array = np.asarray(value)
        if dtype is None:
            dtype = as_dtype(array.dtype)
        if dtype is string:
            return array.astype(object)
        return array if array.dtype == dtype.np else array.astype(dtype.np)
    if dtype is None:
        dtype = _inferred(value)
    if dtype is string:
        return _strings(value)
    _check_python(value, dtype)
    try:
        return np.array(value, dtype=dtype.np)
    except OverflowError:
        raise ValueError(f"Value {value!r} does not fit {dtype.name}.") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"Cannot make a {dtype.name} tensor of {value!r}: {error}") from None


def _strings(value: Any) -> np.ndarray[Any, Any]:
    array = np.array(value, dtype=object)
    flat = [v.encode() if isinstance(v, str) else v for v in array.ravel()]
    wrong = [v for v in flat if not isinstance(v, bytes)]
    if wrong:
        raise TypeError(f"Expected string values, got {wrong[0]!r} of type {type(wrong[0]).__name__}.")
    result = np.empty(array.shape, dtype=object)
    result.ravel()[:] = flat if array.ndim else flat[0]
    return result


def _first(value: Any) -> Any:
    while isinstance(value, list | tuple):
        if not value:
            return None
        kinds = [_first(v) for v in value]
        return next((k for k in kinds if isinstance(k, float | complex | np.floating)), kinds[0])
    return value


def _inferred(value: Any) -> DType:
    leaf = value
    if isinstance(value, list | tuple):
        leaf = _first(value)
        if leaf is None:
            return float32
    if isinstance(leaf, bool):
        return as_dtype(np.bool_)
    if isinstance(leaf, int):
        flat = np.asarray(value)
        fits = flat.dtype == object or flat.size == 0 or (flat.min() >= -(2**31) and flat.max() < 2**31)
        return int32 if fits else int64
    if isinstance(leaf, float):
        return float32
    if isinstance(leaf, complex):
        return as_dtype(np.complex128)
    if isinstance(leaf, str | bytes):
        return string
    if isinstance(leaf, shapes.Dimension):
        return int32
    if hasattr(leaf, "dtype"):
        return as_dtype(leaf.dtype)
    raise TypeError(f"Failed to convert {value!r} of type {type(value).__name__} to a tensor.")


def _check_python(value: Any, dtype: DType) -> None:
    if isinstance(value, list | tuple):
        for item in value:
            _check_python(item, dtype)
        return
    if value is None:
        raise ValueError("None values not supported: expected a number, a string, an array or a tensor.")
    if isinstance(value, shapes.Dimension):
        value = value.value
    if dtype.is_bool:
        fits = isinstance(value, bool | np.bool_)
    elif dtype.is_integer:
        fits = isinstance(value, int | np.integer | np.ndarray) and not isinstance(value, bool)
    elif dtype.is_floating or dtype.is_complex:
        fits = not isinstance(value, str | bytes | bool)
    else:
        fits = True
    if not fits:
        raise TypeError(f"Expected {dtype.name}, got {value!r} of type '{type(value).__name__}' instead.")


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A tensor of fixed values.

    Args:
      value: a number, string, nested sequence or array.
      dtype: element type; Python floats are float32, integers int32 unless it is given.
      shape: repeats a scalar to this shape, or the last value of a shorter list.
      verify_shape: raise TypeError where ``shape`` is not exactly the value's.
    """
    graph = get_default_graph()
    wanted = None if dtype is None else as_dtype(dtype)
    array = numpy_value(value, wanted)
    if shape is not None:
        dims = [int(d) for d in as_shape(shape).as_list()]  # type: ignore[arg-type]
        if verify_shape and list(array.shape) != dims:
            raise TypeError(f"Expected Tensor's shape: {tuple(dims)}, got {array.shape}.")
        array = _fill(array, tuple(dims))
    return _constant(graph, array, wanted, name)


def _fill(array: np.ndarray[Any, Any], dims: tuple[int, ...]) -> np.ndarray[Any, Any]:
    wanted = int(np.prod(dims))
    if array.size > wanted:
        raise ValueError(f"Too many elements provided. Needed at most {wanted}, but received {array.size}.")
    if array.size < wanted:
        if array.size == 0:
            raise ValueError(f"Cannot fill the shape {dims} from no value.")
        padding = np.full(wanted - array.size, array.ravel()[-1], dtype=array.dtype)
        array = np.concatenate([array.ravel(), padding])
    return array.reshape(dims)


def _constant(graph: Graph, array: np.ndarray[Any, Any], dtype: DType | None, name: str | None) -> Tensor:
    dtype = dtype or as_dtype(array.dtype)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return graph.add("Const", (), {"value": array, "dtype": dtype}, name or "Const").outputs[0]


def convert_to_tensor(value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None) -> Tensor:
    """``value`` as a tensor of the default graph.

    Args:
      value: a tensor, variable, number, string, nested sequence (of tensors too), array, or a registered type.
      dtype: the element type that is required.
      preferred_dtype: the element type to use if the value allows it.

    Raises:
      ValueError: a tensor of another element type than ``dtype``.
      TypeError: no tensor can be made of the value.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        return _checked(get_default_graph().inside(value), wanted, name)
    for _, base_type, function in _CONVERSIONS:
        if isinstance(value, base_type):
            result = NotImplemented
            if wanted is None and preferred_dtype is not None:
                try:
                    result = function(value, dtype=as_dtype(preferred_dtype), name=name, as_ref=False)
                except (TypeError, ValueError):
                    result = NotImplemented
            if result is NotImplemented:
                result = function(value, dtype=wanted, name=name, as_ref=False)
            if result is not NotImplemented:
                return _checked(result, wanted, name)
    if wanted is None and preferred_dtype is not None:
        try:
            return _constant(get_default_graph(), numpy_value(value, as_dtype(preferred_dtype)), None, name)
        except (TypeError, ValueError):
            pass
    return _constant(get_default_graph(), numpy_value(value, wanted), wanted, name)


@functools.lru_cache(maxsize=4096)
def _integers(values: tuple[int, ...]) -> tuple[np.ndarray[Any, Any], DType]:
    kind = int64 if any(not -(2**31) <= v < 2**31 for v in values) else int32
    array = np.array(values, kind.np)
    array.flags.writeable = False
    return array, kind


def vector(values: tuple[int, ...], name: str) -> Tensor:
    """Integers that are known as a constant, int32 where they fit: the shapes and bounds of many operations."""
    array, kind = _integers(values)
    return get_default_graph().add("Const", (), {"value": array, "dtype": kind}, name).outputs[0]


def _checked(tensor: Tensor, wanted: DType | None, name: str | None) -> Tensor:
    if wanted is not None and tensor.dtype is not wanted:
        raise ValueError(
            f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {tensor.dtype.name}: "
            f"{tensor!r}. Use tf.cast(x, tf.{wanted.name})."
        )
    return tensor


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a tensor, or of a type that stands for one (a variable, IndexedSlices) and says nothing else."""
    if isinstance(x, Tensor):
        return True
    return getattr(x, "is_tensor_like", True) and any(
        isinstance(x, base)
        for _, base, _ in _CONVERSIONS
        if base not in ((list, tuple), list, tuple, np.ndarray, object)
    )


def _by_itself(value: Convertible, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    return value._to_tensor(dtype, name)


def _from_jax(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    """A JAX array, eagerly without a copy."""
    graph = get_default_graph()
    kind = as_dtype(value.dtype)
    if not graph.executing_eagerly or dtype not in (None, kind):
        return NotImplemented
    return graph.add("Const", (), {"value": value, "dtype": kind}, name).outputs[0]


def _from_shape(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}. Use tf.shape(x).")
    dims = value.as_list()
    kind = dtype or (int64 if any(d >= 2**31 for d in dims) else int32)
    if kind not in (int32, int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype {kind.name}.")
    return constant(dims, kind, name=name or "shape_as_tensor")


def _from_dimension(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if value.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor. Use tf.shape(x)[i].")
    return constant(value.value, dtype or int32, name=name or "dimension_as_tensor")


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_tensor(v) for v in value)
    return is_tensor(value)


def _element_dtype(value: Any) -> DType | None:
    if isinstance(value, list | tuple):
        return next((d for d in map(_element_dtype, value) if d is not None), None)
    if isinstance(value, Tensor):
        return value.dtype
    dtype = getattr(value, "dtype", None) if is_tensor(value) else None
    return None if dtype is None else as_dtype(dtype)


def _from_sequence(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if not _holds_tensor(value):
        return NotImplemented
    dtype = dtype or _element_dtype(value)
    parts = [convert_to_tensor(v, dtype) for v in value]
    return get_default_graph().add("Pack", parts, {"axis": 0}, name or "packed").outputs[0]


_CONVERSIONS: list[tuple[int, Any, ConversionFunction]] = [
    (50, Convertible, _by_itself),
    (100, shapes.TensorShape, _from_shape),
    (100, shapes.Dimension, _from_dimension),
    (100, (list, tuple), _from_sequence),
    (100, jax.Array, _from_jax),
]
"""(priority, types, function), the first that applies first: these, and what the program has registered."""


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that has no value of its own and must be fed.

    Raises (on ``Session.run``):
      InvalidArgumentError: when it was not fed.
    """
    attrs = {"dtype": as_dtype(dtype), "shape": as_shape(shape).raw}
    return get_default_graph().add("Placeholder", (), attrs, name).outputs[0]


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """``input``, unless it is fed."""
    value = convert_to_tensor(input)
    return get_default_graph().add("PlaceholderWithDefault", [value], {"shape": as_shape(shape).raw}, name).outputs[0]
