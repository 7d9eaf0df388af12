"""``tf.parse_example`` and ``tf.parse_single_example``: operations that the host carries out with numpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from towerstrat.data.parsing import feature_arrays
from towerstrat.data.parsing.feature_arrays import FeatureError, MissingFeatureError
from towerstrat.data.parsing.feature_specs import (
    Features,
    RaggedFeature,
    SparseFeature,
    Wanted,
    defaults,
    index_keys,
    of_examples,
)
from towerstrat.data.parsing.ragged_features import of_batch, of_one
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, HostArray, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor
from towerstrat.graph.ops.sparse.ordering import sparse_reorder
from towerstrat.platform import messages

Inputs = Sequence[Tensor]
Parts = Mapping[str, bytes]
"""The features of a message by name, serialized; an empty one where there is none."""
_LISTED = 20
"""The most features that a message names."""


# ---- numpy forms -----------------------------------------------------------------------------------------------------


def taken_apart(serialized: Iterable[bytes], what: str = "ExampleBytes") -> list[Any]:
    """Serialized messages of a type with their features as bytes. Raises ValueError where one is no such message."""
    parse = getattr(messages, what).FromString
    text = b""
    try:
        return [parse(text := each) for each in serialized]
    except Exception:  # google.protobuf.message.DecodeError, which is not imported for it
        raise ValueError(f"Could not parse example input, value: '{text.decode(errors='replace')}'") from None


def _features(serialized: Sequence[bytes]) -> list[Parts]:
    """The features of serialized ``Example`` messages, by one call of protobuf for all of them."""
    if all(map(bytes.startswith, serialized, itertools.repeat(b"\n"))):  # each has the field `features`, number 1
        with suppress(Exception):  # google.protobuf.message.DecodeError, which is not imported for it
            # Messages one after the other are one message, in which that field is repeated.
            found = messages.FeaturesBytes.FromString(b"".join(serialized)).features
            if len(found) == len(serialized):
                return [each.feature for each in found]
    return [message.features.feature for message in taken_apart(serialized)]


def said(error: FeatureError, key: str, dtype: DType, names: HostArray | None, features: Sequence[Parts]) -> str:
    """The fault of a feature, as the original says it, and which features there are.

    Args:
      names: of the messages, where there are any; None for a single message.
      features: of the messages.
    """
    kind = "float" if dtype.is_floating else dtype.name
    name = (
        "" if names is None else f"Name: {names[error.place].decode(errors='replace') if len(names) else '<unknown>'}, "
    )
    if isinstance(error, MissingFeatureError):
        return f"{name}Feature: {key} (data type: {kind}) {error} {listed(features[error.place])}"
    index = "" if names is None else f", Index: {error.place}"
    return f"{name}Key: {key}{index}.  {str(error).replace('Number of values', f'Number of {kind} values')}"


def listed(features: Parts) -> str:
    """A sentence that names the features of a message."""
    keys = sorted(key for key, value in features.items() if value)  # one that was asked for is there, and empty
    more = f" and {len(keys) - _LISTED} more" if len(keys) > _LISTED else ""
    return f"The record has {', '.join(keys[:_LISTED])}{more}." if keys else "The record has no features."


def _batch(
    serialized: HostArray, names: HostArray, *rest: HostArray, Nsparse: int, Ndense: int,
    sparse_types: Sequence[DType], Tdense: Sequence[DType], dense_shapes: Sequence[TensorShape],
) -> list[HostArray]:  # fmt: skip
    keys, given = [k.item().decode() for k in rest[: Nsparse + Ndense]], rest[Nsparse + Ndense :]
    messages = _features(serialized.tolist())
    key, dtype = "", string
    try:
        found = []
        for key, dtype in zip(keys[:Nsparse], sparse_types, strict=True):
            found.append(feature_arrays.sparse(feature_arrays.column([m[key] for m in messages], dtype)))
        results = [sparse[part] for part in range(3) for sparse in found]
        for key, dtype, shape, default in zip(keys[Nsparse:], Tdense, dense_shapes, given, strict=True):
            column = feature_arrays.column([m[key] for m in messages], dtype)
            results.append(_dense(column, shape, default))
    except FeatureError as error:
        raise ValueError(said(error, key, dtype, names, messages)) from None
    return results


def _dense(column: feature_arrays.Column, shape: TensorShape, default: HostArray) -> HostArray:
    dims: Any = shape.raw
    if dims and dims[0] is None:
        return feature_arrays.padded(column, dims[1:], default)
    # A shape without entries has an empty default, as a required feature has; both then need no values.
    return feature_arrays.fixed(column, dims, default if default.size else None)


def _one(
    serialized: HostArray, *given: HostArray, num_sparse: int, sparse_keys: Sequence[str], dense_keys: Sequence[str],
    sparse_types: Sequence[DType], Tdense: Sequence[DType], dense_shapes: Sequence[TensorShape],
) -> list[HostArray]:  # fmt: skip
    (message,) = _features([serialized.item()])
    key, dtype = "", string
    try:
        values = []
        for key, dtype in zip(sparse_keys, sparse_types, strict=True):
            found = feature_arrays.values(message[key], dtype)
            values.append(np.zeros(0, dtype.np) if found is None else found)
        indices = [np.arange(len(v)).reshape(-1, 1) for v in values]
        results = [*indices, *values, *(np.array([len(v)]) for v in values)]
        for key, dtype, shape, default in zip(dense_keys, Tdense, dense_shapes, given, strict=True):
            results.append(_dense_one(message[key], dtype, shape.raw, default))
    except FeatureError as error:
        raise ValueError(said(error, key, dtype, None, [message])) from None
    return results


def single_examples(
    serialized: HostArray, *given: HostArray, dense_keys: Sequence[str], Tdense: Sequence[DType],
    dense_shapes: Sequence[TensorShape], **sparse: Any,
) -> list[HostArray]:  # fmt: skip
    """``ParseSingleExample`` of each string of a vector: ``[messages, *shape]`` for each feature.

    Only where ``of_one_shape`` is true of the operation. Raises ValueError where a message is wrong.
    """
    messages = _features(serialized.tolist())
    try:
        return [
            _dense(feature_arrays.column([m[key] for m in messages], dtype), shape, default)
            for key, dtype, shape, default in zip(dense_keys, Tdense, dense_shapes, given, strict=True)
        ]
    except FeatureError as error:
        raise ValueError(str(error)) from None


def of_one_shape(op: Operation) -> bool:
    """Whether a ``ParseSingleExample`` operation gives the same shapes for every message."""
    return not op.attrs["sparse_keys"] and all(shape.is_fully_defined() for shape in op.attrs["dense_shapes"])


def _dense_one(feature: bytes, dtype: DType, dims: Any, default: HostArray) -> HostArray:
    if dims and dims[0] is None:
        return feature_arrays.entries(feature, dtype, dims[1:])
    return feature_arrays.shaped(feature, dtype, dims, default if default.size else None)


# ---- operation types -------------------------------------------------------------------------------------------------


def _with_rank(tensor: Tensor, rank: int) -> None:
    if tensor.dims is not None and len(tensor.dims) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(tensor.dims)}.")


def _signatures(attrs: Attrs, rank: int, first: Sequence[int | None]) -> list[Signature]:
    count = len(attrs["sparse_types"])
    return [
        *[Signature(int64, (None, rank))] * count,
        *(Signature(dtype, (None,)) for dtype in attrs["sparse_types"]),
        *[Signature(int64, (rank,))] * count,
        *(
            Signature(dtype, (*first, *(shape.raw or ())))
            for dtype, shape in zip(attrs["Tdense"], attrs["dense_shapes"], strict=True)
        ),
    ]


def _batch_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _with_rank(inputs[0], 1)
    return _signatures(attrs, 2, inputs[0].dims or (None,))


def _one_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _with_rank(inputs[0], 0)
    return _signatures(attrs, 1, ())


define_op("ParseExample", _batch_rule, numpy=_batch, differentiable=False)
define_op("ParseSingleExample", _one_rule, numpy=_one, differentiable=False)


# ---- public functions ------------------------------------------------------------------------------------------------


def attributes(found: Wanted) -> dict[str, Any]:
    """The attributes about element types and shapes that the operation types have in common."""
    return {
        "sparse_types": tuple(found.sparse.values()),
        "Tdense": tuple(d.dtype for d in found.dense.values()),
        "dense_shapes": tuple(TensorShape(d.dims) for d in found.dense.values()),
    }


def by_key(found: Wanted, tensors: Sequence[Tensor]) -> dict[str, Any]:
    """The outputs of an operation by the keys of their features: sparse tensors from three each, dense ones."""
    count = len(found.sparse)
    parts = zip(tensors[:count], tensors[count : 2 * count], tensors[2 * count : 3 * count], strict=True)
    sparse = {key: SparseTensor(*three) for key, three in zip(found.sparse, parts, strict=True)}
    return sparse | dict(zip(found.dense, tensors[3 * count :], strict=True))


def parse_example(serialized: Any, features: Features, name: str | None = None, example_names: Any = None) -> Any:
    """The features of a batch of serialized ``Example`` messages.

    Args:
      serialized: ``[batch]`` strings.
      features: key -> ``FixedLenFeature``, ``VarLenFeature``, ``SparseFeature``, ``RaggedFeature`` or
        ``FixedLenSequenceFeature``.
      example_names: ``[batch]`` strings that messages of errors show.

    Returns:
      key -> tensor ``[batch, *shape]``, SparseTensor or RaggedTensor; sequences ``[batch, most entries, *shape]``.

    Raises:
      ValueError: no features, or a wrong one. InvalidArgumentError, when it runs: an example lacks a feature, has
        another number or type of values, or is no ``Example``.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    found = of_examples(features)
    with get_default_graph().name_scope(name or "ParseExample"):
        names = convert_to_tensor([] if example_names is None else example_names, string)
        keys = [convert_to_tensor(key, string) for key in (*found.sparse, *found.dense)]
        inputs = [convert_to_tensor(serialized, string), names, *keys, *defaults(found.dense)]
        counts = {"Nsparse": len(found.sparse), "Ndense": len(found.dense)}
        tensors = add("ParseExample", inputs, {**counts, **attributes(found)}, "ParseExample")
        return _put_together(features, by_key(found, tensors), of_batch)


