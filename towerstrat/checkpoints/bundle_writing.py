"""Checkpoints of the original's second format, written: whole or absent, also where one of that name was before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from towerstrat.checkpoints import elements, ownership, resumption, strings, tables
from towerstrat.checkpoints.bundle import index_path, shard_path, shards_of
from towerstrat.checkpoints.slices import Slice
from towerstrat.errors import OpError
from towerstrat.platform import logs, messages
from towerstrat.platform.accounts import ACCOUNTS, SAVING
from towerstrat.platform.checksums import masked_crc
from towerstrat.platform.storage import Storage, storage_of

_VERSION = 1
_CHUNK = 1 << 26


class Whole(NamedTuple):
    """The place of an array in a larger one that is saved in parts: its shape, and this part of it."""

    shape: tuple[int, ...]
    part: Slice


class Saved(NamedTuple):
    """An array to save.

    Attributes:
      name: under which it is saved; of the whole array where this is a part.
      load: gives the array, of numpy or of JAX; called once, when its turn comes, so that one at a time is in memory.
      whole: where it belongs, if it is a part.
      code: the number of its element type; None for that of the array.
    """

    name: str
    load: Callable[[], ArrayLike]
    whole: Whole | None = None
    code: int | None = None


def write(prefix: str, arrays: Iterable[Saved], beside: bytes | None = None) -> None:
    """Writes a checkpoint: after it returns it is on the disk, before that what was at ``prefix`` is.

    The bytes go to files of names that no checkpoint there uses; renaming the index commits. Where another process
    writes the same prefix meanwhile, which is logged, both succeed, and the one that ends last stays.

    Args:
      beside: the contents of the checkpoint's side file, if it has one.

    Raises:
      ValueError: an element type that the format does not have, or one name twice. OpError: the disk is full,
        read-only, gone; nothing has changed then.
    """
    with ACCOUNTS.spent(SAVING):
        _write(prefix, arrays, beside)


def _write(prefix: str, arrays: Iterable[Saved], beside: bytes | None) -> None:
    storage = storage_of(prefix)
    index_file = index_path(prefix)
    others = storage.writers(index_file)
    if others:
        logs.warning(
            "%s is being written by %s too. Both checkpoints are whole, and the one that ends last stays; give each "
            "program a folder of its own.", prefix, " and ".join(others),
        )  # fmt: skip
    try:
        # The index is begun first: its temporary file says that this process writes here.
        with storage.writing(index_file) as file:
            with ExitStack() as writing:
                with storage.alone(prefix):
                    shards = _unused(storage.beginning_with(f"{prefix}.data-"))
                    index = _Index(writing.enter_context(storage.writing(shard_path(prefix, 0, shards))))
                for array in arrays:
                    index.add(array)
            encoded = index.encoded(shards)
            if beside is not None:
                with storage.writing(resumption.side_file(prefix, encoded)) as side:
                    side.write(beside)
            file.write(encoded)
        ownership.record(index_file)
    finally:
        _tidy(storage, prefix)


def _unused(files: Sequence[str]) -> int:
    """The smallest number of shards that no file of data has in its name."""
    return next(n for n in range(1, len(files) + 2) if not any(f"-of-{n:05d}" in path for path in files))


def _tidy(storage: Storage, prefix: str) -> None:
    """Removes files of data and side files that are not of the index, unless they may be another writer's.

    What cannot be removed, as in a folder that is gone, stays until the next time.
    """
    with suppress(OpError), storage.alone(prefix):
        files = storage.beginning_with(f"{prefix}.data-")
        if storage.writers(index_path(prefix)):
            return
        shards = shards_of(prefix)
        unused = [path for path in files if not path.endswith(f"-of-{shards:05d}")]
        for path in (*unused, *resumption.of_others(prefix)):
            storage.remove(path)


class _Index:
    """What is in a file of data, while it is written."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self._offset = 0
        self._entries: dict[bytes, Any] = {}

    def add(self, saved: Saved) -> None:
        """Appends the bytes of an array."""
        array = np.asarray(saved.load())
        entry = messages.BundleEntryProto()
        key = saved.name.encode(errors="surrogateescape")
        if saved.whole is not None:
            key = saved.whole.part.key(saved.name)
        if key in self._entries:
            raise ValueError(f"Array {saved.name} is saved twice.")
        entry.dtype = saved.code or elements.code_of(array.dtype)
        _enter_shape(entry, array.shape)
        if entry.dtype == elements.STRING:
            data, entry.crc32c = strings.encode(array)
            self._file.write(data)
            entry.size = len(data)
        else:
            raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            entry.crc32c, entry.size = masked_crc(raw), raw.nbytes
            for start in range(0, raw.nbytes, _CHUNK):
                self._file.write(raw[start : start + _CHUNK].data)
        entry.offset = self._offset
        self._offset += entry.size
        self._entries[key] = entry
        if saved.whole is not None:
            self._add_part(saved.name, saved.whole, entry.dtype)

    def _add_part(self, name: str, whole: Whole, code: int) -> None:
        """Enters a part under the name of the whole array."""
        key = name.encode(errors="surrogateescape")
        if key not in self._entries:
            self._entries[key] = messages.BundleEntryProto(dtype=code)
            _enter_shape(self._entries[key], whole.shape)
        whole.part.enter(self._entries[key].slices.add())

    def encoded(self, shards: int) -> bytes:
        """The index as a table."""
        header = messages.BundleHeaderProto(num_shards=shards)
        header.version.producer = _VERSION
        entries = sorted((key, entry.SerializeToString()) for key, entry in self._entries.items())
        return tables.encoded([(b"", header.SerializeToString()), *entries])


def _enter_shape(entry: Any, shape: tuple[int, ...]) -> None:
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add(size=size)
