"""The input of step loops: elements of a source assembled to chunks, one chunk ahead of its use."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.platform.accounts import ACCOUNTS, INPUT

_ALIGNMENT = 64
PIECE_SECONDS = 5e-3
"""How long input is assembled before anybody looks whether the device waits for it."""

_PATIENCE = 20e-3
"""How long a device may wait for the rest of a program's input."""

Enough = Callable[[int], bool]


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

    def skip_failed(self) -> None:
        """Leaves out the next element, whose parts another process has failed to make, where all take the same."""


class Chunk:
    """Input of some steps: buffers ``[room, elements, ...]`` (no second dimension where a step takes one element).

    Attributes:
      steps: how many steps' input is there; the rest of the buffers is not used.
      closed: whether no more input fits: the data ends, an element has another shape, or the pipeline failed.
      at_end: whether it is the end of the data.
      error: what the pipeline raised behind this input.
      stays: the error is about elements that went back to the source: who asks again meets it again.
    """

    def __init__(self, room: int):
        self.room = room
        self.buffers: list[np.ndarray[Any, Any]] = []
        self.steps = 0
        self.closed = False
        self.at_end = False
        self.error: BaseException | None = None
        self.stays = False

    @property
    def size(self) -> int:
        """Bytes of the buffers."""
        return sum(buffer.nbytes for buffer in self.buffers)

    def beginning(self, room: int) -> Chunk:
        """The same input of no more than the first ``room`` steps."""
        chunk = Chunk(room)
        chunk.buffers = [buffer[:room] for buffer in self.buffers]
        chunk.steps = min(room, self.steps)
        return chunk

    def pairs(self) -> list[Chunk]:
        """The same input as chunks of two steps, the last one perhaps of one; what came behind it is behind that."""
        made = []
        for first in range(0, self.steps, 2):
            pair = Chunk(2)
            pair.buffers = [buffer[first : first + 2] for buffer in self.buffers]
            pair.steps = min(2, self.steps - first)
            made.append(pair)
        if made:
            made[-1].close(self.error, self.at_end, self.stays)
        return made

    def close(self, error: BaseException | None, at_end: bool = False, stays: bool = False) -> None:
        """Notes that no more input fits, and why."""
        self.closed = True
        self.at_end = at_end
        self.error = error
        self.stays = stays


class _Ahead:
    """A chunk that is lent to a feeder. Its source holds it, and nothing else: it goes when the source goes."""

    def __init__(self, feeder: ChunkAssembler, chunk: Chunk):
        self.feeder = feeder
        self.chunk = chunk

    def give_back(self, source: Source) -> None:
        """Returns the chunk to its source."""
        source.lender = None
        self.feeder.put_back(source, self.chunk, 0)


