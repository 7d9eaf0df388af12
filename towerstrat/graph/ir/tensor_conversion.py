"""Constants, placeholders and the conversion of Python, numpy and JAX values to tensors.

Public functions call ``convert_to_tensor`` on their arguments. It asks the functions that are registered for the
value's type (variables, composite values, shapes, sequences that hold tensors); what no one takes becomes a constant,
whose element type is inferred from the Python value as in TensorFlow: int32, or int64 where it does not fit, float32,
bool, string.

>>> convert_to_tensor([1, 2]).dtype.name, convert_to_tensor(2**40).dtype.name, convert_to_tensor(0.5).dtype.name
('int32', 'int64', 'float32')

Source: ``tensorflow/python/framework/constant_op.py`` and ``tensor_util.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.given_arguments import one_of
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Eager, Signature, define_op
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.types import DType, DTypeLike, HostArray, as_dtype, float32, int32, int64, string


def _constant_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    return [Signature(attrs["dtype"], attrs["value"].shape)]


def _no_placeholder(context: Eager, inputs: Sequence[Tensor], attrs: Attrs) -> list[Tensor]:
    raise RuntimeError(
        "tf.placeholder() is not compatible with eager execution: call functions with values, or build a graph inside "
        "`with tf.Graph().as_default():`."
    )


define_op(
    "Const",
    _constant_rule,
    lower=lambda lowering, op: [op.attrs["value"]],
    execute=lambda context, inputs, attrs: [context.tensor(attrs["value"], attrs["dtype"])],
    constant=True,
    own="value",
    hidden=("value",),
)
define_op(
    "Placeholder",
    lambda inputs, attrs: [Signature(attrs["dtype"], attrs["shape"])],
    lower=lambda lowering, op: lowering.raise_unfed(op),
    execute=_no_placeholder,
    is_placeholder=True,
)
define_op(
    "PlaceholderWithDefault",
    lambda inputs, attrs: [Signature(inputs[0].dtype, attrs["shape"])],
    kernel=lambda x, *, shape: x,
    numpy=lambda x, *, shape: x,
    is_placeholder=True,
    passes_rows=True,
)

ConversionFunction = Callable[..., Any]
"""``(value, dtype=None, name=None, as_ref=False)`` -> a tensor, or NotImplemented."""
Types = type | tuple[type, ...]


def register_tensor_conversion_function(
    base_type: Types, conversion_func: ConversionFunction, priority: int = 100
) -> None:
    """Makes ``convert_to_tensor`` accept a type, or several.

    Args:
      base_type: the type or types; values of derived types count too.
      conversion_func: called as ``conversion_func(value, dtype=None, name=None, as_ref=False)``; it returns a tensor,
        or NotImplemented to leave the value to the next function.
      priority: lower ones are asked first.

    Raises:
      TypeError: ``conversion_func`` is not callable.
    """
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _CONVERSIONS.append((priority, base_type, conversion_func))
    _CONVERSIONS.sort(key=lambda entry: entry[0])


_DENSE: set[type[Any]] = set()


def register_dense_tensor_like_type(tensor_type: type[Any]) -> None:
    """Makes ``is_tensor`` and ``is_dense_tensor_like`` true of a type.

    Raises:
      TypeError: it has no properties ``name`` and ``dtype``.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    _DENSE.add(tensor_type)


def is_dense_tensor_like(t: object) -> bool:
    """Whether a value is a tensor or of a type registered with ``register_dense_tensor_like_type``."""
    return isinstance(t, (Tensor, *_DENSE))


def numpy_value(value: object, dtype: DType | None = None) -> HostArray:
    """A Python, numpy or JAX value as the array that ``tf.constant`` holds.

    Args:
      value: a number, string, array or nested sequence.
      dtype: the element type; by default an array's own, float32 for Python floats, int32 (or int64 where it is needed)
        for integers. Strings become an object array of bytes.

    Raises:
      TypeError: values that do not fit ``dtype`` (a float where integers are wanted, a string among numbers).
      ValueError: nested sequences of unequal lengths, None, or an integer out of range.
    """
    if isinstance(value, np.ndarray | np.generic | jax.Array) or hasattr(type(value), "__array__"):
        array = np.asarray(value)
        if dtype is None:
            dtype = as_dtype(array.dtype)
        if dtype is string:
            return _strings(array)
        return array if array.dtype == dtype.np else array.astype(dtype.np)
    if dtype is None:
        dtype = _infer_dtype(value)
    if dtype is string:
        return _strings(value)
    _check_python(value, dtype)
    try:
        return np.array(value, dtype=dtype.np)
    except OverflowError:
        raise ValueError(f"Value {value!r} does not fit {dtype.name}.") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"Cannot make a {dtype.name} tensor of {value!r}: {error}") from None


