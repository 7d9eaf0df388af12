"""Examples and csv files with the arguments of 2.x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.data import csv_fields, examples
from towerstrat.data.features import Features
from towerstrat.graph.ir.elements import Tensor


def parse_example(serialized: Any, features: Features, example_names: Any = None, name: str | None = None) -> Any:
    """The features of a batch of serialized ``Example`` messages; of one, where ``serialized`` is a scalar.

    Args:
      features: key -> ``FixedLenFeature``, ``VarLenFeature``, ``SparseFeature``, ``RaggedFeature`` or
        ``FixedLenSequenceFeature``.
      example_names: strings that messages of errors show.
    """
    return examples.parse_any(serialized, features, name, example_names)


def parse_single_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> Any:  # fmt: skip
    """The features of one serialized ``Example`` message."""
    return examples.parse_single_example(serialized, features, name, example_names)


def decode_csv(
    records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", select_cols: Sequence[int] | None = None, name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """The columns of comma-separated values, a tensor for each."""
    return csv_fields.decode_csv(records, record_defaults, field_delim, use_quote_delim, name, na_value, select_cols)
