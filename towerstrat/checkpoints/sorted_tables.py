"""Sorted tables of byte strings in a file: the index of a checkpoint, and all of one in the first format.

A table is blocks of entries, a block that says where they are, and a footer that says where that one is. Keys are
stored without what they share with the one before. Source: ``table_format.md`` of github.com/google/leveldb; the
original's checksums are masked, and its blocks hold 256 KiB.
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
"""After a block: how it is compressed (one byte), and its checksum."""
_BLOCK_BYTES = 1 << 18
_RESTART = 16
_PLAIN, _SNAPPY = 0, 1


class Damaged(ValueError):
    """The bytes are not what such a file has: says what is wrong, and at which offset."""


class _Handle(NamedTuple):
    offset: int
    size: int


class Table:
    """A table in a file, read block by block.

    Raises:
      Damaged: the file is no table, or was cut short; from the methods too where a checksum is wrong.
    """

    def __init__(self, file: Ranges):
        self._file = file
        start = len(file) - _FOOTER
        if start < 0:
            raise Damaged(f"expected a table, which has {_FOOTER} bytes at least, got {len(file)}")
        footer = bytes(file.read(start, _FOOTER))
        if struct.unpack_from("<Q", footer, _FOOTER - 8) != (_MAGIC,):
            raise Damaged(f"expected the last bytes of a table at {start}: it is none, or was cut short")
        _, place = self._handle(footer, 0, start)
        index, _ = self._handle(footer, place, start)
        found = [(key, self._handle(place, 0, index.offset)[0]) for key, place in self._entries(index)]
        self._last = [key for key, _ in found]
        self._blocks = [handle for _, handle in found]

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys and values, in the order of the keys."""
        for block in self._blocks:
            yield from self._entries(block)

    def get(self, key: bytes) -> bytes | None:
        """The value of a key; None where there is none."""
        place = bisect.bisect_left(self._last, key)
        if place == len(self._blocks):
            return None
        return next((value for found, value in self._entries(self._blocks[place]) if found == key), None)

    def _handle(self, data: bytes, place: int, offset: int) -> tuple[_Handle, int]:
        """A block's place as ``data`` say it, and where that ends."""
        try:
            start, place = read_varint(data, place)
            size, place = read_varint(data, place)
        except ValueError as error:
            raise Damaged(f"{error} (the place of a block, at {offset})") from None
        if start + size + _TRAILER > len(self._file):
            raise Damaged(f"a block at {start} of {size} bytes, in a file of {len(self._file)}")
        return _Handle(start, size), place

    def _entries(self, handle: _Handle) -> Iterator[tuple[bytes, bytes]]:
        try:
            yield from _decoded(self._block(handle))
        except Damaged:
            raise
        except ValueError as error:
            raise Damaged(f"{error} (block at {handle.offset})") from None

    def _block(self, handle: _Handle) -> bytes:
        """A block's entries, checked and decompressed."""
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
    """Whether a file ends as a table does."""
    return len(file) >= _FOOTER and bytes(file.read(len(file) - 8, 8)) == struct.pack("<Q", _MAGIC)


def _decoded(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise ValueError("a block without its end")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise ValueError(f"{restarts} places in a block of {len(block)} bytes")
    place, key = 0, b""
    while place < end:
        shared, place = read_varint(block, place)
        own, place = read_varint(block, place)
        size, place = read_varint(block, place)
        if shared > len(key) or place + own + size > end:
            raise ValueError("an entry that does not fit its block")
        key = key[:shared] + block[place : place + own]
        place += own
        yield key, block[place : place + size]
        place += size


# ---- writing -------------------------------------------------------------------------------------------------------


def encoded(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A table of entries, which come in the order of their keys."""
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
    footer = _append(out, [], _RESTART) + _append(out, index, 1)
    return bytes(out + footer.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC))


def _append(out: bytearray, items: list[tuple[bytes, bytes]], interval: int) -> bytes:
    """Appends a block; its place. Every ``interval``-th key is stored whole."""
    block, restarts, last = bytearray(), [], b""
    for i, (key, value) in enumerate(items):
        shared = 0
        if i % interval:
            shared = _shared(last, key)
        else:
            restarts.append(len(block))
        block += (
            write_varint(shared) + write_varint(len(key) - shared) + write_varint(len(value)) + key[shared:] + value
        )
        last = key
    restarts = restarts or [0]
    block += struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))
    place = write_varint(len(out)) + write_varint(len(block))
    kind = bytes([_PLAIN])
    out += block + kind + struct.pack("<I", masked_crc(bytes(block), kind))
    return place


def _shared(first: bytes, second: bytes) -> int:
    """How many bytes two keys begin with alike."""
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
