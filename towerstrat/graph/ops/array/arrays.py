"""Shapes, constants of a shape, and moving elements: ``tf.reshape``, ``tf.concat``, ``tf.zeros``, ..."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.argument_types import AxesLike, AxisLike
from towerstrat.graph.ir.composite_values import Convertible, Partitioned
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.given_arguments import one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.integer_arguments import integer, integers
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import constant, convert_sizes, convert_to_tensor, is_tensor, vector
from towerstrat.graph.ir.types import DType, as_dtype, bool_, float32, int32, string
from towerstrat.graph.ops.building.axis_inputs import along, known_axis, normal_axis, unary_along
from towerstrat.graph.ops.building.op_builder import add, add_op, add_unary, convert_pair, reserve_name


def operand(x: Any, name: str, part: str, dtype: DType | None = None) -> Tensor:
    return x if isinstance(x, Tensor) and dtype is None else convert_to_tensor(x, dtype, name=f"{name}{part}/")


# ---- what a shape is -----------------------------------------------------------------------------------------------


def _source(x: Any) -> Any:
    return x if isinstance(x, Tensor) else convert_to_tensor(x)


def _sparse_shape(x: Any) -> Any:
    return x.dense_shape if not isinstance(x, Tensor) and hasattr(x, "dense_shape") and hasattr(x, "indices") else None


def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The sizes of a tensor as an integer vector."""
    sparse = _sparse_shape(input)
    to = as_dtype(out_type)
    if sparse is not None:
        sparse = convert_to_tensor(sparse)
        return sparse if sparse.dtype is to else add_op("Cast", (sparse,), {"DstT": to}, name)
    return add_unary("Shape", input, name, {"out_type": to})


