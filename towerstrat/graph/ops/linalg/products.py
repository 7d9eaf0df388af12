"""Products of matrices and of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.node_writer import NodeWriter, name_of
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array.arrays import expand_dims, squeeze
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.axis_inputs import normal_axis
from towerstrat.graph.ops.building.op_builder import add_op, convert_pair, reserve_name
from towerstrat.graph.ops.indexing import slicing  # noqa: F401  (indexing is an operator of tensors too)
from towerstrat.graph.ops.math.arithmetic import add_operator
from towerstrat.graph.ops.math.elementwise import check_kind

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]


def _matmul_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "number")
    a, b = inputs
    if a.dims is None or b.dims is None:
        return [Signature(a.dtype, None if attrs.get("batch") else _known_sides(a.dims, b.dims, attrs))]
    if len(a.dims) < 2 or len(b.dims) < 2:
        raise ValueError(f"Shape must be rank 2 or higher to multiply matrices, got {a.shape} and {b.shape}.")
    rows, inner = a.dims[-2:] if not attrs["transpose_a"] else a.dims[:-3:-1]
    other, columns = b.dims[-2:] if not attrs["transpose_b"] else b.dims[:-3:-1]
    if inner is not None and other is not None and inner != other:
        flags = [f for f in ("transpose_a", "transpose_b") if attrs[f]]
        raise ValueError(
            f"Dimensions must be equal, but are {inner} and {other}. Matrix size-incompatible: In[0]: {list(a.dims)}, "
            f"In[1]: {list(b.dims)}{', with ' + ', '.join(flags) if flags else ''}"
        )
    try:
        batch = shapes.broadcast(a.dims[:-2], b.dims[:-2]) or ()
    except ValueError:
        raise ValueError(f"The batch dimensions do not go together: multiplying {a.shape} by {b.shape}.") from None
    return [Signature(a.dtype, (*batch, rows, columns))]


def _known_sides(a: Dims, b: Dims, attrs: Attrs) -> Dims:
    rows = a[-1 if attrs["transpose_a"] else -2] if a is not None and len(a) == 2 else None
    columns = b[-2 if attrs["transpose_b"] else -1] if b is not None and len(b) == 2 else None
    return rows, columns


def _matmul(a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, conjugate_a: bool = False,
            batch: bool = False, conjugate_b: bool = False) -> Any:  # fmt: skip
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"Expected matrices, got shapes {a.shape} and {b.shape}.")
    if transpose_a:
        a = jnp.swapaxes(a, -1, -2)
    if transpose_b:
        b = jnp.swapaxes(b, -1, -2)
    a = jnp.conj(a) if conjugate_a else a
    b = jnp.conj(b) if conjugate_b else b
    return jnp.matmul(a, b)


def _matmul_nodes(writer: NodeWriter, op: Operation) -> None:
    """The original conjugates with the batched product's ``adj_x`` alone, and has another type where batches differ."""
    dtype, names, flags = op.inputs[0].dtype, [], []
    batched = op.type == "BatchMatMul"
    for tensor, side in zip(op.inputs, "ab", strict=True):
        flag = op.attrs[f"transpose_{side}"]
        conjugates = op.attrs.get(f"conjugate_{side}", False) != (batched and flag and dtype.is_complex)
        name = name_of(tensor)
        names.append(writer.node(f"Conj_{side}", "Conj", [name], T=dtype) if conjugates else name)
        flags.append(flag)
    if not batched:
        writer.node("", "MatMul", names, T=dtype, transpose_a=flags[0], transpose_b=flags[1])
        return
    batches = [None if t.dims is None else t.dims[:-2] for t in op.inputs]
    type = "BatchMatMul" if batches[0] == batches[1] else "BatchMatMulV2"
    writer.node("", type, names, T=dtype, adj_x=flags[0], adj_y=flags[1])


