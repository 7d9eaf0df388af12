"""Products of matrices and of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph import shapes
from towerstrat.graph.core import Tensor, get_default_graph
from towerstrat.graph.ops.build import one, pair, reserve
from towerstrat.graph.ops.elementwise import check_kind
from towerstrat.graph.ops.math import add_operator
from towerstrat.graph.registry import Signature, define
from towerstrat.graph.shapes import TensorShape

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]


def _matmul_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "number")
    a, b = inputs
    if a.dims is None or b.dims is None:
        return [Signature(a.dtype, None)]
    if len(a.dims) < 2 or len(b.dims) < 2:
        raise ValueError(f"Shape must be rank 2 or higher to multiply matrices, got {a.shape} and {b.shape}.")
    rows, inner = a.dims[-2:] if not attrs["transpose_a"] else a.dims[:-3:-1]
    other, columns = b.dims[-2:] if not attrs["transpose_b"] else b.dims[:-3:-1]
    if inner is not None and other is not None and inner != other:
        flags = [f for f in ("transpose_a", "transpose_b") if attrs[f]]
        raise ValueError(
            f"Dimensions must be equal, but are {inner} and {other}: multiplying {a.shape} by {b.shape}"
            f"{' with ' + ', '.join(flags) if flags else ''}."
        )
    batch_a, batch_b = a.dims[:-2], b.dims[:-2]
    if not TensorShape(batch_a).is_compatible_with(batch_b):
        raise ValueError(f"Expected equal batch dimensions, got {a.shape} and {b.shape}.")
    return [Signature(a.dtype, (*(shapes.merge(batch_a, batch_b) or ()), rows, columns))]


def _matmul(a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, conjugate_a: bool = False,
            conjugate_b: bool = False) -> Any:  # fmt: skip
    if a.ndim < 2 or b.ndim < 2 or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"Expected matrices with equal batch dimensions, got shapes {a.shape} and {b.shape}.")
    if transpose_a:
        a = jnp.swapaxes(a, -1, -2)
    if transpose_b:
        b = jnp.swapaxes(b, -1, -2)
    a = jnp.conj(a) if conjugate_a else a
    b = jnp.conj(b) if conjugate_b else b
    return jnp.matmul(a, b)


for _type in ("MatMul", "BatchMatMul"):
    define(_type, _matmul_rule, _matmul)


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The matrix product over the last two dimensions; those in front are a batch and must be equal.

    Args:
      transpose_a, transpose_b: swap the last two dimensions of an operand first.
      adjoint_a, adjoint_b: swap and conjugate.
      a_is_sparse, b_is_sparse: hints about many zeros; they change no value.

    Raises:
      ValueError: ranks below 2, inner sizes that differ, transpose and adjoint of one operand.
    """
    if transpose_a and adjoint_a:
        raise ValueError("Only one of transpose_a and adjoint_a can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of transpose_b and adjoint_b can be True.")
    name = reserve(get_default_graph(), name or "MatMul")
    a, b = pair(a, b, scope=name)
    attrs: dict[str, Any] = {
        "transpose_a": bool(transpose_a or adjoint_a),
        "transpose_b": bool(transpose_b or adjoint_b),
    }
    if a.dtype.is_complex:
        attrs |= {"conjugate_a": bool(adjoint_a), "conjugate_b": bool(adjoint_b)}
    batched = any(t.dims is not None and len(t.dims) > 2 for t in (a, b))
    return one("BatchMatMul" if batched else "MatMul", (a, b), attrs, name)


add_operator("matmul", matmul)


def sparse_matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False,
    b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``matmul`` of dense matrices with many zeros."""
    return matmul(a, b, transpose_a, transpose_b, name=name or "SparseMatMul")