def _strings(value: object) -> HostArray:
    """Strings, nested or in an array, as an object array of bytes. Raises TypeError where one is no text."""
    array = np.array(value, dtype=object)
    # Python's names of files that are not UTF-8 become their bytes again.
    flat = [v.encode("utf-8", "surrogateescape") if isinstance(v, str) else v for v in array.ravel()]
    wrong = [v for v in flat if not isinstance(v, bytes)]
    if wrong:
        raise TypeError(f"Expected string values, got {wrong[0]!r} of type {type(wrong[0]).__name__}.")
    result = np.empty(array.shape, dtype=object)
    result.ravel()[:] = flat if array.ndim else flat[0]
    return result


_NO_NONE = "None values not supported: expected a number, a string, an array or a tensor."


def _first(value: Any) -> Any:
    """The leaf that decides the element type of nested sequences: a float or complex, an integer, else the first."""
    while isinstance(value, list | tuple):
        if not value:
            return None
        kinds = [_first(v) for v in value]
        integer = next((k for k in kinds if type(k) is int), kinds[0])
        return next((k for k in kinds if isinstance(k, float | complex | np.floating)), integer)
    return value


def _infer_dtype(value: Any) -> DType:
    """The element type of a Python value, as TensorFlow infers it. Raises ValueError for None."""
    if value is None:
        raise ValueError(_NO_NONE)
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


