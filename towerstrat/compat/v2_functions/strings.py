"""Strings and tables with the arguments of 2.x."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.ragged import string_rows
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor
from towerstrat.graph.ops.tables import mutable_tables
from towerstrat.graph.ops.text import strings


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The lengths of strings, int32, in bytes or (``unit="UTF8_CHAR"``) characters."""
    return strings.string_length(input, name, unit)


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Parts of strings: ``len`` characters from ``pos``, which counts from the end where it is negative."""
    return strings.substr(input, pos, len, name, unit)


def reduce_join(
    inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> Any:
    """Strings joined along dimensions, all by default; of a RaggedTensor along the last one."""
    if isinstance(inputs, RaggedTensor):
        return string_rows.joined_rows(inputs, axis, keepdims, separator)
    return strings.reduce_join(inputs, axis, keepdims, separator, name)


def to_number(input: Any, out_type: Any = float32, name: str | None = None) -> Tensor:
    """The numbers that strings write. Raises InvalidArgumentError where one writes none."""
    return strings.string_to_number(input, out_type, name)


def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A number below ``num_buckets`` for each string, int64."""
    return strings.string_to_hash_bucket(input, num_buckets, name)


class MutableHashTable(mutable_tables.MutableHashTable):
    """A table that is filled entry by entry.

    Args:
      default_value: the value of keys that are not there; its shape is that of all values.
      checkpoint: changes nothing: checkpoints of objects hold its entries, those of variables by name never.
      experimental_is_anonymous: accepted; no table can be found by its name here.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, name: str = "MutableHashTable",
        checkpoint: bool = True, experimental_is_anonymous: bool = False,
    ):  # fmt: skip
        super().__init__(key_dtype, value_dtype, default_value, None, name, checkpoint)

    def lookup(  # type: ignore[override]  # 2.x put an argument in the middle
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Tensor:
        """The values of keys.

        Args:
          dynamic_default_values: a value for each key, where it is not there; by default the table's.
        """
        if dynamic_default_values is None:
            return super().lookup(keys, name)
        found: Tensor = self._find(self._keys(keys), self._values(dynamic_default_values), name, "lookup_table_find")
        return found


class DenseHashTable(mutable_tables.DenseTable):
    """``MutableHashTable`` with keys of any shape, and two that it cannot hold.

    Args:
      empty_key, deleted_key: cannot be used as keys; their shape is that of all keys.
      initial_num_buckets: accepted; tables grow as they need.
      checkpoint: changes nothing: checkpoints of objects hold its entries, those of variables by name never.
      experimental_is_anonymous: accepted; no table can be found by its name here.

    Raises:
      ValueError: ``empty_key`` and ``deleted_key`` are equal.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any, deleted_key: Any,
        initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable", checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ):  # fmt: skip
        super().__init__(key_dtype, value_dtype, default_value, empty_key, deleted_key, "", name)

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Operation | None:
        """``insert``."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Operation | None:
        """``remove``."""
        return self.remove(keys, name)
