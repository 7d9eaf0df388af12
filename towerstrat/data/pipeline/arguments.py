"""Arguments of datasets: numbers that may be tensors, padding, predicates, components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.data.elements.structure import RaggedParts, Structure, flatten, flatten_like, is_nest, map_leaves
from towerstrat.data.pipeline import sources
from towerstrat.data.pipeline.batching import default_filling
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dimension, TensorShape, as_shape
from towerstrat.graph.ir.sparse_tensor import SparseTensorSpec
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, numpy_value
from towerstrat.graph.ir.type_specs import TensorSpec
from towerstrat.graph.ir.types import bool_, int64
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensorSpec


def scalar(value: Any, what: str, none: int | None = None) -> Any:
    """An integer argument of a dataset: a number, or a scalar tensor that is evaluated when an iterator starts.

    Raises:
      TypeError: it is neither.
    """
    if value is None and none is not None:
        return none
    if isinstance(value, Dimension):
        value = value.value
    if isinstance(value, Tensor) or hasattr(value, "initializer"):
        tensor = convert_to_tensor(value)
        if not tensor.dtype.is_integer or tensor.dims not in ((), None):
            raise TypeError(f"{what}: expected an integer or an integer scalar tensor, got {tensor!r}.")
        return int(tensor.op.attrs["value"]) if tensor.op.type == "Const" else tensor
    array = np.asarray(value)
    if array.ndim == 0 and array.dtype.kind in "iu":
        return int(array)
    raise TypeError(f"{what}: expected an integer, got {value!r}.")


def predicate_of(node: DatasetNode, predicate: Callable[..., Any], name: str) -> Function:
    """A function of elements that returns one truth value."""
    function = Function(predicate, [node.structure], name, get_default_graph())
    structure = function.structure
    if len(structure) != 1 or structure.dtypes[0] is not bool_ or structure.dims[0] not in ((), None):
        raise ValueError("`predicate` must return a scalar boolean tensor.")
    return function


def components(value: Any) -> Any:
    """What the elements of a source are made of."""

    def convert(leaf: Any) -> Any:
        if hasattr(leaf, "node"):
            raise UnsupportedError("Datasets as components of elements are not supported; use Dataset.zip or flat_map.")
        return sources.component(leaf)

    return map_leaves(convert, value)


def structure_of_specs(specs: Any, what: str) -> Structure:
    """The structure that a nest of specifications of dense, sparse and ragged tensors describes.

    Raises:
      TypeError: a leaf is none.
    """
    if isinstance(specs, list):
        specs = tuple(specs)
    for leaf in flatten(specs):
        if not isinstance(leaf, TensorSpec | SparseTensorSpec | RaggedTensorSpec):
            raise TypeError(f"{what} must consist of tf.TensorSpec objects, got {leaf!r}.")
    return Structure.of_specs(specs)


# ---- padding -----------------------------------------------------------------------------------------------------


def padding(structure: Structure, padded_shapes: Any, padding_values: Any) -> tuple[list[Any], list[Any]]:
    """For each component the padded shape, and the value to fill with.

    Args:
      padded_shapes: None: as large as the largest of a batch, where the rank is known.
      padding_values: None, one value for all components, or a structure of values where None is the default.
    """
    if structure.composite:
        what = "ragged" if any(isinstance(form, RaggedParts) for form, _ in structure.units) else "sparse"
        raise TypeError(f"Batching of padded {what} tensors is not currently supported; make them dense in a map.")
    if padded_shapes is None:
        if any(d is None for d in structure.dims):
            raise ValueError(
                f"padded_batch: padded_shapes is needed, as the rank of a component is not known: {structure.shapes}."
            )
        padded_shapes = structure.shapes
    given = flatten_like(structure.template, padded_shapes, "padded_shapes")
    names = list(structure.names())
    shapes = [_padded_shape(s, d, n) for s, d, n in zip(given, structure.dims, names, strict=True)]
    if padding_values is None:
        return shapes, [default_filling(t) for t in structure.dtypes]
    if not is_nest(padding_values) and is_nest(structure.template):
        values = [padding_values] * len(structure)
    else:
        values = flatten_like(structure.template, padding_values, "padding_values")
    return shapes, _fillings(values, structure)


def _fillings(values: Sequence[Any], structure: Structure) -> list[Any]:
    return [default_filling(t) if v is None else _filling(v, t) for v, t in zip(values, structure.dtypes, strict=True)]


def _padded_shape(shape: Any, dims: Any, name: str) -> Any:
    if isinstance(shape, Tensor):
        if shape.dtype is not int64:
            raise TypeError(f"padded_shapes: expected an int64 tensor for {name}, got {shape!r}.")
        return shape
    if not isinstance(shape, TensorShape | Dimension) and shape is not None:
        entries = [shape] if isinstance(shape, int) else list(shape)
        shape = [None if isinstance(d, int | np.integer) and d < 0 else d for d in entries]
    wanted = as_shape(shape)
    if dims is not None and wanted.raw is not None:
        fits = len(dims) == len(wanted.raw) and all(
            w is None or d is None or d <= w for d, w in zip(dims, wanted.raw, strict=True)
        )
        if not fits:
            raise ValueError(
                f"The padded shape {wanted} is not compatible with the shape {TensorShape(dims)} of {name}."
            )
    return wanted


def _filling(value: Any, dtype: Any) -> Any:
    if isinstance(value, Tensor):
        if value.dtype is not dtype:
            raise TypeError(f"padding_values: expected {dtype.name}, got {value!r}.")
        return value
    array = numpy_value(value, dtype)
    if array.ndim:
        raise ValueError(f"padding_values: expected a scalar, got {value!r}.")
    return array
