"""``tf.contrib.lookup`` and ``tf.lookup``: tables from keys to values.

Tables live on the host, one set of entries per session (eagerly: one). They can be used in graphs, functions and
functions of datasets, which reach the entries of the session that runs them; towers and step loops cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, as_dtype, int32, int64, string
from towerstrat.graph.ops.control.branches import group, no_op
from towerstrat.graph.ops.tables.hash_tables import LINE_NUMBER, WHOLE_LINE, Table
from towerstrat.graph.variables.variables import GraphKeys


def tables_initializer(name: str = "init_all_tables") -> Any:
    """An operation that initializes all tables of the default graph; None eagerly, where tables are initialized."""
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name)


def initialize_all_tables(name: str = "init_all_tables") -> Any:
    """The deprecated name of ``tables_initializer``."""
    return tables_initializer(name)


class LookupInterface:
    """A table from keys to values.

    Attributes:
      key_dtype, value_dtype: element types.
      name: the table's name in its graph.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any, name: str | None):
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)
        self._name = name

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def init(self) -> Any:
        """The operation that initializes the table; None eagerly."""
        raise NotImplementedError

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries, int64."""
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys."""
        raise NotImplementedError

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


class HostTable(LookupInterface):
    """A table with entries of its own.

    Args:
      table: what its operations know of it.
      default_value: the value of keys that it has not.
    """

    def __init__(self, table: Table, default_value: Tensor, name: str | None, prefix: str):
        super().__init__(table.key_dtype, table.value_dtype, name)
        self._table = table
        self._default_value = default_value
        self._prefix = prefix

    def _add(self, type: str, inputs: Sequence[Any], name: str | None, suffix: str, **attrs: Any) -> Operation:
        """An operation on the table. Raises UnsupportedError in a tower."""
        graph = get_default_graph()
        if graph.axis is not None:
            raise UnsupportedError(
                f"{type} of the table {self._name} inside a tower is not supported: tables are on the host. Look keys "
                "up in the input (dataset.map), or outside of the towers."
            )
        return graph.add(type, inputs, {"table": self._table, **attrs}, name or f"{self._prefix}_{suffix}")

    def _find(self, keys: Any, default: Any, name: str | None, suffix: str) -> Any:
        """The values of keys, a tensor or the values of a sparse one."""
        if isinstance(keys, Partitioned):
            return keys._map_flat(lambda values: self._find(values, default, name, suffix))
        inner = keys.values if isinstance(keys, SparseTensor) else keys
        found = self._add("LookupTableFindV2", [inner, convert_to_tensor(default)], name, suffix).outputs[0]
        return SparseTensor(keys.indices, found, keys.dense_shape) if isinstance(keys, SparseTensor) else found

    def _exported(self, name: str | None, suffix: str) -> tuple[Tensor, Tensor]:
        keys, values = self._add("LookupTableExportV2", [], name, suffix).outputs
        return keys, values

    def _filled(self, operation: Operation) -> Operation | None:
        return None if get_default_graph().executing_eagerly else operation

    def _keys(self, keys: Any) -> Tensor:
        return convert_to_tensor(keys, self._key_dtype)

    def _values(self, values: Any) -> Tensor:
        return convert_to_tensor(values, self._value_dtype)


# ---- tables that are filled once -----------------------------------------------------------------------------------


class InitializableLookupTableBase(HostTable):
    """A table that an initializer fills, once."""

    def __init__(self, table: Table, default_value: Any, initializer: TableInitializerBase, name: str):
        last = name.rstrip("/").split("/")[-1]
        default = convert_to_tensor(default_value, table.value_dtype)
        default.shape.merge_with(())
        super().__init__(table, default, last, last)
        self._init = initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not in the table."""
        return self._default_value

    @property
    def init(self) -> Any:
        return self._init

    @property
    def initializer(self) -> Any:
        """``init``, as it is called since 1.13."""
        return self._init

    def size(self, name: str | None = None) -> Tensor:
        return self._add("LookupTableSizeV2", [], name, "Size").outputs[0]

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys.

        Args:
          keys: a tensor or SparseTensor of ``key_dtype``.

        Returns:
          Values in the form of the keys; ``default_value`` for keys that are not there.

        Raises:
          TypeError: keys of another type.
        """
        check_keys(keys, self._key_dtype)
        return self._find(keys, self._default_value, name, "Lookup")


def check_keys(keys: Any, dtype: DType) -> None:
    if not isinstance(keys, Tensor | SparseTensor | Partitioned):
        raise TypeError(f"Expected a tensor or SparseTensor of keys, got {keys!r}. Use tf.constant.")
    if keys.dtype is not dtype:
        raise TypeError(f"Signature mismatch. Keys must be dtype {dtype!r}, got {keys.dtype!r}.")


