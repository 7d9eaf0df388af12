"""Checkpoints of several processes: all of them bring the values, the first one writes."""

from __future__ import annotations

from collections.abc import Iterable

from towerstrat.checkpoints import bundle_writing
from towerstrat.checkpoints.bundle_writing import Saved
from towerstrat.hosts.exchange import AGREEMENT
from towerstrat.hosts.progress import CHECKPOINTING, PROGRESS
from towerstrat.platform.duty import DUTY


def write(prefix: str, arrays: Iterable[Saved], beside: bytes | None = None) -> None:
    """Writes a checkpoint, once for all processes; returns, or raises, in all of them when it is there.

    Arguments and errors are those of ``bundle_writing.write``.
    """
    with PROGRESS.phase(CHECKPOINTING, prefix):
        arrays = list(arrays)
        if not DUTY.writes:
            for array in arrays:
                array.load()  # a value of which each process has a part is put together by all of them
        AGREEMENT.by_first(lambda: bundle_writing.write(prefix, arrays, beside))