def shape_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = int32) -> Tensor:
    """``shape``; sizes that a graph knows are constants of its program in either case of ``optimize``."""
    return shape(input, name, out_type)


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The sizes of each tensor."""
    return add("ShapeN", [convert_to_tensor(x) for x in input], {"out_type": as_dtype(out_type)}, name)


def size(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The number of elements, a scalar; of a SparseTensor that of the larger tensor, of a RaggedTensor those there."""
    sparse = _sparse_shape(input)
    if sparse is not None:
        return add_op(
            "Cast", [add_op("Prod", [sparse], {"axis": (0,), "keepdims": False})], {"DstT": as_dtype(out_type)}, name
        )
    found = input.flat_values if isinstance(input, Partitioned) else input
    return add_unary("Size", found, name, {"out_type": as_dtype(out_type)})


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions, a scalar of int32."""
    sparse = _sparse_shape(input)
    if sparse is not None:
        return add_unary("Size", sparse, name, {"out_type": int32})
    return add_unary("Rank", input, name)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape of an element-wise combination, known while the graph is built."""
    return TensorShape(shapes.broadcast(as_shape(shape_x).raw, as_shape(shape_y).raw))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape of an element-wise combination, of two shapes that are tensors."""
    x, y = convert_pair(shape_x, shape_y, int32)
    return add_op("BroadcastArgs", (x, y))


# ---- as it is ------------------------------------------------------------------------------------------------------


def identity(input: Any, name: str | None = None) -> Tensor:
    """The same value as another tensor."""
    return add_unary("Identity", input, name)


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """The same values as other tensors of one operation."""
    return add("IdentityN", [convert_to_tensor(x) for x in input], None, name)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The same value, constant for gradients."""
    return add_unary("StopGradient", input, name)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """The same value; the promise that it never changes is not needed."""
    return add_unary("GuaranteeConst", input, name)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same value, checked to have the shape when it runs.

    Raises:
      ValueError: its static shape is another one. InvalidArgumentError on a run where it is not.
    """
    return add_unary("EnsureShape", x, name, {"shape": as_shape(shape).raw})


# ---- constants of a shape ------------------------------------------------------------------------------------------


def _static_shape(value: Any) -> tuple[int, ...] | None:
    """A shape argument that is made of Python numbers only."""
    if isinstance(value, TensorShape):
        return tuple(int(d) for d in value.raw or ()) if shapes.known(value.raw) else None  # type: ignore[arg-type]
    if isinstance(value, Tensor):
        found = constant_value(value)
        return None if found is None or found.ndim != 1 else tuple(int(v) for v in found)
    if isinstance(value, list | tuple) and all(isinstance(v, int | np.integer | shapes.Dimension) for v in value):
        return tuple(int(v) for v in value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(int(v) for v in value)
    return None


def shape_tensor(value: Any, name: str | None = None) -> Tensor:
    """A shape argument as an integer vector; an empty list is the shape of a scalar."""
    if isinstance(value, list | tuple) and all(isinstance(v, shapes.Dimension | int | np.integer) for v in value):
        default = "shape_as_tensor" if value and all(int(v) >= 0 for v in value) else "Const" if value else "shape"
        return vector(tuple([int(v) for v in value]), name or default)
    return convert_sizes(value, name)


def _constant_of(shape: Any, value: Any, dtype: Any, name: str | None, default: str) -> Tensor:
    to = as_dtype(dtype)
    if to is string:
        value = b""
    elif to is bool_:
        value = bool(value)
    graph = get_default_graph()
    name = reserve_name(graph, name or default)
    known = _static_shape(shape)
    if known is not None:
        if any(d < 0 for d in known):
            raise ValueError(f"Expected sizes of at least 0, got {list(known)}.")
        one_value = np.empty((), object) if to is string else np.asarray(value, to.np)
        if to is string:
            one_value[()] = value
        return graph.add("Const", (), {"value": np.broadcast_to(one_value, known), "dtype": to}, name).outputs[0]
    sizes = shape_tensor(shape, f"{name}shape/")
    return add_op("Fill", (sizes, constant(value, to, name=f"{name}Const/")), None, name)


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (False, empty strings)."""
    return _constant_of(shape, 0, dtype, name, "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True)."""
    return _constant_of(shape, 1, dtype, name, "ones")


def _like(tensor: Any, value: int, dtype: Any, name: str | None, optimize: bool, type: str, default: str) -> Tensor:
    name = reserve_name(get_default_graph(), name or default)
    x = operand(tensor, name, "tensor")
    to = x.dtype if dtype is None else as_dtype(dtype)
    if optimize and shapes.known(x.dims):
        return _constant_of(x.shape, value, to, name, default)
    if to is string:
        return fill(shape(x), b"", name)
    return add_op(type, (x,), None if dtype is None else {"dtype": to}, name)


def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros of the shape, and unless ``dtype`` is given of the element type, of a tensor.

    ``optimize=False`` makes an operation of its own even where the shape is known.
    """
    return _like(tensor, 0, dtype, name, optimize, "ZerosLike", "zeros_like")


def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones of the shape, and unless ``dtype`` is given of the element type, of a tensor."""
    return _like(tensor, 1, dtype, name, optimize, "OnesLike", "ones_like")


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of one value.

    Raises:
      ValueError: the value is no scalar.
    """
    name = reserve_name(get_default_graph(), name or "Fill")
    sizes = shape_tensor(dims, f"{name}dims/")
    return add_op("Fill", (sizes, operand(value, name, "value")), None, name)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range") -> Tensor:
    """Numbers from ``start`` (0 if only one argument is given) in steps of ``delta`` up to, without, ``limit``."""
    if limit is None:
        start, limit = 0, start
    graph = get_default_graph()
    name = reserve_name(graph, name or "Range")
    to = None if dtype is None else as_dtype(dtype)
    parts = [operand(v, name, part, None if isinstance(v, Tensor) else to)
             for v, part in zip((start, limit, delta), ("start", "limit", "delta"), strict=True)]  # fmt: skip
    if to is None:
        order = ("int32", "int64", "float32", "float64")
        for part in parts:
            if part.dtype.name not in order:
                raise TypeError(f"Expected int32, int64, float32 or float64 for tf.range, got {part.dtype.name}.")
        to = max((p.dtype for p in parts), key=lambda t: order.index(t.name))
    parts = [p if p.dtype is to else add_op("Cast", (p,), {"DstT": to}, f"{name}Cast") for p in parts]
    return add_op("Range", parts, None, name)


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """``num`` evenly spaced floats from ``start`` to ``stop``, both included."""
    name = reserve_name(get_default_graph(), name or "LinSpace")
    first, last = convert_pair(start, stop, scope=name)
    return add_op("LinSpace", (first, last, operand(num, name, "num")), None, name)


lin_space = linspace


# ---- other shapes for the same elements ----------------------------------------------------------------------------


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements, row by row, in another shape; one size may be -1 (what is left)."""
    name = reserve_name(get_default_graph(), name or "Reshape")
    x = operand(tensor, name, "tensor")
    return add_op("Reshape", (x, shape_tensor(shape, f"{name}shape/")), None, name)


def expand_dims(input: Any, axis: AxesLike = None, name: str | None = None, dim: Any = None) -> Tensor:
    """A dimension of size 1 more, in front of dimension ``axis``. ``dim`` is the old name of ``axis``."""
    axis = one_of(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("Expected an axis for tf.expand_dims, got None.")
    return unary_along("ExpandDims", input, known_axis(axis, listed=True), None, name)


def squeeze(input: Any, axis: AxesLike = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """Dimensions of size 1 dropped: the given ones, or all. ``squeeze_dims`` is the old name of ``axis``."""
    axis = one_of(axis, squeeze_dims, "axis", "squeeze_dims")
    return add_unary("Squeeze", input, name, {"squeeze_dims": integers(axis) or ()})


def transpose(a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False) -> Tensor:
    """Dimension i of the result is dimension ``perm[i]``; all in reverse order by default.

    ``conjugate`` also conjugates complex elements.
    """
    name = reserve_name(get_default_graph(), name or "transpose")
    x = operand(a, name, "a")
    if isinstance(perm, Convertible):
        perm = convert_to_tensor(perm)
    known = constant_value(perm) if isinstance(perm, Tensor) else perm
    type = "ConjugateTranspose" if conjugate and x.dtype.is_complex else "Transpose"
    if perm is not None and known is None:
        result = add_op(type, (x, perm), None, name)
    else:
        order = None if known is None else tuple(int(p) for p in known)
        result = add_op(type, (x,), {"perm": order}, name)
    return result


def matrix_transpose(a: Any, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two dimensions swapped."""
    with get_default_graph().name_scope(name or "matrix_transpose"):
        x = convert_to_tensor(a, name="a")
        if x.dims is None:
            order: Any = add_op("MatrixPerm", (rank(x),))
        else:
            count = len(x.dims)
            if count < 2:
                raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2. Found: {x.shape}")
            order = [*builtins.range(count - 2), count - 1, count - 2]
        return transpose(x, order, conjugate=conjugate)


# ---- several into one, one into several ----------------------------------------------------------------------------


def together(values: Any, name: str) -> list[Tensor]:
    """Tensors of one element type: the first tensor decides, Python values follow."""
    values = list(values)
    leader = next((v.dtype for v in values if isinstance(v, Tensor)), None)
    if leader is None:
        i = next((i for i, v in enumerate(values) if hasattr(v, "dtype")), None)
        if i is not None and is_tensor(values[i]):
            # A variable may be read in another type than its own.
            values[i] = convert_to_tensor(values[i], name=f"{name}values_{i}/")
        leader = None if i is None else as_dtype(values[i].dtype)
    result = []
    for i, value in enumerate(values):
        if isinstance(value, Tensor):
            result.append(value)
            continue
        try:
            result.append(convert_to_tensor(value, leader, name=f"{name}values_{i}/"))
        except ValueError as error:
            raise TypeError(str(error)) from error
        leader = leader or result[-1].dtype
    return result


def concat(values: Any, axis: AxisLike, name: str | None = "concat") -> Any:
    """Tensors one after the other along a dimension.

    Raises:
      ValueError: ranks, or sizes of the other dimensions, differ. TypeError: element types differ.
    """
    if not isinstance(values, list | tuple):
        values = [values]
    ragged = next((v for v in values if isinstance(v, Partitioned)), None)
    if ragged is not None:
        return ragged._concatenated(values, axis)
    axis = known_axis(axis)
    name = reserve_name(get_default_graph(), name or "concat")
    tensors = together(values, name)
    if len(tensors) == 1:
        return add_op("Identity", tensors, None, name)
    return along("ConcatV2", tensors, axis, None, name)[0]


def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Tensor:
    """Tensors of one shape side by side along a new dimension."""
    axis = integer(axis)
    name = reserve_name(get_default_graph(), name or "stack")
    if isinstance(values, Tensor):
        values = unstack(values)
    if axis == 0 and not any(isinstance(v, Tensor) or hasattr(v, "handle") for v in values):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    return add_op("Pack", together(values, name), {"axis": axis}, name)


def parallel_stack(values: Any, name: str | None = "parallel_stack") -> Tensor:
    """``stack`` along the first dimension."""
    with get_default_graph().name_scope(name or "parallel_stack"):
        return stack(values, 0, "ParallelConcat")


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str | None = "unstack") -> list[Tensor]:
    """The slices along a dimension, without it.

    Raises:
      ValueError: their number is not known and not given.
    """
    name = reserve_name(get_default_graph(), name or "unstack")
    x = operand(value, name, "value")
    axis = integer(axis)
    if num is None:
        if x.dims is None:
            raise ValueError(f"Cannot infer num from shape {x.shape}: pass num=.")
        num = x.dims[normal_axis(axis, len(x.dims))]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {x.shape}: pass num=.")
    return add("Unpack", (x,), {"axis": axis, "num": integer(num, "num")}, name)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str | None = "split"
) -> list[Tensor]:
    """Parts along a dimension: so many equal ones, or of the given sizes (one may be -1: what is left).

    Args:
      num: how many parts, where the sizes are a tensor whose length is not known.
    """
    name = reserve_name(get_default_graph(), name or "split")
    x = operand(value, name, "value")
    axis = known_axis(axis)
    sizes = num_or_size_splits
    if sizes.dims == () if isinstance(sizes, Tensor) else not isinstance(sizes, list | tuple) and not np.ndim(sizes):
        return along("Split", (x,), axis, {"num_split": integer(sizes, "num_or_size_splits")}, name)
    sizes = convert_to_tensor(sizes, name=f"{name}size_splits/")
    if num is None:
        num = sizes.dims[0] if sizes.dims else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {sizes.shape}: pass num=.")
    return along("SplitV", (x, sizes), axis, {"num_split": int(num)}, name)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """The tensor repeated ``multiples[i]`` times along dimension i."""
    name = reserve_name(get_default_graph(), name or "Tile")
    x = operand(input, name, "input")
    return add_op("Tile", (x, shape_tensor(multiples, f"{name}multiples/")), None, name)


def repeat(input: Any, repeats: Any, axis: AxesLike = None, name: str | None = None) -> Tensor:
    """Each entry along a dimension so many times, next to each other.

    Args:
      repeats: an integer, or one per entry.
      axis: the dimension; by default the elements are repeated, as a vector.
    """
    name = reserve_name(get_default_graph(), name or "Repeat")
    x = operand(input, name, "input")
    if axis is None:
        x, axis = reshape(x, [-1], f"{name}Reshape"), 0
    return add_op("Repeat", (x, operand(repeats, name, "repeats")), {"axis": integer(axis)}, name)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor repeated along dimensions of size 1 to the given shape."""
    name = reserve_name(get_default_graph(), name or "BroadcastTo")
    x = operand(input, name, "input")
    return add_op("BroadcastTo", (x, shape_tensor(shape, f"{name}shape/")), None, name)


def reverse(tensor: Any, axis: AxesLike, name: str | None = None) -> Tensor:
    """The order of elements turned round along the given dimensions (a list of them)."""
    name = reserve_name(get_default_graph(), name or "ReverseV2")
    x = operand(tensor, name, "tensor")
    if isinstance(axis, list | tuple) and not axis:
        axis = np.zeros(0, np.int32)
    return add_op("ReverseV2", (x, operand(axis, name, "axis")), None, name)


reverse_v2 = reverse


def roll(input: Any, shift: Any, axis: AxisLike | Sequence[int], name: str | None = None) -> Tensor:
    """Elements moved by ``shift`` along a dimension; what leaves at one end comes in at the other."""
    x = _source(input)
    shifts, axes = convert_to_tensor(shift), convert_to_tensor(axis)
    return add_op("Roll", (x, shifts, axes), None, name)


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The part that starts at ``begin`` and is ``size`` long, by dimension; -1 is all that is left."""
    name = reserve_name(get_default_graph(), name or "Slice")
    x = operand(input_, name, "input")
    first = shape_tensor(begin, f"{name}begin/")
    return add_op("Slice", (x, first, shape_tensor(size, f"{name}size/")), None, name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """x where the condition is true, else y; with a condition only, the coordinates of what is true: ``[n, rank]``.

    x and y have one shape; the condition has it too, or is a scalar, or chooses whole rows. Coordinates have a size
    that depends on values: such a graph runs operation by operation, and not inside towers.
    """
    if x is None and y is None:
        return add_unary("Where", condition, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    name = reserve_name(get_default_graph(), name or "Select")
    chosen = operand(condition, name, "condition")
    left, right = convert_pair(x, y, scope=name)
    return add_op("Select", (chosen, left, right), None, name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``where`` whose condition, x and y are broadcast to one shape."""
    if x is None or y is None:
        return where(condition, x, y, name)
    name = reserve_name(get_default_graph(), name or "SelectV2")
    chosen = operand(condition, name, "condition")
    left, right = convert_pair(x, y, scope=name)
    return add_op("SelectV2", (chosen, left, right), None, name)
