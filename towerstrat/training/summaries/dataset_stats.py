"""``tf.data.experimental.StatsAggregator``: how long elements of datasets take, and how large they are, as summaries.

Source: ``tensorflow/core/kernels/data/experimental/stats_dataset_ops.cc``, ``stats_aggregator_ops.cc``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from towerstrat.data.api.transforms_v1 import Transformation
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.iterators.session_iterators import with_operation
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import define_op, scalar
from towerstrat.graph.ir.types import string
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.platform import messages
from towerstrat.training.summaries.summary_protos import histogram_of

_IN_THE_PASS = "stats of datasets"
_AT_A_TIME = 4096
"""Numbers that are kept before they become a histogram."""


class _Histogram:
    """A histogram that grows."""

    def __init__(self) -> None:
        self.waiting: list[float] = []
        self.message: messages.HistogramProto | None = None

    def add(self, value: float) -> None:
        self.waiting.append(value)
        if len(self.waiting) >= _AT_A_TIME:
            self.collect()

    def collect(self) -> messages.HistogramProto:
        """All numbers so far."""
        new = histogram_of(np.array(self.waiting, np.float64))
        self.waiting = []
        self.message = new if self.message is None else _added(self.message, new)
        return self.message


def _added(one: messages.HistogramProto, two: messages.HistogramProto) -> messages.HistogramProto:
    counts: dict[float, float] = {}
    for part in (one, two):
        for limit, count in zip(part.bucket_limit, part.bucket, strict=True):
            counts[limit] = counts.get(limit, 0.0) + count
    limits = sorted(counts)
    return messages.HistogramProto(
        min=min(one.min, two.min), max=max(one.max, two.max), num=one.num + two.num, sum=one.sum + two.sum,
        sum_squares=one.sum_squares + two.sum_squares, bucket_limit=limits, bucket=[counts[limit] for limit in limits],
    )  # fmt: skip


class _Stats:
    """What an aggregator has in a session: a histogram by tag."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.histograms: dict[str, _Histogram] = {}

    def add(self, tag: str, value: float) -> None:
        with self.lock:
            self.histograms.setdefault(tag, _Histogram()).add(value)

    def summary(self) -> bytes:
        with self.lock:
            values = [messages.Summary.Value(tag=tag, histo=h.collect()) for tag, h in self.histograms.items()]
        return bytes(messages.Summary(value=values).SerializeToString())


class StatsAggregator:
    """Collects the statistics of the datasets that ``set_stats_aggregator`` gave it. Each session has its own."""

    def __init__(self) -> None:
        self._key = ("stats of datasets", self)

    def stats(self, session: Runner) -> Any:
        """What there is in a session."""
        return session.resource(self._key, _Stats)

    def get_summary(self) -> Tensor:
        """A serialized ``Summary`` with a histogram for each tag, a scalar string."""
        return get_default_graph().add("StatsAggregatorSummary", (), {"_aggregator": self}).outputs[0]


def _summary(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    try:
        found = np.empty((), object)
        found[()] = op.attrs["_aggregator"].stats(session).summary()
        return [found]
    except Exception as error:
        raise with_operation(error, op) from error.__cause__


define_op(
    "StatsAggregatorSummary", scalar(string), host=_summary, stateful=True, differentiable=False,
    hidden=("_aggregator",),
)  # fmt: skip


class _Observed(DatasetNode):
    """The same elements as those of its child."""

    def __init__(self, child: DatasetNode):
        self.children = (child,)
        self.structure = child.structure

    def cardinality(self) -> int:
        return self.children[0].cardinality()


class Aggregated(_Observed):
    """What is observed below goes to an aggregator."""

    kind = "Aggregated"

    def __init__(self, child: DatasetNode, aggregator: StatsAggregator):
        super().__init__(child)
        self.aggregator = aggregator

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        opening.cached(_IN_THE_PASS, list).append(self.aggregator)
        return self.children[0].open(opening)


class MeasuredPull(ElementIterator):
    """Adds a number for each element that is taken: ``measure(element, seconds)``."""

    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], add: Callable[[float], None], measure: Callable[..., float]):
        self.source = source
        self.add = add
        self.measure = measure

    def __next__(self) -> Element:
        begun = time.perf_counter()
        element = next(self.source)
        self.add(self.measure(element, time.perf_counter() - begun))
        return element


class Measured(_Observed):
    """A number of each element goes to the aggregator of the pass, where there is one."""

    kind = "Measured"

    def __init__(self, child: DatasetNode, tag: str, measure: Callable[..., float]):
        super().__init__(child)
        self.tag = tag
        self.measure = measure

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        source = self.children[0].open(opening)
        aggregators = opening.cached(_IN_THE_PASS, list)
        if not aggregators:
            return source
        stats = aggregators[-1].stats(opening.session)
        return MeasuredPull(source, lambda value: stats.add(self.tag, value), self.measure)


def _microseconds(element: Element, seconds: float) -> float:
    return float(round(seconds * 1e6))


def _bytes(element: Element, seconds: float) -> float:
    return float(sum(_size(array) for array in element))


def _size(array: Array) -> int:
    return sum(map(len, array.ravel().tolist())) if array.dtype.hasobject else array.nbytes


def set_stats_aggregator(stats_aggregator: StatsAggregator) -> Transformation:
    """The same elements; their statistics go to an aggregator."""
    return lambda dataset: dataset._made(Aggregated(dataset.node, stats_aggregator))


def latency_stats(tag: str) -> Transformation:
    """The same elements; how long each took, in microseconds, goes to the histogram of a tag."""
    return lambda dataset: dataset._made(Measured(dataset.node, str(tag), _microseconds))


def bytes_produced_stats(tag: str) -> Transformation:
    """The same elements; the bytes of each go to the histogram of a tag."""
    return lambda dataset: dataset._made(Measured(dataset.node, str(tag), _bytes))