def _check_python(value: object, dtype: DType) -> None:
    """Raises TypeError or ValueError where a Python value, or an entry of it, does not fit an element type.

    Booleans are numbers, numbers no booleans.
    """
    if isinstance(value, list | tuple):
        for item in value:
            _check_python(item, dtype)
        return
    if value is None:
        raise ValueError(_NO_NONE)
    if isinstance(value, shapes.Dimension):
        value = value.value
    if dtype.is_bool:
        fits = isinstance(value, bool | np.bool_)
    elif dtype.is_integer:
        fits = isinstance(value, int | np.integer | np.bool_ | np.ndarray)
    elif dtype.is_floating or dtype.is_complex:
        fits = not isinstance(value, str | bytes)
    else:
        fits = True
    if not fits:
        raise TypeError(f"Expected {dtype.name}, got {value!r} of type '{type(value).__name__}' instead.")


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A constant tensor.

    Args:
      value: a number, string, nested sequence or array.
      dtype: element type; by default float32 for Python floats, int32 for integers, an array's own.
      shape: the tensor's shape; missing entries repeat the last value.
      name: of the operation, made unique in the graph.
      verify_shape: raise TypeError where ``shape`` is not exactly the value's.

    Raises:
      TypeError: values that do not fit ``dtype``, or a shape that ``verify_shape`` refuses.
      ValueError: nested sequences of unequal lengths, or more values than ``shape`` has entries.
    """
    graph = get_default_graph()
    requested = None if dtype is None else as_dtype(dtype)
    return _constant(graph, shaped_value(value, requested, shape, verify_shape), requested, name)


def shaped_value(value: object, dtype: DType | None, shape: ShapeLike, verify_shape: bool) -> HostArray:
    """The array of a constant; arguments and errors as of ``constant``."""
    array = numpy_value(value, dtype)
    if shape is None:
        return array
    dims = [int(d) for d in as_shape(shape).as_list()]  # type: ignore[arg-type]
    if verify_shape and list(array.shape) != dims:
        raise TypeError(f"Expected Tensor's shape: {tuple(dims)}, got {array.shape}.")
    return _fill(array, tuple(dims))


def _fill(array: HostArray, dims: tuple[int, ...]) -> HostArray:
    """An array reshaped to ``dims``, with its last value repeated for missing entries; any one gives an empty one."""
    count = int(np.prod(dims))
    if not count:
        return np.zeros(dims, array.dtype)
    if array.size > count:
        raise ValueError(f"Too many elements provided. Needed at most {count}, but received {array.size}.")
    if array.size < count:
        if array.size == 0:
            raise ValueError(f"Cannot fill the shape {dims} from no value.")
        padding = np.full(count - array.size, array.ravel()[-1], dtype=array.dtype)
        array = np.concatenate([array.ravel(), padding])
    return array.reshape(dims)


def _constant(graph: Graph, array: HostArray, dtype: DType | None, name: str | None) -> Tensor:
    dtype = dtype or as_dtype(array.dtype)
    # The caller may go on writing to its array; constants never change.
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return graph.add("Const", (), {"value": array, "dtype": dtype}, name or "Const").outputs[0]


def convert_to_tensor(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None,
    preferred_dtype: DTypeLike | None = None, dtype_hint: DTypeLike | None = None,
) -> Tensor:  # fmt: skip
    """``value`` as a tensor of the default graph.

    Args:
      value: a tensor, variable, number, string, array, nested sequence (of tensors too), or a value of a type
        registered with ``register_tensor_conversion_function``.
      dtype: the required element type.
      name: of the operation that a conversion adds; a tensor stays as it is.
      preferred_dtype: old name of ``dtype_hint``.
      dtype_hint: the element type to use if the value fits it and ``dtype`` is None.

    Raises:
      ValueError: a tensor of another element type than ``dtype``.
      TypeError: a value of no such type, or one that does not fit ``dtype``.
    """
    if dtype_hint is not None:
        preferred_dtype = one_of(dtype_hint, preferred_dtype, "dtype_hint", "preferred_dtype")
    requested = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        return _require_dtype(get_default_graph().inside(value), requested, name)
    for _, base_type, function in _CONVERSIONS:
        if isinstance(value, base_type):
            result = NotImplemented
            if requested is None and preferred_dtype is not None:
                try:
                    result = function(value, dtype=as_dtype(preferred_dtype), name=name, as_ref=False)
                except (TypeError, ValueError):
                    result = NotImplemented
            if result is NotImplemented:
                result = function(value, dtype=requested, name=name, as_ref=False)
            if result is not NotImplemented:
                return _require_dtype(result, requested, name)
    if requested is None and preferred_dtype is not None:
        try:
            return _constant(get_default_graph(), numpy_value(value, as_dtype(preferred_dtype)), None, name)
        except (TypeError, ValueError):
            pass
    return _constant(get_default_graph(), numpy_value(value, requested), requested, name)


@functools.lru_cache(maxsize=4096)
def _integers(values: tuple[int, ...]) -> tuple[HostArray, DType]:
    kind = int64 if any(not -(2**31) <= v < 2**31 for v in values) else int32
    array = np.array(values, kind.np)
    array.flags.writeable = False
    return array, kind


def vector(values: tuple[int, ...], name: str) -> Tensor:
    """A constant vector of integers, int32 where they fit, else int64. Equal vectors share one array."""
    array, kind = _integers(values)
    return get_default_graph().add("Const", (), {"value": array, "dtype": kind}, name).outputs[0]


def _require_dtype(tensor: Tensor, requested: DType | None, name: str | None) -> Tensor:
    if requested is not None and tensor.dtype is not requested:
        raise ValueError(
            f"Tensor conversion requested dtype {requested.name} for Tensor with dtype {tensor.dtype.name}: "
            f"{tensor!r}. Use tf.cast(x, tf.{requested.name})."
        )
    return tensor


def is_tensor(x: object) -> bool:
    """True of tensors and of types registered as convertible (variables, IndexedSlices), except lists and arrays.

    A type says otherwise with ``is_tensor_like = False``, and that it is one of tensors with True.
    """
    if is_dense_tensor_like(x) or getattr(x, "is_tensor_like", None) is True:
        return True
    return getattr(x, "is_tensor_like", True) and any(
        isinstance(x, base)
        for _, base, _ in _CONVERSIONS
        if base not in ((list, tuple), list, tuple, np.ndarray, object)
    )


def _by_itself(value: Convertible, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    # What derives from a class of ours and says itself how it is converted, as TensorFlow 2.12 and later ask.
    convert = getattr(type(value), "__tf_tensor__", None)
    return value._to_tensor(dtype, name) if convert is None else convert(value, dtype, name)


class _SelfConverting(type):
    """The metaclass of ``TensorProtocol``: ``isinstance`` is true of objects with a ``__tf_tensor__``."""

    def __instancecheck__(cls, instance: object) -> bool:
        return hasattr(type(instance), "__tf_tensor__")


class TensorProtocol(metaclass=_SelfConverting):
    """An object with a ``__tf_tensor__`` method, by which it converts itself."""

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        """The object as a tensor."""
        raise NotImplementedError


def _by_method(
    value: TensorProtocol, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return value.__tf_tensor__(dtype, name)


def _from_jax(value: jax.Array, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    """A JAX array as an eager tensor without a copy; NotImplemented in graphs, or where its type must change."""
    graph = get_default_graph()
    kind = as_dtype(value.dtype)
    if not graph.executing_eagerly or dtype not in (None, kind):
        return NotImplemented
    return graph.add("Const", (), {"value": value, "dtype": kind}, name).outputs[0]


def _from_shape(
    value: shapes.TensorShape, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}. Use tf.shape(x).")
    dims = [d or 0 for d in value.as_list()]
    kind = dtype or (int64 if any(d >= 2**31 for d in dims) else int32)
    if kind not in (int32, int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype {kind.name}.")
    return constant(dims, kind, name=name or "shape_as_tensor")


def _from_dimension(
    value: shapes.Dimension, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if value.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor. Use tf.shape(x)[i].")
    return constant(value.value, dtype or int32, name=name or "dimension_as_tensor")


def _holds_tensor(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_tensor(v) for v in value)
    return is_tensor(value)


def _read(value: Any) -> Any:
    """A nested sequence with variables and the like replaced by tensors, whose dtype may be another one."""
    if isinstance(value, list | tuple):
        return [_read(v) for v in value]
    return convert_to_tensor(value) if is_tensor(value) else value


def _element_dtype(value: object) -> DType | None:
    if isinstance(value, list):
        return next((d for d in map(_element_dtype, value) if d is not None), None)
    return value.dtype if isinstance(value, Tensor) else None


def _as_type(value: TensorLike, dtype: DType | None) -> Tensor:
    """A part of a sequence: a tensor of another type is cast."""
    tensor = convert_to_tensor(value, None if is_tensor(value) else dtype)
    if dtype is None or tensor.dtype is dtype:
        return tensor
    return get_default_graph().add("Cast", (tensor,), {"DstT": dtype}, "Cast").outputs[0]


def _from_sequence(
    value: Sequence[Any], dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """A sequence with tensors in it, stacked; NotImplemented for one without."""
    if not _holds_tensor(value):
        return NotImplemented
    leaves = _read(value)
    dtype = dtype or _element_dtype(leaves)
    parts = [_as_type(v, dtype) for v in leaves]
    return get_default_graph().add("Pack", parts, {"axis": 0}, name or "packed").outputs[0]


def convert_sizes(value: TensorLike, name: str | None = None) -> Tensor:
    """Sizes as a tensor. Of a list with tensors of a floating type they are cast, as the original casts them."""
    if isinstance(value, list | tuple) and _holds_tensor(value):
        value = _read(value)
        element_dtype = _element_dtype(value)
        return convert_to_tensor(
            value, int32 if element_dtype is not None and element_dtype.is_floating else None, name=name
        )
    return convert_to_tensor(value, name=name)


_CONVERSIONS: list[tuple[int, Types, ConversionFunction]] = [
    (50, Convertible, _by_itself),
    (100, shapes.TensorShape, _from_shape),
    (100, shapes.Dimension, _from_dimension),
    (100, (list, tuple), _from_sequence),
    (100, jax.Array, _from_jax),
    (100, TensorProtocol, _by_method),
]
"""(priority, types, function) in the order in which they are tried: these, and those that the program registers."""


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A tensor that must be fed.

    Args:
      dtype: element type.
      shape: static shape of the values that can be fed; None: any.
      name: of the operation; by default "Placeholder".

    Raises:
      InvalidArgumentError: from ``Session.run``, where it is needed and not fed.
      RuntimeError: under eager execution.
    """
    attrs = {"dtype": as_dtype(dtype), "shape": as_shape(shape).raw}
    return get_default_graph().add("Placeholder", (), attrs, name).outputs[0]


def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """A tensor with the value of ``input`` unless it is fed; ``shape`` is its static shape."""
    value = convert_to_tensor(input)
    return get_default_graph().add("PlaceholderWithDefault", [value], {"shape": as_shape(shape).raw}, name).outputs[0]
