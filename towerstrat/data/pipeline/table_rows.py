"""Passes over the rows of a table as streams of row numbers: shuffling moves numbers, a batch is one gather."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.data.elements.types import Array
from towerstrat.data.pipeline.iterator_state import Resumable, resumed
from towerstrat.platform.plain import State

_EMPTY = np.zeros(0, np.int64)
_BLOCK = 1024


class Order(Resumable):
    """A stream of row numbers."""

    def take(self, count: int) -> Array:
        """The next ``count`` row numbers; fewer only at the end."""
        raise NotImplementedError


class RowFunction(NamedTuple):
    """A function of rows, and of their places in the stream, that gives for each the same, alone or among others.

    A place is the number of draws before the row's: a function without random operations does not look at it.
    """

    one: Callable[[Sequence[Array], int], Sequence[Array]]
    many: Callable[[Sequence[Array], Array], Sequence[Array]]


class TablePass:
    """A pass over a table.

    Attributes:
      table: one array per component, alike in their first dimension.
      order: which rows, in which order.
      functions: what is applied to a row when it is taken.
      plain: the number of rows where the pass is simply all of them in order.
      placed: whether the stream's numbers hold places too, ``place * len(table) + row`` (``NumberedOrder``).
    """

    __slots__ = ("functions", "order", "placed", "plain", "table")

    def __init__(
        self,
        table: Sequence[Array],
        order: Order,
        functions: tuple[RowFunction, ...] = (),
        plain: int | None = None,
        placed: bool = False,
    ):
        self.table = table
        self.order = order
        self.functions = functions
        self.plain = plain
        self.placed = placed

    def reordered(self, order: Order) -> TablePass:
        """The same rows in another order."""
        return TablePass(self.table, order, self.functions, placed=self.placed)

    def one(self, number: int) -> Sequence[Array]:
        """The components of one row."""
        place, number = divmod(number, len(self.table[0])) if self.placed else (0, number)
        element: Sequence[Array] = [column[number, ...] for column in self.table]
        for function in self.functions:
            element = function.one(element, place)
        return element

    def many(self, numbers: Array) -> Sequence[Array]:
        """Several rows, stacked."""
        places, numbers = np.divmod(numbers, len(self.table[0])) if self.placed else (numbers, numbers)
        columns: Sequence[Array] = [column.take(numbers, axis=0) for column in self.table]
        for function in self.functions:
            columns = function.many(columns, places)
        return columns


class InOrder(Order):
    """All rows of a table of ``size`` rows."""

    checkpointed = {"position": "position"}

    def __init__(self, size: int):
        self.position = 0
        self.size = size

    def take(self, count: int) -> Array:
        start = self.position
        self.position = min(self.size, start + count)
        return np.arange(start, self.position)


class NumberedOrder(Order):
    """Row numbers with their places in the stream, so that what comes after it may reorder both together.

    Args:
      size: the number of rows of the table.
      draw_counters: of functions with random operations: ``count_draws(count)`` counts so many draws and returns how
        many there were before. The first one's are the places.
    """

    checkpointed = {"source": "source"}

    def __init__(self, source: Order, size: int, draw_counters: Sequence[Callable[[int], int]]):
        self.source = source
        self.size = size
        self.draw_counters = draw_counters

    def take(self, count: int) -> Array:
        numbers = self.source.take(count)
        first, *_ = [count_draws(len(numbers)) for count_draws in self.draw_counters]
        return np.arange(first, first + len(numbers)) * self.size + numbers


class UniformStream(Resumable):
    """Uniform random numbers below 1, drawn in blocks: the stream does not depend on how many are asked for at once."""

    def __init__(self, generator: np.random.Generator):
        self.generator = generator
        self._block: list[float] = []
        self._position = 0

    def take(self, count: int) -> list[float]:
        """The next ``count`` numbers."""
        position = self._position
        if position + count <= len(self._block):
            self._position = position + count
            return self._block[position : position + count]
        result = self._block[position:]
        while len(result) < count:
            result += self.generator.random(_BLOCK).tolist()
        extra = len(result) - count
        self._block, self._position = result[count:] if extra else [], 0
        return result[:count] if extra else result

    def again(self) -> UniformStream:
        """The same stream from where this one is."""
        draws = UniformStream(np.random.Generator(np.random.PCG64()))
        draws.resume(self.state())
        return draws

    def state(self) -> State:
        ahead = np.array(self._block[self._position :])
        return {"generator": self.generator.bit_generator.state, "ahead": ahead}

    def resume(self, state: State) -> None:
        self.generator.bit_generator.state = state["generator"]
        self._block, self._position = state["ahead"].tolist(), 0

    def one(self) -> float:
        if self._position >= len(self._block):
            self._block, self._position = self.generator.random(_BLOCK).tolist(), 0
        self._position += 1
        return self._block[self._position - 1]


def exchanged(buffer: list[Any], fresh: Sequence[Any], draws: UniformStream) -> list[Any]:
    """What is drawn from a buffer, one after the other, where each is replaced by the next fresh one."""
    result, size = [], len(buffer)
    for u, new in zip(draws.take(len(fresh)), fresh, strict=True):
        place = int(u * size)
        result.append(buffer[place])
        buffer[place] = new
    return result


def drained(buffer: list[Any], count: int, draws: UniformStream) -> list[Any]:
    """What is drawn from a buffer, one after the other, where none is replaced. The buffer has ``count`` at least."""
    result, size = [], len(buffer)
    for u in draws.take(count):
        place = int(u * size)
        size -= 1
        result.append(buffer[place])
        buffer[place] = buffer[size]
        buffer.pop()
    return result


class Shuffled(Order):
    """Draws from a buffer of the next ``size`` row numbers."""

    checkpointed = {"source": "source", "draws": "draws", "buffer": "buffer", "ended": "ended"}

    def __init__(self, source: Order, size: int, draws: UniformStream):
        self.source = source
        self.size = size
        self.draws = draws
        self.buffer: list[int] | None = None
        self.ended = False

    def take(self, count: int) -> Array:
        if self.buffer is None:
            self.buffer = self.source.take(self.size).tolist()
            self.ended = len(self.buffer) < self.size
        buffer = self.buffer
        fresh: list[int] = [] if self.ended else self.source.take(count).tolist()
        result = exchanged(buffer, fresh, self.draws)
        if len(fresh) < count:
            self.ended = True
            result += drained(buffer, min(len(buffer), count - len(fresh)), self.draws)
        return np.array(result, np.int64)

    def state(self) -> State:
        buffer = None if self.buffer is None else np.array(self.buffer, np.int64)
        return super().state() | {"buffer": buffer}

    def resumed(self, name: str, state: State) -> Any:
        return state.tolist() if name == "buffer" and state is not None else super().resumed(name, state)


class Repeated(Order):
    """Pass after pass; a negative count is endless. An empty first pass ends an endless one."""

    checkpointed = {"left": "left", "current": "current", "seen_in_pass": "seen_in_pass"}

    def __init__(self, open_pass: Callable[[], Order], count: int):
        self.open_pass = open_pass
        self.left = count
        self.current: Order | None = None
        self.seen_in_pass = False

    def take(self, count: int) -> Array:
        parts: list[Array] = []
        wanted = count
        while wanted:
            if self.current is None:
                if self.left == 0:
                    break
                self.left -= 1
                self.current = self.open_pass()
                self.seen_in_pass = False
            got = self.current.take(wanted)
            if len(got):
                self.seen_in_pass = True
                parts.append(got)
            if len(got) < wanted:
                self.current = None
                if not self.seen_in_pass and self.left < 0:
                    self.left = 0
            wanted -= len(got)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else _EMPTY

    def resumed(self, name: str, state: State) -> Any:
        current = self.open_pass() if name == "current" and state is not None else getattr(self, name)
        return resumed(current, state)


class Limited(Order):
    """Leaves out the first ``skip`` rows and stops after ``limit`` (None: at the end)."""

    checkpointed = {"source": "source", "skip": "skip", "left": "left"}

    def __init__(self, source: Order, skip: int, limit: int | None):
        self.source = source
        self.skip = skip
        self.left = limit

    def take(self, count: int) -> Array:
        while self.skip:
            got = len(self.source.take(min(self.skip, 65536)))
            self.skip = self.skip - got if got else 0
        if self.left is None:
            return self.source.take(count)
        got_rows = self.source.take(min(count, self.left))
        self.left = self.left - len(got_rows) if len(got_rows) else 0
        return got_rows


class Sharded(Order):
    """Every ``number``-th row, starting at ``index``."""

    checkpointed = {"source": "source"}

    def __init__(self, source: Order, number: int, index: int):
        self.source = source
        self.number = number
        self.index = index

    def take(self, count: int) -> Array:
        return self.source.take(count * self.number)[self.index :: self.number]
