"""The position of an iterator in its data: elements taken and given back, and its state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from towerstrat.checkpoints.state_codec import decoded, encoded
from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.dataset_variants import VariantNode, reachable_nodes
from towerstrat.data.pipeline.fingerprint import check_fingerprint, fingerprint
from towerstrat.data.pipeline.iterator_state import TAKEN_AGAIN, Stateless, at_one_moment, resumed, state_of
from towerstrat.data.pipeline.nodes import UNKNOWN, ElementIterator, IteratorContext, write_next
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, OpError
from towerstrat.graph.runtime.plans.runner import PendingIteratorStates
from towerstrat.graph.runtime.programs.device_program import Uninterrupted
from towerstrat.platform.plain import State

T = TypeVar("T")


class PrefetchBuffer(Protocol):
    """A step loop's buffer of elements that were taken ahead of their use."""

    def return_to_source(self, source: Any) -> None:
        """Returns the elements to the source they were taken from."""


class PipelineTraits(NamedTuple):
    """Properties of a pipeline that decide how several processes read it.

    Attributes:
      share: where elements have a part for each position of an axis, those that this process makes.
      apart: whether processes have data of their own, which may end at different times.
      fills: whether a process whose data has ended gives batches of nothing until that of all processes has.
      alone: whether a process may fail to make its parts of an element of which others make theirs.
      partial: whether places in the pipeline are of the rows of ``share`` alone.
    """

    share: LocalIndices | None = None
    apart: bool = False
    fills: bool = False
    alone: bool = False
    partial: bool = False

    @classmethod
    def of(cls, opening: IteratorContext) -> PipelineTraits:
        """The properties that any node of a pipeline has."""
        parts = list(reachable_nodes(opening.node, opening.values))
        return cls(
            share=next((part.share for part in parts if part.share is not None), None),
            apart=any(part.apart for part in parts),
            fills=any(part.fills for part in parts),
            alone=any(part.alone for part in parts),
            partial=any(part.partial for part in parts),
        )


@dataclass
class PassAgreement:
    """Agreement of the processes on how far they may read in a pass over their data.

    Attributes:
      asked: whether the processes were asked since the initialization.
      promised: how many elements may be taken in all before any process' data ends, or before processes have to tell
        each other again whether all could make their parts; None: nobody has asked yet, or it is not known.
      waits: whether this process' data has ended, and it gives batches of nothing.
    """

    asked: bool = False
    promised: float | None = None
    waits: bool = False


