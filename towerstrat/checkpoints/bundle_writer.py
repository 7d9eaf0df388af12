"""Writer of TensorFlow's V2 checkpoints (tensor bundles): atomic, also where it overwrites a checkpoint.

The rename of ``PREFIX.index`` is the commit: until then the old checkpoint is intact, afterwards the new one is on
disk. For this no step before the commit may touch a file that the old index names:

1. The index is opened under a temporary name, locked (``platform/writers.py``): other processes can see who is writing.
2. The data shards get a number of shards that no data file at this prefix has in its name, as a version number: the
   first save writes ``.data-00000-of-00001``, the next one ``.data-00000-of-00002``. The header says two shards then,
   although there is one; readers open only shards that entries name. The folder is locked while the name is chosen.
3. Arrays are loaded and appended one at a time, so that at most one is in host memory; then the shard is renamed into
   place.
4. Where several processes save together, each writes a shard of its own (``write_shard``), and their entries are merged
   here.
5. The side file, if there is one (``side_files``), is written under a name made of the index's checksum.
6. The index is written, flushed to disk and renamed.
7. Data and side files that the index does not name are deleted, unless another process is writing this prefix.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for value in 1.0, 2.0:
    ...     write(os.path.join(folder, "model"), [Saved("w", lambda: np.float32(value))])
    ...     print(sorted(os.listdir(folder)))
    ['model.data-00000-of-00001', 'model.index']
    ['model.data-00000-of-00002', 'model.index']

A process that is killed leaves temporary or unnamed files, which the next save at the prefix removes. Remote storage
has no locks: there one process may write a prefix at a time. Source: ``tensorflow/core/util/tensor_bundle``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from typing import IO, NamedTuple, Protocol

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
    """The shape of an array that is saved in parts, and the slice of it that one ``Saved`` holds."""

    shape: tuple[int, ...]
    part: Slice


class Saved(NamedTuple):
    """An array, or a part of one, to save.

    Attributes:
      name: key in the checkpoint; the whole array's where this is a part.
      load: returns the array (numpy or JAX). Called once, right before it is written: one at a time is in memory.
      whole: the whole array's shape and this part's slice; None where this is the whole array.
      code: dtype as a number of TensorFlow's ``DataType`` enum; None for the array's own.
    """

    name: str
    load: Callable[[], ArrayLike]
    whole: Whole | None = None
    code: int | None = None


class Written(NamedTuple):
    """Report of one process on the data shard that it wrote.

    Attributes:
      entries: a serialized ``BundleEntryProto`` per array, in the order of the arrays.
      tail: size and checksum by which another process can recognize the file, see ``tail``.
    """

    entries: tuple[bytes, ...]
    tail: tuple[int, int]


class Others(Protocol):
    """The other processes of a collective save, seen from the one that writes the index.

    Attributes:
      count: the number of processes besides this one. They write data shards 1, 2, ..., this one writes shard 0.
    """

    count: int

    def begin(self, shards: int) -> None:
        """Tell them to start writing, and the number of shards in file names. Called once, when shard 0 is open."""

    def written(self, shards: int) -> Iterable[tuple[Sequence[Saved], Sequence[bytes]]]:
        """Wait for all of them: per process its arrays and their serialized entries. An exception fails the save."""


def write(prefix: str, arrays: Iterable[Saved], beside: bytes | None = None, others: Others | None = None) -> None:
    """Write a checkpoint atomically and durably: the steps are those at the head of this file.

    Where another program writes the same prefix meanwhile, a warning is logged, both succeed and the last commit wins.

    Args:
      prefix: path of the checkpoint without ``.index``, local or remote.
      arrays: in the order in which their bytes are laid out; the index is sorted by name anyway.
      beside: contents of the checkpoint's side file, if it has one.
      others: the other processes that write arrays of this checkpoint.

    Raises:
      ValueError: a dtype that the format does not have, or one name twice. OpError: the disk is full, read-only or
        gone. In both cases what was at ``prefix`` is unchanged.
    """
    with ACCOUNTS.timed(SAVING):
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
                # The shard's temporary file has the number in its name: once it exists other writers take another one.
                with storage.alone(prefix):
                    shards = _free_count(storage.beginning_with(f"{prefix}.data-"), 1 + (others.count if others else 0))
                    data = _Data(writing.enter_context(storage.writing(shard_path(prefix, 0, shards))), 0)
                if others is not None:
                    others.begin(shards)
                for array in arrays:
                    index.enter(array, data.append(array))
            for theirs, entries in others.written(shards) if others is not None else ():
                for array, entry in zip(theirs, entries, strict=True):
                    index.enter(array, messages.BundleEntryProto.FromString(entry))
            encoded = index.encode(shards, beside)
            if beside is not None:
                with storage.writing(side_files.side_file(prefix, encoded)) as side:
                    side.write(beside)
            file.write(encoded)
        written_files.record(index_file)
    finally:
        _tidy(storage, prefix)


def write_shard(prefix: str, shard: int, shards: int, arrays: Iterable[Saved]) -> Written:
    """Write one data shard of a checkpoint whose index another process writes.

    Raises:
      ValueError: a dtype that the format does not have. OpError: as ``write``. In both cases there is no such file.
    """
    path = shard_path(prefix, shard, shards)
    with ACCOUNTS.timed(SAVING):
        with storage_of(path).writing(path) as file:
            data = _Data(file, shard)
            entries = tuple(data.append(array).SerializeToString() for array in arrays)
        ending = tail(path)
        assert ending is not None
        return Written(entries, ending)


def tail(path: str) -> tuple[int, int] | None:
    """A file's size, and the checksum of its last 64 KiB; None where this process sees no such file.

    Processes compare these to learn whether they see the same folder.
    """
    storage = storage_of(path)
    try:
        file = storage.ranges(path)
    except NotFoundError:
        return None
    size = len(file)
    return size, masked_crc(file.read(max(0, size - _TAIL), min(_TAIL, size)))


def _free_count(files: Sequence[str], least: int) -> int:
    """The smallest number of shards, at least ``least``, that none of these data files has in its name."""
    return next(n for n in count(least) if not any(f"-of-{n:05d}" in path for path in files))


def _tidy(storage: Storage, prefix: str) -> None:
    """Delete data and side files that the current index does not name; nothing while another process writes there.

    Errors are ignored: the save has succeeded or failed already, and the next one tries again.
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
    """A data shard that is being written: arrays are appended, each gets an index entry. ``shard``: its number."""

    def __init__(self, file: IO[bytes], shard: int):
        self._file = file
        self._shard = shard
        self._offset = 0

    def append(self, saved: Saved) -> messages.BundleEntryProto:
        """Append an array's bytes and return its ``BundleEntryProto``."""
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
    """Index entries of the data shards: key -> ``BundleEntryProto``."""

    def __init__(self) -> None:
        self._entries: dict[bytes, messages.BundleEntryProto] = {}

    def enter(self, saved: Saved, entry: messages.BundleEntryProto) -> None:
        """Add the entry of an array, or of a part of one. Raises ValueError where its key is there already."""
        key = saved.name.encode(errors="surrogateescape")
        if saved.whole is not None:
            key = saved.whole.part.key(saved.name)
        if key in self._entries:
            raise ValueError(f"Array {saved.name} is saved twice.")
        self._entries[key] = entry
        if saved.whole is not None:
            self._add_part(saved.name, saved.whole, entry.dtype)

    def _add_part(self, name: str, whole: Whole, code: int) -> None:
        """Add a part's slice to the entry of the whole array, made with the first part."""
        key = name.encode(errors="surrogateescape")
        if key not in self._entries:
            self._entries[key] = messages.BundleEntryProto(dtype=code)
            _enter_shape(self._entries[key], whole.shape)
        whole.part.enter(self._entries[key].slices.add())

    def encode(self, shards: int, beside: bytes | None) -> bytes:
        """The index file's bytes. ``beside``: contents of the side file, whose SHA-256 becomes part of the header."""
        header = messages.BundleHeaderProto(num_shards=shards)
        header.version.producer = _VERSION
        side_file = b"" if beside is None else side_files.key(beside)
        entries = sorted((key, entry.SerializeToString()) for key, entry in self._entries.items())
        return sorted_tables.encode([(b"", header.SerializeToString() + side_file), *entries])


def _enter_shape(entry: messages.BundleEntryProto, shape: tuple[int, ...]) -> None:
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add(size=size)
