"""Tables between words and ids, with hash buckets for words that are not in the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, as_dtype, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.tables.hash_tables import LINE_NUMBER, WHOLE_LINE
from towerstrat.graph.ops.tables.table_classes import (
    HashTable,
    KeyValueTensorInitializer,
    LookupInterface,
    TableInitializerBase,
    TextFileIdTableInitializer,
    TextFileStringTableInitializer,
    check_keys,
)
from towerstrat.graph.ops.text import strings


class HasherSpec(NamedTuple):
    """The hash for words that are not in a table: "fasthash", "stronghash" (with a key) or "legacy"."""

    hasher: str
    key: Sequence[int] | None


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """SipHash with a key of two integers.

    Raises:
      ValueError: a key of another length. TypeError: keys that are no integers.
    """

    __slots__ = ()

    def __new__(cls, key: Sequence[int]) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(word, int) for word in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _hash_function(spec: HasherSpec) -> Callable[..., Tensor]:
    if spec.hasher == "fasthash":
        return strings.string_to_hash_bucket_fast
    if spec.hasher == "legacy":
        return strings.string_to_hash_bucket
    if spec.hasher == "stronghash":
        return partial(strings.string_to_hash_bucket_strong, key=spec.key or ())
    raise ValueError(f"Unknown hasher {spec.hasher}")


class IdTableWithHashBuckets(LookupInterface):
    """Ids of a table, and for keys that are not in it ids of hash buckets after them.

    Args:
      table: from string or int64 to int64; None: buckets alone.
      num_oov_buckets: how many buckets; 0: the table's default value.
      hasher_spec: the hash that chooses a bucket.
      key_dtype: the type of keys; by default the table's, or string.

    Raises:
      ValueError: no table and no buckets. TypeError: types that do not fit, or no ``HasherSpec``.
    """

    def __init__(
        self, table: HashTable | None, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None, key_dtype: Any = None,
    ):  # fmt: skip
        dtype = None if key_dtype is None else as_dtype(key_dtype)
        if table is not None:
            dtype = dtype or table.key_dtype
            if table.key_dtype not in (int64, string):
                raise TypeError(f"Invalid key dtype, expected one of {(int64, string)}, but got {dtype!r}.")
            if table.key_dtype.is_integer != dtype.is_integer:
                kind = "integer" if dtype.is_integer else "non-integer"
                raise TypeError(f"Invalid key dtype, expected {kind} but got {table.key_dtype!r}.")
            if table.value_dtype is not int64:
                raise TypeError(f"Invalid value dtype, expected {int64!r} but got {table.value_dtype!r}.")
        elif num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        dtype = dtype or string
        if not dtype.is_integer and dtype is not string:
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {dtype!r}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        given = (name or "").rstrip("/") or (table.name if table is not None else None) or "hash_bucket"
        super().__init__(dtype, int64, given.split("/")[-1])
        self._table = table
        self._num_oov_buckets = num_oov_buckets
        self._hash = _hash_function(hasher_spec)

    @property
    def init(self) -> Any:
        if self._table is not None:
            return self._table.init
        return no_op("init")

    @property
    def initializer(self) -> Any:
        """``init``, as it is called since 1.13."""
        return self.init

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids: entries and buckets, int64."""
        with get_default_graph().name_scope(name or f"{self.name}_Size"):
            entries = convert_to_tensor(0, int64) if self._table is None else self._table.size()
            return arithmetic.add(entries, convert_to_tensor(self._num_oov_buckets, int64))

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The ids of keys, int64, in the form of the keys. Raises TypeError for keys of another type."""
        check_keys(keys, self._key_dtype)
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self._ids(keys.values, name), keys.dense_shape)
        return self._ids(keys, name)

    def _ids(self, keys: Tensor, name: str | None) -> Tensor:
        text = keys if keys.dtype is string else strings.as_string(keys)
        if self._table is not None and self._table.key_dtype is int64:
            keys = arithmetic.cast(keys, int64)
        if self._table is not None and self._num_oov_buckets == 0:
            found: Tensor = self._table.lookup(keys, name)
            return found
        with get_default_graph().name_scope(name or f"{self.name}_Lookup"):
            buckets = self._hash(text, num_buckets=self._num_oov_buckets, name="hash_bucket")
            if self._table is None:
                return buckets
            ids = self._table.lookup(keys)
            known = arithmetic.not_equal(ids, convert_to_tensor(self._table.default_value))
            return arrays.where(known, ids, arithmetic.add(buckets, self._table.size()))


class StaticVocabularyTable(IdTableWithHashBuckets):
    """Ids of an initializer's words, and of hash buckets for all others.

    Args:
      initializer: from string or int64 to int64; None: buckets alone.
      num_oov_buckets: how many buckets, at least 1.
      lookup_key_dtype: the type of keys, if not the initializer's.
      experimental_is_anonymous: accepted; no table can be found by its name here.
    """

    def __init__(
        self, initializer: TableInitializerBase | None, num_oov_buckets: int, lookup_key_dtype: Any = None,
        name: str | None = None, experimental_is_anonymous: bool = False,
    ):  # fmt: skip
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        table = None if initializer is None else HashTable(initializer, -1)
        super().__init__(table, num_oov_buckets, name=name, key_dtype=lookup_key_dtype)


# ---- from a list or a file -----------------------------------------------------------------------------------------


def _check_vocabulary(num_oov_buckets: int, key_dtype: DType) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if not key_dtype.is_integer and key_dtype is not string:
        raise TypeError("Only integer and string keys are supported.")


def index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec, key_dtype: Any = string, name: str | None = None,
    key_column_index: int = WHOLE_LINE, value_column_index: int = LINE_NUMBER, delimiter: str = "\t",
) -> LookupInterface:  # fmt: skip
    """A table from the words of a file to int64 ids: by default from its lines to their numbers.

    Args:
      vocabulary_file: the file's path, or a scalar tensor of it.
      num_oov_buckets: how many hash buckets other words get, after the ids; 0: they get ``default_value``.
      vocab_size: use so many lines; None: all.
      key_dtype: string, or an integer type.

    Raises:
      ValueError: no file, or a number that is too small.
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    dtype = as_dtype(key_dtype)
    _check_vocabulary(num_oov_buckets, dtype)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {vocabulary_file}"
        )  # fmt: skip
    with get_default_graph().name_scope(name or "string_to_index") as outer:
        with get_default_graph().name_scope("hash_table") as scope:
            init = TextFileIdTableInitializer(
                vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init",
                int64 if dtype.is_integer else dtype,
            )  # fmt: skip
            columns = f"{key_column_index}_{value_column_index}"
            shared = f"hash_table_{vocabulary_file}_{vocab_size or ''}_{columns}"
            table = HashTable(init, default_value, shared, scope)
        if num_oov_buckets:
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, outer, dtype)
        return table


