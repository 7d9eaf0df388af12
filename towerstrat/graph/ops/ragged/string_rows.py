"""Strings that become rows of parts, and rows of strings that become one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import HostArray, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor
from towerstrat.graph.ops.text import string_kernels, strings

Inputs = Sequence[Tensor]


def per_string(x: Any, rows_of: Callable[[Tensor], Any]) -> Any:
    """A function from ``[n]`` strings to n rows, of strings of any known rank: one more dimension, ragged.

    Args:
      x: a tensor or RaggedTensor of strings; of a scalar the one row is the result.

    Raises:
      ValueError: a tensor of unknown rank.
    """
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(per_string(x.flat_values, rows_of))
    tensor = convert_to_tensor(x, string)
    if tensor.dims is None:
        raise ValueError("Expected strings of a known rank; use set_shape.")
    if tensor.dims == ():
        made = rows_of(arrays.reshape(tensor, [1]))
        return [part.values for part in made] if isinstance(made, list) else made.values
    if len(tensor.dims) == 1:
        return rows_of(tensor)
    inner = RaggedTensor.from_tensor(tensor, ragged_rank=len(tensor.dims) - 1)
    return inner.with_flat_values(rows_of(inner.flat_values))


def _of_sparse(parts: SparseTensor) -> RaggedTensor:
    return RaggedTensor.from_value_rowids(
        parts.values, parts.indices[:, 0], parts.dense_shape[0], validate=False
    )  # fmt: skip


_RESULTS = ("SparseTensor", "RaggedTensor")


def _is_sparse(result_type: str) -> bool:
    if result_type not in _RESULTS:
        raise ValueError(f"Expected a result_type 'RaggedTensor' or 'SparseTensor', got {result_type!r}.")
    return result_type == "SparseTensor"


def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None, result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The parts of strings.

    Args:
      source: ``[n]`` strings.
      sep: each of its characters divides, a space by default; the empty string divides into bytes. ``delimiter`` is
        an old name.
      skip_empty: leave out empty parts.
      result_type: "SparseTensor" or "RaggedTensor".

    Returns:
      A sparse tensor ``[n, most parts]``, or ragged rows of parts.

    Raises:
      ValueError: another result_type.
    """
    sep, sparse = one_of(sep, delimiter, "sep", "delimiter"), _is_sparse(result_type)
    with get_default_graph().name_scope(name or "StringSplit"):
        parts = strings.split_at_characters(source, " " if sep is None else sep, skip_empty)
        return parts if sparse else _of_sparse(parts)


