"""Tables that are filled entry by entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, HostArray, as_dtype
from towerstrat.graph.ops.tables.hash_tables import Table
from towerstrat.graph.ops.tables.table_classes import HostTable
from towerstrat.graph.variables.trackable import Trackable


class _Mutable(HostTable, Trackable):
    """A table that is filled entry by entry. Checkpoints of objects hold its entries."""

    def __init__(self, table: Table, default_value: Any, name: str):
        default = convert_to_tensor(default_value, table.value_dtype)
        unique = get_default_graph().unique_name(name)
        super().__init__(table, default, unique, unique)

    def size(self, name: str | None = None) -> Tensor:
        return self._add("LookupTableSizeV2", [], name, "Size").outputs[0]

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of keys, the default value for those that are not there. Raises TypeError as ``insert``."""
        found: Tensor = self._find(self._keys(keys), self._default_value, name, "lookup_table_find")
        return found

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation | None:
        """Sets the values of keys; the operation, None eagerly. Raises ValueError for values of other types."""
        inputs = [self._keys(keys), self._values(values)]
        return self._filled(self._add("LookupTableInsertV2", inputs, name, "lookup_table_insert"))

    def remove(self, keys: Any, name: str | None = None) -> Operation | None:
        """Forgets keys; those that are not there do not matter. The operation, None eagerly."""
        return self._filled(self._add("LookupTableRemoveV2", [self._keys(keys)], name, "lookup_table_remove"))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, in the order in which they came in."""
        return self._exported(name, "lookup_table_export_values")

    def _serialize_to_tensors(self) -> dict[str, Tensor]:
        keys, values = self.export()
        return {"table-keys": keys, "table-values": values}

    def _restore_from_tensors(self, restored_tensors: Mapping[str, Tensor]) -> Operation | None:
        gone = self.remove(self.export()[0])
        with get_default_graph().control_dependencies([] if gone is None else [gone]):
            return self.insert(restored_tensors["table-keys"], restored_tensors["table-values"])


def _dims(value: Any, dtype: Any) -> tuple[int, ...]:
    """The static shape of a default value. Raises ValueError where it is not known."""
    shape = convert_to_tensor(value, dtype).shape
    shape.assert_is_fully_defined()
    return tuple(int(d) for d in shape.as_list() if d is not None)


def _known(value: Any, dtype: DType, what: str) -> HostArray:
    """The value of a key that a table cannot hold. Raises ValueError where it is no constant."""
    found = constant_value(convert_to_tensor(value, dtype))
    if found is None:
        raise ValueError(f"Expected a constant {what}, got {value!r}.")
    return found


class MutableHashTable(_Mutable):
    """A table that is filled entry by entry.

    Args:
      default_value: the value of keys that are not there; its shape is that of all values.
      shared_name: tables of one shared name in a session have the same entries.
      checkpoint: changes nothing: checkpoints of objects hold its entries, those of variables by name never.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, shared_name: str | None = None,
        name: str = "MutableHashTable", checkpoint: bool = True,
    ):  # fmt: skip
        dims = _dims(default_value, as_dtype(value_dtype))
        table = Table(as_dtype(key_dtype), as_dtype(value_dtype), shared_name=shared_name or "", value_dims=dims)
        super().__init__(table, default_value, name)


class DenseTable(_Mutable):
    """A table with keys of any shape, and some that it cannot hold.

    Args:
      empty_key, deleted_key: cannot be used as keys; their shape is that of all keys. ``deleted_key`` may be None.

    Raises:
      ValueError: ``empty_key`` and ``deleted_key`` are equal.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any, deleted_key: Any, shared_name: str,
        name: str,
    ):  # fmt: skip
        keys, values = as_dtype(key_dtype), as_dtype(value_dtype)
        given = [("empty_key", empty_key), *([] if deleted_key is None else [("deleted_key", deleted_key)])]
        reserved = [(what, _known(key, keys, what)) for what, key in given]
        table = Table(
            keys, values, shared_name=shared_name, key_dims=reserved[0][1].shape,
            value_dims=_dims(default_value, values), reserved=reserved,
        )  # fmt: skip
        if len(table.reserved) < len(reserved):
            raise ValueError("Empty and deleted keys cannot be equal")
        super().__init__(table, default_value, name)


class MutableDenseHashTable(DenseTable):
    """``MutableHashTable`` with keys of any shape, and one that it cannot hold.

    Args:
      empty_key, deleted_key: cannot be used as keys; their shape is that of all keys.
      initial_num_buckets: accepted; tables grow as they need.
      checkpoint: changes nothing: checkpoints of objects hold its entries, those of variables by name never.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any,
        initial_num_buckets: int | None = None, shared_name: str | None = None, name: str = "MutableDenseHashTable",
        checkpoint: bool = True, deleted_key: Any = None,
    ):  # fmt: skip
        super().__init__(key_dtype, value_dtype, default_value, empty_key, deleted_key, shared_name or "", name)
