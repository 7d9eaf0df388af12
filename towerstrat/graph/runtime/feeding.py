"""The input of step loops: elements of a source assembled to chunks, one chunk ahead of its use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.uneven import Uneven

_ALIGNMENT = 64


class Source(Protocol):
    """Where a loop's input comes from: elements are lists of arrays.

    Attributes:
      lender: what holds elements that were taken ahead, or None. live: whether none may be taken ahead.
    """

    lender: Any
    live: bool

    def fill(self, buffers: Sequence[np.ndarray[Any, Any]], start: int, count: int) -> int:
        """Writes up to ``count`` next elements into the buffers' rows; where it is fewer, ``next`` tells why."""

    def next(self) -> list[Any]:
        """The next element; StopIteration at the end."""

    def push_back(self, elements: list[list[Any]]) -> None:
        """Gives elements back: they come next again."""

    def push_error(self, error: BaseException) -> None:
        """Gives an exception back: it comes after the elements given back."""


class Chunk:
    """Input of some steps: buffers ``[steps, positions, ...]`` (no positions dimension without an axis).

    Attributes:
      error: why it has fewer steps than asked for, None at the end of the data.
      stays: the error is about elements that went back to the source: who asks again meets it again.
    """

    def __init__(self, buffers: list[Any], steps: int, error: BaseException | None, stays: bool = False):
        self.buffers = buffers
        self.steps = steps
        self.error = error
        self.stays = stays


class _Ahead:
    """A chunk that was assembled ahead. Its source holds it, and nothing else: it goes when the source goes."""

    def __init__(self, feeder: Feeder, amount: tuple[int, int], chunk: Chunk):
        self.feeder = feeder
        self.amount = amount
        self.chunk = chunk

    def give_back(self, source: Source) -> None:
        """Returns the chunk to its source."""
        source.lender = None
        self.feeder.put_back(source, self.chunk, 0)


class Feeder:
    """Assembles chunks from a source, one ahead of their use.

    Args:
      shapes, dtypes: of an element's components, as far as the shapes are known.
      axis: the axis whose every position takes an element in each step.
      each: how many elements each step takes where there is no axis, in buffers that always have all their room;
        None: one, without a dimension for them.
    """

    def __init__(self, shapes: Sequence[Any], dtypes: Sequence[Any], axis: Axis | None, each: int | None = None):
        self.shapes = shapes
        self.dtypes = dtypes
        self.each = 1 if axis is None else axis.size
        self.grouped = axis is not None or each is not None
        self.filled = each is not None
        if each is not None:
            self.each = each

    def take(self, source: Source, steps: int, room: int) -> Chunk:
        """The input of the next ``steps`` steps in buffers with room for ``room``."""
        ahead = source.lender
        if isinstance(ahead, _Ahead) and ahead.feeder is self and ahead.amount == (steps, room):
            source.lender = None
            return ahead.chunk
        return self._assemble(source, steps, room)

    def look_ahead(self, source: Source, steps: int, room: int) -> None:
        """Assembles the chunk that will probably be taken next."""
        if source.lender is None:
            source.lender = _Ahead(self, (steps, room), self._assemble(source, steps, room))

    def put_back(self, source: Source, chunk: Chunk, first: int) -> None:
        """Returns a chunk's input to its source, from step ``first`` on."""
        rows = [np.reshape(b, (len(b) * self.each, *b.shape[2:])) if self.grouped else b for b in chunk.buffers]
        source.push_back([[np.array(r[i]) for r in rows] for i in range(first * self.each, chunk.steps * self.each)])
        if chunk.error is not None and not chunk.stays:
            source.push_error(chunk.error)

    def _assemble(self, source: Source, steps: int, room: int) -> Chunk:
        if any(s is None or None in s for s in self.shapes):
            return self._collect(source, steps, room)
        flat = [_aligned((room * self.each, *s), d) for s, d in zip(self.shapes, self.dtypes, strict=True)]
        wanted = steps * self.each
        count = source.fill(flat, 0, wanted)
        error, stays = (None, False) if count == wanted else _why_short(source, self.shapes)
        whole, left = divmod(count, self.each)
        if left:
            source.push_back([[np.array(b[whole * self.each + i]) for b in flat] for i in range(left)])
        if whole < room:
            for buffer in flat:
                buffer[whole * self.each :] = np.zeros((), buffer.dtype)
        return Chunk([self._shaped(b, room) for b in flat], whole, error, stays)

    def _shaped(self, buffer: np.ndarray[Any, Any], steps: int) -> Any:
        if not self.grouped:
            return buffer
        return buffer.reshape(steps, self.each, *buffer.shape[1:])

    def _collect(self, source: Source, steps: int, room: int) -> Chunk:
        """Elements of shapes that are not known beforehand: as many as agree with the first; of uneven ones none."""
        taken: list[list[Any]] = []
        error: BaseException | None = None
        stays = False
        while len(taken) < steps * self.each:
            try:
                element = source.next()
            except StopIteration:
                break
            except Exception as raised:
                error = raised
                break
            except BaseException:
                source.push_back(taken)
                raise
            uneven = any(isinstance(e, Uneven) for e in element)
            if uneven or (taken and [np.shape(e) for e in element] != [np.shape(e) for e in taken[0]]):
                source.push_back([element])
                if len(taken) < self.each and not uneven:
                    stays = True
                    error = ValueError(
                        f"Towers need batches of one shape in each step, got {[np.shape(e) for e in taken[0]]} and "
                        f"{[np.shape(e) for e in element]}. Use batch(..., drop_remainder=True)."
                    )
                break
            taken.append(element)
        whole, left = divmod(len(taken), self.each)
        if left:
            source.push_back(taken[whole * self.each :])
        if not whole:
            return Chunk([], 0, error, stays)
        size = room if self.filled else whole
        columns = zip(*taken[: whole * self.each], strict=True)
        buffers = [self._shaped(self._stacked(column, size * self.each), size) for column in columns]
        return Chunk(buffers, whole, error, stays)

    def _stacked(self, column: Sequence[Any], size: int) -> np.ndarray[Any, Any]:
        if len(column) == size:
            return np.stack(column)
        buffer = _aligned((size, *np.shape(column[0])), column[0].dtype)
        np.stack(column, out=buffer[: len(column)])
        buffer[len(column) :] = np.zeros((), buffer.dtype)
        return buffer


def _aligned(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    """An array, not filled, that begins where a device program on the CPU can read it without a copy."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def _why_short(source: Source, shapes: Sequence[Any]) -> tuple[Exception | None, bool]:
    """Why a source gave fewer elements than asked for: None at its end, else what it raised; and whether it stays."""
    try:
        element = source.next()
    except StopIteration:
        return None, False
    except Exception as error:
        return error, False
    source.push_back([element])
    got = [np.shape(e) for e in element]
    return ValueError(f"An element of the dataset has shapes {got}, expected {[list(s) for s in shapes]}."), True
