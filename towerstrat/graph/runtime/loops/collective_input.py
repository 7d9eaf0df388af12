"""Consensus of processes on their input: whether each has more, its data has ended, or its pipeline failed.

It is asked only where a shared step loop ran fewer steps than wanted; all processes call ``raise_first_failure`` then,
and get the same answer or the same error. The state of each process is ``THERE``, ``ENDED`` or ``FAILED``:

>>> who_ended([THERE, ENDED, THERE])
': the data of process 1, of 3, has ended'
>>> who_ended([ENDED, ENDED])
''
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import towerstrat.errors as errors
from towerstrat.errors import OpError, UnknownError
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

THERE, ENDED, FAILED = 0, 1, 2


def raise_first_failure(state: int, error: BaseException | None) -> list[int]:
    """Exchange the input states and return those of all processes, by process number. A collective call.

    Args:
      state: of this process: THERE, ENDED, or FAILED with ``error``.
      error: raised by this process's pipeline; None: it has not failed.

    Raises:
      BaseException: ``error`` itself, with this process's number in it.
      OpError: of the first other process that failed; of the same class where that was an OpError, else UnknownError.
    """
    message = error.message if isinstance(error, OpError) else str(error)
    local_state = (state, type(error).__name__, f"{type(error).__name__}: {message}")
    states = COLLECTIVES.gather(local_state, tuple[int, str, str])
    if error is not None:
        raise _here(error)
    for process, (their_state, kind, text) in enumerate(states):
        if their_state == FAILED:
            named: object = getattr(errors, kind, None)
            error_class: Callable[..., OpError] = UnknownError
            if isinstance(named, type) and issubclass(named, OpError) and named is not OpError:
                error_class = named
            raise error_class(
                None, None, f"The input pipeline of process {process}, of {PROCESSES.count}, raised {text}"
            )
    return [their_state for their_state, _, _ in states]


def _here(error: BaseException) -> BaseException:
    """An exception of this process's pipeline, with the process's number in its message."""
    where = f"  in the input pipeline of process {PROCESSES.index}, of {PROCESSES.count}"
    if isinstance(error, OpError):
        kind: Callable[..., OpError] = type(error)
        code = (error.error_code,) if kind is OpError else ()  # the classes below it know theirs
        return kind(None, error.op, f"{error.message}\n{where}", *code)
    error.add_note(where)
    return error


def who_ended(states: Sequence[int]) -> str:
    """The processes whose data has ended, as the rest of a message "End of sequence"; empty where it is all of them."""
    ended = [str(process) for process, state in enumerate(states) if state == ENDED]
    if len(ended) in (0, len(states)):
        return ""
    processes = f"process {ended[0]}" if len(ended) == 1 else f"processes {', '.join(ended)}"
    return f": the data of {processes}, of {len(states)}, has ended"
