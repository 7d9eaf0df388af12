"""Checkpoints of the original's second format, written: whole or absent, also where one of that name was before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from towerstrat.checkpoints import dtypes, side_files, sorted_tables, string_codec, written_files
from towerstrat.checkpoints.bundle_reader import index_path, shard_path, shards_of
from towerstrat.checkpoints.slices import Slice
from towerstrat.errors import NotFoundError, OpError
from towerstrat.platform import logs, messages
from towerstrat.platform.accounts import ACCOUNTS, SAVING
from towerstrat.platform.checksums import masked_crc
from towerstrat.platform.storage import Storage, storage_of

_VERSION = 1
_CHUNK = 1 << 26
_TAIL = 1 << 16


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


class Written(NamedTuple):
    """A file of data as it was written.

    Attributes:
      entries: where each array is, in order, as ``BundleEntryProto``. tail: how the file ends, see ``tail``.
    """

    entries: tuple[bytes, ...]
    tail: tuple[int, int]


class Others(Protocol):
    """Those who write parts of a checkpoint at the same time as this process.

    Attributes:
      count: how many they are. They write the files 1, 2, ... of its data.
    """

    count: int

    def begin(self, shards: int) -> None:
        """Says that they may write, to files of so many shards; called once."""

    def written(self, shards: int) -> Iterable[tuple[Sequence[Saved], Sequence[bytes]]]:
        """Waits until they have written: the arrays of each, and where these are. What it raises is raised."""


def write(prefix: str, arrays: Iterable[Saved], beside: bytes | None = None, others: Others | None = None) -> None:
    """Writes a checkpoint: after it returns it is on the disk, before that what was at ``prefix`` is.

    The bytes go to files of names that no checkpoint there uses; renaming the index commits. Where another program
    writes the same prefix meanwhile, which is logged, both succeed, and the one that ends last stays.

    Args:
      beside: the contents of the checkpoint's side file, if it has one.
      others: who writes further arrays meanwhile.

    Raises:
      ValueError: an element type that the format does not have, or one name twice. OpError: the disk is full,
        read-only, gone; nothing has changed then.
    """
    with ACCOUNTS.spent(SAVING):
        _write(prefix, arrays, beside, others)


def _write(prefix: str, arrays: Iterable[Saved], beside: bytes | None, others: Others | None) -> None:
    storage = storage_of(prefix)
    index_file = index_path(prefix)
    writers = storage.writers(index_file)
    if writers:
        logs.warning(
            "%s is being written by %s too. Both checkpoints are whole, and the one that ends last stays; give each "
            "program a folder of its own.", prefix, " and ".join(writers),
        )  # fmt: skip
    try:
        # The index is begun first: its temporary file says that this process writes here.
        with storage.writing(index_file) as file:
            index = _Index()
            with ExitStack() as writing:
                with storage.alone(prefix):
                    shards = _unused(storage.beginning_with(f"{prefix}.data-"), 1 + (others.count if others else 0))
                    data = _Data(writing.enter_context(storage.writing(shard_path(prefix, 0, shards))), 0)
                if others is not None:
                    others.begin(shards)
                for array in arrays:
                    index.enter(array, data.append(array))
            for theirs, entries in others.written(shards) if others is not None else ():
                for array, entry in zip(theirs, entries, strict=True):
                    index.enter(array, messages.BundleEntryProto.FromString(entry))
            encoded = index.encoded(shards, beside)
            if beside is not None:
                with storage.writing(side_files.side_file(prefix, encoded)) as side:
                    side.write(beside)
            file.write(encoded)
        written_files.record(index_file)
    finally:
        _tidy(storage, prefix)


def write_shard(prefix: str, shard: int, shards: int, arrays: Iterable[Saved]) -> Written:
    """Writes one file of data for a checkpoint, whose index another process writes.

    Raises:
      ValueError: an element type that the format does not have. OpError: as ``write``; there is no such file then.
    """
    path = shard_path(prefix, shard, shards)
    with ACCOUNTS.spent(SAVING):
        with storage_of(path).writing(path) as file:
            data = _Data(file, shard)
            entries = tuple(data.append(array).SerializeToString() for array in arrays)
        found = tail(path)
        assert found is not None
        return Written(entries, found)


def tail(path: str) -> tuple[int, int] | None:
    """The bytes of a file, and the checksum of its last ones; None where this process sees no such file."""
    storage = storage_of(path)
    try:
        file = storage.ranges(path)
    except NotFoundError:
        return None
    size = len(file)
    return size, masked_crc(file.read(max(0, size - _TAIL), min(_TAIL, size)))


def _unused(files: Sequence[str], least: int) -> int:
    """The smallest number of shards, from ``least`` on, that no file of data has in its name."""
    return next(n for n in count(least) if not any(f"-of-{n:05d}" in path for path in files))


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
        for path in (*unused, *side_files.of_others(prefix)):
            storage.remove(path)


class _Data:
    """A file of data, while it is written. ``shard``: its number."""

    def __init__(self, file: IO[bytes], shard: int):
        self._file = file
        self._shard = shard
        self._offset = 0

    def append(self, saved: Saved) -> Any:
        """Appends the bytes of an array; its ``BundleEntryProto``."""
        array = np.asarray(saved.load())
        entry = messages.BundleEntryProto()
        entry.dtype = saved.code or dtypes.code_of(array.dtype)
        _enter_shape(entry, array.shape)
        if entry.dtype == dtypes.STRING:
            data, entry.crc32c = string_codec.encode(array)
            self._file.write(data)
            entry.size = len(data)
        else:
            raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            entry.crc32c, entry.size = masked_crc(raw), raw.nbytes
            for start in range(0, raw.nbytes, _CHUNK):
                self._file.write(raw[start : start + _CHUNK].data)
        entry.shard_id, entry.offset = self._shard, self._offset
        self._offset += entry.size
        return entry


class _Index:
    """What the files of data have."""

    def __init__(self) -> None:
        self._entries: dict[bytes, Any] = {}

    def enter(self, saved: Saved, entry: Any) -> None:
        """Enters an array, or a part of one, and where it is."""
        key = saved.name.encode(errors="surrogateescape")
        if saved.whole is not None:
            key = saved.whole.part.key(saved.name)
        if key in self._entries:
            raise ValueError(f"Array {saved.name} is saved twice.")
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

    def encoded(self, shards: int, beside: bytes | None) -> bytes:
        """The index as a table. ``beside``: the contents of the checkpoint's side file, whose key is in the header."""
        header = messages.BundleHeaderProto(num_shards=shards)
        header.version.producer = _VERSION
        side_file = b"" if beside is None else side_files.key(beside)
        entries = sorted((key, entry.SerializeToString()) for key, entry in self._entries.items())
        return sorted_tables.encoded([(b"", header.SerializeToString() + side_file), *entries])


def _enter_shape(entry: Any, shape: tuple[int, ...]) -> None:
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add(size=size)