class HashTable(InitializableLookupTableBase):
    """A table that an initializer fills once and nothing changes after that.

    Args:
      initializer: gives keys and values, and their types.
      default_value: a scalar, the value of keys that are not there.
      shared_name: tables of one shared name in a session have the same entries.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: Any, shared_name: str | None = None,
        name: str | None = None,
    ):  # fmt: skip
        if initializer.key_dtype not in (string, int32, int64):
            raise TypeError(f"Expected keys of type string, int32 or int64, got {initializer.key_dtype.name}.")
        graph = get_default_graph()
        shared = "" if graph.executing_eagerly else shared_name or ""
        table = Table(initializer.key_dtype, initializer.value_dtype, shared_name=shared, fixed=True)
        with graph.name_scope(name or "hash_table") as scope:
            super().__init__(table, default_value, initializer, scope)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, in the order in which they came in."""
        return self._exported(name, "Export")


class StaticHashTable(HashTable):
    """``HashTable`` under its later name.

    Args:
      experimental_is_anonymous: accepted; no table can be found by its name here.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: Any, name: str | None = None,
        experimental_is_anonymous: bool = False,
    ):  # fmt: skip
        super().__init__(initializer, default_value, name=name)


# ---- initializers --------------------------------------------------------------------------------------------------


class TableInitializerBase:
    """Base class of initializers, which fill a table.

    Attributes:
      key_dtype, value_dtype: element types.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any):
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype

    def initialize(self, table: Any) -> Any:
        """The operation that fills ``table``; None eagerly, where it is filled now."""
        raise NotImplementedError


def _check_types(table: LookupInterface, initializer: TableInitializerBase) -> None:
    if initializer.key_dtype is not table.key_dtype:
        raise TypeError(f"Invalid key dtype, expected {table.key_dtype!r} but got {initializer.key_dtype!r}.")
    if initializer.value_dtype is not table.value_dtype:
        raise TypeError(f"Invalid value dtype, expected {table.value_dtype!r} but got {initializer.value_dtype!r}.")


def _noted(table: HostTable, operation: Operation) -> Operation | None:
    get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
    return table._filled(operation)


class KeyValueTensorInitializer(TableInitializerBase):
    """Keys and values from two tensors of one shape.

    Args:
      key_dtype, value_dtype: the types of Python values.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ):  # fmt: skip
        with get_default_graph().name_scope(name or "key_value_init") as scope:
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
        self._name = scope
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Any:
        _check_types(table, self)
        inputs = [convert_to_tensor(self._keys), convert_to_tensor(self._values)]
        return _noted(table, table._add("LookupTableImportV2", inputs, self._name, ""))


class TextFileIndex:
    """Columns of a text file that stand for the line as a whole, and for its number."""

    WHOLE_LINE = WHOLE_LINE
    LINE_NUMBER = LINE_NUMBER


class TextFileInitializer(TableInitializerBase):
    """One entry for each line of a text file.

    Args:
      filename: the file's path, or a scalar tensor of it.
      key_index, value_index: the column of keys and of values: a number from 0, ``TextFileIndex.WHOLE_LINE`` or
        ``TextFileIndex.LINE_NUMBER`` (int64, from 0).
      vocab_size: use so many lines; None: all.
      delimiter: between columns.
      value_index_offset: is added to line numbers that are values.

    Raises:
      ValueError: no file name, or a column whose type does not fit.
    """

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None, value_index_offset: int = 0,
    ):  # fmt: skip
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (("key", key_index, self.key_dtype), ("value", value_index, self.value_dtype)):
            whole = dtype is string or (what == "key" and dtype.is_integer)
            if index < WHOLE_LINE:
                raise ValueError(f"Invalid {what} index {index}.")
            if index == LINE_NUMBER and dtype is not int64:
                raise ValueError(f"Signature mismatch. {what.title()}s must be dtype {int64!r}, got {dtype!r}.")
            if index == WHOLE_LINE and not whole:
                raise ValueError(f"Signature mismatch. {what.title()}s must be dtype {string!r}, got {dtype!r}.")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename = filename
        self._name = name
        self._attrs = {
            "key_index": key_index, "value_index": value_index, "vocab_size": vocab_size or -1,
            "delimiter": delimiter, "offset": value_index_offset,
        }  # fmt: skip

    def initialize(self, table: Any) -> Any:
        _check_types(table, self)
        graph = get_default_graph()
        with graph.name_scope(self._name or "text_file_init") as scope:
            filename = convert_to_tensor(self._filename, string, name="asset_filepath")
            made = table._add("InitializeTableFromTextFileV2", [filename], scope, "", **self._attrs)
        if not graph.executing_eagerly and filename.op.type == "Const":
            graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return _noted(table, made)


class TextFileStringTableInitializer(TextFileInitializer):
    """From int64 ids (by default line numbers) to strings (by default whole lines)."""

    def __init__(
        self, filename: Any, key_column_index: int = LINE_NUMBER, value_column_index: int = WHOLE_LINE,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = "text_file_string_table_init",
    ):  # fmt: skip
        super().__init__(
            filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name
        )  # fmt: skip


class TextFileIdTableInitializer(TextFileInitializer):
    """From strings (by default whole lines) to int64 ids (by default line numbers)."""

    def __init__(
        self, filename: Any, key_column_index: int = WHOLE_LINE, value_column_index: int = LINE_NUMBER,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = "text_file_id_table_init",
        key_dtype: Any = string,
    ):  # fmt: skip
        super().__init__(
            filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name
        )  # fmt: skip
