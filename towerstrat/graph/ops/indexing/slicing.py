"""Python's indexing of tensors, ``x[begin:end:step, ..., tf.newaxis]``, and the slices of ``tf.slice``."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.constant_folding import partial_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.op_registry import Signature, define_op, define_operator
from towerstrat.graph.ir.shapes import Dimension
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, vector
from towerstrat.graph.ir.types import as_dtype, bool_, int32, int64
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import ONE_SIZE, DifferentShapes
from towerstrat.graph.lowering.position_values import inputs_by_position
from towerstrat.graph.ops.array.array_kernels import check_integers
from towerstrat.graph.ops.building.op_builder import add_op, reserve_name
from towerstrat.graph.ops.indexing.gather_scatter import boolean_mask
from towerstrat.graph.variables.variables import Variable

newaxis = None
Entries = tuple[int | None, ...]


class _Spec:
    """One dimension of a strided slice; None in begin, end: from or to the end; _LATER: known when it runs."""

    __slots__ = ("begin", "end", "kind", "position", "stride")

    def __init__(self, kind: str, position: int, begin: Any = None, end: Any = None, stride: Any = 1):
        self.kind, self.position, self.begin, self.end, self.stride = kind, position, begin, end, stride


_LATER: Any = object()


def _specs(begin: Entries, end: Entries, strides: Entries, attrs: Mapping[str, int]) -> list[_Spec]:
    """Kind of each entry: "slice", "index", "new" (an axis), or "rest" (the ellipsis)."""
    result = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if attrs["ellipsis_mask"] & bit:
            result.append(_Spec("rest", i))
        elif attrs["new_axis_mask"] & bit:
            result.append(_Spec("new", i))
        elif attrs["shrink_axis_mask"] & bit:
            result.append(_Spec("index", i, _LATER if b is None else b))
        else:
            first = None if attrs["begin_mask"] & bit else _LATER if b is None else b
            last = None if attrs["end_mask"] & bit else _LATER if e is None else e
            result.append(_Spec("slice", i, first, last, _LATER if s is None else s))
    return result


def _full(specs: list[_Spec], rank: int) -> list[_Spec]:
    """One entry for each dimension: the ellipsis written out, what is left appended."""
    used = sum(s.kind in ("slice", "index") for s in specs)
    if used > rank:
        raise ValueError(f"Too many indices: {used} for a tensor of rank {rank}.")
    rest = [_Spec("slice", -1) for _ in range(rank - used)]
    where = next((i for i, s in enumerate(specs) if s.kind == "rest"), len(specs))
    return [*specs[:where], *rest, *specs[where + 1 :]]


def _rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = inputs[0]
    entries = [partial_value(t) for t in inputs[1:]]
    if x.dims is None or any(e is None for e in entries):
        return [Signature(x.dtype, None)]
    begin, end, strides = (e for e in entries if e is not None)
    specs = _full(_specs(begin, end, strides, attrs), len(x.dims))
    result: list[int | None] = []
    axis = 0
    for spec in specs:
        if spec.kind == "new":
            result.append(1)
            continue
        dim = x.dims[axis]
        if spec.kind == "index":
            if spec.begin is not _LATER and dim is not None and not -dim <= spec.begin < dim:
                raise ValueError(f"slice index {spec.begin} of dimension {axis} out of bounds for shape {x.shape}.")
        else:
            result.append(_length(dim, spec))
        axis += 1
    return [Signature(x.dtype, tuple(result))]


def _length(dim: int | None, spec: _Spec) -> int | None:
    if spec.stride == 0:
        raise ValueError("strides must be non-zero.")
    if _LATER in (spec.begin, spec.end, spec.stride):
        return None
    if dim is not None:
        return len(range(*builtins.slice(spec.begin, spec.end, spec.stride).indices(dim)))
    if spec.begin in (None, 0) and spec.end == 0 and spec.stride > 0:
        return 0
    if spec.begin is not None and spec.end is not None and spec.end >= 0 and spec.begin >= spec.end and spec.stride > 0:
        return 0
    return None


def _ends(entries: Any) -> Entries:
    return tuple(entries.tolist()) if isinstance(entries, np.ndarray) else tuple(int(v) for v in entries)


class _Cut(NamedTuple):
    """The part of one dimension that a slice takes.

    Attributes:
      step: between entries, which ``length`` says the number of.
      kept: whether the dimension stays, which an index drops.
    """

    start: int
    length: int
    step: int = 1
    kept: bool = True


def _cuts(shape: Sequence[int], bounds: Sequence[Any], attrs: Mapping[str, int]) -> list[_Cut | None]:
    """The cuts of a strided slice of a shape, None for new dimensions. Raises ValueError for an index out of range."""
    cuts: list[_Cut | None] = []
    begin, end, strides = map(_ends, bounds)
    for spec in _full(_specs(begin, end, strides, attrs), len(shape)):
        axis = len(cuts) - cuts.count(None)
        if spec.kind == "new":
            cuts.append(None)
        elif spec.kind == "index":
            if not -shape[axis] <= spec.begin < shape[axis]:
                raise ValueError(f"slice index {spec.begin} of dimension {axis} out of bounds for shape {shape}.")
            cuts.append(_Cut(spec.begin % shape[axis], 1, kept=False))
        else:
            if spec.stride == 0:
                raise ValueError("strides must be non-zero.")
            taken = range(*builtins.slice(spec.begin, spec.end, spec.stride).indices(shape[axis]))
            cuts.append(_Cut(taken.start, len(taken), taken.step))
    return cuts


def _entry(cut: _Cut | None) -> Any:
    """A cut as an entry of an index of numpy's."""
    if cut is None or not cut.kept:
        return cut and cut.start
    end = cut.start + cut.step * cut.length
    return builtins.slice(cut.start, None if end < 0 else end, cut.step) if cut.length else builtins.slice(0, 0)


