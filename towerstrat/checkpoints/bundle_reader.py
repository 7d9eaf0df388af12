"""Checkpoints of the original's second format, read: a prefix, an index of names, and shards with the bytes.

``PREFIX.index`` is a sorted table of name -> where the array is; ``PREFIX.data-00000-of-00001`` and so on have the
bytes. Source: ``tensorflow/core/util/tensor_bundle``, ``tensor_bundle.proto``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from towerstrat.checkpoints import dtypes, sorted_tables, string_codec
from towerstrat.checkpoints.slices import Slice
from towerstrat.errors import DataLossError, NotFoundError, UnimplementedError
from towerstrat.platform import messages
from towerstrat.platform.checksums import masked_crc
from towerstrat.platform.storage import Ranges, storage_of

Array = np.ndarray[Any, Any]


def index_path(prefix: str) -> str:
    """The file that makes a prefix a checkpoint."""
    return f"{prefix}.index"


def shard_path(prefix: str, shard: int, shards: int) -> str:
    """The file of one shard's bytes."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def shards_of(prefix: str) -> int:
    """The number of shards of a checkpoint; 0 where there is none. Raises DataLossError where its index is damaged."""
    path = index_path(prefix)
    with damage_in(path):
        header = header_of(prefix)
        return 0 if header is None else int(messages.BundleHeaderProto.FromString(header).num_shards)


def header_of(prefix: str) -> bytes | None:
    """The ``BundleHeaderProto`` of a checkpoint as it was written; None where there is none.

    Raises:
      DataLossError: its index is damaged.
    """
    path = index_path(prefix)
    if not storage_of(path).exists(path):
        return None
    with damage_in(path):
        return sorted_tables.Table(storage_of(path).ranges(path)).get(b"") or b""


@contextmanager
def damage_in(path: str) -> Iterator[None]:
    """Errors of what is read from an index with the path of that."""
    try:
        yield
    except (ValueError, DecodeError) as error:
        raise DataLossError(None, None, f"{path}: {error}.") from None


class Entry(NamedTuple):
    """Where an array is.

    Attributes:
      code: the number of its element type. shape: its own, the whole one where it was saved in parts.
      shard, offset, size: the file and the bytes. crc: their masked checksum. slices: the parts.
    """

    code: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc: int
    slices: tuple[Slice, ...]


class Bundle:
    """An open checkpoint: what it holds, and arrays as they are asked for.

    Args:
      prefix: its path without ``.index``, local or remote.
      verify: whether the checksum of each array that is read is computed.

    Raises:
      NotFoundError: there is no such checkpoint. DataLossError: a file is damaged, or one is missing; the message
        names the file, the array and the offset.
    """

    def __init__(self, prefix: str, verify: bool = True):
        self.prefix = prefix
        self._verify = verify
        self._storage = storage_of(prefix)
        index = self._storage.ranges(index_path(prefix))
        with damage_in(index_path(prefix)):
            found = dict(sorted_tables.Table(index).items())
            header = messages.BundleHeaderProto.FromString(found.pop(b"", b""))
            self._entries = {key: _entry(value) for key, value in found.items()}
        self.shards = header.num_shards
        self._order = ">" if header.endianness else "<"
        self._files = {entry.shard: self._open(entry.shard) for entry in self._entries.values() if not entry.slices}

    def _open(self, shard: int) -> Ranges:
        path = shard_path(self.prefix, shard, self.shards)
        try:
            return self._storage.ranges(path)
        except NotFoundError:
            raise DataLossError(
                None, None, f"{index_path(self.prefix)} names {path}, which is not there: the checkpoint is incomplete."
            ) from None

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The arrays by name, in the order of the names; one that was saved in parts once, by its full name."""
        return {key.decode(errors="surrogateescape"): e for key, e in self._entries.items() if key[:1] != b"\0"}

    def __contains__(self, name: str) -> bool:
        return name.encode(errors="surrogateescape") in self._entries

    def read(self, name: str) -> Array:
        """The array ``name``; of bytes as objects where its elements are strings. Read-only where it is mapped.

        Raises:
          NotFoundError: there is no such array. DataLossError: its bytes are damaged. UnimplementedError: its elements
            are neither numbers nor strings.
        """
        key = name.encode(errors="surrogateescape")
        entry = self._entries.get(key)
        if entry is None:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint {self.prefix}.")
        try:
            dtype = dtypes.type_of(entry.code)
        except ValueError as error:
            raise UnimplementedError(None, None, f"{self.prefix}, {name}: {error}.") from None
        if not entry.slices:
            return self._bytes(name, entry, dtype)
        return self._assembled(name, entry, dtype)

    def _assembled(self, name: str, entry: Entry, dtype: np.dtype[Any]) -> Array:
        """An array from the parts that it was saved in, which are there before memory is taken for it."""
        try:
            keys = [part.key(name) for part in entry.slices]
            places = [part.within(entry.shape) for part in entry.slices]
            missing = [str(part) for part, key in zip(entry.slices, keys, strict=True) if key not in self._entries]
            if missing:
                raise ValueError(f"the part {missing[0]} is missing")
            parts = [self._bytes(name, self._entries[key], dtype) for key in keys]
            if sum(part.size for part in parts) != math.prod(entry.shape):
                raise ValueError(f"the parts do not make an array of shape {list(entry.shape)}")
            whole = np.empty(entry.shape, dtype)
            for place, part in zip(places, parts, strict=True):
                whole[place] = part
        except ValueError as error:
            raise self._damaged(name, entry, str(error)) from None
        return whole

    def _bytes(self, name: str, entry: Entry, dtype: np.dtype[Any]) -> Array:
        """An array that lies in one place."""
        try:
            return self._decoded(self._files[entry.shard], entry, dtype)
        except ValueError as error:
            raise self._damaged(name, entry, str(error)) from None

    def _decoded(self, file: Ranges, entry: Entry, dtype: np.dtype[Any]) -> Array:
        if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > len(file):
            raise ValueError(f"the file has {len(file)} bytes, {entry.offset + entry.size} are needed")
        data = file.read(entry.offset, entry.size)
        count = math.prod(entry.shape)
        if dtype.hasobject:
            return string_codec.decode(data, count, entry.crc if self._verify else None).reshape(entry.shape)
        if count * dtype.itemsize != entry.size:
            raise ValueError(f"{entry.size} bytes for an array of shape {list(entry.shape)} of {dtype}")
        if self._verify and masked_crc(data) != entry.crc:
            raise ValueError("wrong checksum")
        found = np.frombuffer(data, dtype)
        if self._order == ">" and dtype.itemsize > 1:
            found = _swapped(found)
        return found.reshape(entry.shape)

    def _damaged(self, name: str, entry: Entry, what: str) -> DataLossError:
        path = shard_path(self.prefix, entry.shard, self.shards)
        return DataLossError(None, None, f"{path}, array {name} at offset {entry.offset}: {what}.")


def _entry(value: bytes) -> Entry:
    message = messages.BundleEntryProto.FromString(value)
    shape = tuple(d.size for d in message.shape.dim)
    if message.shape.unknown_rank or any(size < 0 for size in shape):
        raise ValueError(f"an array of shape {shape}")
    slices = tuple(Slice.of(s) for s in message.slices)
    return Entry(message.dtype, shape, message.shard_id, message.offset, message.size, message.crc32c, slices)


def _swapped(array: Array) -> Array:
    """An array of the other byte order as one of this machine's."""
    width = array.itemsize // 2 if array.dtype.kind == "c" else array.itemsize
    return array.view(f"u{width}").byteswap().view(array.dtype)
