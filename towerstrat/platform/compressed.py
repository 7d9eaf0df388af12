"""Read plain, gzip and zlib files as one stream of decompressed bytes, from any position in it.

    with opened("train.tfrecord.gz", "GZIP", position=1024) as file:      # position in the decompressed bytes
        file.read(16)

A gzip file may consist of several members one behind the other; they read as one stream. A compressed file that is cut
off ends where its decodable bytes end, without an error: for records the framing notices it (``records.py``). Seeking
to a position decompresses everything before it.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from towerstrat.errors import DataLossError
from towerstrat.platform.storage import storage_of

KINDS = ("", "GZIP", "ZLIB")
WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}
"""zlib's ``wbits`` per format: the window's 15 bits, plus 16 for a gzip header."""
_BLOCK = 1 << 16


class _Inflated(io.RawIOBase):
    """Raw stream of a compressed file's decompressed bytes. A truncated file ends where its decodable bytes do.

    Raises (when it is read):
      DataLossError: the bytes are not of this format.
    """

    def __init__(self, file: IO[bytes], name: str, window_bits: int):
        self._file = file
        self._name = name
        self._bits = window_bits
        self._stream = zlib.decompressobj(window_bits)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            data = self._stream.unconsumed_tail or self._stream.unused_data or self._file.read(_BLOCK)
            if not data:
                return 0
            if self._stream.eof:  # the next gzip member
                self._stream = zlib.decompressobj(self._bits)
            try:
                inflated = self._stream.decompress(data, len(buffer))
            except zlib.error as error:
                at = self._file.tell()
                raise DataLossError(None, None, f"{self._name}: inflate failed before byte {at}: {error}") from None
            if inflated:
                buffer[: len(inflated)] = inflated
                return len(inflated)


@contextmanager
def opened(name: str, compression: str, position: int = 0) -> Iterator[IO[bytes]]:
    """Open a file for reading from a position on, decompressed.

    Args:
      name: a path, or a URL of a storage that fsspec knows.
      compression: one of ``KINDS``; "" is none.
      position: offset in the decompressed bytes.

    Raises:
      OpError: the file cannot be opened, such as NotFoundError. DataLossError, while it is read: another format.
    """
    with storage_of(name).open(name, "rb") as file:
        if not compression:
            file.seek(position)
            yield file
            return
        inflated = io.BufferedReader(_Inflated(file, name, WINDOW_BITS[compression]), _BLOCK)
        left = position
        while left and (passed := len(inflated.read(min(_BLOCK, left)))):
            left -= passed
        yield inflated