def _key(x: Any, begin: Any, end: Any, strides: Any, attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The same as an index of numpy's, bounds of indices checked."""
    return tuple([_entry(cut) for cut in _cuts(np.shape(x), (begin, end, strides), attrs)])


def _strided(x: Any, begin: Any, end: Any, strides: Any, **attrs: Any) -> Any:
    return x[_key(x, begin, end, strides, attrs)]


def _picked(x: Any, begin: Any, specs: list[_Spec]) -> Any:
    """A slice whose begin is computed by the program: possible where each such entry picks one element."""
    key: list[Any] = []
    axis = 0
    for spec in _full(specs, x.ndim):
        if spec.kind == "new":
            key.append(None)
            continue
        size = x.shape[axis]
        if spec.kind == "slice":
            key.append(builtins.slice(spec.begin, spec.end, spec.stride))
        elif spec.begin is _LATER:
            index = jnp.asarray(begin)[spec.position]
            key.append(jnp.where(index < 0, index + size, index).astype(index.dtype))
        else:
            key.append(jnp.asarray(spec.begin % max(size, 1), jnp.int32))
        axis += 1
    return _take_each(x, key)


def _take_each(x: Any, key: list[Any]) -> Any:
    axis = 0
    for entry in key:
        if entry is None:
            x = jnp.expand_dims(x, axis)
            axis += 1
        elif isinstance(entry, builtins.slice):
            x = x[(builtins.slice(None),) * axis + (entry,)]
            axis += 1
        else:
            if not x.shape[axis]:  # nothing to pick: a loop without iterations has such a body too
                x = jnp.pad(x, [(0, i == axis) for i in range(x.ndim)])
            x = lax.dynamic_index_in_dim(x, entry, axis, keepdims=False)
    return x


def _known(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _cut_by_position(lowering: Lowering, op: Operation, x: Any, cuts: Mapping[int, Sequence[_Cut | None]]) -> Any:
    """The cut of each position from a value: of one shape, from where constants of its own say.

    Raises:
      DifferentShapes: the results' shapes differ.
    """
    axis = lowering.axis
    assert axis is not None
    shapes = [tuple(1 if cut is None else cut.length for cut in of_one if cut is None or cut.kept)
              for of_one in cuts.values()]  # fmt: skip
    if len(set(shapes)) > 1:
        raise DifferentShapes(op, shapes, ONE_SIZE)
    x = jnp.asarray(x)
    key: list[Any] = []
    dim = 0
    for of_axis in zip(*cuts.values(), strict=True):
        first = of_axis[0]
        if first is None:
            key.append(None)
            continue
        if len(set(of_axis)) == 1:
            x = x[(*[builtins.slice(None)] * dim, _entry(first._replace(kept=True)))]
        else:
            x = _cut_own(vary(x, axis), dict(zip(cuts, of_axis, strict=True)), dim, axis)
        key.append(builtins.slice(None) if first.kept else 0)
        dim += 1
    return x[tuple(key)]


def _cut_own(x: Any, cuts: Mapping[int, _Cut], dim: int, axis: Axis) -> Any:
    """This position's cut from a dimension: all cuts have one length."""
    starts, steps = np.zeros(axis.size, np.int32), np.ones(axis.size, np.int32)
    for position, cut in cuts.items():
        starts[position], steps[position] = cut.start, cut.step
    length = next(iter(cuts.values())).length
    start, step = (jnp.asarray(each)[lax.axis_index(axis.name)] for each in (starts, steps))
    if np.all(steps == 1):
        return lax.dynamic_slice_in_dim(x, start, length, dim)
    return jnp.take(x, start + step * jnp.arange(length, dtype=jnp.int32), dim, mode="clip")


def _lower(lowering: Lowering, op: Operation) -> list[Any]:
    x, begin, end, strides = (lowering.value(t) for t in op.inputs)
    if all(map(_known, (begin, end, strides))):
        return [_strided(x, begin, end, strides, **op.attrs)]
    bounds = inputs_by_position(lowering, op, (1, 2, 3))
    if bounds is not None:
        cuts = {position: _cuts(np.shape(x), of_one, op.attrs) for position, of_one in bounds.items()}
        return [_cut_by_position(lowering, op, x, cuts)]
    strides = lowering.static(op, 3)
    starts = _ends(begin) if _known(begin) else partial_value(op.inputs[1])
    ends = _ends(end) if _known(end) else partial_value(op.inputs[2])
    if starts is not None and ends is not None:
        specs = _specs(starts, ends, _ends(strides), op.attrs)
        if not any(s.kind == "slice" and _LATER in (s.begin, s.end) for s in specs):
            return [_picked(jnp.asarray(x), begin, specs)]
    return [_strided(x, lowering.static(op, 1), lowering.static(op, 2), strides, **op.attrs)]


def _check_picked(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    """Check that an index that the program computes, and picks an element by, is within the dimension."""
    x, begin = values[:2]
    if _known(begin):
        return None
    starts = partial_value(op.inputs[1])
    strides = values[3]
    if starts is None or not _known(strides):
        return None
    places, sizes, axis = [], [], 0
    for spec in _full(_specs(starts, (None,) * len(starts), _ends(strides), op.attrs), np.ndim(x)):
        if spec.kind == "index" and spec.begin is _LATER:
            places.append(spec.position)
            sizes.append((axis, np.shape(x)[axis]))
        axis += spec.kind != "new"
    if not places:
        return None
    found = jnp.asarray(begin)[np.asarray(places)]
    limits = np.asarray([size for _, size in sizes]).astype(found.dtype)
    axes = [axis for axis, _ in sizes]
    return input_checks.first_of(
        (found < -limits) | (found >= limits),
        found,
        message=lambda where, i: (
            f"slice index {int(i)} of dimension {axes[int(where.strip('[]'))]} out of bounds for shape {np.shape(x)}."
        ),
    )


define_op(
    "StridedSlice", _rule, lower=_lower, numpy=_strided, numpy_takes_objects=True, view=True,
    check=InputCheck(_check_picked, (1, 3)), sized_by=(1, 2, 3), derivative="linear", additive=True,
)  # fmt: skip


# ---- public --------------------------------------------------------------------------------------------------------


def strided_slice(
    input_: Any, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, var: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``input_[begin:end:strides]`` with vectors of bounds; bit i of a mask is about entry i.

    Args:
      begin_mask, end_mask: bounds to ignore.
      ellipsis_mask: the entry that stands for all dimensions not named.
      new_axis_mask: entries that add a dimension of size 1.
      shrink_axis_mask: entries that pick one element and drop the dimension.
      var: the variable that ``input_`` was read from; changes nothing here.
    """
    graph = get_default_graph()
    name = reserve_name(graph, name or "StridedSlice")
    x = convert_to_tensor(input_, name=f"{name}input/")
    starts = convert_to_tensor(begin, name=f"{name}begin/")
    ends = convert_to_tensor(end, starts.dtype if isinstance(begin, Tensor) else None, name=f"{name}end/")
    if strides is None:
        strides = np.ones(starts.dims or (), starts.dtype.np)
    steps = convert_to_tensor(strides, starts.dtype, name=f"{name}strides/")
    if bin(ellipsis_mask).count("1") > 1:
        raise ValueError("Multiple ellipses are not allowed.")
    attrs = {
        "begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask,
    }  # fmt: skip
    return add_op("StridedSlice", (x, starts, ends, steps), attrs, name)


def _check_index(value: Any) -> None:
    """Raises TypeError for what is no index."""
    if isinstance(value, int | np.integer | Dimension) and not isinstance(value, bool):
        return
    dtype = getattr(value, "dtype", None)
    dims = value.dims if isinstance(value, Tensor) else getattr(value, "shape", None)
    if dtype is None or as_dtype(dtype) not in (int32, int64) or (dims is not None and len(dims) > 0):
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar int32 or int64 tensors are "
            f"valid indices, got {value!r}. Use tf.boolean_mask for a mask, tf.gather for several indices."
        )


def _packed(values: list[Any], name: str) -> Tensor:
    """Bounds as a vector; int64 where one of them is."""
    tensors = [v for v in values if isinstance(v, Tensor | Variable)]
    if not tensors:
        return vector(tuple([int(v) for v in values]), name)
    kind = int64 if any(v.dtype is int64 for v in tensors) else int32
    parts = []
    for value in values:
        part = convert_to_tensor(
            value, None if isinstance(value, Tensor | Variable) else kind, name=f"{name[:-1]}/part"
        )
        parts.append(part if part.dtype is kind else add_op("Cast", (part,), {"DstT": kind}))
    return add_op("Pack", parts, {"axis": 0}, name)


def _bound(value: Any, default: int) -> Any:
    if value is None:
        return default
    if isinstance(value, Convertible) and not isinstance(value, Variable):
        value = convert_to_tensor(value)
    _check_index(value)
    return int(value) if isinstance(value, np.integer | Dimension | np.ndarray) else value


def bounds_of(key: Any, name: str) -> tuple[list[Tensor], dict[str, int]]:
    """Contents of brackets as the inputs of a strided slice (begin, end, strides) and its masks."""
    masks = {"begin": 0, "end": 0, "ellipsis": 0, "new_axis": 0, "shrink_axis": 0}
    bounds: list[tuple[Any, Any, Any]] = []
    for i, entry in enumerate(key if isinstance(key, list | tuple) else [key]):
        bit = 1 << i
        if isinstance(entry, builtins.slice):
            masks["begin"] |= bit * (entry.start is None)
            masks["end"] |= bit * (entry.stop is None)
            bounds.append((_bound(entry.start, 0), _bound(entry.stop, 0), _bound(entry.step, 1)))
        elif entry is Ellipsis:
            if masks["ellipsis"]:
                raise ValueError("Multiple ellipses are not allowed.")
            masks["ellipsis"] |= bit
            bounds.append((0, 0, 1))
        elif entry is newaxis:
            masks["new_axis"] |= bit
            bounds.append((0, 0, 1))
        else:
            index = _bound(entry, 0)
            masks["shrink_axis"] |= bit
            bounds.append((index, index + 1, 1))
    graph = get_default_graph()
    if not bounds:
        vectors = [
            graph.add("Const", (), {"value": np.zeros(0, np.int32), "dtype": int32}, f"{name}Const/").outputs[0]
        ] * 3
    else:
        parts = zip(zip(*bounds, strict=True), ("stack", "stack_1", "stack_2"), strict=True)
        vectors = [_packed(list(values), f"{name}{part}/") for values, part in parts]
        if any(v.dtype is int64 for v in vectors):
            vectors = [v if v.dtype is int64 else add_op("Cast", (v,), {"DstT": int64}) for v in vectors]
    return vectors, {f"{mask}_mask": bits for mask, bits in masks.items()}


def get_item(source: Tensor | Variable, key: Any) -> Tensor:
    """``source[key]``; of a variable, the part's ``assign`` stores there. A mask chooses as in ``tf.boolean_mask``."""
    if isinstance(key, bool) or (isinstance(key, Tensor | np.ndarray) and as_dtype(key.dtype) is bool_):
        return boolean_mask(source, key)
    name = reserve_name(get_default_graph(), "strided_slice")
    vectors, attrs = bounds_of(key, name)
    if not isinstance(source, Variable):
        return add_op("StridedSlice", (source, *vectors), attrs, name)
    part = add_op("StridedSlice", (source.value(), *vectors), attrs, name)
    part.assign = functools.partial(_assign_slice, source, vectors, attrs)
    return part


def _assign_slice(
    variable: Any, vectors: Sequence[Tensor], attrs: Mapping[str, int], value: Any, name: str | None = None
) -> Any:
    """Stores ``value`` (broadcast) in a part of the variable; what ``variable.assign`` would return."""
    return variable.assign_slice(vectors, attrs, convert_to_tensor(value, variable.dtype), name)


def _assign_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    cell, value = inputs[0].op.attrs["cell"], inputs[4]
    if value.dtype is not cell.dtype:
        raise TypeError(f"Expected a {cell.dtype.name} value for variable {cell.name}, got {value.dtype.name}.")
    if value.varies and not cell.may_differ:
        raise ValueError(
            f"The value assigned to a part of variable {cell.name} differs by tower, and the variable has one value "
            "for all. Combine the value first (distribution.reduce in a merge_call)."
        )
    return [Signature(cell.dtype, cell.dims)]


def _lower_assign(lowering: Lowering, op: Operation) -> list[Any]:
    cell = op.inputs[0].op.attrs["cell"]
    old = jnp.asarray(lowering.state.read(cell, op))
    read = lowering.value if cell.is_varying else lowering.invariant
    begin, value = read(op.inputs[1]), jnp.asarray(read(op.inputs[4]))
    strides = _ends(lowering.static(op, 3))
    if _known(begin) and _known(lowering.value(op.inputs[2])):
        key = _key(old, begin, lowering.value(op.inputs[2]), strides, op.attrs)
    else:
        starts = partial_value(op.inputs[1]) or (None,) * len(strides)
        ends = partial_value(op.inputs[2]) or (None,) * len(strides)
        specs = _full(_specs(starts, ends, strides, op.attrs), old.ndim)
        if any(s.kind == "slice" and _LATER in (s.begin, s.end) for s in specs):
            key = _key(old, lowering.static(op, 1), lowering.static(op, 2), strides, op.attrs)
        else:
            key = tuple(_place(s, begin) for s in specs)
    new = lax.stop_gradient(old.at[key].set(value))
    lowering.state.write(cell, new)
    return [new]


def _place(spec: _Spec, begin: Any) -> Any:
    """One entry of an index of numpy's."""
    if spec.kind == "new":
        return None
    if spec.kind == "slice":
        return builtins.slice(spec.begin, spec.end, spec.stride)
    return jnp.asarray(begin)[spec.position] if spec.begin is _LATER else spec.begin


define_op(
    "ResourceStridedSliceAssign", _assign_rule, lower=_lower_assign, reads=True, writes=True, stateful=True,
    differentiable=False,
)  # fmt: skip
define_operator("__getitem__", get_item)


# ---- boxes ---------------------------------------------------------------------------------------------------------


def _slice_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x, begin, size = inputs
    check_integers(begin, "begin")
    check_integers(size, "size")
    starts, sizes = partial_value(begin), partial_value(size)
    rank = len(x.dims) if x.dims is not None else len(sizes or starts or ()) or None
    if rank is None:
        return [Signature(x.dtype, None)]
    dims = x.dims or (None,) * rank
    starts, sizes = starts or (None,) * rank, sizes or (None,) * rank
    if len(starts) != rank or len(sizes) != rank:
        raise ValueError(f"Expected begin and size of length {rank} for shape {x.shape}, got {starts} and {sizes}.")
    result: list[int | None] = []
    for axis, (dim, start, wanted) in enumerate(zip(dims, starts, sizes, strict=True)):
        if wanted == -1:
            wanted = None if dim is None or start is None else dim - start
        if wanted is not None and wanted < 0:
            raise ValueError(f"Slice of {sizes[axis]} from {start} does not fit dimension {axis} of shape {x.shape}.")
        result.append(wanted)
    return [Signature(x.dtype, tuple(result))]


def _slice(x: Any, begin: Any, size: Any) -> Any:
    sizes = [int(s) for s in np.ravel(size)]
    if isinstance(begin, np.ndarray):
        return x[tuple(slice(cut.start, cut.start + cut.length) for cut in _box(x.shape, begin, sizes))]
    if -1 in sizes:
        raise ValueError("A size of -1 (all that is left) needs a begin that is known before the program runs.")
    return lax.dynamic_slice(x, [begin[i] for i in range(len(sizes))], sizes)


def _box(shape: Sequence[int], begin: Any, size: Any) -> list[_Cut]:
    """The cuts of a box from a shape. Raises ValueError where it does not fit."""
    cuts = []
    for axis, (start, length, dim) in enumerate(
        zip(np.ravel(begin).tolist(), np.ravel(size).tolist(), shape, strict=True)
    ):
        if not 0 <= start <= dim:
            raise ValueError(f"Expected begin[{axis}] in [0, {dim}], but got {start}.")
        cuts.append(_Cut(start, dim - start if length == -1 else length))
        if not 0 <= cuts[-1].length <= dim - start:
            raise ValueError(f"Expected size[{axis}] in [0, {dim - start}], but got {length}.")
    return cuts


def _lower_slice(lowering: Lowering, op: Operation) -> list[Any]:
    x, begin = lowering.value(op.inputs[0]), lowering.value(op.inputs[1])
    if not _known(begin) or not _known(lowering.value(op.inputs[2])):
        boxes = inputs_by_position(lowering, op, (1, 2))
        if boxes is not None:
            cuts = {position: _box(np.shape(x), *of_one) for position, of_one in boxes.items()}
            return [_cut_by_position(lowering, op, x, cuts)]
    size = lowering.static(op, 2)
    known = isinstance(begin, np.ndarray | np.generic)
    if not known and -1 in size:
        begin = lowering.static(op, 1)
    if not (known and isinstance(x, np.ndarray)):
        x = jnp.asarray(x)
    return [_slice(x, np.asarray(begin) if known else begin, size)]


def _check_slice(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    """The slice lies within the tensor, wherever the program makes it begin."""
    x, begin, size = values
    if input_checks.on_host(begin) or not input_checks.on_host(size) or np.any(size < 0):
        return None
    limits = (np.asarray(np.shape(x)) - size).astype(begin.dtype)

    def message(where: str, start: Any) -> str:
        axis = int(where.strip("[]"))
        return f"Slice of {int(size[axis])} from {int(start)} does not fit dimension {axis} of shape {np.shape(x)}."

    return input_checks.first_of((begin < 0) | (begin > limits), begin, message=message)


define_op(
    "Slice", _slice_rule, lower=_lower_slice, numpy=_slice, numpy_takes_objects=True,
    check=InputCheck(_check_slice, (1, 2)), sized_by=(1, 2), derivative="linear", additive=True, same_bits=True,
)  # fmt: skip
