"""Files as sources: lines, records, and records of one length."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext, tensors_among
from towerstrat.data.pipeline.sources import RowPull
from towerstrat.data.pipeline.table_rows import InOrder, TablePass
from towerstrat.errors import DataLossError, InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import string
from towerstrat.platform.compressed import opened
from towerstrat.platform.files import Glob
from towerstrat.platform.plain import State
from towerstrat.platform.records import Block, blocks

Records = Iterator[tuple[bytes, int]]
"""The records of a file, each with the position after it."""
Blocks = Iterator[Block]
_Read = TypeVar("_Read", bound=Callable[..., Blocks])


def reads_blocks(name: str) -> Callable[[_Read], _Read]:
    """A function that reads the blocks of a file is called ``name`` in saved states, whatever its own name is."""

    def named(read: _Read) -> _Read:
        read.__qualname__ = name
        return read

    return named


"""The records of a file, as many at a time as are read together."""
_BYTES = 1 << 16


# ---- what is in a file -------------------------------------------------------------------------------------------


def in_blocks(records: Records) -> Blocks:
    """Records, as many at a time as have some number of bytes; what is raised after some of them comes after those."""
    while True:
        found: list[bytes] = []
        positions: list[int] = []
        raised: Exception | None = None
        try:
            for record, position in records:
                found.append(record)
                positions.append(position)
                if position - positions[0] > _BYTES:
                    break
        except Exception as error:
            raised = error
        yield found, positions
        if raised is not None:
            raise raised
        if not found:
            return


@reads_blocks("lines")
def lines(name: str, position: int, compression: str) -> Blocks:
    """The lines of a file from a position on, without their ends, and without any carriage return."""
    return in_blocks(_lines(name, position, compression))


def _lines(name: str, position: int, compression: str) -> Records:
    with opened(name, compression, position) as file:
        for line in file:
            position += len(line)
            yield line.rstrip(b"\n").replace(b"\r", b""), position


@reads_blocks("framed")
def framed(name: str, position: int, compression: str) -> Blocks:
    """The records of a TFRecord file from a position on. Raises DataLossError where they are damaged."""
    with opened(name, compression, position) as file:
        yield from blocks(file, name, position)


@reads_blocks("fixed")
def fixed(name: str, position: int, length: int, header: int, footer: int, compression: str = "") -> Blocks:
    """The records of one length between a header and a footer, from a position on."""
    if compression:
        return in_blocks(_inflated(name, position, length, header, footer, compression))
    return in_blocks(_fixed(name, position, length, header, footer))


def _fixed(name: str, position: int, length: int, header: int, footer: int) -> Records:
    with opened(name, "") as file:
        size = file.seek(0, io.SEEK_END) - header - footer
        if size < 0 or size % length:
            raise InvalidArgumentError(
                None,
                None,
                f"{name}: expected a multiple of {length} bytes after the header ({header} bytes) and before the "
                f"footer ({footer} bytes), got {size}.",
            )
        start = max(position, header)
        file.seek(start)
        for position in range(start + length, header + size + 1, length):
            yield file.read(length), position


def _inflated(name: str, position: int, length: int, header: int, footer: int, compression: str) -> Records:
    position = max(position, header)
    with opened(name, compression, position) as file:
        ahead = file.read(footer)
        while read := file.read(length):
            if len(read) < length:
                raise DataLossError(None, None, f"{name}: the last record has {len(read)} bytes of {length}.")
            position += length
            yield (ahead + read)[:length], position
            ahead = (ahead + read)[length:]


def compression_name(kind: str | bytes) -> str:
    """A kind of compression, as text. Raises UnsupportedError for another than those that are read."""
    found = kind.decode() if isinstance(kind, bytes) else kind
    if found not in ("", "GZIP", "ZLIB"):
        raise UnsupportedError(f"compression_type={kind!r}: expected '', 'GZIP' or 'ZLIB'.")
    return found


# ---- nodes -------------------------------------------------------------------------------------------------------


def scalar_string(value: bytes) -> np.ndarray[Any, Any]:
    array = np.empty((), object)
    array[()] = value
    return array


class RecordsPull(ElementIterator):
    """The records of one file after the other."""

    checkpointed = {"names": "names", "name": "name", "position": "position"}

    def __init__(self, names: Iterator[Element], read: Callable[[str, int], Blocks]):
        self.names = names
        self.read = read
        self.name: str | None = None
        self.position = 0
        self._begin(iter(()))

    def _begin(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._block: Block = ([], [])
        self._place = 0
        """How many records of the block were taken."""
        self._error: Exception | None = None
        """What was raised after the block, and is to be raised when a record after it is asked for."""

    def _open(self) -> None:
        """Begins the next file. Raises StopIteration where there is none."""
        self.name, self.position = os.fsdecode(next(self.names)[0].item()), 0
        self._begin(self.read(self.name, 0))

    def _reaches(self, count: int) -> bool:
        """Whether so many records are read and not taken: reads on in the file where they are not."""
        while len(self._block[0]) - self._place < count:
            if self._error is not None:
                return False
            try:
                more, positions = next(self._blocks)
            except StopIteration:
                return False
            except Exception as error:
                self._error = error
                return False
            records, after = self._block
            self._block = (records[self._place :] + more, after[self._place :] + positions)
            self._place = 0
        return True

    def _taken(self, count: int) -> list[bytes]:
        records, positions = self._block
        start, self._place = self._place, self._place + count
        self.position = positions[self._place - 1]
        return records[start : self._place]

    def __next__(self) -> Element:
        while not self._reaches(1):
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            self._open()
        return [scalar_string(self._taken(1)[0])]

    def next_batch_columns(self, count: int) -> Element | None:
        """The next records, where one file has so many more."""
        if not self._reaches(1) and self._error is None:
            with suppress(StopIteration):
                self._open()
        if not self._reaches(count):
            return None
        column = np.empty(count, object)
        column[:] = self._taken(count)
        return [column]

    def resume(self, state: State) -> None:
        super().resume(state)
        if self.name is not None:
            self._begin(self.read(self.name, self.position))


def _settled(argument: Any) -> Any:
    """An argument of a reader: the strings of graphs, which are bytes, are names of compressions."""
    text = argument.item() if isinstance(argument, np.ndarray | np.generic) else argument
    named = isinstance(text, bytes) or (text is not argument and isinstance(text, str))
    return compression_name(text) if named else argument


class Files(DatasetNode):
    """The records of the files that another node names, one file after the other.

    Args:
      names: a node of string scalars.
      read: (name, position to begin at, *arguments) -> blocks of records.
      arguments: numbers or strings, or tensors of them.
    """

    kind = "Files"

    def __init__(self, names: DatasetNode, read: Callable[..., Blocks], arguments: Sequence[Any]):
        self.children = (names,)
        self.read = read
        self.arguments = arguments
        self.structure = Structure(None, [string], [()])
        self.tensors = tensors_among(*arguments)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        given = [_settled(opening.value(a)) for a in self.arguments]
        return RecordsPull(self.children[0].open(opening), lambda name, position: self.read(name, position, *given))


class Matching(DatasetNode):
    """The names of the files that match patterns, sorted.

    Args:
      patterns: strings, or one tensor of them.
    """

    kind = "Matching"

    def __init__(self, patterns: Any):
        self.patterns = patterns
        self.tensors = tensors_among(patterns)
        self.structure = Structure(None, [string], [()])

    def rows(self, opening: IteratorContext) -> TablePass:
        given = opening.values[self.patterns] if isinstance(self.patterns, Tensor) else self.patterns
        patterns = [p.decode() for p in np.ravel(given).tolist()]
        names = sorted({name for p in patterns for name in Glob(p)})
        if not names:
            raise InvalidArgumentError(None, None, f"No files matched pattern: {', '.join(patterns)}")
        table = np.array([os.fsencode(n) for n in names], object)
        return TablePass([table], InOrder(len(names)), plain=len(names))

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return RowPull(self.rows(opening))
