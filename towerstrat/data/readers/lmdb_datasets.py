"""LMDB databases: the entries of one in the order of their keys, by the package ``lmdb``.

Source: ``tensorflow/core/kernels/data/experimental/lmdb_dataset_op.cc``.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.types import string
from towerstrat.platform.deferred import Deferred

_lmdb = Deferred("lmdb")


def check_there() -> None:
    """Raises UnsupportedError where the package is not installed."""
    if importlib.util.find_spec("lmdb") is None:
        raise UnsupportedError(
            "LMDB databases are read by the package lmdb: pip install 'towerstrat[lmdb]'. TFRecord files need none."
        )


def entries(name: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a database: a file, or a folder with ``data.mdb``.

    Raises:
      InvalidArgumentError: there is none.
    """
    try:
        database = _lmdb.open(name, readonly=True, lock=False, subdir=os.path.isdir(name), create=False)
    except _lmdb.Error as error:
        raise InvalidArgumentError(None, None, f"{name}: {error}") from None
    with database, database.begin() as transaction:
        yield from transaction.cursor()


def _of_all(names: Any) -> Iterator[tuple[bytes, bytes]]:
    for name in np.ravel(np.asarray(names, object)).tolist():
        yield from entries(os.fsdecode(name))


class LMDBDataset(DatasetV1):
    """The entries of LMDB databases, pairs of a key and a value (strings), in the order of keys.

    Args:
      filenames: a string or strings, scalar or ``[n]``.

    Raises:
      UnsupportedError: the package ``lmdb`` is not installed.
    Raises (when elements are taken):
      InvalidArgumentError: there is no such database.
    """

    def __init__(self, filenames: Any):
        check_there()
        made = DatasetV1.from_generator(_of_all, (string, string), ([], []), args=(filenames,))
        super().__init__(made.node)
