"""Lookup tables on the host: their contents by session or server, and the operation types that read and fill them."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, nothing, scalar
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.types import DType, HostArray, int64, string
from towerstrat.graph.ops.text.string_kernels import filled, number
from towerstrat.platform.storage import storage_of

WHOLE_LINE, LINE_NUMBER = -2, -1
"""Columns of a text file that stand for its whole line, and for the line's number."""


class Entries:
    """The contents of a table: key -> value. A key is ``bytes``, a number, or for keys of several numbers a tuple.

    Attributes:
      initialized: whether a table that is filled once has been filled.
    """

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.initialized = False


class Holder(Protocol):
    """A session, as the owner of tables with a shared name."""

    server: Any

    def named_resource(self, key: Any, make: Any) -> Any: ...


class Table:
    """A lookup table as operations know it: types and shapes, and its entries in each session.

    Args:
      shared_name: tables of one shared name have the same entries; "": its own.
      key_dims, value_dims: static shapes of one key and of one value.
      fixed: whether it has to be initialized, once, before it is used.
      reserved: keys that it cannot hold, with what they are called.
    """

    def __init__(
        self, key_dtype: DType, value_dtype: DType, *, shared_name: str = "", key_dims: tuple[int, ...] = (),
        value_dims: tuple[int, ...] = (), fixed: bool = False, reserved: Sequence[tuple[str, HostArray]] = (),
    ):  # fmt: skip
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.shared_name = shared_name
        self.key_dims = key_dims
        self.value_dims = value_dims
        self.fixed = fixed
        self.reserved = {self.keys(key)[0]: what for what, key in reserved}
        self._entries: weakref.WeakKeyDictionary[Holder, Entries] = weakref.WeakKeyDictionary()

    def entries(self, session: Holder) -> Entries:
        """Its contents in a session; they live as long as the session and the table."""
        if self.shared_name:
            found: Entries = session.named_resource(("lookup table", self.shared_name), Entries)
            return found
        return self._entries.setdefault(session.server or session, Entries())

    def outer_dims(self, keys: Dims) -> Dims:
        """The shape of keys without that of one key. Raises ValueError where they do not end in that of a key."""
        if keys is None or not self.key_dims:
            return keys
        outer, inner = keys[: -len(self.key_dims)], keys[len(keys) - len(self.key_dims) :]
        TensorShape(inner).assert_is_compatible_with(self.key_dims)
        return outer

    def keys(self, array: HostArray) -> list[Any]:
        """Keys as Python values, in row-major order."""
        flat = array.reshape(-1, *self.key_dims).tolist()
        return [_hashable(key) for key in flat] if self.key_dims else flat

    def values(self, array: HostArray) -> list[Any]:
        """Values, in row-major order: ``bytes``, numbers, or arrays of them."""
        return list(array.reshape(-1, *self.value_dims))

    def stacked(self, values: Sequence[Any], outer: Sequence[int]) -> HostArray:
        """Values as an array of shape ``[*outer, *value_dims]``."""
        if not self.value_dims:
            return filled(values, outer, self.value_dtype.np)
        result = np.empty((len(values), *self.value_dims), self.value_dtype.np)
        for place, value in enumerate(values):
            result[place] = value
        return result.reshape(*outer, *self.value_dims)


def _hashable(key: Any) -> Any:
    return tuple(_hashable(part) for part in key) if isinstance(key, list) else key


# ---- operations ----------------------------------------------------------------------------------------------------


def _ready(session: Holder, op: Operation) -> Entries:
    """The entries of an operation's table. Raises FailedPreconditionError where it was not initialized."""
    table: Table = op.attrs["table"]
    entries = table.entries(session)
    if table.fixed and not entries.initialized:
        raise FailedPreconditionError(
            None, op, "Table not initialized. Run session.run(tf.tables_initializer()) before it is used."
        )
    return entries


def _checked(op: Operation, keys: HostArray) -> list[Any]:
    """Keys as Python values. Raises InvalidArgumentError for one that the table cannot hold."""
    table: Table = op.attrs["table"]
    found = table.keys(keys)
    for key in found if table.reserved else ():
        if key in table.reserved:
            raise InvalidArgumentError(None, op, f"Using the {table.reserved[key]} as a table key is not allowed")
    return found


def _find_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    table: Table = attrs["table"]
    outer = table.outer_dims(inputs[0].dims)
    return [Signature(table.value_dtype, None if outer is None else (*outer, *table.value_dims))]


