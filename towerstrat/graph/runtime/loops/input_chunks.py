"""The input of step loops: elements of a source, stacked to chunks, one chunk ahead of its use.

A ``Source`` gives elements (lists of arrays); a ``ChunkAssembler`` writes them into the buffers of a ``Chunk``,
``[room, ...]`` per component, or ``[room, each, ...]`` where a step takes several elements, one per tower. Towers'
batches of two numbers; five of them are two steps for two towers, and the fifth goes back:

>>> class Numbers:
...     lender, live, rows = None, False, [np.float32([i, -i]) for i in range(5)]
...     def fill(self, buffers, start, count):
...         taken, self.rows = self.rows[:count], self.rows[count:]
...         buffers[0][start : start + len(taken)] = taken
...         return len(taken)
...     def next(self):
...         raise StopIteration
...     def push_back(self, elements):
...         self.rows = [element[0] for element in elements] + self.rows
>>> source = Numbers()
>>> chunk = ChunkAssembler([(2,)], [np.dtype("float32")], each=2).take(source, 3, 3, 4, lambda steps: False)
>>> chunk.buffers[0].shape, chunk.steps, chunk.at_end, len(source.rows)
((4, 2, 2), 2, True, 1)

A loop must leave its source as if it had taken exactly the elements of the steps that ran. So everything is reversible:
a chunk assembled ahead (``look_ahead``) is lent to the assembler, and the source can have it back through ``lender``;
``put_back`` returns the steps that did not run, and an exception of the pipeline after its elements, so that it is
raised again in its place. Several chunks go back newest first.

Elements of static shapes are written straight into the buffers (``fill``), without an array of their own; others are
taken one by one (``next``), and a chunk ends where their shape changes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from towerstrat.graph.ir.types import HostArray
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.platform.accounts import ACCOUNTS, INPUT

_ALIGNMENT = 64
PIECE_SECONDS = 5e-3
"""Seconds of assembly between two looks at whether the device is idle."""

_PATIENCE = 20e-3
"""Seconds that a device may wait for the rest of a program's input."""

Enough = Callable[[int], bool]


class Source(Protocol):
    """The protocol of a loop's input, an iterator that can be put back; an element is a list of arrays.

    Attributes:
      lender: holder of a chunk that was assembled ahead, or None. live: whether no element may be taken ahead.
    """

    lender: Any
    live: bool

    def fill(self, buffers: Sequence[HostArray], start: int, count: int) -> int:
        """Write up to ``count`` next elements into the buffers' rows from ``start`` on; return how many.

        Where these are fewer, ``next`` raises the reason, or returns the element that does not fit.
        """

    def next(self) -> list[Any]:
        """The next element. Raises StopIteration at the end."""

    def push_back(self, elements: list[list[Any]]) -> None:
        """Return elements to the source: they come next again."""

    def push_error(self, error: BaseException) -> None:
        """Return an exception to the source: it is raised after the elements that were returned."""

    def skip_failed(self) -> None:
        """Skip the next element, whose shards another process could not make, where all processes take the same one."""


class Chunk:
    """Stacked input of some steps: buffers ``[room, elements, ...]``, or ``[room, ...]`` with one element a step.

    Attributes:
      steps: number of steps whose input is there; the rest of the buffers is uninitialized.
      closed: whether no more input fits: the data ends, an element has another shape, or the pipeline failed.
      at_end: whether it is the end of the data.
      error: exception of the pipeline after this input.
      stays: the error is about elements that went back to the source: whoever asks again meets it again.
    """

    def __init__(self, room: int):
        self.room = room
        self.buffers: list[HostArray] = []
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
        """The first ``room`` steps of this chunk, as views of the same buffers."""
        chunk = Chunk(room)
        chunk.buffers = [buffer[:room] for buffer in self.buffers]
        chunk.steps = min(room, self.steps)
        return chunk

    def pairs(self) -> list[Chunk]:
        """This chunk cut into chunks of two steps (the last perhaps of one), which has the end or error of this one."""
        pairs = []
        for first in range(0, self.steps, 2):
            pair = Chunk(2)
            pair.buffers = [buffer[first : first + 2] for buffer in self.buffers]
            pair.steps = min(2, self.steps - first)
            pairs.append(pair)
        if pairs:
            pairs[-1].close(self.error, self.at_end, self.stays)
        return pairs

    def close(self, error: BaseException | None, at_end: bool = False, stays: bool = False) -> None:
        """Mark the chunk complete, and why no more input fits."""
        self.closed = True
        self.at_end = at_end
        self.error = error
        self.stays = stays


class _Ahead:
    """A chunk assembled ahead, as its source's ``lender``. Only the source refers to it: both are freed together."""

    def __init__(self, feeder: ChunkAssembler, chunk: Chunk):
        self.feeder = feeder
        self.chunk = chunk

    def return_to_source(self, source: Source) -> None:
        """Return the chunk's elements to the source."""
        source.lender = None
        self.feeder.put_back(source, self.chunk, 0)


