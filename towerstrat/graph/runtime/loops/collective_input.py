"""What processes say to each other of their input: whether it is there, has ended, or failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import towerstrat.errors as errors
from towerstrat.errors import OpError, UnknownError
from towerstrat.hosts.consensus import AGREEMENT
from towerstrat.hosts.process_index import PROCESSES

THERE, ENDED, FAILED = 0, 1, 2


def raise_first_failure(state: int, error: BaseException | None) -> list[int]:
    """The states of all processes, by number, where none has failed. All processes come to it together.

    Args:
      state: of this process: whether it has input, its data has ended, or its pipeline has raised ``error``.

    Raises:
      BaseException: ``error`` itself, which names this process then.
      OpError: that of the first process that has failed, of the same kind where it is an OpError.
    """
    said = error.message if isinstance(error, OpError) else str(error)
    mine = (state, type(error).__name__, f"{type(error).__name__}: {said}")
    found = AGREEMENT.all_of(mine, tuple[int, str, str])
    if error is not None:
        raise _here(error)
    for process, (their_state, kind, text) in enumerate(found):
        if their_state == FAILED:
            known: Any = getattr(errors, kind, None)
            of_ours = isinstance(known, type) and issubclass(known, OpError)
            wanted: Any = known if of_ours else UnknownError
            raise wanted(None, None, f"The input pipeline of process {process}, of {PROCESSES.count}, raised {text}")
    return [their_state for their_state, _, _ in found]


def _here(error: BaseException) -> BaseException:
    """An exception of this process' pipeline, which says so."""
    where = f"  in the input pipeline of process {PROCESSES.index}, of {PROCESSES.count}"
    if isinstance(error, OpError):
        kind: Any = type(error)
        return kind(None, error.op, f"{error.message}\n{where}")
    error.add_note(where)
    return error


def who_ended(states: Sequence[int]) -> str:
    """Whose data has ended, for a message that begins with "End of sequence"; nothing where it is everybody's."""
    ended = [str(process) for process, state in enumerate(states) if state == ENDED]
    if len(ended) in (0, len(states)):
        return ""
    processes = f"process {ended[0]}" if len(ended) == 1 else f"processes {', '.join(ended)}"
    return f": the data of {processes}, of {len(states)}, has ended"
