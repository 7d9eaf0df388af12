"""The input of a step: constants, feeds, datasets, queues, variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import towerstrat.compat.v1 as tf
from tests.graph.gradients.strategies import Contrib, Place
from tests.modes.model import BATCHES, ROWS

FED = ("fed", "fed unknown")
ITERATED = ("one shot", "initializable", "distributed", "queue")
"""Inputs of which each use is another batch."""


def batches(kind: str, steps: int, towers: int, run_by_run: bool) -> list[list[Any]]:
    """The input of each tower: by step, times its number from 1 on.

    Args:
      run_by_run: whether a step is a run, so that each may be fed another batch.
    """
    varies = kind in ITERATED or (kind in FED and run_by_run)
    own = kind == "distributed"
    return [[BATCHES[t * varies, i * own] * (i + 1) for i in range(towers)] for t in range(steps)]


class Input:
    """An input in a program.

    Args:
      kind: the value of the table.
      graph: whether the program is built for a session.
      by_steps: whether steps take it by ``next``; else a loop goes over its dataset.
    """

    def __init__(self, kind: str, place: Place, graph: bool, by_steps: bool = True):
        self.kind, self.place, self.graph = kind, place, graph
        self.starts: list[Any] = []
        self._fed = None
        if by_steps:
            getattr(self, "_make_" + kind.replace(" ", "_"))()

    def next(self) -> Any:
        """The batch of a step: a tensor, or a value of towers."""
        return self._next()

    def feeds(self, step: int) -> dict[Any, Any]:
        """The feeds of a session for a step."""
        return {} if self._fed is None else {self._fed: BATCHES[step, 0]}

    def argument(self, step: int) -> Any:
        """The batch of a step as a function outside of sessions gets it."""
        return tf.constant(BATCHES[step, 0]) if self.kind in FED else self.next()

    @property
    def is_argument(self) -> bool:
        """Whether programs outside of sessions take it from outside of their functions."""
        return self.kind not in ("constant", "variable", "queue")

    # ---- kinds -------------------------------------------------------------------------------------------------

    def _make_constant(self) -> None:
        self._next = lambda: tf.constant(BATCHES[0, 0])

    def _make_fed(self) -> None:
        self._feed([ROWS, 2])

    def _make_fed_unknown(self) -> None:
        self._feed([None, 2])

    def _feed(self, shape: Sequence[int | None]) -> None:
        if self.graph:
            self._fed = tf.placeholder(tf.float64, shape)
        self._next = lambda: self._fed

    def _make_one_shot(self) -> None:
        data = self.dataset()
        if self.graph:
            self._next = tf.data.make_one_shot_iterator(data).get_next
        else:
            iterator = iter(data)
            self._next = lambda: next(iterator)

    def _make_initializable(self) -> None:
        iterator = tf.data.make_initializable_iterator(self.dataset())
        self.starts.append(iterator.initializer)
        self._next = iterator.get_next

    def _make_distributed(self) -> None:
        data = self.distributed()
        if isinstance(self.place, Contrib):
            self._next = data.make_one_shot_iterator().get_next
        elif self.graph:
            iterator = data.make_initializable_iterator()
            self.starts.append(iterator.initializer)
            self._next = iterator.get_next
        else:
            iterator = iter(data)
            self._next = lambda: next(iterator)

    def _make_queue(self) -> None:
        queue = tf.queue.FIFOQueue(len(BATCHES), [tf.float64], [[ROWS, 2]])
        enqueue = queue.enqueue_many([BATCHES[:, 0]])
        if self.graph:
            self.starts.append(enqueue)
        self._next = queue.dequeue

    def _make_variable(self) -> None:
        variable = self.place.variable("input", BATCHES[0, 0])
        self._next = lambda: tf.convert_to_tensor(variable)

    # ---- datasets ----------------------------------------------------------------------------------------------

    def dataset(self, steps: int | None = None) -> Any:
        """The batches of one device, one after the other."""
        return self.place.tf.data.Dataset.from_tensor_slices(BATCHES[:steps, 0])

    def distributed(self, steps: int | None = None) -> Any:
        """The batches of all towers: dealt under strategies of 1.12, divided under later ones."""
        towers, data = self.place.count, self.place.tf.data.Dataset
        if isinstance(self.place, Contrib):
            dealt = np.reshape(BATCHES[:steps, :towers], (-1, ROWS, 2))
            return self.place.distribution.distribute_dataset(lambda: data.from_tensor_slices(dealt))
        divided = np.reshape(BATCHES[:steps, :towers], (-1, towers * ROWS, 2))
        return self.place.distribution.experimental_distribute_dataset(data.from_tensor_slices(divided))
