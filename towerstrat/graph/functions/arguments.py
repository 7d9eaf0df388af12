"""Arguments of traced functions: cache keys, the tensors in them, and the placeholders of a new trace.

A key is equal for calls that can share a trace. Arrays are keyed like tensors, by dtype and shape; Python values by
type and value; objects that cannot be hashed by identity, and kept alive so that no other object gets the same ``id``.

>>> key_of(3, []) == key_of(3.0, []), key_of(np.zeros([2, 3]), []) == key_of(np.ones([2, 3]), [])
(False, True)
>>> relax([(2, 3), ()], [(4, 3), ()])
[(None, 3), ()]
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeGuard

import jax
import numpy as np

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite_values import Argument
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.type_specs import TensorSpec, TypeSpec
from towerstrat.graph.ir.types import Array, DType
from towerstrat.graph.ops.collectives.all_reduce import position_input
from towerstrat.graph.variables.variables import Variable


def is_array(value: object) -> TypeGuard[Array]:
    """Whether an argument is an array, so that it is traced as a tensor."""
    return isinstance(value, np.ndarray | np.generic | jax.Array)


def key_of(value: object, keep: list[object]) -> Hashable:
    """The cache key of an argument: dtype and shape of tensors and arrays, type and value of Python values.

    Args:
      value: a leaf or a structure; variables are keyed by their state, other objects by equality or identity.
      keep: objects whose identity is in the key are appended; they must live as long as the key is in use, since
        another object may get the same ``id`` afterwards.
    """
    if isinstance(value, Tensor):
        return (value.dtype, value.dims)
    cls = value.__class__
    if cls in (int, float, bool, str, bytes, complex) or value is None:
        # NaN is unequal to itself: as a value it would be traced again at every call.
        return (cls, value) if value == value else (cls, "nan")
    if isinstance(value, TensorSpec):
        return (value.dtype, value.shape.raw)
    if isinstance(value, TypeSpec):
        return (value.value_type, tuple([key_of(s, keep) for s in nest.flatten(value._component_specs)]))
    if isinstance(value, Variable):
        return (Variable, value.cell)
    if is_array(value):
        return (_dtype_of(value), np.shape(value))
    if isinstance(value, Mapping):
        return (cls, tuple([(k, key_of(value[k], keep)) for k in value]))
    if isinstance(value, list | tuple):
        return (cls, tuple([key_of(v, keep) for v in value]))
    if isinstance(value, Argument):
        return (cls, value._argument_key(), tuple([key_of(t, keep) for t in value._tensors()]))
    try:
        hash(value)
    except TypeError:
        keep.append(value)
        return (cls, id(value))
    return (cls, value)


def _dtype_of(value: Array) -> DType:
    return convert_to_tensor(value).dtype if value.dtype.kind in "USO" else _TYPES[value.dtype]


class _Types(dict[Hashable, DType]):
    """numpy's dtypes -> ours, filled on first use: ``np.dtype`` hashes faster than a conversion takes."""

    def __missing__(self, dtype: Hashable) -> DType:
        self[dtype] = convert_to_tensor(np.zeros((), dtype)).dtype
        return self[dtype]


_TYPES = _Types()


def tensors_of(value: object) -> list[Tensor]:
    """The tensors in a structure of arguments, in order; arrays are converted, variables left out."""
    tensors: list[Tensor] = []
    for leaf in nest.flatten(value):
        if isinstance(leaf, Tensor):
            tensors.append(leaf)
        elif is_array(leaf):
            tensors.append(convert_to_tensor(leaf))
        elif isinstance(leaf, Argument) and not isinstance(leaf, Variable):
            tensors += leaf._tensors()
    return tensors


def stand_ins(
    graph: Graph, values: Sequence[object], names: Iterable[str], shapes: Sequence[Dims] | None = None
) -> tuple[list[object], list[Tensor]]:
    """Replace the tensors in arguments by placeholders of a graph.

    Args:
      graph: the trace's, which the placeholders are added to.
      values: the arguments, one structure per parameter; a ``TensorSpec`` stands for a tensor.
      names: of the parameters; placeholders are named after them.
      shapes: of the placeholders, one per tensor; by default those of the tensors.

    Returns:
      The arguments with the placeholders in them, and the placeholders in order.
    """
    placeholders: list[Tensor] = []
    remaining_shapes = iter(shapes) if shapes is not None else None

    def place(dtype: DType, dims: Dims, name: str, axis: Axis | None = None) -> Tensor:
        shape = dims if remaining_shapes is None else next(remaining_shapes)
        if axis is not None:
            placeholders.append(position_input(axis, dtype, shape, _name(name)))
            return placeholders[-1]
        placeholders.append(graph.add("Placeholder", (), {"dtype": dtype, "shape": shape}, _name(name)).outputs[0])
        return placeholders[-1]

    def stand_in(leaf: object, name: str) -> object:
        if isinstance(leaf, TensorSpec):
            return place(leaf.dtype, leaf.shape.raw, leaf.name or name)
        if isinstance(leaf, TypeSpec):
            axis = getattr(leaf, "axis", None)
            parts = nest.map_structure(lambda s: place(s.dtype, s.shape.raw, name, axis), leaf._component_specs)
            return leaf._from_components(parts)
        if isinstance(leaf, Tensor):
            return place(leaf.dtype, leaf.dims, name)
        if is_array(leaf):
            return place(_dtype_of(leaf), np.shape(leaf), name)
        if not isinstance(leaf, Argument) or isinstance(leaf, Variable):
            return leaf
        axis = leaf._argument_axis()
        return leaf._like([place(t.dtype, t.dims, name, axis) for t in leaf._tensors()])

    symbolic = [nest.map_structure(partial(stand_in, name=n), v) for v, n in zip(values, names, strict=True)]
    return symbolic, placeholders


def _name(name: str) -> str:
    """A parameter's name, made a valid operation name."""
    cleaned = "".join(c if c.isalnum() or c in "_.-" else "_" for c in name)
    return cleaned if cleaned and (cleaned[0].isalnum() or cleaned[0] == ".") else "args"


def relax(one: Iterable[Dims], two: Iterable[Dims]) -> list[Dims] | None:
    """The most specific shapes that cover both lists, one by one; None where two ranks differ."""
    result: list[Dims] = []
    for a, b in itertools.zip_longest(one, two):
        if a is None or b is None:
            result.append(None)
        elif len(a) != len(b):
            return None
        else:
            result.append(tuple(x if x == y else None for x, y in zip(a, b, strict=True)))
    return result


def fits(dims: Dims, expected: Dims) -> bool:
    """Whether two partially known shapes are compatible."""
    return TensorShape(expected).is_compatible_with(TensorShape(dims))