def index_table_from_tensor(
    mapping: Any, num_oov_buckets: int = 0, default_value: Any = -1, hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = string, name: str | None = None,
) -> LookupInterface:  # fmt: skip
    """A table from the entries of a vector to their places in it, int64.

    Args:
      mapping: ``[n]`` strings or integers, none of them twice.
      num_oov_buckets: how many hash buckets other keys get, after the ids; 0: they get ``default_value``.
      dtype: of the keys that are looked up.

    Raises:
      ValueError: no list, or one that is not of ``dtype``.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    wanted = as_dtype(dtype)
    _check_vocabulary(num_oov_buckets, wanted)
    with get_default_graph().name_scope(name or "string_to_index") as outer:
        keys = convert_to_tensor(mapping)
        if keys.dtype.is_integer != wanted.is_integer:
            kind = "integer" if wanted.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype!r}.")
        if not wanted.is_integer and keys.dtype is not wanted:
            raise ValueError(f"Expected {wanted!r}, got {keys.dtype!r}.")
        values = arithmetic.cast(arrays.range(arrays.size(keys)), int64)
        with get_default_graph().name_scope("hash_table") as scope:
            keys = arithmetic.cast(keys, int64) if keys.dtype.is_integer else keys
            table = HashTable(KeyValueTensorInitializer(keys, values, name="table_init"), default_value, name=scope)
        if num_oov_buckets:
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, outer, wanted)
        return table


def string_to_index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec, name: str | None = None,
) -> LookupInterface:  # fmt: skip
    """The deprecated name of ``index_table_from_file`` for strings."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, string, name
    )  # fmt: skip


def string_to_index_table_from_tensor(
    mapping: Any, num_oov_buckets: int = 0, default_value: Any = -1, hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> LookupInterface:  # fmt: skip
    """The deprecated name of ``index_table_from_tensor`` for strings. Raises ValueError where they are none."""
    if convert_to_tensor(mapping).dtype is not string:
        raise ValueError("string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)


def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: int | None = None, default_value: Any = "UNK", name: str | None = None,
    key_column_index: int = LINE_NUMBER, value_column_index: int = WHOLE_LINE, delimiter: str = "\t",
) -> HashTable:  # fmt: skip
    """A table from int64 ids to the words of a file: by default from the numbers of its lines to the lines.

    Raises:
      ValueError: no file, or a ``vocab_size`` below 1.
    """
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    with get_default_graph().name_scope(name or "index_to_string") as scope:
        init = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        columns = f"{key_column_index}_{value_column_index}"
        shared = f"hash_table_{vocabulary_file}_{vocab_size or ''}_{columns}"
        return HashTable(init, default_value, shared, scope)


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> HashTable:  # fmt: skip
    """A table from int64 places in a vector of strings to its entries. Raises ValueError without a vector."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    with get_default_graph().name_scope(name or "index_to_string") as scope:
        words = convert_to_tensor(mapping, string)
        keys = arithmetic.cast(arrays.range(arrays.size(words)), int64)
        return HashTable(KeyValueTensorInitializer(keys, words, name="table_init"), default_value, name=scope)


def string_to_index(tensor: Any, mapping: Any, default_value: Any = -1, name: str | None = None) -> Any:
    """The places of strings in the vector ``mapping``: ``index_table_from_tensor(mapping).lookup(tensor)``."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None) -> Any:
    """The entries of the vector ``mapping``: ``index_to_string_table_from_tensor(mapping).lookup(tensor)``."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
