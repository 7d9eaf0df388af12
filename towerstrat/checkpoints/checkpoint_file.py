"""Open a checkpoint of either format by its path: V2 (``bundle_reader``), or V1 (``v1_reader``).

Restores, ``tf.train.NewCheckpointReader`` and ``towerstrat checkpoint`` open checkpoints here, and use the members of
``Checkpoint``, which both readers have. The path of a V2 checkpoint is the prefix of its files; that of a V1 checkpoint
is a file, or a pattern of the files that it was saved in:

    run/model.ckpt-100                    V2 where run/model.ckpt-100.index exists, else the V1 file of that name
    run/model.ckpt-100-?????-of-00002     V1, saved in two shards

V2 is tried first, as in ``tensorflow/c/checkpoint_reader.cc``.

>>> import os, tempfile
>>> import numpy as np
>>> from towerstrat.checkpoints.bundle_writer import Saved, write
>>> with tempfile.TemporaryDirectory() as folder:
...     write(os.path.join(folder, "model.ckpt-0"), [Saved("w", lambda: np.float32([1, 2]))])
...     checkpoint = opened(os.path.join(folder, "model.ckpt-0"))
...     list(checkpoint.entries), "w" in checkpoint, checkpoint.read("w").tolist()
(['w'], True, [1.0, 2.0])
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
