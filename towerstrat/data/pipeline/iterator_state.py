"""The state of a pipeline in the middle of a pass: what its parts would need to go on from there."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar

import numpy as np

from towerstrat.platform.plain import State

TAKEN_AGAIN = "taken again"
"""The key in a state of the number of elements that are taken once more to come to the place."""


class Stateless(Exception):
    """A part of a pipeline cannot say where it is; its elements have to be taken again."""


class Resumable:
    """What changes while elements are taken.

    The state takes time and memory that do not depend on how many elements were taken before. A new object that was
    made as this one was, and resumes its state, goes on as this one would.

    Attributes:
      checkpointed: name in a state -> the attribute that is there: values, stateful objects, lists of these; None: it
        has no state. The names are in files, and stay as they are when an attribute gets another one.
    """

    checkpointed: ClassVar[Mapping[str, str] | None] = None

    def state(self) -> State:
        """The state now: the caller may keep it while this object goes on. Raises Stateless where there is none."""
        if self.checkpointed is None:
            raise Stateless(type(self).__name__)
        return {key: state_of(getattr(self, name)) for key, name in self.checkpointed.items()}

    def resume(self, state: State) -> None:
        """Goes to a state that an object made like this one gave."""
        for key, name in (self.checkpointed or {}).items():
            setattr(self, name, self.resumed(name, state[key]))

    def resumed(self, name: str, state: State) -> Any:
        """The value of an attribute, from its state."""
        return resumed(getattr(self, name), state)


class _Moment(threading.local):
    """What this thread holds while it reads a state."""

    held: ExitStack | None = None


_MOMENT = _Moment()


@contextmanager
def at_one_moment() -> Iterator[ExitStack]:
    """A state that is read inside is that of one moment: threads that take elements ahead wait from when they are met.

    What threads change, which is what all parts of a pass share, is read after the parts. Yields what is let go at the
    end of the outermost block.
    """
    if _MOMENT.held is not None:
        yield _MOMENT.held
        return
    with ExitStack() as held:
        _MOMENT.held = held
        try:
            yield held
        finally:
            _MOMENT.held = None


def state_of(value: Any) -> State:
    """The state of a value: of a stateful object its own, of what never changes the value. Raises Stateless."""
    if isinstance(value, Resumable):
        return value.state()
    if isinstance(value, list | tuple | deque | set):
        return [state_of(v) for v in value]
    if isinstance(value, dict):
        return {k: state_of(v) for k, v in value.items()}
    if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
        return value
    if isinstance(value, np.ndarray) and (
        not value.dtype.hasobject or all(isinstance(v, bytes | str) for v in value.reshape(-1))
    ):
        return value
    raise Stateless(type(value).__name__)


def resumed(current: Any, state: State) -> Any:
    """The value with a state: ``current`` itself, moved there, where that is stateful."""
    if isinstance(current, Resumable):
        current.resume(state)
        return current
    if isinstance(current, list) and any(isinstance(part, Resumable) for part in current):
        return [None if s is None else resumed(part, s) for part, s in zip(current, state, strict=True)]
    return type(current)(state) if isinstance(current, deque | set) else state


def taken_again(state: State) -> int:
    """How many elements are taken again to come to the place that a state says."""
    if isinstance(state, dict):
        return sum(n if key == TAKEN_AGAIN else taken_again(n) for key, n in state.items())
    return sum(map(taken_again, state)) if isinstance(state, list) else 0
