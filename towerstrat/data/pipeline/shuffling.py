"""Drawing from a buffer of elements; those that come and go together lie in the rows of columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.iterator_state import state_of
from towerstrat.data.pipeline.nodes import ElementIterator
from towerstrat.data.pipeline.table_rows import UniformStream, drained, exchanged
from towerstrat.platform.plain import State

_BLOCK = 256
"""So many elements at least are asked for together where the buffer is filled."""

Kept: TypeAlias = "int | Element"
"""An element in a buffer: the number of its row, or itself."""


class Columns:
    """Elements in the rows of columns. A row that is taken out makes room for another element.

    Args:
      first: elements, stacked, whose shapes and types are those of all rows.
    """

    def __init__(self, first: Element):
        self._columns = [column[:0] for column in first]
        self._free: list[int] = []

    def fit(self, element: Element) -> bool:
        """Whether an element has the shapes and types of the rows."""
        return all(
            x.shape == column.shape[1:] and x.dtype == column.dtype
            for x, column in zip(element, self._columns, strict=True)
        )

    def put(self, columns: Element) -> list[int]:
        """The rows in which elements that fit, stacked, are put."""
        count = len(columns[0])
        if len(self._free) < count:
            self._grow(count)
        rows, self._free = self._free[:count], self._free[count:]
        for column, values in zip(self._columns, columns, strict=True):
            column[rows] = values
        return rows

    def _grow(self, count: int) -> None:
        size = len(self._columns[0])
        more = max(count, size // 2)
        self._free += range(size, size + more)
        for i, column in enumerate(self._columns):
            self._columns[i] = np.concatenate([column, np.zeros((more, *column.shape[1:]), column.dtype)])

    def row(self, number: int) -> Element:
        """The element in a row."""
        return [column[number, ...].copy() for column in self._columns]

    def take(self, rows: list[int]) -> Element:
        """The elements in rows, stacked; the rows are free then."""
        self._free += rows
        return [column.take(rows, axis=0) for column in self._columns]


class ShuffledPull(ElementIterator):
    """Draws from a buffer of the next ``size`` elements."""

    checkpointed = {"source": "source", "draws": "draws", "buffer": "buffer", "ended": "ended", "waiting": "waiting"}

    def __init__(self, source: Iterator[Element], size: int, draws: UniformStream):
        self.source = source
        self.size = size
        self.draws = draws
        self.buffer: list[Kept] = []
        self.ended = False
        self.waiting: deque[Element] = deque()
        """Elements that were taken from the source and are not in the buffer."""
        self.columns: Columns | None = None
        self.loose = 0
        """How many elements of the buffer lie in no row."""

    def __next__(self) -> Element:
        buffer = self.buffer
        while not self.ended and len(buffer) <= self.size:
            if self.waiting:
                self._keep(self.waiting.popleft())
                continue
            for element in self.source:
                self._keep(element)
                break
            else:
                self.ended = True
        if not buffer:
            raise StopIteration
        waiting = None if self.ended else buffer.pop()
        place = int(self.draws.one() * len(buffer))
        chosen = buffer[place]
        buffer[place] = buffer[-1] if waiting is None else waiting
        if waiting is None:
            buffer.pop()
        return self._out(chosen)

    def next_batch_columns(self, count: int) -> Element | None:
        while not self.ended and len(self.buffer) < self.size:
            fresh = self._fresh(min(self.size - len(self.buffer), max(count, _BLOCK)))
            if fresh is None:
                return None
            self.buffer += fresh
        if self.ended:
            drawn = None if self.loose or len(self.buffer) < count else drained(self.buffer, count, self.draws)
        else:
            fresh = self._fresh(count)
            drawn = None if fresh is None else exchanged(self.buffer, fresh, self.draws)
        return None if drawn is None or self.columns is None else self.columns.take(drawn)

    def _fresh(self, count: int) -> list[int] | None:
        """The rows of the next elements; None where they come one by one, or not all that are kept lie in rows."""
        if self.waiting or (self.loose and self.columns is not None) or not isinstance(self.source, ElementIterator):
            return None
        found = self.source.next_batch_columns(count)
        if found is None:
            return None
        if self.columns is None:
            self.columns = Columns(found)
            kept, self.loose = self.buffer[:], 0
            self.buffer.clear()
            for element in kept:
                if not isinstance(element, int):
                    self._keep(element)
        if self.loose or not self.columns.fit([column[0, ...] for column in found]):
            self.waiting.extend([column[i, ...] for column in found] for i in range(count))
            return None
        return self.columns.put(found)

    def _keep(self, element: Element) -> None:
        if self.columns is not None and self.columns.fit(element):
            self.buffer += self.columns.put([x[None] for x in element])
        else:
            self.buffer.append(element)
            self.loose += 1

    def _out(self, kept: Kept) -> Element:
        if isinstance(kept, int):
            assert self.columns is not None
            return [column[0, ...] for column in self.columns.take([kept])]
        self.loose -= 1
        return kept

    def state(self) -> State:
        columns = self.columns
        kept = [columns.row(k) if columns is not None and isinstance(k, int) else k for k in self.buffer]
        return super().state() | {"buffer": state_of(kept)}

    def resume(self, state: State) -> None:
        super().resume({"waiting": []} | state)
        self.columns, self.loose = None, len(self.buffer)
