"""Reader of TensorFlow's V2 checkpoints (tensor bundles): one index file, and data shards with the arrays' bytes.

A checkpoint is a path prefix. ``PREFIX.index`` is a sorted table (``sorted_tables``) of key -> serialized message;
``PREFIX.data-00000-of-00002`` and so on hold the bytes, and nothing that says where an array begins.

    key                      message             contents
    (empty)                  BundleHeaderProto   number of shards, byte order; in our files also the side file's SHA-256
    "dense/kernel"           BundleEntryProto    dtype, shape, shard, offset, size in bytes, masked CRC-32C of the bytes
    "embedding"              BundleEntryProto    of an array saved in parts: dtype, whole shape, the list of its slices
    zero byte, name, slice   BundleEntryProto    where the bytes of one part are (key: ``Slice.key``)

Opening a ``Bundle`` reads the whole index and opens every shard it names, so that an incomplete checkpoint fails before
the first array is asked for. Arrays are read one by one; a local shard is mapped, and its arrays are views of the map.

    >>> import os, tempfile
    >>> from towerstrat.checkpoints.bundle_writer import Saved, write
    >>> prefix = os.path.join(tempfile.mkdtemp(), "model.ckpt-0")
    >>> write(prefix, [Saved("w", lambda: np.float32([1, 2, 3]))])
    >>> bundle = Bundle(prefix)
    >>> bundle.entries["w"].shape, bundle.entries["w"].size
    ((3,), 12)
    >>> bundle.read("w")
    array([1., 2., 3.], dtype=float32)

Every size and offset comes from a file that may be damaged: it is compared with what is there before memory is
allocated, and errors name the file, the array and the offset. Source: ``tensorflow/core/util/tensor_bundle``,
``tensor_bundle.proto``.
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
    """The path of a checkpoint's index file. A prefix is a checkpoint if and only if this file exists."""
    return f"{prefix}.index"


def shard_path(prefix: str, shard: int, shards: int) -> str:
    """The path of data shard number ``shard``, counted from 0."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def shards_of(prefix: str) -> int:
    """The number of shards of a checkpoint; 0 where there is none. Raises DataLossError where its index is damaged."""
    path = index_path(prefix)
    with damage_in(path):
        header = header_of(prefix)
        return 0 if header is None else int(messages.BundleHeaderProto.FromString(header).num_shards)


def header_of(prefix: str) -> bytes | None:
    """The serialized ``BundleHeaderProto`` of a checkpoint; None where there is no checkpoint.

    Bytes and not a message, since readers look for different fields in it (``shards_of``, ``side_files.key``).

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
    """Raise DataLossError with the index's path for whatever parsing the index raises inside the block."""
    try:
        yield
    except (ValueError, DecodeError) as error:
        raise DataLossError(None, None, f"{path}: {error}.") from None


class Entry(NamedTuple):
    """Index entry of an array: its type, and the place of its bytes.

    Attributes:
      code: dtype as a number of TensorFlow's ``DataType`` enum (``dtypes``).
      shape: of the array; of the whole array where it was saved in parts.
      shard, offset, size: number of the data shard, and the range of bytes in it.
      crc: masked CRC-32C of these bytes.
      slices: the parts, where it was saved in parts; its own shard, offset, size and crc say nothing then.
    """

    code: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc: int
    slices: tuple[Slice, ...]


class Bundle:
    """An open V2 checkpoint: index entries by name, and arrays read on demand.

    Args:
      prefix: its path without ``.index``, local or remote.
      verify: whether to check the checksum of each array that is read.

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
            values = dict(sorted_tables.Table(index).items())
            header = messages.BundleHeaderProto.FromString(values.pop(b"", b""))
            self._entries = {key: _entry(value) for key, value in values.items()}
        self.shards = header.num_shards
        self._order = ">" if header.endianness else "<"
        # The entry of an array saved in parts has no bytes of its own, and no shard.
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
        """Array name -> entry, sorted by name. An array saved in parts has one entry, the parts have none."""
        return {key.decode(errors="surrogateescape"): e for key, e in self._entries.items() if key[:1] != b"\0"}

    def __contains__(self, name: str) -> bool:
        return name.encode(errors="surrogateescape") in self._entries

    def read(self, name: str) -> Array:
        """Read the array ``name``. Strings come as an object array of bytes; an array of a local file is read-only.

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
        return self._assemble(name, entry, dtype)

    def _assemble(self, name: str, entry: Entry, dtype: np.dtype[Any]) -> Array:
        """Assemble an array from its parts. All of them are read and counted before the whole array is allocated."""
        try:
            keys = [part.key(name) for part in entry.slices]
            places = [part.within(entry.shape) for part in entry.slices]
            missing = [str(part) for part, key in zip(entry.slices, keys, strict=True) if key not in self._entries]
            if missing:
                raise ValueError(f"the part {missing[0]} is missing")
            parts = [self._bytes(name, self._entries[key], dtype) for key in keys]
            if sum(part.size for part in parts) != math.prod(entry.shape):
                raise ValueError(f"the parts do not make an array of shape {list(entry.shape)}")
            array = np.empty(entry.shape, dtype)
            for index, part in zip(places, parts, strict=True):
                array[index] = part
        except ValueError as error:
            raise self._damage_error(name, entry, str(error)) from None
        return array

    def _bytes(self, name: str, entry: Entry, dtype: np.dtype[Any]) -> Array:
        """Read an array whose bytes are contiguous in one shard."""
        try:
            return self._decode(self._files[entry.shard], entry, dtype)
        except ValueError as error:
            raise self._damage_error(name, entry, str(error)) from None

    def _decode(self, file: Ranges, entry: Entry, dtype: np.dtype[Any]) -> Array:
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
        array = np.frombuffer(data, dtype)
        if self._order == ">" and dtype.itemsize > 1:
            array = _swap_bytes(array)
        return array.reshape(entry.shape)

    def _damage_error(self, name: str, entry: Entry, description: str) -> DataLossError:
        path = shard_path(self.prefix, entry.shard, self.shards)
        return DataLossError(None, None, f"{path}, array {name} at offset {entry.offset}: {description}.")


def _entry(value: bytes) -> Entry:
    message = messages.BundleEntryProto.FromString(value)
    shape = tuple(d.size for d in message.shape.dim)
    if message.shape.unknown_rank or any(size < 0 for size in shape):
        raise ValueError(f"an array of shape {shape}")
    slices = tuple(Slice.of(s) for s in message.slices)
    return Entry(message.dtype, shape, message.shard_id, message.offset, message.size, message.crc32c, slices)


def _swap_bytes(array: Array) -> Array:
    """Convert big-endian elements to little-endian. A complex number is swapped as its two halves."""
    width = array.itemsize // 2 if array.dtype.kind == "c" else array.itemsize
    return array.view(f"u{width}").byteswap().view(array.dtype)
