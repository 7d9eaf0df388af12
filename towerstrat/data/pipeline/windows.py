"""Windows of a pipeline: elements whose components are datasets.

Source: ``tensorflow/core/kernels/data/window_dataset_op.cc``.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from towerstrat.data.elements.composite_elements import batched_structure
from towerstrat.data.elements.structure import Nested, Structure
from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.batching import Batches
from towerstrat.data.pipeline.dataset_variants import Bound, boxed
from towerstrat.data.pipeline.nodes import UNKNOWN, DatasetNode, ElementIterator, IteratorContext, known, tensors_among
from towerstrat.data.pipeline.sources import Listed
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.types import variant


class Collected(DatasetNode):
    """Elements that are there."""

    kind = "Collected"

    def __init__(self, structure: Structure, elements: Sequence[Element]):
        self.structure = structure
        self.elements = elements

    def cardinality(self) -> int:
        return len(self.elements)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return Listed(self.elements)


class SlidingPull(ElementIterator):
    """Windows of ``size`` elements, ``stride`` apart, that begin ``shift`` elements after each other."""

    checkpointed = {"source": "source", "waiting": "waiting"}

    def __init__(self, source: Iterator[Element], size: int, shift: int, stride: int, drop: bool, structure: Structure):
        self.source = source
        self.size = size
        self.shift = shift
        self.stride = stride
        self.drop = drop
        self.parts = structure.split()
        self.places = [own for _, own in structure.units]
        self.waiting: deque[Element] = deque()

    def window(self) -> list[Element]:
        """The elements of the next window."""
        span = (self.size - 1) * self.stride + 1
        self.waiting.extend(itertools.islice(self.source, max(0, span - len(self.waiting))))
        window = list(itertools.islice(self.waiting, 0, span, self.stride))
        if not window or (self.drop and len(window) < self.size):
            raise StopIteration
        left = self.shift - len(self.waiting)
        for _ in range(min(self.shift, len(self.waiting))):
            self.waiting.popleft()
        if left > 0:
            deque(itertools.islice(self.source, left), maxlen=0)
        return window

    def __next__(self) -> Element:
        window = self.window()
        return [
            boxed(Bound(Collected(part, [e[own] for e in window]), {}))
            for part, own in zip(self.parts, self.places, strict=True)
        ]


class Window(DatasetNode):
    """Each component of an element is a dataset of that component in ``size`` elements.

    Args:
      dataset: the class of datasets.

    Raises:
      ValueError: ``size``, ``shift`` or ``stride`` is not above 0.
    """

    kind = "Window"

    def __init__(self, child: DatasetNode, size: Any, shift: Any, stride: Any, drop: Any, dataset: Any):
        self.children = (child,)
        self.given = {"size": size, "shift": shift, "stride": stride}
        for what, value in self.given.items():
            _check_positive(what, known(value))
        self.drop = drop
        self.tensors = tensors_among(size, shift, stride)
        inner = child.structure
        self.structure = inner.over_units(lambda part: Structure(None, [variant], [()], [Nested(part, dataset)]))

    def cardinality(self) -> int:
        total = self.children[0].cardinality()
        size, shift, stride = (known(v) for v in self.given.values())
        if size is None or shift is None or stride is None:
            return UNKNOWN
        if total < 0:
            return total
        if not self.drop:
            return -(-total // shift)
        return max(0, (total - (size - 1) * stride - 1) // shift + 1)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        for what, value in self.given.items():
            _check_positive(what, int(opening.value(value)))
        size, shift, stride = (int(opening.value(v)) for v in self.given.values())
        inner = self.children[0].structure
        return SlidingPull(self.children[0].open(opening), size, shift, stride, self.drop, inner)


class SlidingBatches(Batches):
    """Batches of the elements of sliding windows."""

    checkpointed = {"windows": "windows"}

    def __init__(self, windows: SlidingPull, structure: Structure):
        super().__init__(iter(()), 0, True, structure)
        self.windows = windows

    def _columns(self) -> None:
        """None: windows are collected one by one."""

    def __next__(self) -> Element:
        return self._stacked(self.windows.window())

    def _collect(self, elements: list[Element]) -> list[Element]:
        return self.windows.window()


class SlidingBatch(DatasetNode):
    """The full windows of ``size`` elements, each as a batch.

    Args:
      shift: how far a window begins after the one before. stride: how far apart its elements are.
    """

    kind = "SlidingBatch"

    def __init__(self, child: DatasetNode, size: Any, shift: Any, stride: Any):
        self.children = (child,)
        self.given = (size, shift, stride)
        self.tensors = tensors_among(*self.given)
        self.structure = batched_structure(child.structure, None)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        size, shift, stride = (int(opening.value(v)) for v in self.given)
        for what, value in (("Window size", size), ("Window shift", shift), ("window_stride", stride)):
            if value <= 0:
                raise InvalidArgumentError(None, None, f"{what} must be greater than zero, got {value}.")
        child = self.children[0]
        windows = SlidingPull(child.open(opening), size, shift, stride, True, child.structure)
        return SlidingBatches(windows, child.structure)


def _check_positive(what: str, value: int | None) -> None:
    """Raises ValueError for an argument of ``window`` that is known and not above 0."""
    if value is not None and value <= 0:
        raise ValueError(f"Dataset.window: {what} must be greater than zero, got {value}.")