def strings_split(
    input: Any = None, sep: Any = None, maxsplit: int = -1, result_type: str = "SparseTensor", source: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The parts of strings, as Python's ``split`` gives them.

    Args:
      input: strings of rank 1 or higher, a tensor or RaggedTensor; ``source`` is an old name.
      sep: what divides, as a whole; None or the empty string: any spaces.
      maxsplit: divide so often at most; -1: always.
      result_type: "SparseTensor" or "RaggedTensor"; the parts of a scalar are a vector, by the latter alone.

    Returns:
      ``[...]`` to ``[..., most parts]``, sparse, or ``[..., parts]``, ragged.

    Raises:
      ValueError: another result_type, a scalar that is to become sparse.
    """
    source, sparse = one_of(input, source, "input", "source"), _is_sparse(result_type)
    check_given("strings.split", input=source)
    if not sparse:
        return string_split_v2(source, sep, maxsplit, name)
    with get_default_graph().name_scope(name or "StringSplit"):
        if not isinstance(source, RaggedTensor):
            source = convert_to_tensor(source, string)
            if source.dims == ():
                raise ValueError("A scalar's parts are no SparseTensor: use result_type='RaggedTensor', or [string].")
            if source.dims is None or len(source.dims) == 1:
                return strings.split_as_python(source, sep, maxsplit)
        return string_split_v2(source, sep, maxsplit).to_sparse()


def string_split_v2(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings, as Python's ``split`` gives them: ``[...]`` to ragged ``[..., parts]``.

    Args:
      input: strings, a tensor or RaggedTensor; the parts of a scalar are a vector.
      sep: what divides, as a whole; None or the empty string: any spaces.
      maxsplit: divide so often at most; -1: always.
    """
    with get_default_graph().name_scope(name or "StringSplit"):
        return per_string(input, lambda x: _of_sparse(strings.split_as_python(x, sep, maxsplit)))


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of strings: ``[...]`` to ragged ``[..., bytes]``; those of a scalar are a vector."""
    with get_default_graph().name_scope(name or "StringsByteSplit"):
        return per_string(input, lambda x: _of_sparse(strings.split_at_characters(x, "", False)))


def joined_rows(rows: Any, axis: Any, keepdims: bool, separator: str) -> Any:
    """The strings of each innermost row joined. Raises ValueError for another axis than the last, or ``keepdims``."""
    rank = rows.shape.ndims
    if keepdims or axis not in (-1, rank - 1):
        raise ValueError(f"reduce_join of a RaggedTensor is along its last dimension, got axis={axis}, {keepdims=}.")
    if isinstance(rows.values, Partitioned):
        return rows.with_values(joined_rows(rows.values, -1, keepdims, separator))
    return strings.unsorted_segment_join(rows.values, rows.value_rowids(), rows.nrows(), separator)


# ---- n-grams -------------------------------------------------------------------------------------------------------


def _ngrams_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[0].dtype is not string:
        raise TypeError(f"Expected strings, got {inputs[0].dtype.name}.")
    return [Signature(string, (None,)), Signature(inputs[1].dtype, inputs[1].dims)]


def _ngrams_of(
    row: list[bytes], widths: Sequence[int], between: bytes, pads: tuple[bytes, bytes] | None, padding: int, keep: bool
) -> list[bytes]:
    found = []
    for width in widths:
        count = 0 if pads is None else min(width - 1 if padding < 0 else padding, width - 1)
        left, right = ([], []) if pads is None else ([pads[0]] * count, [pads[1]] * count)
        whole = [*left, *row, *right]
        found += [between.join(whole[i : i + width]) for i in range(len(whole) - width + 1)]
        if keep and not found and row:
            found.append(between.join(whole))
    return found


def _ngrams(
    values: Any, splits: Any, *, widths: tuple[int, ...], separator: str, pads: tuple[str, str] | None, padding: int,
    keep: bool,
) -> tuple[HostArray, HostArray]:  # fmt: skip
    words, ends = np.asarray(values).tolist(), np.asarray(splits).tolist()
    ends_of = None if pads is None else (pads[0].encode(), pads[1].encode())
    rows = [
        _ngrams_of(words[a:b], widths, separator.encode(), ends_of, padding, keep) for a, b in itertools.pairwise(ends)
    ]
    made = string_kernels.filled([g for row in rows for g in row], [sum(map(len, rows))])
    return made, np.cumsum([0, *map(len, rows)]).astype(np.asarray(splits).dtype)


define_op("StringNGrams", _ngrams_rule, numpy=_ngrams, differentiable=False)


def ngrams(
    data: Any, ngram_width: Any, separator: str = " ", pad_values: Any = None, padding_width: int | None = None,
    preserve_short_sequences: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Runs of neighbouring strings, joined: ragged ``[..., n]`` to ragged ``[..., n-grams]``.

    Args:
      data: strings, a RaggedTensor or tensor; of a tensor the result is one too.
      ngram_width: how many strings make one, or several such numbers.
      separator: between them.
      pad_values: what rows begin and end with, a string or two; None: they are not padded.
      padding_width: how many of them at each end, at most one less than the width; None: so many.
      preserve_short_sequences: rows that are too short for any give one that is as long as they are.

    Raises:
      TypeError: ``data`` are no strings, ``pad_values`` neither a string nor two.
      ValueError: a width below 1, or padding without ``pad_values``.
    """
    widths = tuple(ngram_width) if isinstance(ngram_width, list | tuple) else (ngram_width,)
    if any(w < 1 for w in widths):
        raise ValueError(f"ngram_width must be greater than 0, got {ngram_width}.")
    if padding_width is not None and (pad_values is None or padding_width < 1):
        raise ValueError("padding_width must be above 0, and pad_values must be provided with it.")
    pads = (pad_values, pad_values) if isinstance(pad_values, str) else pad_values
    if pads is not None and (len(pads) != 2 or not all(isinstance(p, str) for p in pads)):
        raise TypeError(f"pad_values must be a string or a pair of strings, got {pad_values!r}.")
    attrs = {
        "widths": widths, "separator": separator, "pads": None if pads is None else tuple(pads),
        "padding": -1 if padding_width is None else padding_width, "keep": bool(preserve_short_sequences),
    }  # fmt: skip
    with get_default_graph().name_scope(name or "StringNGrams"):
        if not isinstance(data, RaggedTensor):
            tensor = convert_to_tensor(data, string)
            if tensor.dims is None or not tensor.dims:
                raise ValueError(f"Expected data of rank 1 or more, got shape {tensor.shape}.")
            if len(tensor.dims) == 1:
                whole = RaggedTensor.from_row_lengths(tensor, arrays.shape(tensor, out_type=int64), validate=False)
                return _of_rows(whole, attrs).values
            return _of_rows(RaggedTensor.from_tensor(tensor, ragged_rank=len(tensor.dims) - 1), attrs).to_tensor()
        return _of_rows(data, attrs)


def _of_rows(rows: RaggedTensor, attrs: Attrs) -> RaggedTensor:
    if isinstance(rows.values, RaggedTensor):
        return rows.with_values(_of_rows(rows.values, attrs))
    return RaggedTensor(*add("StringNGrams", [rows.values, rows.row_splits], attrs))
