"""``tf.parse_single_sequence_example`` and ``tf.io.parse_sequence_example``, which the host carries out with numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.data.parsing import feature_arrays
from towerstrat.data.parsing.examples import attributes, by_key, listed, taken_apart
from towerstrat.data.parsing.feature_arrays import FeatureError, MissingFeatureError
from towerstrat.data.parsing.feature_specs import (
    Features,
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    Wanted,
    defaults,
    wanted,
)
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, HostArray, int64, string
from towerstrat.graph.ops.building.op_builder import add

Inputs = Sequence[Tensor]
Sparse = tuple[HostArray, HostArray, HostArray]


# ---- numpy forms -----------------------------------------------------------------------------------------------------


class _Steps(NamedTuple):
    """A feature list of many messages, one message after the other.

    Attributes:
      features: of all steps, serialized.
      counts: steps of each message.
    """

    features: list[bytes]
    counts: HostArray

    @classmethod
    def of(cls, lists: Sequence[Any]) -> _Steps:
        """Of serialized feature lists, or None for a message without one."""
        found = [() if steps is None else steps.feature for steps in lists]
        return cls([f for steps in found for f in steps], np.array([len(steps) for steps in found], np.int64))

    def dense(self, dtype: DType, dims: Sequence[int]) -> HostArray:
        """``[messages, most steps, *dims]``, filled up with 0 or the empty string. Raises FeatureError."""
        column = feature_arrays.column(self.features, dtype)
        rows = feature_arrays.fixed(column._replace(missing=[]), dims, None)
        width = int(self.counts.max(initial=0))
        filling = b"" if dtype is string else 0
        result = np.full((len(self.counts), width, *dims), filling, rows.dtype)
        result[np.arange(width) < self.counts[:, None]] = rows
        return result

    def sparse(self, dtype: DType) -> Sparse:
        """(indices, values, dense shape) of ``[messages, most steps, most values]``. Raises FeatureError."""
        column = feature_arrays.column(self.features, dtype)
        message = np.repeat(np.arange(len(self.counts)), self.counts)
        step = feature_arrays.places(self.counts)
        rows = np.stack([np.repeat(message, column.counts), np.repeat(step, column.counts)], 1)
        indices = np.concatenate([rows, feature_arrays.places(column.counts)[:, None]], 1)
        sizes = [len(self.counts), self.counts.max(initial=0), column.counts.max(initial=0)]
        return indices, column.values, np.array(sizes, np.int64)

    def place(self, feature: int) -> tuple[int, int]:
        """The message and the step of a feature."""
        message = int(np.searchsorted(np.cumsum(self.counts), feature, "right"))
        return message, feature - int(self.counts[:message].sum())


def _contexts(
    messages: Sequence[Mapping[str, bytes]], names: Sequence[str], attrs: Attrs, given: Sequence[HostArray]
) -> tuple[list[Sparse], list[HostArray]]:
    """The sparse and the dense features of the contexts of messages."""
    key = ""
    try:
        sparse = []
        for key, dtype in zip(attrs["context_sparse_keys"], attrs["context_sparse_types"], strict=True):
            sparse.append(feature_arrays.sparse(feature_arrays.column([m[key] for m in messages], dtype)))
        dense = []
        for key, dtype, shape, default in zip(
            attrs["context_dense_keys"], attrs["Tcontext_dense"], attrs["context_dense_shapes"], given, strict=True
        ):
            column = feature_arrays.column([m[key] for m in messages], dtype)
            dense.append(feature_arrays.fixed(column, shape.raw, default if default.size else None))
    except MissingFeatureError as error:
        has = listed(messages[error.place])
        raise ValueError(f"Name: {names[error.place]}, Context feature '{key}' {error} {has}") from None
    except FeatureError as error:
        raise ValueError(f"Name: {names[error.place]}, Context feature: {key}.  {error}") from None
    return sparse, dense


def _lists(
    messages: Sequence[Any], names: Sequence[str], attrs: Attrs
) -> tuple[list[Sparse], list[HostArray], list[HostArray]]:
    """The sparse and the dense feature lists of messages, and how many steps the dense ones have."""
    key, steps = "", _Steps([], np.zeros(0, np.int64))
    try:
        sparse = []
        for key, dtype in zip(attrs["feature_list_sparse_keys"], attrs["feature_list_sparse_types"], strict=True):
            steps = _Steps.of([m.get(key) for m in messages])
            sparse.append(steps.sparse(dtype))
        dense, counts = [], []
        for key, dtype, shape in zip(
            attrs["feature_list_dense_keys"], attrs["feature_list_dense_types"], attrs["feature_list_dense_shapes"],
            strict=True,
        ):  # fmt: skip
            lists = [m.get(key) for m in messages]
            if key not in attrs["feature_list_dense_missing_assumed_empty"] and None in lists:
                raise ValueError(
                    f"Name: {names[lists.index(None)]}, Feature list '{key}' is required but could not be found.  Give "
                    "its FixedLenSequenceFeature allow_missing=True where it may be missing."
                )
            steps = _Steps.of(lists)
            dense.append(steps.dense(dtype, shape.raw))
            counts.append(steps.counts)
    except FeatureError as error:
        message, step = steps.place(error.place)
        raise ValueError(f"Name: {names[message]}, Feature list: {key}, Index: {step}.  {error}") from None
    return sparse, dense, counts


def _parsed(
    texts: Sequence[bytes], names: Sequence[str], attrs: Attrs, given: Sequence[HostArray]
) -> tuple[list[Sparse], list[HostArray], list[Sparse], list[HostArray], list[HostArray]]:
    """Sparse and dense features of contexts, of lists, and the lengths of the dense lists."""
    parts = taken_apart(texts, "SequenceExampleBytes")
    contexts = _contexts([m.context.feature for m in parts], names, attrs, given)
    return *contexts, *_lists([m.feature_lists.feature_list for m in parts], names, attrs)


def _split(sparse: Sequence[Sparse]) -> list[HostArray]:
    """The indices of all sparse tensors, then their values, then their shapes."""
    return [tensor[part] for part in range(3) for tensor in sparse]


def _batch(serialized: HostArray, debug_name: HostArray, *given: HostArray, **attrs: Any) -> list[HostArray]:
    names = [name.decode(errors="replace") for name in debug_name] or ["<unknown>"] * len(serialized)
    context_sparse, context_dense, sparse, dense, counts = _parsed(serialized.tolist(), names, attrs, given)
    return [*_split(context_sparse), *context_dense, *_split(sparse), *dense, *counts]


def _one(serialized: HostArray, debug_name: HostArray, *given: HostArray, **attrs: Any) -> list[HostArray]:
    context_sparse, context_dense, sparse, dense, _ = _parsed(
        [serialized.item()], [debug_name.item().decode(errors="replace")], attrs, given
    )
    outputs = []
    for values, tensors in ((context_dense, context_sparse), (dense, sparse)):
        outputs += _split([(indices[:, 1:], found, shape[1:]) for indices, found, shape in tensors])
        outputs += [value[0, ...] for value in values]
    return outputs


# ---- operation types -------------------------------------------------------------------------------------------------


def _signatures(attrs: Attrs, first: Sequence[int | None]) -> list[Signature]:
    """The outputs, of which those of a batch have ``first`` as the first dimension."""
    rank = len(first)
    found: list[Signature] = []
    for sparse, dense, shapes, inner in (
        ("context_sparse_types", "Tcontext_dense", "context_dense_shapes", ()),
        ("feature_list_sparse_types", "feature_list_dense_types", "feature_list_dense_shapes", (None,)),
    ):
        count = len(attrs[sparse])
        found += [Signature(int64, (None, rank + len(inner) + 1))] * count
        found += [Signature(dtype, (None,)) for dtype in attrs[sparse]]
        found += [Signature(int64, (rank + len(inner) + 1,))] * count
        sizes = zip(attrs[dense], attrs[shapes], strict=True)
        found += [Signature(dtype, (*first, *inner, *(shape.raw or ()))) for dtype, shape in sizes]
    return found


def _batch_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    inputs[0].shape.assert_has_rank(1)
    first = inputs[0].dims or (None,)
    return [*_signatures(attrs, first), *[Signature(int64, first)] * len(attrs["feature_list_dense_types"])]


def _one_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    inputs[0].shape.assert_has_rank(0)
    return _signatures(attrs, ())


define_op("ParseSequenceExample", _batch_rule, numpy=_batch, differentiable=False)
define_op("ParseSingleSequenceExample", _one_rule, numpy=_one, differentiable=False)


# ---- public functions ------------------------------------------------------------------------------------------------


def _wanted(context_features: Features | None, sequence_features: Features | None) -> tuple[Wanted, Wanted]:
    """Raises ValueError where there are none, or a feature is not of the classes for it, or has a default."""
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = wanted(context_features, (VarLenFeature, FixedLenFeature))
    lists = wanted(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, dense in lists.dense.items():
        if dense.default is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
        if dense.dims is None or None in dense.dims:
            raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {dense.dims}.")
    return context, lists


def _attributes(context: Wanted, lists: Wanted) -> dict[str, Any]:
    first, second = attributes(context), attributes(lists)
    return {
        "context_sparse_keys": tuple(context.sparse),
        "context_dense_keys": tuple(context.dense),
        "feature_list_sparse_keys": tuple(lists.sparse),
        "feature_list_dense_keys": tuple(lists.dense),
        "feature_list_dense_missing_assumed_empty": tuple(k for k, d in lists.dense.items() if d.allow_missing),
        "Ncontext_sparse": len(context.sparse),
        "Ncontext_dense": len(context.dense),
        "Nfeature_list_sparse": len(lists.sparse),
        "Nfeature_list_dense": len(lists.dense),
        "context_sparse_types": first["sparse_types"],
        "Tcontext_dense": first["Tdense"],
        "context_dense_shapes": first["dense_shapes"],
        "feature_list_sparse_types": second["sparse_types"],
        "feature_list_dense_types": second["Tdense"],
        "feature_list_dense_shapes": second["dense_shapes"],
    }


def _added(
    type: str, serialized: Any, names: Any, context: Wanted, lists: Wanted, name: str | None
) -> list[dict[str, Any]]:
    """Adds an operation: its outputs by key, those of contexts, of lists, and the lengths if it has them."""
    with get_default_graph().name_scope(name or type):
        inputs = [convert_to_tensor(serialized, string), convert_to_tensor(names, string), *defaults(context.dense)]
        tensors = add(type, inputs, _attributes(context, lists), type)
    first = 3 * len(context.sparse) + len(context.dense)
    second = first + 3 * len(lists.sparse) + len(lists.dense)
    lengths = dict(zip(lists.dense, tensors[second:], strict=False))
    return [by_key(context, tensors[:first]), by_key(lists, tensors[first:second]), lengths]


def parse_single_sequence_example(
    serialized: Any, context_features: Features | None = None, sequence_features: Features | None = None,
    example_name: Any = None, name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """The features of one serialized ``SequenceExample`` message.

    Args:
      serialized: a scalar string.
      context_features: key -> ``FixedLenFeature`` or ``VarLenFeature``, of the message as a whole.
      sequence_features: key -> ``FixedLenSequenceFeature`` or ``VarLenFeature``, of each step.
      example_name: a scalar string that messages of errors show.

    Returns:
      Two dictionaries: of the context, as ``parse_single_example`` gives them, and of the lists: tensors
      ``[steps, *shape]``, or SparseTensors ``[steps, most values]``.

    Raises:
      ValueError: no features, or a wrong one. InvalidArgumentError, when it runs: the message lacks a feature, has
        another number or type of values, or is no ``SequenceExample``.
    """
    context, lists = _wanted(context_features, sequence_features)
    label = "" if example_name is None else example_name
    first, second, _ = _added("ParseSingleSequenceExample", serialized, label, context, lists, name)
    return first, second


def parse_sequence_example(
    serialized: Any, context_features: Features | None = None, sequence_features: Features | None = None,
    example_names: Any = None, name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:  # fmt: skip
    """The features of a batch of serialized ``SequenceExample`` messages.

    Args:
      serialized: ``[batch]`` strings.
      context_features, sequence_features: as of ``parse_single_sequence_example``.
      example_names: ``[batch]`` strings that messages of errors show.

    Returns:
      Three dictionaries: of the contexts, as ``parse_example`` gives them; of the lists: tensors
      ``[batch, most steps, *shape]``, filled up with 0 or the empty string, or SparseTensors
      ``[batch, most steps, most values]``; and how many steps each message has, int64 ``[batch]``, for the dense lists.

    Raises:
      ValueError, InvalidArgumentError: as ``parse_single_sequence_example``.
    """
    context, lists = _wanted(context_features, sequence_features)
    names = [] if example_names is None else example_names
    first, second, lengths = _added("ParseSequenceExample", serialized, names, context, lists, name)
    return first, second, lengths