for _type in ("MatMul", "BatchMatMul"):
    define_op(
        _type, _matmul_rule, _matmul, numpy=numpy_kernels.form(numpy_kernels.matmul), derivative="bilinear",
        nodes=_matmul_nodes,
    )  # fmt: skip


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The matrix product over the last two dimensions; those in front are a batch, and broadcast.

    Args:
      transpose_a, transpose_b: swap the last two dimensions of an operand first.
      adjoint_a, adjoint_b: swap and conjugate.
      a_is_sparse, b_is_sparse: hints about many zeros; they change no value.

    Raises:
      ValueError: ranks below 2, inner sizes that differ, batches that do not broadcast, transpose and adjoint of one
        operand.
    """
    if transpose_a and adjoint_a:
        raise ValueError("Only one of transpose_a and adjoint_a can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of transpose_b and adjoint_b can be True.")
    name = reserve_name(get_default_graph(), name or "MatMul")
    a, b = convert_pair(a, b, scope=name)
    attrs: dict[str, Any] = {
        "transpose_a": bool(transpose_a or adjoint_a),
        "transpose_b": bool(transpose_b or adjoint_b),
    }
    if a.dtype.is_complex:
        attrs |= {"conjugate_a": bool(adjoint_a), "conjugate_b": bool(adjoint_b)}
    sparse = a_is_sparse or b_is_sparse
    ranks = [t.dims and len(t.dims) for t in (a, b)]
    if not sparse and (any(rank and rank > 2 for rank in ranks) or ranks == [None, None]):
        return add_op("BatchMatMul", (a, b), attrs | {"batch": True}, name)
    return add_op("MatMul", (a, b), attrs, name)


add_operator("matmul", matmul)


def matvec(
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False,
    b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """A matrix times a vector: ``[..., m, n]`` by ``[..., n]``.

    ``a_is_sparse`` and ``b_is_sparse`` change nothing: kernels are dense.
    """
    with get_default_graph().name_scope(name or "MatVec"):
        column = expand_dims(convert_to_tensor(b), -1)
        return squeeze(matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a), [-1])


def sparse_matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False,
    b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``matmul`` of dense matrices with many zeros."""
    return matmul(a, b, transpose_a, transpose_b, name=name or "SparseMatMul")


# ---- products over named dimensions --------------------------------------------------------------------------------


def _contracted_dims(axes: Any) -> tuple[list[int], list[int]] | int | Tensor:
    """The dimensions of each operand that are summed over, how many, or the tensor that only a run knows."""
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        return axes
    if isinstance(axes, Tensor):
        found = constant_value(axes)
        if found is None:
            return axes
        axes = found.tolist()
    if len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    left, right = ([a] if isinstance(a, int) else [int(v) for v in a] for a in axes)
    if len(left) != len(right):
        raise ValueError(f"Different number of contraction axes 'a' and 'b', {len(left)} != {len(right)}.")
    return left, right


def _tensordot_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    a, b, *late = inputs
    check_kind((a, b), "number")
    if a.dims is None or b.dims is None or late:
        return [Signature(a.dtype, None)]
    left, right = _pairs_of(attrs["axes"], len(a.dims), len(b.dims))
    for i, j in zip(left, right, strict=True):
        if None not in (a.dims[i], b.dims[j]) and a.dims[i] != b.dims[j]:
            raise ValueError(f"Dimensions must be equal, but are {a.dims[i]} and {b.dims[j]}: {a.shape}, {b.shape}.")
    free_a = tuple(d for i, d in enumerate(a.dims) if i not in left)
    free_b = tuple(d for i, d in enumerate(b.dims) if i not in right)
    return [Signature(a.dtype, free_a + free_b)]


def _pairs_of(axes: Any, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        if axes > rank_a or axes > rank_b:
            raise ValueError(f"'axes' must not be larger than the number of dimensions, got {axes}.")
        return list(range(rank_a - axes, rank_a)), list(range(axes))
    left, right = axes
    return [normal_axis(i, rank_a) for i in left], [normal_axis(j, rank_b) for j in right]


def _tensordot(a: Any, b: Any, late: Any = None, *, axes: Any) -> Any:
    left, right = _pairs_of(axes if late is None else late.tolist(), a.ndim, b.ndim)
    return lax.dot_general(jnp.asarray(a), jnp.asarray(b), ((left, right), ((), ())))


def _np_tensordot(a: Any, b: Any, late: Any = None, *, axes: Any) -> Any:
    return np.tensordot(a, b, _pairs_of(axes if late is None else late.tolist(), a.ndim, b.ndim))


define_op(
    "Tensordot", _tensordot_rule, _tensordot, static=(2,), numpy=numpy_kernels.form(_np_tensordot),
    derivative="bilinear",
)  # fmt: skip


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The product summed over dimensions of both tensors.

    Args:
      axes: how many of the last of ``a`` and the first of ``b``, or a list of each.
    """
    name = reserve_name(get_default_graph(), name or "Tensordot")
    a, b = convert_pair(a, b, scope=name)
    dims = _contracted_dims(axes)
    if isinstance(dims, Tensor):
        return add_op("Tensordot", (a, b, dims), {"axes": None}, name)
    return add_op("Tensordot", (a, b), {"axes": dims}, name)
