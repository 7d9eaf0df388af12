"""Sparse tensors as strings: each of the three components a serialized ``TensorProto``.

Source: ``tensorflow/core/kernels/serialize_sparse_op.cc`` and ``deserialize_sparse_string_op.cc`` of 1.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.data.elements.composite_elements import sparse_batch, sparse_rows
from towerstrat.data.elements.tensor_protos import tensor_of, tensor_text
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, HostArray, as_dtype, int64, string
from towerstrat.graph.ops.building.op_builder import add, add_op

Inputs = Sequence[Tensor]


# ---- numpy forms -----------------------------------------------------------------------------------------------------


def _texts(parts: Sequence[HostArray]) -> list[bytes]:
    return [tensor_text(np.ascontiguousarray(part)) for part in parts]


def _serialize(indices: HostArray, values: HostArray, shape: HostArray) -> HostArray:
    return np.array(_texts((indices, values, shape)), object)


def _serialize_many(indices: HostArray, values: HostArray, shape: HostArray) -> HostArray:
    if len(shape) < 2:
        raise ValueError(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    late = np.flatnonzero(np.diff(indices[:, 0]) < 0)
    if len(late):
        place = int(late[0]) + 1
        raise ValueError(f"indices[{place}] = {indices[place].tolist()} is out of order")
    result = np.empty((int(shape[0]), 3), object)
    for i, row in enumerate(sparse_rows(indices, values, shape)):
        result[i] = _texts(row)
    return result


def _deserialize_many(texts: HostArray, *, dtype: DType, rank: int | None) -> list[HostArray]:
    if not len(texts):
        raise ValueError("Serialized sparse should have at least 1 serialized tensor, but has a zero dimension [0,3]")
    columns: list[list[HostArray]] = [[], [], []]
    for i, row in enumerate(texts):
        parts = [tensor_of(text) for text in row]
        kind = string if parts[1].dtype == object else as_dtype(parts[1].dtype)
        if kind is not dtype:
            raise ValueError(
                f"Requested SparseTensor of type {dtype.name} but SparseTensor[{i}].values.dtype() == {kind.name}"
            )
        for column, part in zip(columns, parts, strict=True):
            column.append(part)
    found = sparse_batch(*columns)
    if rank not in (None, len(found[2])):
        raise ValueError(f"Expected rank={len(found[2])}, which the result has with its rows, got rank={rank}")
    return found


# ---- operation types -------------------------------------------------------------------------------------------------


def _deserialized(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    if dims is not None and len(dims) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(dims)}: expected [N, 3], got {list(dims)}.")
    if dims is not None and dims[1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {dims[1]}: expected [N, 3], got {list(dims)}.")
    rank = attrs["rank"]
    return [Signature(int64, (None, rank)), Signature(attrs["dtype"], (None,)), Signature(int64, (rank,))]


define_op(
    "SerializeSparse", lambda inputs, attrs: [Signature(string, (3,))], numpy=_serialize, differentiable=False
)  # fmt: skip
define_op(
    "SerializeManySparse", lambda inputs, attrs: [Signature(string, (None, 3))], numpy=_serialize_many,
    differentiable=False,
)  # fmt: skip
define_op("DeserializeManySparse", _deserialized, numpy=_deserialize_many, dynamic=True, differentiable=False)


# ---- public functions ------------------------------------------------------------------------------------------------


def _given(sp_input: Any, out_type: DTypeLike, what: str) -> list[Tensor]:
    if not isinstance(sp_input, SparseTensor | SparseTensorValue):
        raise TypeError("Input must be a SparseTensor.")
    if as_dtype(out_type) is not string:
        raise UnsupportedError(f"{what}(out_type={as_dtype(out_type).name}) is not supported; use tf.string.")
    return SparseTensor.from_value(sp_input)._tensors()


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: DTypeLike = string) -> Tensor:
    """A SparseTensor as three strings ``[3]``: indices, values and shape, each a serialized ``TensorProto``.

    Args:
      out_type: ``tf.string``.

    Raises:
      TypeError: no SparseTensor. UnsupportedError: another ``out_type``.
    """
    return add_op("SerializeSparse", _given(sp_input, out_type, "serialize_sparse"), {}, name)


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: DTypeLike = string) -> Tensor:
    """The rows of a SparseTensor of rank 2 or more, each as ``serialize_sparse`` gives it: ``[rows, 3]`` strings.

    Raises:
      TypeError: no SparseTensor. UnsupportedError: another ``out_type`` than ``tf.string``. InvalidArgumentError, when
        it runs: a vector, or rows out of order.
    """
    return add_op("SerializeManySparse", _given(sp_input, out_type, "serialize_many_sparse"), {}, name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:  # fmt: skip
    """Serialized sparse tensors as the rows of one, whose other sizes are the largest of them.

    Args:
      serialized_sparse: strings ``[N, 3]``.
      dtype: element type of the values.
      rank: of the result, rows included, where it is known; as in the original, which says otherwise.

    Raises:
      ValueError: another shape. InvalidArgumentError, when it runs: strings that hold no such tensors, or none at all.
    """
    given = convert_to_tensor(serialized_sparse, string)
    attrs = {"dtype": as_dtype(dtype), "rank": None if rank is None else int(rank)}
    return SparseTensor(*add("DeserializeManySparse", [given], attrs, name or "DeserializeManySparse"))


def serialize_sparse_v2(sp_input: Any, out_type: DTypeLike = string, name: str | None = None) -> Tensor:
    """``serialize_sparse`` with the order of arguments of 2.x."""
    return serialize_sparse(sp_input, name, out_type)


def serialize_many_sparse_v2(sp_input: Any, out_type: DTypeLike = string, name: str | None = None) -> Tensor:
    """``serialize_many_sparse`` with the order of arguments of 2.x."""
    return serialize_many_sparse(sp_input, name, out_type)