def _find(session: Any, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    table: Table = op.attrs["table"]
    keys, default = values
    found = _ready(session, op).values
    outer = keys.shape[: keys.ndim - len(table.key_dims)]
    # A default of more dimensions than a value has one for each key.
    defaults = table.values(default) if default.ndim > len(table.value_dims) else [default[()]] * _count(outer)
    wanted = _checked(op, keys)
    if len(defaults) != len(wanted):
        raise InvalidArgumentError(
            None, op, f"Expected a default value for each of {len(wanted)} keys, got {len(defaults)}."
        )
    return [table.stacked([found.get(k, d) for k, d in zip(wanted, defaults, strict=True)], outer)]


def _count(dims: Sequence[int]) -> int:
    return int(np.prod(dims, dtype=np.int64))


def _size(session: Any, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    return [np.asarray(len(op.attrs["table"].entries(session).values), np.int64)]


def _export_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    table: Table = attrs["table"]
    return [
        Signature(table.key_dtype, (None, *table.key_dims)),
        Signature(table.value_dtype, (None, *table.value_dims)),
    ]


def _export(session: Any, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    table: Table = op.attrs["table"]
    found = table.entries(session).values
    keys = filled(found, [len(found)], table.key_dtype.np) if not table.key_dims else None
    if keys is None:
        keys = np.array(list(found), table.key_dtype.np).reshape(-1, *table.key_dims)
    return [keys, table.stacked(list(found.values()), [len(found)])]


def _insert(session: Any, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    table: Table = op.attrs["table"]
    keys, given = values
    wanted = [*keys.shape[: keys.ndim - len(table.key_dims)], *table.value_dims]
    if list(given.shape) != wanted:
        raise InvalidArgumentError(None, op, f"Expected shape {wanted} for value, got {list(given.shape)}")
    found = _ready(session, op).values
    found.update(zip(_checked(op, keys), table.values(given), strict=True))
    return []


def _remove(session: Any, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    found = _ready(session, op).values
    for key in _checked(op, values[0]):
        found.pop(key, None)
    return []


def _import(session: Any, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    table: Table = op.attrs["table"]
    keys, given = values
    if not keys.size:
        raise InvalidArgumentError(None, op, "keys and values cannot be empty tensors.")
    if keys.shape != given.shape:
        raise InvalidArgumentError(
            None, op, f"keys and values must have the same shape, got {list(keys.shape)} and {list(given.shape)}."
        )
    if table.entries(session).initialized:
        raise FailedPreconditionError(None, op, "Table already initialized.")
    _initialize(table, session, op, zip(table.keys(keys), table.values(given), strict=True))
    return []


def _initialize(table: Table, session: Holder, op: Operation, pairs: Iterator[tuple[Any, Any]]) -> None:
    """Fills a table. Raises FailedPreconditionError for a key with two values; the table then is as before."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise FailedPreconditionError(
                None, op, f"HashTable has different value for same key. Key {_shown(key)} has {_shown(found[key])} and "
                f"trying to add value {_shown(value)}"
            )  # fmt: skip
    entries = table.entries(session)
    entries.values.update(found)
    entries.initialized = True


def _shown(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _import_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    """Raises ValueError where keys and values differ in shape."""
    inputs[0].shape.assert_is_compatible_with(inputs[1].shape)
    return []


for _type, _rule, _host in (
    ("LookupTableFindV2", _find_rule, _find),
    ("LookupTableSizeV2", scalar(int64), _size),
    ("LookupTableExportV2", _export_rule, _export),
    ("LookupTableInsertV2", nothing, _insert),
    ("LookupTableRemoveV2", nothing, _remove),
    ("LookupTableImportV2", _import_rule, _import),
):
    define_op(_type, _rule, host=_host, stateful=True, differentiable=False, hidden=("table",))


# ---- text files ----------------------------------------------------------------------------------------------------


def _from_file(session: Any, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    """Fills a table once; a second time changes nothing, as in the original."""
    table: Table = op.attrs["table"]
    if not table.entries(session).initialized:
        name = os.fsdecode(values[0].item())
        _initialize(table, session, op, _pairs(table, op, name, _lines(op, name)))
    return []


def _lines(op: Operation, name: str) -> list[bytes]:
    """The lines of a file that make a table. Raises an OpError for files with too few, or with an empty one."""
    with storage_of(name).open(name, "rb") as file:
        lines = file.read().split(b"\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise OutOfRangeError(None, op, f"{name} is empty: a table needs one line at least.")
    wanted = op.attrs["vocab_size"]
    if wanted > len(lines):
        raise InvalidArgumentError(None, op, f"Invalid vocab_size in {name}: expected {wanted} but got {len(lines)}")
    end = 0
    for line in lines[: None if wanted < 0 else wanted]:
        end += len(line) + 1
        if not line:
            raise InvalidArgumentError(None, op, f"Invalid content in {name}: empty line found at position {end}.")
    return [line.replace(b"\r", b"") for line in lines[: None if wanted < 0 else wanted]]


def _pairs(table: Table, op: Operation, name: str, lines: Sequence[bytes]) -> Iterator[tuple[Any, Any]]:
    """Key and value of each line. Raises InvalidArgumentError for too few columns, or one that is no number."""
    columns = (op.attrs["key_index"], table.key_dtype), (op.attrs["value_index"], table.value_dtype)
    least = max(op.attrs["key_index"], op.attrs["value_index"]) + 1
    delimiter = op.attrs["delimiter"].encode()
    for place, line in enumerate(lines):
        fields = line.split(delimiter) if least > 0 else []
        if len(fields) < least:
            raise InvalidArgumentError(
                None, op, f"Invalid number of columns in {name} line {place} ({_shown(line)}) : expected {least} got "
                f"{len(fields)}"
            )  # fmt: skip
        key, value = (
            place if index == LINE_NUMBER else _field(op, place, line if index == WHOLE_LINE else fields[index], dtype)
            for index, dtype in columns
        )
        yield key, value + op.attrs["offset"] if op.attrs["value_index"] == LINE_NUMBER else value


def _field(op: Operation, place: int, text: bytes, dtype: DType) -> Any:
    if dtype is string:
        return text
    try:
        return number(text, dtype)
    except ValueError:
        raise InvalidArgumentError(
            None, op, f"Field {_shown(text)} in line {place} is not a valid {dtype.name}."
        ) from None  # fmt: skip


define_op("InitializeTableFromTextFileV2", nothing, host=_from_file, stateful=True, differentiable=False,
       hidden=("table",))  # fmt: skip
