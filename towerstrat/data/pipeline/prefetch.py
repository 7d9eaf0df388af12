"""Work ahead in a thread: a bounded queue of elements, errors in their places."""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.iterator_state import at_one_moment, resumed, state_of
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext, tensors_among
from towerstrat.data.pipeline.table_rows import TablePass
from towerstrat.errors import InvalidArgumentError
from towerstrat.platform.deadlines import DEADLINE
from towerstrat.platform.plain import State

_AUTO = 2
_PATIENCE = 1.0


class _Queue:
    """What the thread and the consumer share. The thread holds no reference to the consumer."""

    def __init__(self, source: Iterator[Element], size: int):
        self.source = source
        self.size = size
        self.ready: collections.deque[tuple[Any, BaseException | None]] = collections.deque()
        self.changed = threading.Condition()
        self.closed = False
        self.ended = False
        self.thread: threading.Thread | None = None
        self.taking = threading.Lock()
        """Held while an element is on its way from the source to those that are ready."""

    def work(self) -> None:
        while True:
            with self.changed:
                while len(self.ready) >= self.size and not self.closed:
                    self.changed.wait()
                if self.closed:
                    return
            with self.taking:
                try:
                    entry: tuple[Any, BaseException | None] = (next(self.source), None)
                except BaseException as error:
                    entry = (None, error)
                with self.changed:
                    self.ready.append(entry)
                    self.changed.notify_all()
                    if self.closed or isinstance(entry[1], StopIteration):
                        return

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.ready.clear()
            self.changed.notify_all()
        thread = self.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE)


class PrefetchedPull(ElementIterator):
    """Elements that a thread took ahead. The thread starts with the first element that is asked for.

    Elements that are written into given buffers are produced by the caller: who fills buffers works ahead already.
    """

    def __init__(self, source: Iterator[Element], size: int, session: Any):
        self.queue = _Queue(source, size)
        self.unlocked: Any = getattr(session, "unlocked", nullcontext)
        self._finalizer = weakref.finalize(self, self.queue.close)

    def close(self) -> None:
        self._finalizer()

    def __next__(self) -> Element:
        queue = self.queue
        if queue.ended or queue.closed:
            raise StopIteration
        if queue.thread is None:
            queue.thread = threading.Thread(target=queue.work, name="towerstrat prefetch", daemon=True)
            queue.thread.start()
        if not queue.ready:
            # The thread may call functions of the program that is waiting here.
            with self.unlocked(), queue.changed:
                DEADLINE.wait_for(queue.changed, lambda: bool(queue.ready or queue.closed), "an element of a data set")
        with queue.changed:
            element, error = queue.ready.popleft() if queue.ready else (None, StopIteration())
            queue.changed.notify_all()
        if isinstance(error, StopIteration):
            queue.ended = True
            raise StopIteration
        if error is not None:
            raise error
        assert element is not None
        return element

    def ready(self) -> int:
        with self.queue.changed:
            errors = [i for i, (_, error) in enumerate(self.queue.ready) if error is not None]
            return errors[0] if errors else len(self.queue.ready)

    def _untouched(self) -> ElementIterator | None:
        """The source, where nothing was taken ahead of it."""
        queue = self.queue
        return (
            queue.source
            if queue.thread is None and not queue.ready and isinstance(queue.source, ElementIterator)
            else None
        )

    def next_into(self, out: Sequence[Array]) -> Element | None:
        source = self._untouched()
        return super().next_into(out) if source is None else source.next_into(out)

    def next_batch_columns(self, count: int) -> Element | None:
        source = self._untouched()
        return None if source is None else source.next_batch_columns(count)

    def next_many(self, out: Sequence[Array]) -> int:
        source = self._untouched()
        return 0 if source is None else source.next_many(out)

    def state(self) -> State:
        """The elements that are ready, and where the source is after them: the thread waits meanwhile."""
        queue = self.queue
        with at_one_moment() as held:
            with self.unlocked():
                held.enter_context(queue.taking)
            # At its end the source raises once more.
            entries = [entry for entry in queue.ready if not isinstance(entry[1], StopIteration)]
            ready = [element if error is None else error for element, error in entries]
            return {"ready": state_of(ready), "source": state_of(queue.source), "ended": queue.ended}

    def resume(self, state: State) -> None:
        queue = self.queue
        queue.ready.extend((element, None) for element in state["ready"])
        queue.ended = state["ended"]
        resumed(queue.source, state["source"])


class Prefetch(DatasetNode):
    """The same elements, up to ``size`` of them taken ahead."""

    kind = "Prefetch"

    sure = True

    def __init__(self, child: DatasetNode, size: Any):
        self.children = (child,)
        self.structure = child.structure
        self.size = size
        self.tensors = tensors_among(size)

    def cardinality(self) -> int:
        return self.children[0].cardinality()

    def rows(self, opening: IteratorContext) -> TablePass | None:
        return self.children[0].rows(opening)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        size = opening.value(self.size)
        if size < -1:
            raise InvalidArgumentError(None, None, f"Dataset.prefetch: buffer_size must be >= 0 or -1, got {size}.")
        source = self.children[0].open(opening)
        return PrefetchedPull(source, size if size > 0 else _AUTO, opening.session)