class IteratorResource:
    """The position of one iterator in one session. It may be used from several threads.

    Args:
      structure: of the elements.
      waiting: the states that iterators of the session take when they are initialized.

    Attributes:
      initializations: how often it was initialized.
      lender: the buffer that holds elements taken ahead, or None. It gives them back before an element is taken.
      live: whether functions of the pipeline read variables when an element is made; no element is made ahead then.
      traits: of the pipeline.
      agreement: of the processes, since the initialization.
    """

    def __init__(self, structure: Structure, waiting: PendingIteratorStates):
        self.structure = structure
        self.initializations = 0
        self.lender: PrefetchBuffer | None = None
        self.live = False
        self.traits = PipelineTraits()
        self.agreement = PassAgreement()
        self._waiting = waiting
        self._opening: IteratorContext | None = None
        self._source: Iterator[Element] | None = None
        self._taken = 0
        self._ended = False
        self._returned: list[Element] = []
        self._error: BaseException | None = None
        self._lock = threading.RLock()

    @property
    def initialized(self) -> bool:
        return self._source is not None

    @property
    def used(self) -> int:
        """How many elements were taken and are not back."""
        with self._lock:
            if self.lender is not None:
                self.lender.return_to_source(self)
            return self._before()

    @property
    def alike(self) -> int:
        """How many of the first elements have parts of one known shape, where none can fail; UNKNOWN or INFINITE."""
        self._started()
        assert self._opening is not None
        node, values = self._opening.node, self._opening.values
        while isinstance(node, VariantNode):
            node, values = node.bound(values)
        return node.alike() if all(part.sure for part in reachable_nodes(node, values)) else UNKNOWN

    def initialize(self, opening: IteratorContext) -> None:
        """Moves to the beginning of a pass over a pipeline. Elements that were pushed back before are dropped."""
        self._begin(opening, opening.pull(), 0, ())
        self.initializations += 1

    def _begin(
        self, opening: IteratorContext, source: Iterator[Element], taken: int, returned: Sequence[Element]
    ) -> None:
        traits = PipelineTraits.of(opening)
        with self._lock:
            self.lender = None  # what it holds is of the data before
            self.traits = traits
            self.agreement = PassAgreement()
            self._opening = opening
            self._source = source
            self._taken = taken
            self._ended = False
            self._returned = list(returned)
            self._error = None

    def state(self, at_end: bool = False) -> State:
        """Where it is, for ``resume``. One that was not initialized, or is at its end, is at no place.

        Where a part of the pipeline cannot say where it is, the place is the number of elements before it.

        Args:
          at_end: whether the end is a place.
        """
        with self._lock:
            if self.lender is not None:
                self.lender.return_to_source(self)
            found: State = {"initializations": self.initializations}
            at_end = at_end or self.agreement.waits
            if self._opening is None or (self._ended and not self._returned and not at_end):
                return found
            return found | {"pipeline": fingerprint(self._opening), "place": self._place(self._opening)}

    def _place(self, opening: IteratorContext) -> State:
        try:
            if self._error is not None:
                raise Stateless("an exception that was met ahead")
            with at_one_moment():
                parts = {"source": state_of(self._source), "opening": opening.state()}
            parts |= {"returned": state_of(self._returned), "taken": self._taken}
            share = self.traits.share
            if (self._returned or self.traits.partial) and share is not None and not share.whole:
                # What was taken ahead are this process' parts of elements; another one takes these elements again.
                parts |= {"own": list(share.own), "before": self._before()}
            return parts
        except Stateless:
            return {"entropy": list(opening.entropy), TAKEN_AGAIN: self._before()}

    def _before(self) -> int:
        """How many elements of the pipeline come before the next one."""
        return self._taken - len(self._returned) - (self._error is not None)

    def resume(self, state: State) -> None:
        """Goes to the state of an iterator over the same pipeline; to a place only where it is initialized.

        Raises:
          ValueError: the pipeline is another one, or has fewer elements. Nothing has changed then.
        """
        with self._lock:
            if "place" in state:
                assert self._opening is not None
                check_fingerprint(state["pipeline"], fingerprint(self._opening))
                self._go_to(self._opening, state["place"])
            self.initializations = state["initializations"]

    def state_bytes(self) -> bytes:
        """Where it is, also at its end, for ``resume_bytes``."""
        return encoded(self.state(at_end=True))

    def resume_bytes(self, data: bytes) -> None:
        """Moves an initialized iterator to where one over the same pipeline was.

        Raises:
          InvalidArgumentError: the bytes are damaged, of another program's iterator, or of the original's.
        """
        try:
            self.resume(decoded(data))
        except (ValueError, KeyError, IndexError, TypeError, OpError) as error:
            message = f"The saved state of an iterator cannot be taken: {error}."
            raise InvalidArgumentError(None, None, message) from None

    def _go_to(self, opening: IteratorContext, place: State) -> None:
        share = self.traits.share
        own = None if share is None or share.whole else list(share.own)
        # What was taken ahead, or is made of own rows, are parts of elements: another share takes these elements again.
        parts = "returned" in place and (self.traits.partial or place["returned"])
        if place.get("own") != own and ("own" in place or parts):
            before = place["before"] if "before" in place else place["taken"] - len(place["returned"])
            place = {"entropy": place["opening"]["entropy"], TAKEN_AGAIN: before}
        if TAKEN_AGAIN not in place:
            opening = opening.again(place["opening"])
            source = resumed(opening.pull(), place["source"])
            return self._begin(opening, source, place["taken"], place["returned"])
        opening = opening.again({"entropy": place["entropy"], "children": 0, "cached": {}})
        source, count = opening.pull(), place[TAKEN_AGAIN]
        for number in range(count):
            try:
                next(source)
            except StopIteration:
                raise ValueError(f"the pipeline has {number} elements, {count} were taken") from None
            except OpError:
                continue  # it was raised, and handled, when the element was taken first
        return self._begin(opening, source, count, ())

    def _take(self, take: Callable[[], T]) -> T:
        """What ``take`` gives, which takes one element from the source."""
        self._waiting.open = False
        self._taken += 1
        try:
            return take()
        except StopIteration:
            self._taken -= 1
            self._ended = True
            raise

    def next(self) -> list[Array]:
        """The components of the next element.

        Raises:
          StopIteration: there is none.
          FailedPreconditionError: it was not initialized.
          Exception: the pipeline raised it for this element; the next call goes on after it.
        """
        with self._lock:
            if self.lender is not None:
                self.lender.return_to_source(self)
            if self._returned:
                return list(self._returned.pop())
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return list(self._take(self._started().__next__))

    def made(self) -> int:
        """How many of the next elements are made already, at least."""
        with self._lock:
            ready = self._source.ready() if isinstance(self._source, ElementIterator) and self._error is None else 0
            return len(self._returned) + ready

    def fill(self, buffers: Sequence[Array], start: int, count: int) -> int:
        """Writes the next elements into rows ``start, start + 1, ...`` of buffers.

        Args:
          buffers: one per component, ``[n, ...]``.
          count: the number of elements wanted.

        Returns:
          The number written. It is smaller than ``count`` where the data ends, an element has another shape than the
          buffers, or the pipeline raises: ``next()`` then gives StopIteration, the element or the exception.
        """
        with self._lock:
            if self.lender is not None:
                self.lender.return_to_source(self)
            done = 0
            try:
                if count > 1 and isinstance(self._source, ElementIterator):
                    with Uninterrupted():
                        done = self._write_many(self._source, buffers, start, count)
                while done < count:
                    out = [buffer[start + done] if buffer.ndim > 1 else buffer[start + done, ...] for buffer in buffers]
                    if not self._write(out):
                        break
                    done += 1
            except BaseException:
                # Interrupted (Ctrl-C): the caller never learns of these elements, so they must come again.
                self.push_back([[np.array(buffer[start + i]) for buffer in buffers] for i in range(done)])
                raise
            return done

    def _write_many(self, source: ElementIterator, buffers: Sequence[Array], start: int, count: int) -> int:
        """Writes as many of the next elements as the pipeline produces in one batch; returns how many."""
        if self._returned or self._error is not None or not buffers:
            return 0
        try:
            written = source.next_many([buffer[start : start + count] for buffer in buffers])
            self._waiting.open = self._waiting.open and not written
            self._taken += written
            return written
        except Exception as error:
            self._error = error
            return 0

    def _write(self, out: Sequence[Array]) -> bool:
        """Writes the next element into ``out``. False where there is none, it does not fit, or the pipeline raised."""
        if self._returned:
            element: Element | None = self._returned[-1]
            assert element is not None
            if any(np.shape(x) != b.shape for x, b in zip(element, out, strict=True)):
                return False
            for x, b in zip(element, out, strict=True):
                b[...] = x
            self._returned.pop()
            return True
        if self._error is not None:
            return False
        source = self._started()
        try:
            element = self._take(lambda: write_next(source, out))
        except StopIteration:
            return False
        except Exception as error:
            self._error = error
            return False
        if element is not None:
            self._returned.append(element)
            return False
        return True

    def push_back(self, elements: Sequence[Element]) -> None:
        """Returns elements that were taken ahead and not used; they are the next ones, in this order."""
        with self._lock:
            self._returned += reversed(elements)

    def skip_failed(self) -> None:
        """Leaves out the next element, whose parts another process has failed to make, where all take the same."""
        if not self.traits.apart:
            self.next()

    def push_error(self, error: BaseException) -> None:
        """Returns an exception that was met ahead; it is raised after the elements that were pushed back."""
        with self._lock:
            self._error = error

    def _started(self) -> Iterator[Element]:
        if self._source is None:
            raise FailedPreconditionError(
                None, None, "The iterator was not initialized. Run its initializer first: "
                "session.run(iterator.initializer), or the operation of iterator.make_initializer(dataset)."
            )  # fmt: skip
        return self._source
