"""``tf.decode_csv``: comma-separated values as columns. Source: ``tensorflow/core/kernels/decode_csv_op.cc``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, HostArray, float32, float64, int32, int64, string
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.text.string_kernels import filled, number

TYPES = (float32, float64, int32, int64, string)
"""The element types that columns may have."""
_PLAIN = {True: re.compile(rb"\s*-?\d{1,18}\s*"), False: re.compile(rb"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.I)}
"""Integers, and other numbers, that Python reads as C does."""


def fields(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """The fields of a record. Raises ValueError where quotes are not as RFC 4180 has them."""
    if not record:
        return []
    if b"\n" not in record and b"\r" not in record and not (quotes and b'"' in record):
        return record.split(delimiter)
    found, place = [], 0
    while place < len(record):
        if record[place] in b"\r\n":
            place += 1
        elif quotes and record[place] == ord('"'):
            field, place = _quoted(record, place + 1, delimiter)
            found.append(field)
        else:
            end = record.find(delimiter, place)
            end = len(record) if end < 0 else end
            field = record[place:end]
            if b"\n" in field or b"\r" in field or (quotes and b'"' in field):
                raise ValueError("Unquoted fields cannot have quotes/CRLFs inside")
            found.append(field)
            place = end + 1
    if record.endswith(delimiter):
        found.append(b"")
    return found


def _quoted(record: bytes, place: int, delimiter: bytes) -> tuple[bytes, int]:
    """The field after a quote, and the place after it and its delimiter."""
    parts = []
    while True:
        end = record.find(b'"', place)
        if end < 0:
            raise ValueError("Quoted field has to end with quote followed by delim or end")
        parts.append(record[place:end])
        if end + 1 == len(record) or record[end + 1 : end + 2] == delimiter:
            return b"".join(parts), end + 2
        if record[end + 1 : end + 2] != b'"':
            raise ValueError("Quote inside a string has to be escaped by another quote")
        parts.append(b'"')
        place = end + 2


def _column(values: Sequence[bytes], dtype: DType, default: HostArray, missing: bytes, place: int) -> list[Any]:
    """A column's values, those that are empty or say that they are missing replaced by the default."""
    if b"" in values or missing in values:
        if not default.size:
            row = next(i for i, v in enumerate(values) if v in (b"", missing))
            raise ValueError(f"Field {place} is required but missing in record {row}!")
        given = default.reshape(-1)[0]
        return [given if v in (b"", missing) else _value(v, dtype, place, row) for row, v in enumerate(values)]
    if dtype is string:
        return list(values)
    whole = dtype.is_integer
    if all(map(_PLAIN[whole].fullmatch, values)):
        found: list[Any] = list(map(int if whole else float, values))
        if dtype is not int32 or -(2**31) <= min(found, default=0) <= max(found, default=0) < 2**31:
            return found
    return [_value(v, dtype, place, row) for row, v in enumerate(values)]


def _value(text: bytes, dtype: DType, place: int, row: int) -> Any:
    if dtype is string:
        return text
    try:
        return number(text, dtype)
    except ValueError:
        kind = "float" if dtype is float32 else "double" if dtype is float64 else dtype.name
        shown = text.decode(errors="replace")
        raise ValueError(f"Field {place} in record {row} is not a valid {kind}: {shown}") from None


def decode(
    records: HostArray, *defaults: HostArray, OUT_TYPE: Sequence[DType], field_delim: str, use_quote_delim: bool,
    na_value: str, select_cols: Sequence[int],
) -> list[HostArray]:  # fmt: skip
    """``DecodeCSV`` of records of any shape: an array of that shape for each column. Raises ValueError."""
    rows = []
    for row, record in enumerate(records.reshape(-1)):
        found = fields(record, field_delim.encode(), use_quote_delim)
        if select_cols:
            found = [found[column] for column in select_cols if column < len(found)]
        if len(found) != len(OUT_TYPE):
            raise ValueError(f"Expect {len(OUT_TYPE)} fields but have {len(found)} in record {row}")
        rows.append(found)
    columns: Sequence[Sequence[bytes]] = list(zip(*rows, strict=True)) or [()] * len(OUT_TYPE)
    results = []
    for place, (values, dtype, default) in enumerate(zip(columns, OUT_TYPE, defaults, strict=True)):
        found = _column(values, dtype, default, na_value.encode(), place)
        results.append(filled(found, records.shape, dtype.np))
    return results


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    records, *defaults = inputs
    if any(d.dims is not None and (len(d.dims) > 1 or (d.dims and (d.dims[0] or 0) > 1)) for d in defaults):
        raise ValueError("record_defaults must be scalars, or vectors of at most one entry.")
    if any(column <= before for before, column in itertools.pairwise((-1, *attrs["select_cols"]))):
        raise ValueError(f"select_cols is not strictly increasing: {attrs['select_cols']}.")
    return [Signature(dtype, records.dims) for dtype in attrs["OUT_TYPE"]]


define_op("DecodeCSV", _rule, numpy=decode, differentiable=False)


def decode_csv(
    records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
    name: str | None = None, na_value: str = "", select_cols: Sequence[int] | None = None,
) -> list[Tensor]:  # fmt: skip
    """The columns of comma-separated values.

    Args:
      records: strings of any shape, each one record.
      record_defaults: for each column a tensor of its element type (float32, float64, int32, int64 or string) with the
        default of empty fields; an empty one where the field is required.
      field_delim: one character.
      use_quote_delim: whether fields may be quoted, as RFC 4180 has it.
      na_value: a further text of empty fields.
      select_cols: the columns to take, in increasing order; all by default.

    Returns:
      A tensor for each column, of the shape of ``records``.

    Raises:
      ValueError: defaults of more than one entry, or not as many as selected columns. InvalidArgumentError: another
        delimiter; when it runs: another number of fields, one that is required or no number, or quotes out of place.
    """
    if select_cols is not None and len(select_cols) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    if len(field_delim) != 1:
        raise InvalidArgumentError(None, None, f"field_delim should be only 1 char, got {field_delim!r}.")
    with get_default_graph().name_scope(name or "DecodeCSV") as scope:
        defaults = [convert_to_tensor(d) for d in record_defaults]
        for default in defaults:
            if default.dtype not in TYPES:
                raise TypeError(
                    f"Value passed to parameter 'record_defaults' has DataType {default.dtype.name} not in list of "
                    f"allowed values: {', '.join(t.name for t in TYPES)}"
                )
        attrs = {
            "OUT_TYPE": tuple(d.dtype for d in defaults),
            "field_delim": field_delim,
            "use_quote_delim": use_quote_delim,
            "na_value": na_value,
            "select_cols": tuple(select_cols or ()),
        }
        return add("DecodeCSV", [convert_to_tensor(records, string), *defaults], attrs, scope)
