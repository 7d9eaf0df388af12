"""``tf.data.experimental.SqlDataset``: the rows of a query of a SQLite database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.elements.structure import flatten, map_leaves, pack
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.types import DType, as_dtype, string


def _rows(driver: bytes, source: bytes, query: bytes, types: Any) -> Iterator[Any]:
    if driver != b"sqlite":
        raise InvalidArgumentError(
            None,
            None,
            f"The database type, {driver.decode()}, is not supported by SqlDataset. The set of supported databases is: "
            "{'sqlite'}.",
        )
    dtypes = flatten(types)
    path = os.fsdecode(source)
    try:
        connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.text_factory = bytes
            cursor = connection.execute(query.decode())
            count = len(cursor.description or ())
            if count != len(dtypes):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"The number of columns in query ({count}) must match the number of elements in output_types "
                    f"({len(dtypes)}).",
                )
            for row in cursor:
                yield pack(types, [_value(v, t) for v, t in zip(row, dtypes, strict=True)])
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InvalidArgumentError(None, None, f"{path}: {error}") from None


def _value(value: Any, dtype: DType) -> Any:
    """A column's value as SQLite makes it another type; NULL is 0 or the empty string."""
    if dtype is string:
        return b"" if value is None else value if isinstance(value, bytes) else str(value).encode()
    try:
        number = float(value or 0) if dtype.is_floating else int(float(value or 0))
    except ValueError:
        number = 0
    return np.bool_(number != 0) if dtype.is_bool else dtype.np.type(number)


def _dataset(kind: type[Dataset], driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> Any:
    types = map_leaves(as_dtype, output_types)
    shapes = map_leaves(lambda dtype: [], types)

    def rows(driver: bytes, source: bytes, text: bytes) -> Iterator[Any]:
        return _rows(driver, source, text, types)

    return kind.from_generator(rows, types, shapes, args=(driver_name, data_source_name, query))


class SqlDataset(Dataset):
    """The rows of a query, as a structure of scalars.

    Args:
      driver_name: "sqlite".
      data_source_name: the file of the database.
      query: in SQL.
      output_types: the element types of the columns.

    Raises (when elements are taken):
      InvalidArgumentError: another driver or number of columns, or what SQLite says of the query.
    """

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any):
        super().__init__(_dataset(Dataset, driver_name, data_source_name, query, output_types).node)


class SqlDatasetV1(DatasetV1):
    """The rows of a query, as a structure of scalars. See ``SqlDataset``."""

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any):
        super().__init__(_dataset(DatasetV1, driver_name, data_source_name, query, output_types).node)
