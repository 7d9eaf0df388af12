"""Lookup tables whose entries are the elements of a dataset.

Source: ``tensorflow/python/data/experimental/ops/lookup_ops.py`` of 2.15.
"""

from __future__ import annotations

from typing import Any

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.transforms_v2 import assert_cardinality
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.type_specs import TensorSpec
from towerstrat.graph.ir.types import as_dtype, string
from towerstrat.graph.ops.tables.table_classes import HashTable, KeyValueTensorInitializer, TableInitializerBase
from towerstrat.graph.ops.tables.vocabulary_tables import FastHashSpec, HasherSpec, IdTableWithHashBuckets

_ALL = 1 << 62
"""More elements than a table has."""


def _check_pairs(spec: Any) -> None:
    """Raises ValueError unless elements are pairs of scalars."""
    pairs = isinstance(spec, tuple) and len(spec) == 2
    if not pairs or not all(isinstance(s, TensorSpec) and s.shape.raw == () for s in spec):
        raise ValueError(f"A table is made of a dataset of pairs (key, value) of scalars, but got elements {spec}.")


class DatasetInitializer(TableInitializerBase):
    """Entries from a dataset of pairs (key, value) of scalars.

    Raises:
      ValueError: other elements.
    """

    def __init__(self, dataset: Dataset):
        _check_pairs(dataset.element_spec)
        self.dataset = dataset
        keys, values = dataset.node.structure.dtypes
        super().__init__(keys, values)

    def initialize(self, table: Any) -> Any:
        keys, values = self.dataset.batch(_ALL).get_single_element()
        return KeyValueTensorInitializer(keys, values).initialize(table)


def table_from_dataset(
    dataset: Any = None, num_oov_buckets: int = 0, vocab_size: Any = None, default_value: Any = None,
    hasher_spec: HasherSpec = FastHashSpec, key_dtype: Any = string, name: str | None = None,
) -> HashTable | IdTableWithHashBuckets:  # fmt: skip
    """A lookup table of a dataset of pairs (key, value).

    Args:
      num_oov_buckets: keys that are not there get one of so many ids after the largest, by their hash.
      vocab_size: the number of entries, where it is known; the first ones are taken.
      default_value: of keys that are not there; None: -1.
      key_dtype: an integer type or ``tf.string``.

    Raises:
      ValueError: other elements, values without a default, or a number that is too small. TypeError: other keys.
    """
    spec, kind = dataset.element_spec, as_dtype(key_dtype)
    _check_pairs(spec)
    if default_value is None:
        default_value = -1
        if not (spec[1].dtype.is_integer or spec[1].dtype.is_floating):
            raise ValueError(
                "`default_value` must be specified when creating a table from a dataset that produces values of type "
                f"{spec[1].dtype}."
            )
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater than or equal to 0, got {num_oov_buckets}.")
    if vocab_size is not None and not isinstance(vocab_size, Tensor) and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    if not kind.is_integer and kind is not string:
        raise TypeError(f"`key_dtype` must be either an integer or string type, but got {kind}")
    if vocab_size is not None:
        dataset = dataset.take(vocab_size)
        if not isinstance(vocab_size, Tensor):
            dataset = dataset.apply(assert_cardinality(vocab_size))
    with get_default_graph().name_scope(name or "string_to_index"):
        table = HashTable(DatasetInitializer(dataset), default_value)
        if num_oov_buckets:
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=kind)
        return table


def index_table_from_dataset(
    dataset: Any = None, num_oov_buckets: int = 0, vocab_size: Any = None, default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec, key_dtype: Any = string, name: str | None = None,
) -> HashTable | IdTableWithHashBuckets:  # fmt: skip
    """A lookup table from the elements of a dataset to their numbers (int64, from 0). As ``table_from_dataset``."""
    pairs = dataset.enumerate().map(lambda value, key: (key, value))
    return table_from_dataset(pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name)
