"""Pipelines whose elements have a part for every replica: arrays ``[replicas, ...]``, or ``Uneven`` ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from towerstrat.data.pipeline import Array, Element, Node, Opening, Pull
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.uneven import Uneven


class Split(Node):
    """Each batch divided among the replicas: the first gets the first rows, and the last may get fewer, or none.

    Args:
      child: batches of all replicas together.
      replicas: how many there are.

    Attributes:
      structure: of one replica's part.
    """

    def __init__(self, child: Node, replicas: int):
        self.child = child
        self.children = (child,)
        self.replicas = replicas
        for name, dims in zip(child.structure.names(), child.structure.dims, strict=True):
            if dims == ():
                raise ValueError(
                    f"The dataset's component {name} is a scalar and has no batch to divide among {replicas} replicas. "
                    "Call batch(global_batch_size) on the dataset first, or use distribute_datasets_from_function."
                )
        self.structure = child.structure.with_dims([_share(d, replicas) for d in child.structure.dims])

    def open(self, opening: Opening) -> Iterator[Element]:
        return _Splits(self.child.open(opening), self.replicas)

    def cardinality(self) -> int:
        return self.child.cardinality()


def _share(dims: Any, replicas: int) -> Any:
    if dims is None:
        return None
    batch = dims[0]
    return (batch // replicas if batch is not None and batch % replicas == 0 else None, *dims[1:])


class _Splits(Pull):
    def __init__(self, source: Iterator[Element], replicas: int):
        self.source = source
        self.replicas = replicas

    def __next__(self) -> Element:
        return self._split(next(self.source))

    def next_into(self, out: Sequence[Array]) -> Element | None:
        source = self.source
        rows = [b.reshape(-1, *b.shape[2:]) for b in out]
        element = source.next_into(rows) if isinstance(source, Pull) else Pull.next_into(source, rows)  # type: ignore[arg-type]
        return None if element is None else self._split(element)

    def next_many(self, out: Sequence[Array]) -> int:
        if not isinstance(self.source, Pull):
            return 0
        return self.source.next_many([b.reshape(len(b), -1, *b.shape[3:]) for b in out])

    def _split(self, element: Element) -> Element:
        sizes = {len(part) if np.ndim(part) else None for part in element}
        if len(sizes) > 1 or None in sizes:
            raise InvalidArgumentError(
                None, None,
                "The components of an element need one batch size to be divided among replicas, got shapes "
                f"{[np.shape(part) for part in element]}.",
            )  # fmt: skip
        return [divided(part, self.replicas) for part in element]


def divided(batch: Array, replicas: int) -> Any:
    """A batch in parts for replicas, each of the rounded up share but for the last ones."""
    share = -(-len(batch) // replicas)
    if len(batch) == share * replicas:
        return batch.reshape(replicas, share, *batch.shape[1:])
    parts = [batch[i * share : (i + 1) * share] for i in range(replicas)]
    if batch.dtype.hasobject:
        return Uneven.of(parts)
    padded = np.zeros((replicas, share, *batch.shape[1:]), batch.dtype)
    padded.reshape(-1, *batch.shape[1:])[: len(batch)] = batch
    return Uneven(padded, [p.shape for p in parts])


class Dealt(Node):
    """Successive elements, one for each replica. Where fewer are left, the last replicas get batches of nothing.

    Args:
      child: batches of single replicas.
      replicas: how many there are.
    """

    def __init__(self, child: Node, replicas: int):
        self.child = child
        self.children = (child,)
        self.replicas = replicas
        dims = child.structure.dims
        self.whole = all(d is not None and None not in d for d in dims)
        """Whether shapes are known, so that no replica may go without a batch."""
        self.structure = child.structure

    def open(self, opening: Opening) -> Iterator[Element]:
        source = self.child.open(opening)
        while True:
            taken = list(islice(source, self.replicas))
            if not taken or (self.whole and len(taken) < self.replicas):
                return
            while len(taken) < self.replicas:
                taken.append([self._nothing(part) for part in taken[0]])
            yield [together(parts) for parts in zip(*taken, strict=True)]

    def _nothing(self, like: Array) -> Array:
        return like[:0] if like.ndim else np.full((), b"" if like.dtype.hasobject else 0, like.dtype)

    def cardinality(self) -> int:
        count = self.child.cardinality()
        if count < 0:
            return count
        return count // self.replicas if self.whole else -(-count // self.replicas)


def together(parts: Sequence[Array]) -> Any:
    """One value from each replica's."""
    return np.stack(parts) if all(p.shape == parts[0].shape for p in parts[1:]) else Uneven.of(parts)
