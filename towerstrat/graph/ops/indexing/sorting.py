"""Order along a dimension: ``tf.sort`` and ``tf.argsort``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.integer_arguments import integer
from towerstrat.graph.ir.node_def import NoNodesError
from towerstrat.graph.ir.op_registry import Rule, Signature, define_op
from towerstrat.graph.ir.types import DType, int32
from towerstrat.graph.ops.array.arrays import shape as shape_of
from towerstrat.graph.ops.array.arrays import transpose
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.axis_inputs import normal_axis
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.op_builder import add, add_unary
from towerstrat.graph.ops.math.arithmetic import negative
from towerstrat.graph.ops.math.elementwise import check_kind


def _rule(dtype: DType | None) -> Rule:
    def rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
        x = inputs[0]
        check_kind(inputs, "real")
        if x.dims is not None:
            normal_axis(attrs["axis"], len(x.dims))
        return [Signature(dtype or x.dtype, x.dims)]

    return rule


def _sort(x: Any, *, axis: int, descending: bool, numpy: Any = jnp) -> Any:
    if descending and jnp.issubdtype(x.dtype, jnp.floating):
        return -numpy.sort(-x, axis=axis)
    found = numpy.sort(x, axis=axis)
    return numpy.flip(found, axis) if descending else found


def _argsort(x: Any, *, axis: int, descending: bool) -> Any:
    if descending and jnp.issubdtype(x.dtype, jnp.floating):
        x, descending = -x, False
    return jnp.argsort(x, axis=axis, descending=descending, stable=True).astype(jnp.int32)


def _by_top_k(position: int) -> Callable[..., Tensor]:
    """The formula with the largest values of each row: all of them, of the negative ones where it ascends."""

    def formula(x: Tensor, axis: int, descending: bool) -> Tensor:
        if x.dims is None:
            raise NoNodesError("A tensor of unknown rank is sorted by no node of the original.")
        order = list(range(len(x.dims)))
        order[axis], order[-1] = order[-1], order[axis]
        rows = transpose(x, order)
        rows = rows if descending else negative(rows)
        results = add("TopKV2", [rows, shape_of(rows)[-1]], {"sorted": True})
        result = transpose(results[position], order)
        return result if descending or position else negative(result)

    return formula


define_op(
    "Sort", _rule(None), _sort, numpy=numpy_kernels.on_host(partial(_sort, numpy=np)), derivative="linear",
    nodes=expansion(_by_top_k(0)),
)  # fmt: skip
define_op(
    "ArgSort", _rule(int32), _argsort, numpy=numpy_kernels.argsort, differentiable=False, nodes=expansion(_by_top_k(1))
)


def _ordered(type: str, values: Any, axis: Any, direction: str, name: str | None) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Expected direction 'ASCENDING' or 'DESCENDING', got {direction!r}.")
    attrs = {"axis": integer(axis), "descending": direction == "DESCENDING"}
    return add_unary(type, values, name, attrs)


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The entries in order along a dimension, NaNs last in either direction.

    Args:
      direction: "ASCENDING" or "DESCENDING".
    """
    return _ordered("Sort", values, axis, direction, name or "sort")


def argsort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The positions (int32) that put the entries in order along a dimension.

    Args:
      direction: "ASCENDING" or "DESCENDING".
      stable: changes nothing: equal entries always keep their order.
    """
    return _ordered("ArgSort", values, axis, direction, name or "argsort")
