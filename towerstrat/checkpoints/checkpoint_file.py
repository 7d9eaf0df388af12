"""Checkpoints of either format by their paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from towerstrat.checkpoints.bundle_reader import Array, Bundle, Entry, index_path
from towerstrat.checkpoints.v1_reader import FirstFormat
from towerstrat.errors import NotFoundError
from towerstrat.platform.storage import storage_of


class Checkpoint(Protocol):
    """An open checkpoint."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The arrays by name, sorted."""

    def __contains__(self, name: str) -> bool: ...

    def read(self, name: str) -> Array:
        """An array. Raises NotFoundError, DataLossError."""


def opened(path: str) -> Checkpoint:
    """The checkpoint at a prefix, or of files of the first format that fit a pattern.

    Raises:
      NotFoundError: there is none. DataLossError: it is damaged.
    """
    storage = storage_of(path)
    if storage.exists(index_path(path)):
        return Bundle(path)
    files = storage.matching(path)
    if not files:
        raise NotFoundError(
            None, None, f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {path}"
        )
    return FirstFormat(files)
