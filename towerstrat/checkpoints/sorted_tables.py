"""Sorted string tables (LevelDB's SSTable format): the index of a V2 checkpoint, a whole shard of a V1 checkpoint.

A table maps byte strings to byte strings, sorted by key. It is written once and read block by block:

    data blocks    entries in the order of their keys, some 256 KiB each
    metaindex      a block without entries here
    index          a block: last key of each data block -> its handle (offset and size, varints)
    footer         48 bytes: handles of metaindex and index, padding, magic number

    a block        entries, the offsets of restarts (uint32 each), their number (uint32)
    an entry       bytes shared with the key before, bytes not shared, bytes of the value (varints), rest of key, value
    after a block  compression (one byte: 0 none, 1 Snappy) and masked CRC-32C of block and that byte

Every 16th key is a restart, stored whole. ``Table`` reads the index when it is made; ``get`` finds the block of a key
in it by bisection, and decodes this one block.

    >>> import os, tempfile
    >>> from towerstrat.platform.storage import storage_of
    >>> path = os.path.join(tempfile.mkdtemp(), "table")
    >>> with open(path, "wb") as file:
    ...     size = file.write(encode([(b"dense/bias", b"1"), (b"dense/kernel", b"2")]))
    >>> Table(storage_of(path).ranges(path)).get(b"dense/kernel")
    b'2'

``encode`` writes no compression, as TensorFlow does not for its index; Snappy is read, for V1 checkpoints. Source:
``table_format.md`` of github.com/google/leveldb; TensorFlow's checksums are masked, and its blocks hold 256 KiB.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from towerstrat.checkpoints import snappy
from towerstrat.checkpoints.varint import read_varint, write_varint
from towerstrat.platform.checksums import masked_crc
from towerstrat.platform.storage import Ranges

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5
"""Bytes after a block: its compression (1) and its checksum (4)."""
_BLOCK_BYTES = 1 << 18
_RESTART = 16
_PLAIN, _SNAPPY = 0, 1


class Damaged(ValueError):
    """The file is no table, or a damaged one. The message has the offset, the caller adds the path."""


class _Handle(NamedTuple):
    offset: int
    size: int


class Table:
    """Reader of a table: the index is read at once, data blocks when they are needed.

    Raises:
      Damaged: the file is no table, or was truncated; from the methods too, where a block's checksum is wrong.
    """

    def __init__(self, file: Ranges):
        self._file = file
        start = len(file) - _FOOTER
        if start < 0:
            raise Damaged(f"expected a table, which has {_FOOTER} bytes at least, got {len(file)}")
        footer = bytes(file.read(start, _FOOTER))
        if struct.unpack_from("<Q", footer, _FOOTER - 8) != (_MAGIC,):
            raise Damaged(f"expected the last bytes of a table at {start}: it is none, or was cut short")
        _, end = self._handle(footer, 0, start)
        index, _ = self._handle(footer, end, start)
        entries = [(key, self._handle(value, 0, index.offset)[0]) for key, value in self._entries(index)]
        self._last = [key for key, _ in entries]
        self._blocks = [handle for _, handle in entries]

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys and values, in the order of the keys."""
        for block in self._blocks:
            yield from self._entries(block)

    def get(self, key: bytes) -> bytes | None:
        """The value of a key; None where there is none."""
        index = bisect.bisect_left(self._last, key)
        if index == len(self._blocks):
            return None
        return next((value for stored, value in self._entries(self._blocks[index]) if stored == key), None)

    def _handle(self, data: bytes, position: int, offset: int) -> tuple[_Handle, int]:
        """Decode the handle at ``position``, and where it ends. ``offset``: of ``data`` in the file, for errors."""
        try:
            start, position = read_varint(data, position)
            size, position = read_varint(data, position)
        except ValueError as error:
            raise Damaged(f"{error} (the place of a block, at {offset})") from None
        if start + size + _TRAILER > len(self._file):
            raise Damaged(f"a block at {start} of {size} bytes, in a file of {len(self._file)}")
        return _Handle(start, size), position

    def _entries(self, handle: _Handle) -> Iterator[tuple[bytes, bytes]]:
        try:
            yield from _decode(self._block(handle))
        except Damaged:
            raise
        except ValueError as error:
            raise Damaged(f"{error} (block at {handle.offset})") from None

    def _block(self, handle: _Handle) -> bytes:
        """Read a block without its trailer, verified and decompressed."""
        data = self._file.read(handle.offset, handle.size + _TRAILER)
        kind, stored = struct.unpack_from("<BI", data, handle.size)
        if masked_crc(data[: handle.size + 1]) != stored:
            raise Damaged(f"wrong checksum of the block at {handle.offset}")
        raw = bytes(data[: handle.size])
        if kind == _SNAPPY:
            return snappy.decompress(raw)
        if kind != _PLAIN:
            raise Damaged(f"unknown compression {kind} of the block at {handle.offset}")
        return raw


def is_table(file: Ranges) -> bool:
    """Whether a file ends with a table's magic number."""
    return len(file) >= _FOOTER and bytes(file.read(len(file) - 8, 8)) == struct.pack("<Q", _MAGIC)


def _decode(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise ValueError("a block without its end")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise ValueError(f"{restarts} places in a block of {len(block)} bytes")
    offset, key = 0, b""
    while offset < end:
        shared, offset = read_varint(block, offset)
        unshared, offset = read_varint(block, offset)
        size, offset = read_varint(block, offset)
        if shared > len(key) or offset + unshared + size > end:
            raise ValueError("an entry that does not fit its block")
        key = key[:shared] + block[offset : offset + unshared]
        offset += unshared
        yield key, block[offset : offset + size]
        offset += size


# ---- writing -------------------------------------------------------------------------------------------------------


def encode(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Serialize items, which must be sorted by key, to a table."""
    out = bytearray()
    index: list[tuple[bytes, bytes]] = []
    waiting: list[tuple[bytes, bytes]] = []
    size = 0
    for key, value in items:
        waiting.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK_BYTES:
            index.append((key, _append(out, waiting, _RESTART)))
            waiting, size = [], 0
    if waiting:
        index.append((waiting[-1][0], _append(out, waiting, _RESTART)))
    # Two handles: the metaindex, a block that readers expect and nothing uses, and the index, whose keys are all whole.
    footer = _append(out, [], _RESTART) + _append(out, index, 1)
    return bytes(out + footer.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC))


def _append(out: bytearray, items: list[tuple[bytes, bytes]], interval: int) -> bytes:
    """Append a block to ``out`` and return its encoded handle. Every ``interval``-th key is a restart, stored whole."""
    block, restarts, last = bytearray(), [], b""
    for i, (key, value) in enumerate(items):
        shared = 0
        if i % interval:
            shared = _shared_length(last, key)
        else:
            restarts.append(len(block))
        block += (
            write_varint(shared) + write_varint(len(key) - shared) + write_varint(len(value)) + key[shared:] + value
        )
        last = key
    restarts = restarts or [0]
    block += struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))
    handle = write_varint(len(out)) + write_varint(len(block))
    kind = bytes([_PLAIN])
    out += block + kind + struct.pack("<I", masked_crc(bytes(block), kind))
    return handle


def _shared_length(first: bytes, second: bytes) -> int:
    """Length in bytes of the common prefix of two keys."""
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