class ChunkAssembler:
    """Assembles chunks from a source, ahead of their use while a device works.

    Args:
      shapes, dtypes: of an element's components, as far as the shapes are known.
      each: how many elements each step takes, along a dimension of their own; None: one, without that dimension.
    """

    def __init__(self, shapes: Sequence[Any], dtypes: Sequence[np.dtype[Any]], each: int | None = None):
        self.shapes = shapes
        self.dtypes = dtypes
        self.each = 1 if each is None else each
        self.grouped = each is not None
        self.uneven = any(s is None or None in s for s in shapes)
        self._step_bytes = None if self.uneven else self._bytes([tuple(s) for s in shapes])
        self._step_seconds = 0.0

    def step_bytes(self, source: Source) -> int:
        """Bytes of a step's input; where shapes are not known those of the next element tell."""
        if self._step_bytes is not None:
            return self._step_bytes
        try:
            element = source.next()
        except StopIteration:
            return 1
        except Exception as error:
            source.push_error(error)
            return 1
        source.push_back([element])
        self._step_bytes = self._bytes([np.shape(getattr(part, "padded", part)) for part in element])
        return self._step_bytes

    def _bytes(self, shapes: Sequence[tuple[int, ...]]) -> int:
        sizes = zip(shapes, self.dtypes, strict=True)
        return sum(math.prod(s) * np.dtype(d).itemsize for s, d in sizes) * self.each

    def take(self, source: Source, steps: int, most: int, room: int, enough: Enough) -> Chunk:
        """Input of the next ``steps`` steps; of fewer where ``enough`` says so, and where no more can be had.

        Args:
          most: how many steps' input it may be, where so much was assembled ahead.
          room: how many steps the chunk's buffers have room for.
          enough: (how many steps' input there is) -> whether the caller rather starts with that.
        """
        chunk = self._assemble(source, steps, room, enough)
        source.lender = None
        if chunk.steps > most or (chunk.steps == most and chunk.error is not None):
            self.put_back(source, chunk, most)
            chunk.steps, chunk.error, chunk.at_end = most, None, False
        return chunk

    def look_ahead(self, source: Source, steps: int, room: int, enough: Enough) -> None:
        """Assembles the chunk that will probably be taken next, or a part of it."""
        if source.lender is None or self._ahead(source, room) is not None:
            self._assemble(source, steps, room, enough)

    def put_back(self, source: Source, chunk: Chunk, first: int) -> None:
        """Returns a chunk's input to its source, from step ``first`` on."""
        if first >= chunk.steps and chunk.error is None:
            return
        rows = [np.reshape(b, (len(b) * self.each, *b.shape[2:])) if self.grouped else b for b in chunk.buffers]
        source.push_back([[np.array(r[i]) for r in rows] for i in range(first * self.each, chunk.steps * self.each)])
        if chunk.error is not None and not chunk.stays:
            source.push_error(chunk.error)

    def _ahead(self, source: Source, room: int) -> Chunk | None:
        ahead = source.lender
        return ahead.chunk if isinstance(ahead, _Ahead) and ahead.feeder is self and ahead.chunk.room == room else None

    def _assemble(self, source: Source, steps: int, room: int, enough: Enough) -> Chunk:
        """Goes on with the chunk ahead, or begins one. The source has it back if this is interrupted."""
        chunk = self._ahead(source, room)
        if chunk is None:
            if source.lender is not None:
                source.lender.give_back(source)
            chunk = Chunk(room)
        while chunk.steps < steps and not chunk.closed:
            waiting = self._step_seconds * (steps - chunk.steps)
            if chunk.steps and waiting > _PATIENCE and enough(chunk.steps):
                break
            # Pieces of some milliseconds, so that the caller is asked in time.
            piece = int(PIECE_SECONDS / self._step_seconds) if self._step_seconds else 2 * chunk.steps
            wanted = min(steps, chunk.steps + max(1, piece))
            source.lender = None
            start, before = time.perf_counter(), chunk.steps
            try:
                with ACCOUNTS.spent(INPUT):
                    (self._collect if self.uneven else self._fill)(source, chunk, wanted)
            finally:
                source.lender = _Ahead(self, chunk)
            if chunk.steps > before:
                self._step_seconds = (time.perf_counter() - start) / (chunk.steps - before)
        return chunk

    def _fill(self, source: Source, chunk: Chunk, steps: int) -> None:
        """Adds elements of known shapes, up to ``steps`` steps' input."""
        if not chunk.buffers:
            chunk.buffers = [self._buffer(chunk.room, s, d) for s, d in zip(self.shapes, self.dtypes, strict=True)]
        flat = [b.reshape(-1, *b.shape[2:]) if self.grouped else b for b in chunk.buffers]
        first, wanted = chunk.steps * self.each, steps * self.each
        count = first + source.fill(flat, first, wanted - first)
        chunk.steps, left = divmod(count, self.each)
        if count < wanted:
            try:
                chunk.close(*_why_short(source, self.shapes))
            finally:
                source.push_back([[np.array(b[chunk.steps * self.each + i]) for b in flat] for i in range(left)])

    def _collect(self, source: Source, chunk: Chunk, steps: int) -> None:
        """Adds elements of shapes that are not known beforehand, which agree with the first's; of uneven ones none."""
        while chunk.steps < steps:
            taken: list[list[Any]] = []
            try:
                self._take_step(source, chunk, taken)
            finally:
                if len(taken) < self.each:
                    source.push_back(taken)
            if chunk.closed:
                return
            self._add(chunk, taken)

    def _take_step(self, source: Source, chunk: Chunk, taken: list[list[Any]]) -> None:
        """Takes the elements of one step; closes the chunk where they cannot be had, or do not go together."""
        shapes = [b.shape[2 if self.grouped else 1 :] for b in chunk.buffers] or None
        while len(taken) < self.each:
            try:
                element = source.next()
            except StopIteration:
                return chunk.close(None, at_end=True)
            except Exception as error:
                return chunk.close(error)
            found = [np.shape(e) for e in element]
            uneven = any(isinstance(e, UnevenShards) for e in element)
            if uneven or (shapes is not None and found != shapes):
                source.push_back([element])
                return chunk.close(_disagreement(shapes, found) if taken and not uneven else None, stays=True)
            shapes = found
            taken.append(element)
        return None

    def _add(self, chunk: Chunk, elements: Sequence[Sequence[Any]]) -> None:
        if not chunk.buffers:
            chunk.buffers = [self._buffer(chunk.room, e.shape, e.dtype) for e in map(np.asarray, elements[0])]
        for i, element in enumerate(elements):
            for buffer, value in zip(chunk.buffers, element, strict=True):
                buffer[(chunk.steps, i) if self.grouped else chunk.steps] = value
        chunk.steps += 1

    def _buffer(self, room: int, shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
        return _aligned((room, self.each, *shape) if self.grouped else (room, *shape), dtype)


def _disagreement(first: Any, other: Any) -> ValueError:
    return ValueError(
        f"Towers need batches of one shape in each step, got {first} and {other}. Use batch(..., drop_remainder=True)."
    )


def _aligned(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    """Memory that begins where a device program on the CPU can read it without a copy."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    # No zeros: memory that was used before would be written twice. What no step's input fills, no step reads.
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def _why_short(source: Source, shapes: Sequence[Any]) -> tuple[Exception | None, bool, bool]:
    """Why a source gave fewer elements than asked for, for ``Chunk.close``."""
    try:
        element = source.next()
    except StopIteration:
        return None, True, False
    except Exception as error:
        return error, False, False
    source.push_back([element])
    got = [np.shape(e) for e in element]
    message = f"An element of the dataset has shapes {got}, expected {[list(s) for s in shapes]}."
    return ValueError(message), False, True
