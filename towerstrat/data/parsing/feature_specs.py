"""``tf.FixedLenFeature`` and its kin: which features of ``Example`` messages are read, and what tensors they become.

Source: ``tensorflow/python/ops/parsing_ops.py`` of 1.12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from towerstrat.data.parsing.feature_arrays import KINDS
from towerstrat.data.parsing.ragged_features import RaggedFeature
from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.platform import logs


class VarLenFeature(NamedTuple):
    """Any number of values: a ``SparseTensor`` ``[most values]``, in batches ``[batch, most values]``."""

    dtype: DTypeLike


class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are features of their own.

    Attributes:
      index_key: the feature of the indices (int64), or a list of them, one for each dimension.
      value_key: the feature of the values.
      dtype: their element type.
      size: of the dimension, or a list of sizes.
      already_sorted: whether the values are in the order of their indices; else they are sorted.
    """

    index_key: str | Sequence[str]
    value_key: str
    dtype: DTypeLike
    size: int | Sequence[int]
    already_sorted: bool = False


class FixedLenFeature(NamedTuple):
    """As many values as a shape has: a tensor of that shape.

    Attributes:
      shape: fully known.
      dtype: float32, int64 or string.
      default_value: of examples without the feature; where it is None they are an error.
    """

    shape: ShapeLike
    dtype: DTypeLike
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """Any number of entries of one shape: a tensor ``[entries, *shape]``, padded in batches.

    Attributes:
      shape: of an entry.
      dtype: float32, int64 or string.
      allow_missing: whether an example may have none; it must be True for what ``Example`` messages hold.
      default_value: a scalar to pad with; default 0 or the empty string.
    """

    shape: ShapeLike
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: Any = None


Features: TypeAlias = (
    "Mapping[str, VarLenFeature | SparseFeature | RaggedFeature | FixedLenFeature | FixedLenSequenceFeature]"
)
_KNOWN = (VarLenFeature, SparseFeature, RaggedFeature, FixedLenFeature, FixedLenSequenceFeature)


class Dense(NamedTuple):
    """What a dense feature becomes.

    Attributes:
      dtype: element type.
      dims: of one example; the first is None where their number of entries differs.
      default: a value of that shape (or to pad with); an empty tensor where the feature is required.
      allow_missing: whether it may be missing.
    """

    dtype: DType
    dims: Dims
    default: Any
    allow_missing: bool


class Wanted(NamedTuple):
    """The features to read, by key: the element types of sparse ones, and dense ones."""

    sparse: dict[str, DType]
    dense: dict[str, Dense]


def wanted(features: Features | None, kinds: tuple[type, ...]) -> Wanted:
    """What a dictionary of features asks for, in the order of its sorted keys.

    Args:
      kinds: the classes of features that are allowed.

    Raises:
      ValueError: another class, or a feature that lacks a part. TypeError: an element type that no feature has.
    """
    found = Wanted({}, {})
    for key in sorted(features or ()):
        feature: Any = (features or {})[key]
        if not isinstance(feature, _KNOWN):
            raise ValueError(f"Invalid feature {key}:{feature}.")
        if not isinstance(feature, kinds):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if isinstance(feature, VarLenFeature):
            _add_sparse(found.sparse, key, _allowed(feature.dtype, "sparse_types"))
        elif isinstance(feature, SparseFeature):
            _add_parts(found.sparse, feature)
        elif isinstance(feature, RaggedFeature):
            for own, dtype in feature.keys(key).items():
                _add_sparse(found.sparse, own, dtype)
        else:
            found.dense[key] = _dense(key, feature)
    both = set(found.sparse) & set(found.dense)
    if both:
        raise ValueError(f"Dense and sparse keys must not intersect; intersection: {both}")
    return found


def _allowed(dtype: DTypeLike, what: str) -> DType:
    found = as_dtype(dtype)
    if found not in KINDS:
        raise TypeError(
            f"Value passed to parameter '{what}' has DataType {found.name} not in list of allowed values: float32, "
            "int64, string"
        )
    return found


def _add_sparse(found: dict[str, DType], key: str, dtype: DType) -> None:
    before = found.setdefault(key, dtype)
    if before is not dtype:
        raise ValueError(f"Conflicting type {before} vs {dtype.name} for feature {key}.")


def index_keys(feature: SparseFeature) -> list[str]:
    """The features that hold the indices, one for each dimension."""
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _add_parts(found: dict[str, DType], feature: SparseFeature) -> None:
    for part in ("index_key", "value_key"):
        if not getattr(feature, part):
            raise ValueError(f"Missing {part} for SparseFeature {feature}.")
    keys = index_keys(feature)
    if len(keys) > 1:
        logs.warning("SparseFeature is a complicated feature config; consider VarLenFeature.")
    for key in keys:
        _add_sparse(found, key, int64)
    _add_sparse(found, feature.value_key, _allowed(feature.dtype, "sparse_types"))


def _dense(key: str, feature: FixedLenFeature | FixedLenSequenceFeature) -> Dense:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    dims = as_shape(feature.shape).raw
    if isinstance(feature, FixedLenFeature):
        if dims and dims[0] is None:
            raise ValueError(
                f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature."
            )
        if dims is None or None in dims:
            raise ValueError(
                f"All dimensions of shape for feature {key} need to be known but received {feature.shape}."
            )
        return Dense(_allowed(feature.dtype, "dense_defaults"), dims, feature.default_value, False)
    return Dense(_allowed(feature.dtype, "dense_defaults"), dims, feature.default_value, bool(feature.allow_missing))


def of_examples(features: Features) -> Wanted:
    """``wanted`` of what ``Example`` messages hold. A sequence is then a dense feature with an unknown first size.

    Raises:
      ValueError: a FixedLenSequenceFeature that must not be missing.
    """
    found = wanted(features, _KNOWN)
    for key, dense in found.dense.items():
        if isinstance(features[key], FixedLenSequenceFeature):
            if not dense.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            found.dense[key] = dense._replace(dims=(None, *(dense.dims or ())))
    return found


def defaults(dense: Mapping[str, Dense]) -> list[Tensor]:
    """The default of each feature as a tensor: of its shape, a scalar to pad with, or empty where it is required.

    Raises:
      ValueError: a default of another size. TypeError: of another element type.
    """
    return [_default(key, feature) for key, feature in dense.items()]


def _default(key: str, feature: Dense) -> Tensor:
    dtype, dims, default = feature.dtype, feature.dims, feature.default
    name = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
    if dims and dims[0] is None:
        if default is None:
            return convert_to_tensor("" if dtype is string else 0, dtype)
        return arrays.reshape(convert_to_tensor(default, dtype, name=f"padding_{name}"), [])
    if default is None:
        return convert_to_tensor([], dtype)
    if isinstance(default, Tensor):
        return default
    return arrays.reshape(convert_to_tensor(default, dtype, name=f"key_{name}"), list(dims or ()))
