"""``tf.python_io``: TFRecord files written and read in Python, plain or compressed as a whole (zlib, gzip).

    writer = TFRecordWriter(path, "GZIP")
    writer.write(b"one")           framed (``records.py``), then compressed
    writer.close()                 without it the file ends when the writer is collected or the process exits
    list(tf_record_iterator(path, "GZIP"))               [b"one"]

The stream and not each record is compressed, so that a reader must begin at the start; ``flush`` ends a block of the
compressed stream, after which readers can decode everything written. Source: ``tensorflow/python/lib/io/tf_record.py``.
"""

from __future__ import annotations

import os
import weakref
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import IO, ClassVar, Protocol, Self, TypeAlias

from towerstrat.errors import FailedPreconditionError
from towerstrat.platform.compressed import WINDOW_BITS, opened
from towerstrat.platform.records import framed, records
from towerstrat.platform.storage import storage_of
from towerstrat.platform.text import PathLike, as_bytes


class TFRecordCompressionType:
    """Compression of a TFRecord file: NONE, ZLIB or GZIP."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


Compression: TypeAlias = "int | str | None"
"""A ``TFRecordCompressionType``, or its name; None: no compression."""


class TFRecordOptions:
    """Options for writing a TFRecord file: the compression, and zlib's parameters.

    Args:
      compression_type: a ``TFRecordCompressionType``, or its name: "", "ZLIB", "GZIP".
      flush_mode: of zlib, for each record that is written; default ``zlib.Z_NO_FLUSH``.
      input_buffer_size, output_buffer_size: kept and not used; they do not change the file's contents.
      window_bits, compression_level, compression_method, mem_level, compression_strategy: those of zlib; None: its
        defaults.

    Raises:
      ValueError: another type of compression.
    """

    compression_type_map: ClassVar[dict[Compression, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self, compression_type: Compression = None, flush_mode: int | None = None, input_buffer_size: int | None = None,
        output_buffer_size: int | None = None, window_bits: int | None = None, compression_level: int | None = None,
        compression_method: int | None = None, mem_level: int | None = None, compression_strategy: int | None = None,
    ):  # fmt: skip
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: TFRecordOptions | Compression) -> str:
        """Name of a compression, given as options, a ``TFRecordCompressionType`` or a name. Raises ValueError.

        >>> TFRecordOptions.get_compression_type_string(TFRecordCompressionType.GZIP)
        'GZIP'
        """
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if not options:
            return ""
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self, mode: int = ..., /) -> bytes: ...


def _compressor(options: TFRecordOptions) -> _Compressor | None:
    kind = TFRecordOptions.get_compression_type_string(options)
    if not kind:
        return None
    compressor: _Compressor = zlib.compressobj(
        level=_or(options.compression_level, zlib.Z_DEFAULT_COMPRESSION),
        method=_or(options.compression_method, zlib.DEFLATED),
        wbits=_or(options.window_bits, WINDOW_BITS[kind]),
        memLevel=_or(options.mem_level, zlib.DEF_MEM_LEVEL),
        strategy=_or(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
    )
    return compressor


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


class TFRecordWriter:
    """Write a TFRecord file, replacing one that is there.

    Args:
      path: the file.
      options: ``TFRecordOptions``, or the type of compression.

    Raises:
      NotFoundError and its like: the file cannot be written. ValueError: another type of compression.

    Example:

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "records")
        >>> with TFRecordWriter(path, "GZIP") as writer:
        ...     writer.write(b"one")
        >>> list(tf_record_iterator(path, "GZIP"))
        [b'one']
    """

    def __init__(self, path: PathLike, options: TFRecordOptions | Compression = None):
        record_options = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        self._compressor = _compressor(record_options)
        self._flush_mode = record_options.flush_mode
        name = os.fsdecode(path)
        self._file: IO[bytes] | None = storage_of(name).open(name, "wb")
        self._finish = weakref.finalize(self, _finish, self._file, self._compressor)  # programs forget to close it

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_open(self) -> IO[bytes]:
        if self._file is None:
            raise FailedPreconditionError(None, None, "Writer not initialized or previously closed")
        return self._file

    def write(self, record: bytes | str) -> None:
        """Append a record: bytes, or ``str`` as UTF-8. Raises FailedPreconditionError after ``close``."""
        file, data = self._require_open(), framed(as_bytes(record))
        if self._compressor is not None:
            data = self._compressor.compress(data)
            if self._flush_mode:
                data += self._compressor.flush(self._flush_mode)
        file.write(data)

    def flush(self) -> None:
        """Make every record written so far readable. Raises FailedPreconditionError after ``close``."""
        file = self._require_open()
        if self._compressor is not None:
            file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        file.flush()

    def close(self) -> None:
        """Finish the compressed stream and close the file; does nothing the second time."""
        self._file = None
        self._finish()


def _finish(file: IO[bytes], compressor: _Compressor | None) -> None:
    with file:
        if compressor is not None:
            file.write(compressor.flush(zlib.Z_FINISH))


def tf_record_iterator(path: PathLike, options: TFRecordOptions | Compression = None) -> Iterator[bytes]:
    """Yield the records of a TFRecord file.

    Args:
      path: text, bytes or path-like.
      options: ``TFRecordOptions``, or the type of compression.

    Raises:
      OpError: the file cannot be read, such as NotFoundError. DataLossError: it is damaged or ends within a record.
    """
    name = os.fsdecode(path)
    with opened(name, TFRecordOptions.get_compression_type_string(options)) as file:
        for record, _ in records(file, name, 0):
            yield record
