"""Checkpoints as programs save them: of one process, of several together, now or beside training."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial

from towerstrat.checkpoints import bundle_writer
from towerstrat.checkpoints.bundle_writer import Saved
from towerstrat.hosts.heartbeat import CHECKPOINTING, PROGRESS
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform.duty import DUTY
from towerstrat.training.saving.async_writer import copies
from towerstrat.training.saving.collective_save import SharedSave


def write(prefix: str, arrays: Iterable[Saved], beside: bytes | None = None) -> None:
    """Writes a checkpoint, once for all processes; returns, or raises, in all of them when it is there.

    Arguments and errors are those of ``bundle_writer.write``.
    """
    with PROGRESS.phase(CHECKPOINTING, prefix):
        _prepared(prefix, arrays, beside, False)()


def captured(prefix: str, arrays: Iterable[Saved], beside: bytes | None = None) -> Callable[[], None]:
    """Copies the values that are saved, and returns what writes them as ``write`` does, in any thread, at any time."""
    with PROGRESS.phase(CHECKPOINTING, prefix):
        return _prepared(prefix, arrays, beside, True)


def _prepared(prefix: str, arrays: Iterable[Saved], beside: bytes | None, copied: bool) -> Callable[[], None]:
    if not PROCESSES.in_lockstep:
        return partial(bundle_writer.write, prefix, copies(arrays) if copied else arrays, beside)
    if threading.current_thread() is threading.main_thread():
        return SharedSave(prefix, arrays, beside, copied)
    # In a thread of the program's own nobody knows what the others do now: the first one writes, for itself.
    arrays = copies(arrays)
    return partial(bundle_writer.write, prefix, arrays, beside) if DUTY.writes else _nothing


def _nothing() -> None:
    """What a process does that does not write."""