class ChunkAssembler:
    """Stacks elements of a source to chunks, also ahead of their use while a device works.

    Args:
      shapes, dtypes: of an element's components, as far as the shapes are known.
      each: elements that each step takes, along a dimension of their own; None: one, without that dimension.
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
        """Bytes of a step's input; where shapes are not static, by the next element, which is put back."""
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
        """Take the input of the next ``steps`` steps; fewer where ``enough`` says so, or the source has no more.

        Args:
          source: the loop's input.
          steps: as many as the next program should run.
          most: the most steps to return, where more was assembled ahead.
          room: number of steps that the buffers have room for.
          enough: (steps assembled so far) -> whether the caller starts with these instead of waiting.
        """
        chunk = self._assemble(source, steps, room, enough)
        source.lender = None
        if chunk.steps > most or (chunk.steps == most and chunk.error is not None):
            self.put_back(source, chunk, most)
            chunk.steps, chunk.error, chunk.at_end = most, None, False
        return chunk

    def look_ahead(self, source: Source, steps: int, room: int, enough: Enough) -> None:
        """Assemble the chunk that will probably be taken next, or a part of it."""
        if source.lender is None or self._ahead(source, room) is not None:
            self._assemble(source, steps, room, enough)

    def put_back(self, source: Source, chunk: Chunk, first: int) -> None:
        """Return a chunk's input, from step ``first`` on, and its error to the source."""
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
        """Continue the chunk that was begun ahead, or begin one. The source can take it back if this is interrupted."""
        chunk = self._ahead(source, room)
        if chunk is None:
            if source.lender is not None:
                source.lender.return_to_source(source)
            chunk = Chunk(room)
        while chunk.steps < steps and not chunk.closed:
            waiting = self._step_seconds * (steps - chunk.steps)
            if chunk.steps and waiting > _PATIENCE and enough(chunk.steps):
                break
            # Pieces of some milliseconds, so that the caller is asked in time.
            piece = int(PIECE_SECONDS / self._step_seconds) if self._step_seconds else 2 * chunk.steps
            target = min(steps, chunk.steps + max(1, piece))
            source.lender = None
            start, before = time.perf_counter(), chunk.steps
            try:
                with ACCOUNTS.timed(INPUT):
                    (self._collect if self.uneven else self._fill)(source, chunk, target)
            finally:
                source.lender = _Ahead(self, chunk)
            if chunk.steps > before:
                self._step_seconds = (time.perf_counter() - start) / (chunk.steps - before)
        return chunk

    def _fill(self, source: Source, chunk: Chunk, steps: int) -> None:
        """Add elements of static shapes, up to ``steps`` steps' input; the elements of an incomplete step go back."""
        if not chunk.buffers:
            chunk.buffers = [self._buffer(chunk.room, s, d) for s, d in zip(self.shapes, self.dtypes, strict=True)]
        flat = [b.reshape(-1, *b.shape[2:]) if self.grouped else b for b in chunk.buffers]
        first, target = chunk.steps * self.each, steps * self.each
        count = first + source.fill(flat, first, target - first)
        chunk.steps, left = divmod(count, self.each)
        if count < target:
            try:
                chunk.close(*_why_short(source, self.shapes))
            finally:
                source.push_back([[np.array(b[chunk.steps * self.each + i]) for b in flat] for i in range(left)])

    def _collect(self, source: Source, chunk: Chunk, steps: int) -> None:
        """Add elements of unknown shapes while they have the first one's; ``UnevenShards`` ones are not taken."""
        while chunk.steps < steps:
            elements: list[list[Any]] = []
            try:
                self._take_step(source, chunk, elements)
            finally:
                if len(elements) < self.each:
                    source.push_back(elements)
            if chunk.closed:
                return
            self._add(chunk, elements)

    def _take_step(self, source: Source, chunk: Chunk, elements: list[list[Any]]) -> None:
        """Take the elements of one step; close the chunk where there are none, or their shapes differ."""
        shapes = [b.shape[2 if self.grouped else 1 :] for b in chunk.buffers] or None
        while len(elements) < self.each:
            try:
                element = source.next()
            except StopIteration:
                return chunk.close(None, at_end=True)
            except Exception as error:
                return chunk.close(error)
            element_shapes = [np.shape(e) for e in element]
            uneven = any(isinstance(e, UnevenShards) for e in element)
            if uneven or (shapes is not None and element_shapes != shapes):
                source.push_back([element])
                return chunk.close(
                    _disagreement(shapes, element_shapes) if elements and not uneven else None, stays=True
                )
            shapes = element_shapes
            elements.append(element)
        return None

    def _add(self, chunk: Chunk, elements: Sequence[Sequence[Any]]) -> None:
        if not chunk.buffers:
            chunk.buffers = [self._buffer(chunk.room, e.shape, e.dtype) for e in map(np.asarray, elements[0])]
        for i, element in enumerate(elements):
            for buffer, value in zip(chunk.buffers, element, strict=True):
                buffer[(chunk.steps, i) if self.grouped else chunk.steps] = value
        chunk.steps += 1

    def _buffer(self, room: int, shape: Sequence[int], dtype: np.dtype[Any]) -> HostArray:
        return _aligned_array((room, self.each, *shape) if self.grouped else (room, *shape), dtype)


def _disagreement(first: object, other: object) -> ValueError:
    return ValueError(
        f"Towers need batches of one shape in each step, got {first} and {other}. Use batch(..., drop_remainder=True)."
    )


def _aligned_array(shape: Sequence[int], dtype: np.dtype[Any]) -> HostArray:
    """An uninitialized array, aligned so that a CPU program can use it without a copy."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    # No zeros: memory that was used before would be written twice. What no step's input fills, no step reads.
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    aligned: HostArray = memory[start : start + size].view(dtype)
    return aligned.reshape(shape)


def _why_short(source: Source, shapes: Sequence[Any]) -> tuple[Exception | None, bool, bool]:
    """(error, at_end, stays) for ``Chunk.close``, where a source gave fewer elements than asked for."""
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
