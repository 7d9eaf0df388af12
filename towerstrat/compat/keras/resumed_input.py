"""``fit`` goes on in its data where a BackupAndRestore has saved, within an epoch and at the border of two."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.data.iterators.python_iterators import OwnedIterator
from towerstrat.data.iterators.session_iterators import resume_iterator
from towerstrat.data.pipeline.dataset_variants import passes_as_before
from towerstrat.graph.eager.context import context
from towerstrat.platform.plain import State

_NAME = "input of fit"
"""The position of the iterator in a saved state."""


@dataclass
class _Input:
    """The input of a ``fit``.

    Attributes:
      state: where a run was that it goes on with; None: there is none.
      begins: whether the next loop over data is the training's, and no evaluation's.
      iterator: goes through the data; None before that begins.
    """

    state: State | None
    begins: bool = False
    iterator: Any = None


_INPUTS: weakref.WeakKeyDictionary[Any, _Input] = weakref.WeakKeyDictionary()
"""Those of trainings under way, by what a BackupAndRestore keeps of one."""


def save_places(module: ModuleType) -> None:
    """Lets what a BackupAndRestore saves, and restores, have the place in the data too."""
    kept = vars(module)["WorkerTrainingState"]
    back_up, restore, load = kept.back_up, kept.restore, kept.maybe_load_initial_counters_from_ckpt

    @wraps(back_up)
    def back_up_with_place(self: Any, *args: Any, **kwargs: Any) -> None:
        positions, found = context().session.positions, _INPUTS.get(self)
        if found is not None and isinstance(found.iterator, OwnedIterator):
            positions[_NAME] = found.iterator._position()
        try:
            back_up(self, *args, **kwargs)
        finally:
            positions.pop(_NAME, None)

    @wraps(restore)
    def restore_with_place(self: Any) -> None:
        states = context().session.waiting.states
        states.pop(_NAME, None)
        restore(self)
        _INPUTS[self] = _Input(context().session.waiting.states.pop(_NAME, None))

    @wraps(load)
    def load_before_training(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self in _INPUTS:
            _INPUTS[self].begins = True
        return load(self, *args, **kwargs)

    kept.back_up, kept.restore = back_up_with_place, restore_with_place
    kept.maybe_load_initial_counters_from_ckpt = load_before_training


def go_on(module: ModuleType) -> None:
    """Lets the epochs of a ``fit`` begin where the one before was."""
    handler = vars(module)["DataHandler"]
    enumerate_epochs: Callable[[Any], Iterator[tuple[int, Any]]] = handler.enumerate_epochs

    @wraps(enumerate_epochs)
    def enumerate_from_place(self: Any) -> Iterator[tuple[int, Any]]:
        kept = getattr(self._model, "_training_state", None)
        given, epochs = None if kept is None else _INPUTS.get(kept), enumerate_epochs(self)
        if given is None or not given.begins:
            yield from epochs
            return
        given.begins = False
        if given.state is not None:
            yield from _resumed(self, epochs, given)
        for epoch, given.iterator in epochs:
            yield epoch, given.iterator

    handler.enumerate_epochs = enumerate_from_place


def _resumed(handler: Any, epochs: Iterator[tuple[int, Any]], given: _Input) -> Iterator[tuple[int, Any]]:
    """The first epoch; all of them where one iterator goes through all."""
    session = context().session
    anew = handler._adapter.should_recreate_iterator()
    with passes_as_before(session):
        first = next(epochs, None)
        if first is None:
            return
        if not (anew and handler._initial_step == 0):
            given.iterator = iter(handler._dataset)
            resume_iterator(_NAME, given.iterator._position(), given.state)
    if given.iterator is None:
        given.iterator = iter(handler._dataset)
    yield first[0], given.iterator
    if not anew:
        yield from ((epoch, given.iterator) for epoch, _ in epochs)
