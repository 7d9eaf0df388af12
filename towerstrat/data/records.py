"""Files as sources: lines, records, and records of one length."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from towerstrat.data.pipeline import Element, Node, Opening, Pull, tensors_among
from towerstrat.data.rows import InOrder, Rows
from towerstrat.data.sources import RowPull
from towerstrat.data.structure import Structure
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.types import string
from towerstrat.platform.compressed import opened
from towerstrat.platform.files import Glob
from towerstrat.platform.plain import State
from towerstrat.platform.records import records

Records = Iterator[tuple[bytes, int]]
"""The records of a file, each with the position after it."""


# ---- what is in a file -------------------------------------------------------------------------------------------


def lines(name: str, position: int, compression: str) -> Records:
    """The lines of a file from a position on, without their ends, and without any carriage return."""
    with opened(name, compression, position) as file:
        for line in file:
            position += len(line)
            yield line.rstrip(b"\n").replace(b"\r", b""), position


def framed(name: str, position: int, compression: str) -> Records:
    """The records of a TFRecord file from a position on. Raises DataLossError where they are damaged."""
    with opened(name, compression, position) as file:
        yield from records(file, name, position)


def fixed(name: str, position: int, length: int, header: int, footer: int) -> Records:
    """The records of one length between a header and a footer, from a position on."""
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


# ---- nodes -------------------------------------------------------------------------------------------------------


def scalar_string(value: bytes) -> np.ndarray[Any, Any]:
    array = np.empty((), object)
    array[()] = value
    return array


class RecordsPull(Pull):
    """The records of one file after the other."""

    changing = ("names", "name", "position")

    def __init__(self, names: Iterator[Element], read: Callable[[str, int], Records]):
        self.names = names
        self.read = read
        self.name: str | None = None
        self.position = 0
        self.current: Records = iter(())

    def __next__(self) -> Element:
        while True:
            for record, position in self.current:
                self.position = position
                return [scalar_string(record)]
            self._open()

    def _open(self) -> None:
        """Begins the next file. Raises StopIteration where there is none."""
        self.name, self.position = next(self.names)[0].item().decode(), 0
        self.current = self.read(self.name, 0)

    def next_columns(self, count: int) -> Element | None:
        """The next records where one file has so many more."""
        found: list[tuple[bytes, int]] = []
        try:
            found.extend(itertools.islice(self.current, count))
            if not found:
                self._open()
                found.extend(itertools.islice(self.current, count))
        except StopIteration:
            return None
        except Exception as error:
            self.current = _and_then(found, error)
            return None
        if len(found) < count:
            self.current = iter(found)
            return None
        records, positions = zip(*found, strict=True)
        self.position = positions[-1]
        column = np.empty(count, object)
        column[:] = records
        return [column]

    def resume(self, state: State) -> None:
        super().resume(state)
        if self.name is not None:
            self.current = self.read(self.name, self.position)


def _and_then(found: Sequence[tuple[bytes, int]], error: Exception) -> Records:
    """Records, and what was raised after them."""
    yield from found
    raise error


class Files(Node):
    """The records of the files that another node names, one file after the other.

    Args:
      names: a node of string scalars.
      read: (name, position to begin at, *arguments) -> records.
      arguments: numbers or strings, or tensors of them.
    """

    def __init__(self, names: Node, read: Callable[..., Records], arguments: Sequence[Any]):
        self.children = (names,)
        self.read = read
        self.arguments = arguments
        self.structure = Structure(None, [string], [()])
        self.tensors = tensors_among(*arguments)

    def open(self, opening: Opening) -> Iterator[Element]:
        given = [opening.value(a) for a in self.arguments]
        return RecordsPull(self.children[0].open(opening), lambda name, position: self.read(name, position, *given))


class Matching(Node):
    """The names of the files that match patterns, sorted.

    Args:
      patterns: strings, or one tensor of them.
    """

    def __init__(self, patterns: Any):
        self.patterns = patterns
        self.tensors = tensors_among(patterns)
        self.structure = Structure(None, [string], [()])

    def rows(self, opening: Opening) -> Rows:
        given = opening.values[self.patterns] if isinstance(self.patterns, Tensor) else self.patterns
        patterns = [p.decode() for p in np.ravel(given).tolist()]
        names = sorted({name for p in patterns for name in Glob(p)})
        if not names:
            raise InvalidArgumentError(None, None, f"No files matched pattern: {', '.join(patterns)}")
        table = np.array([os.fsencode(n) for n in names], object)
        return Rows([table], InOrder(len(names)), plain=len(names))

    def open(self, opening: Opening) -> Iterator[Element]:
        return RowPull(self.rows(opening))
