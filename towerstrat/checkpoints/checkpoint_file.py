"""Open a checkpoint of either format by its path.

    opened("run/model.ckpt-100").read("dense/kernel")    V2 where run/model.ckpt-100.index exists, else
    opened("run/model.ckpt-100-?????-of-00002")          V1: all files that match the path as a pattern

Both readers have the members of ``Checkpoint``, by which the rest of the package uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from towerstrat.checkpoints.bundle_reader import Array, Bundle, Entry, index_path
from towerstrat.checkpoints.v1_reader import FirstFormat
from towerstrat.errors import NotFoundError
from towerstrat.platform.storage import storage_of


class Checkpoint(Protocol):
    """An open checkpoint of either format."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Array name -> dtype, shape and place, sorted by name."""

    def __contains__(self, name: str) -> bool: ...

    def read(self, name: str) -> Array:
        """Read an array. Raises NotFoundError, DataLossError, UnimplementedError (resource and variant dtypes)."""


def opened(path: str) -> Checkpoint:
    """Open the V2 checkpoint at a prefix, or the V1 checkpoint whose files match ``path`` as a pattern.

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