def parse_single_example(
    serialized: Any, features: Features, name: str | None = None, example_names: Any = None
) -> Any:  # fmt: skip
    """The features of one serialized ``Example`` message. In pipelines ``parse_example`` of a batch is faster.

    Args:
      serialized: a scalar string.
      features: key -> ``FixedLenFeature``, ``VarLenFeature``, ``SparseFeature``, ``RaggedFeature`` or
        ``FixedLenSequenceFeature``.
      example_names: a scalar string that messages of errors show.

    Returns:
      key -> tensor of the feature's shape, or SparseTensor ``[values]``; sequences ``[entries, *shape]``.

    Raises:
      ValueError, InvalidArgumentError: as ``parse_example``.
    """
    if not features:
        raise ValueError("Missing features.")
    found = of_examples(features)
    if example_names is not None:
        return _of_batch(parse_example(_first(serialized), features, name, _first(example_names)), features)
    with get_default_graph().name_scope(name or "ParseSingleExample"):
        attrs = {"sparse_keys": tuple(found.sparse), "dense_keys": tuple(found.dense), "num_sparse": len(found.sparse)}
        inputs = [convert_to_tensor(serialized, string), *defaults(found.dense)]
        tensors = add("ParseSingleExample", inputs, {**attrs, **attributes(found)}, "ParseSingleExample")
        return _put_together(features, by_key(found, tensors), of_one)


