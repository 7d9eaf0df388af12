"""Batches of which a process makes the rows of its own positions alone, where making a row is the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

from towerstrat.data.background import Prefetch
from towerstrat.data.batching import Batch
from towerstrat.data.mapping import Map
from towerstrat.data.pipeline import Array, Element, Node, Opening, Pull, tensors_among
from towerstrat.data.share import Share
from towerstrat.data.transforms import WithOptions
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.types import string
from towerstrat.graph.ir.uneven import Uneven
from towerstrat.towers.engine.splitting import Split

_AUTO = 16
"""Threads where the program leaves their number to us, if there are as many processors."""


def split_rows(node: Node, share: Share) -> Node:
    """Each batch of a pipeline divided among positions, of which this process makes its own.

    Where maps below the batch work on images, as decoding does, they are called for the process' own rows; what is
    below them is taken as a whole, so that orders, draws and places are those of one process.
    """
    batch = _behind(node)
    if share.whole or type(batch) is not Batch or batch.children[0].structure.composite:
        return Split(Prefetch(node, 1), share)
    maps: list[Map] = []
    below = _behind(batch.children[0])
    while type(below) is Map and below.function.of_one_element():
        maps.insert(0, below)
        below = _behind(below.child)
    found = batch.children[0].structure
    known = all(d is not None and None not in d for d in found.dims) and string not in found.dtypes
    if not known or not any(each.function.pays_in_threads() for each in maps):
        return Split(Prefetch(node, 1), share)
    return Prefetch(OwnRows(below, maps, batch, share), 1)


def dealt(node: Node, share: Share, times: int | None = None) -> Node | None:
    """The batches of a pipeline dealt to positions in turn, of which this process makes its own; those of a step are
    the rows of one large batch. None where a row is not worth it, or the last batch may be smaller.

    Args:
      times: how many batches a step has; None: one for each position.
    """
    batch = _behind(node)
    if type(batch) is not Batch or not batch.drop_remainder or not isinstance(batch.size, int):
        return None
    found = split_rows(Batch(batch.children[0], batch.size * (times or share.count), True), share)
    return found if isinstance(_behind(found), OwnRows) else None


def _behind(node: Node) -> Node:
    """A node without those around it that change no element."""
    while isinstance(node, Prefetch | WithOptions):
        node = node.children[0]
    return node


class OwnRows(Node):
    """The parts of batches for a process' own positions, each made of elements that all processes take.

    Args:
      child: the elements before the maps.
      maps: from the first to the last.
      batch: the batch of what they give.
      share: the positions, and those of this process.
    """

    alone = True

    def __init__(self, child: Node, maps: Sequence[Map], batch: Batch, share: Share):
        self.children = (child,)
        self.functions = [each.function for each in maps]
        self.threads = [each.ahead for each in maps]
        self.size = batch.size
        self.drop_remainder = batch.drop_remainder
        self.share: Share = share
        self.replicas = share.count
        self.dims = list(batch.children[0].structure.dims)
        self.structure = Split(batch, share).structure
        captured = [t for function in self.functions for t in function.captures]
        self.tensors = (*captured, *tensors_among(self.size, *self.threads))
        self._batches = batch.cardinality

    def cardinality(self) -> int:
        return self._batches()

    def open(self, opening: Opening) -> Iterator[Element]:
        return _OwnRowsPull(self, self.children[0].open(opening), opening)


class _OwnRowsPull(Pull):
    changing = ("source",)

    def __init__(self, node: OwnRows, source: Iterator[Element], opening: Opening):
        self.source = source
        self.node = node
        self.size = int(opening.value(node.size))
        if self.size <= 0:
            raise InvalidArgumentError(None, None, f"Expected a batch_size greater than 0, got {self.size}.")
        self._calls = [function.bind_row(opening) for function in node.functions]
        self._clocks = [function.clock(opening) for function in node.functions]
        wanted = max(_AUTO if n == -1 else int(n) for n in map(opening.value, node.threads))
        self._threads = ThreadPoolExecutor(min(wanted, os.cpu_count() or 1), "own rows") if wanted > 1 else None

    def __next__(self) -> Element:
        taken = list(islice(self.source, self.size))
        if not taken or (self.node.drop_remainder and len(taken) < self.size):
            raise StopIteration
        places = [clock(len(taken)) for clock in self._clocks]
        part = -(-len(taken) // self.node.replicas)
        rows = [list(range(i * part, min((i + 1) * part, len(taken)))) for i in self.node.share.own]
        wanted = [number for numbers in rows for number in numbers]
        made = dict(zip(wanted, self._mapped(lambda i: self._row(taken[i], i, places), wanted), strict=True))
        return [self._parts(i, [[made[n][i] for n in numbers] for numbers in rows], part, len(taken))
                for i in range(len(self.node.dims))]  # fmt: skip

    def _mapped(self, call: Callable[[int], Element], numbers: Sequence[int]) -> list[Element]:
        return list(map(call, numbers) if self._threads is None else self._threads.map(call, numbers))

    def _row(self, element: Element, number: int, places: Sequence[int]) -> Element:
        """What the maps give for an element of the batch."""
        for call, place in zip(self._calls, places, strict=True):
            element = call(element, place + number)
        for array, dims in zip(element, self.node.dims, strict=True):
            if np.shape(array) != dims:
                raise InvalidArgumentError(
                    None, None, f"An element has shape {np.shape(array)}, expected {dims}: all elements of a batch "
                    "have one shape.",
                )  # fmt: skip
        return element

    def _parts(self, component: int, rows: Sequence[Sequence[Array]], part: int, count: int) -> Any:
        """A component's parts ``[own, rows, ...]``, padded where positions get different numbers of rows."""
        node = self.node
        inner = tuple([size or 0 for size in node.dims[component] or ()])
        made = np.zeros((len(rows), part, *inner), node.structure.dtypes[component].np)
        for i, own in enumerate(rows):
            for k, row in enumerate(own):
                made[i, k, ...] = row
        if part * node.replicas == count:
            return made
        counts = [min(part, max(0, count - i * part)) for i in range(node.replicas)]
        return Uneven(made, [(n, *inner) for n in counts])
