"""How far a session may run ahead of its hooks: ``steps_until_session_use``.

A monitored session whose program asks for the same fetches again and again can compute several runs as one device
program and hand their values out one run at a time, as long as no hook uses the session, or changes what is fetched or
fed, in between. A hook that knows when it will says so by a method. It is a promise about speed only: a session that is
used earlier than promised is first put to the state that its caller has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from towerstrat.training.hooks.session_run_hook import SessionRunHook


@runtime_checkable
class RunsAhead(Protocol):
    """A hook that says how long it leaves the session alone."""

    def steps_until_session_use(self, step: int) -> int | None:
        """How many runs may be computed at once; asked after ``before_run``, before the run.

        Args:
          step: the global step before the run; each run is taken to add one to it (``steps_per_run``, where a hook was
            told that).

        Returns:
          The number of runs, that which begins now included, after which the hook uses the session, stops, or fetches
          or feeds something else than in this run: at least 1. None: it does none of that, or the clock decides when.
        """


_CALLED = ("before_run", "after_run")


@runtime_checkable
class FetchesAtTimes(Protocol):
    """A hook that fetches tensors in some runs, and uses the session for nothing else."""

    def fetched_at_times(self) -> Iterable[Any]:
        """The tensors."""


def steps_until_session_use(hooks: Iterable[SessionRunHook], step: int, wanted: Mapping[Any, Any]) -> int | None:
    """The number of runs that all hooks leave the session alone; None where none of them sets a limit.

    A hook without the method gets every run: 1, unless it takes no part in runs. So does a subclass that overrides what
    happens around a run, but not the method. One that fetches at times what others fetch in each run sets no limit.

    Args:
      wanted: hook, or something else for the program -> what it fetches in the run that begins.
    """
    limits = [_of(hook, step) for hook in hooks if not _fetches_nothing_new(hook, wanted)]
    return min((limit for limit in limits if limit is not None), default=None)


def _fetches_nothing_new(hook: SessionRunHook, wanted: Mapping[Any, Any]) -> bool:
    if not isinstance(hook, FetchesAtTimes):
        return False
    others = {id(leaf) for who, fetches in wanted.items() if who is not hook for leaf in _leaves(fetches)}
    return all(id(tensor) in others for tensor in hook.fetched_at_times())


def _leaves(fetches: Any) -> Iterator[Any]:
    if isinstance(fetches, Mapping):
        fetches = list(fetches.values())
    if isinstance(fetches, list | tuple):
        for part in fetches:
            yield from _leaves(part)
    else:
        yield fetches


def _of(hook: SessionRunHook, step: int) -> int | None:
    order = type(hook).__mro__
    for kind in order:
        if "steps_until_session_use" in vars(kind) and isinstance(hook, RunsAhead):
            return hook.steps_until_session_use(step)
        if kind is SessionRunHook:
            return None
        if any(name in vars(kind) for name in _CALLED):
            return 1
    return 1