def parse_any(serialized: Any, features: Features, name: str | None, example_names: Any) -> Any:
    """``parse_example``, or of a scalar ``parse_single_example``. Raises as they do."""
    given = convert_to_tensor(serialized, string)
    parse = parse_single_example if given.dims == () else parse_example
    return parse(given, features, name, example_names)


def _first(value: Any) -> Tensor:
    return arrays.expand_dims(convert_to_tensor(value, string), 0)


def _of_batch(found: Mapping[str, Any], features: Features) -> dict[str, Any]:
    """The tensors of a batch of one example as those of the example."""
    return {key: _only(value) for key, value in found.items()}


def _only(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
    return value[0] if isinstance(value, RaggedTensor) else arrays.squeeze(value, [0])


def _put_together(
    features: Features, found: Mapping[str, Any], ragged: Callable[[str, RaggedFeature, Mapping[str, Any]], Any]
) -> dict[str, Any]:  # fmt: skip
    """The result for the features that were asked for: sparse and ragged ones are made of those that they name."""
    result = {}
    for key, feature in features.items():
        if isinstance(feature, SparseFeature):
            result[key] = _merged(feature, found)
        else:
            result[key] = ragged(key, feature, found) if isinstance(feature, RaggedFeature) else found[key]
    return result


def _merged(feature: SparseFeature, found: Mapping[str, SparseTensor]) -> SparseTensor:
    values = found[feature.value_key]
    columns = [arrays.expand_dims(found[key].values, 1) for key in index_keys(feature)]
    sizes = [feature.size] if isinstance(feature.size, int) else list(feature.size)
    indices = arrays.concat([values.indices[:, :-1], *columns], 1)
    shape = arrays.concat([values.dense_shape[:-1], convert_to_tensor(sizes, int64)], 0)
    merged = SparseTensor(indices, values.values, shape)
    return merged if feature.already_sorted else sparse_reorder(merged)
