"""Crosses of features: every combination of their entries, row by row. The host computes them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import HostArray, int64, string
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.text.fingerprints import fingerprint64, fingerprint_cat64

Inputs = Sequence[Tensor]
DEFAULT_KEY = 0xDECAFCAFFE
_LARGEST = 2**63 - 1


def _rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dtype = int64 if attrs["hashed"] else string
    return [Signature(int64, (None, 2)), Signature(dtype, (None,)), Signature(int64, (2,))]


def _rows(parts: Sequence[HostArray], count: int) -> list[list[Any]]:
    """The entries of each row, of a matrix or of (indices, values, shape)."""
    if len(parts) == 1:
        if parts[0].ndim != 2:
            raise ValueError(f"Expected a matrix, got shape {list(parts[0].shape)}.")
        return parts[0].tolist()
    rows: list[list[Any]] = [[] for _ in range(count)]
    for index, value in zip(parts[0].tolist(), parts[1].tolist(), strict=True):
        rows[index[0]].append(value)
    return rows


def _hash_of(combination: Sequence[Any], num_buckets: int, key: int) -> int:
    found = key
    for value in combination:
        found = fingerprint_cat64(found, fingerprint64(value) if isinstance(value, bytes) else value % 2**64)
    return found % (num_buckets or _LARGEST)


def _text_of(combination: Sequence[Any], separator: bytes) -> bytes:
    return separator.join(value if isinstance(value, bytes) else b"%d" % value for value in combination)


def _cross(
    *tensors: Any, sparse: tuple[bool, ...], hashed: bool, num_buckets: int, key: int, separator: str
) -> tuple[HostArray, HostArray, HostArray]:
    arrays = iter([np.asarray(t) for t in tensors])
    features = [[next(arrays) for _ in range(3 if of_sparse else 1)] for of_sparse in sparse]
    counts = {int(parts[2][0]) if len(parts) == 3 else len(parts[0]) for parts in features}
    if len(counts) != 1:
        raise ValueError(f"Expected features of one batch size, got {sorted(counts)}.")
    count = counts.pop()
    columns = [_rows(parts, count) for parts in features]
    between = separator.encode()
    crossed = [
        [_hash_of(c, num_buckets, key) if hashed else _text_of(c, between) for c in itertools.product(*row)]
        for row in zip(*columns, strict=True)
    ]
    places = [(i, j) for i, row in enumerate(crossed) for j in range(len(row))]
    values = np.empty(len(places), np.int64 if hashed else object)
    values[:] = [value for row in crossed for value in row]
    shape = np.array([count, max(map(len, crossed), default=0)], np.int64)
    return np.array(places, np.int64).reshape(-1, 2), values, shape


define_op("SparseCross", _rule, _cross, numpy=_cross, dynamic=True, differentiable=False)


def _is_sparse(feature: Any) -> bool:
    return isinstance(feature, SparseTensor | SparseTensorValue)


def sparse_first(inputs: Any) -> list[Any]:
    """The features with the sparse ones before the dense ones, the order in which ``tf.sparse`` crosses them.

    Raises:
      TypeError: no list.
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    return sorted(inputs, key=_is_sparse, reverse=True)


def crossed(inputs: Sequence[Any], name: str | None, **attrs: Any) -> SparseTensor:
    """A cross of features in their order; ``attrs`` are those of the operation that are not its defaults."""
    tensors: list[Tensor] = []
    sparse = []
    for given in inputs:
        of_sparse = _is_sparse(given)
        parts = SparseTensor.from_value(given)._tensors() if of_sparse else [convert_to_tensor(given)]
        place = 1 if of_sparse else 0
        if parts[place].dtype is not string:
            parts[place] = arithmetic.cast(parts[place], int64)
        tensors += parts
        sparse.append(of_sparse)
    found = {"hashed": False, "num_buckets": 0, "key": 0, "separator": "_X_"} | attrs
    return SparseTensor(*add("SparseCross", tensors, {"sparse": tuple(sparse), **found}, name or "SparseCross"))


def sparse_cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """Every combination of the entries of features in a row, as strings with "_X_" between them.

    Args:
      inputs: a list of tensors or SparseTensors ``[batch, n]`` of integers or strings; sparse ones come first in the
        crosses. Numbers of other types are cast to int64.
    """
    return crossed(sparse_first(inputs), name)


def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:  # fmt: skip
    """Every combination of the entries of features in a row, as int64 hashes.

    Args:
      inputs: as of ``sparse_cross``.
      num_buckets: hashes are below it; 0: below 2**63 - 1.
      hash_key: where the hash starts; None or 0: a fixed number.
    """
    key = hash_key or DEFAULT_KEY
    return crossed(sparse_first(inputs), name, hashed=True, num_buckets=num_buckets, key=key)
