"""Waiting for checkpoints that another process writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from towerstrat.platform import logs
from towerstrat.training.saving.latest_checkpoint import latest_checkpoint


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The path of the latest checkpoint once it is another than ``last_checkpoint``; None after ``timeout`` seconds."""
    logs.info("Waiting for new checkpoint at %s", checkpoint_dir)
    stop = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            logs.info("Found new checkpoint at %s", path)
            return path
        if stop is not None and time.monotonic() + seconds_to_sleep > stop:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The paths of checkpoints as they come.

    One that is replaced before it was asked for is left out.

    Args:
      checkpoint_dir: the folder.
      min_interval_secs: the least seconds between two.
      timeout: how many seconds to wait for one; None: without end.
      timeout_fn: called then; the iterator ends where it returns True, or is None.
    """
    path: str | None = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if found is None:
            if timeout_fn is None:
                logs.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        start = time.monotonic()
        path = found
        yield found
        time.sleep(max(0.0, start + min_interval_secs - time.monotonic()))
