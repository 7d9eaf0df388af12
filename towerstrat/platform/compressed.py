"""Files that may be compressed, as ``tf.data`` and TFRecord files know it: ``""``, ``"GZIP"`` and ``"ZLIB"``."""

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
"""The ``wbits`` of zlib that stand for a format: its window, and 16 more for the header of gzip."""
_BLOCK = 1 << 16


class _Inflated(io.RawIOBase):
    """A compressed file as the bytes in it, in order. A file that was cut off ends where its bytes do.

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
            if self._stream.eof:  # another member of the file
                self._stream = zlib.decompressobj(self._bits)
            try:
                found = self._stream.decompress(data, len(buffer))
            except zlib.error as error:
                at = self._file.tell()
                raise DataLossError(None, None, f"{self._name}: inflate failed before byte {at}: {error}") from None
            if found:
                buffer[: len(found)] = found
                return len(found)


@contextmanager
def opened(name: str, compression: str, position: int = 0) -> Iterator[IO[bytes]]:
    """A file for reading from a position on, decompressed.

    Args:
      compression: one of ``KINDS``.
      position: in the decompressed bytes.

    Raises:
      NotFoundError and its like. DataLossError, while it is read: it is not compressed so.
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
