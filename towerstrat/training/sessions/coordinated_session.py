"""A session that stops together with threads.

Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from towerstrat.platform import messages
from towerstrat.platform.coordinator import Coordinator
from towerstrat.training.sessions.session_wrapper import PREEMPTION_ERRORS, Runnable, WrappedSession


class CoordinatedSession(WrappedSession):
    """Runs a session while a coordinator does not ask to stop; closing it ends the coordinator's threads.

    Args:
      sess: the session inside.
      coord: the coordinator. Its exception is raised by ``should_stop`` and by ``close``.
      stop_grace_period_secs: how many seconds the threads have to end.
    """

    def __init__(self, sess: Runnable, coord: Coordinator, stop_grace_period_secs: float = 120):
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            # What ``join`` raises says more than what closing does.
            with contextlib.suppress(Exception):
                super().close()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any:
        try:
            return super().run(fetches, feed_dict, options, run_metadata)
        except PREEMPTION_ERRORS:
            raise
        except Exception as error:
            # A lost device that a thread has reported is why this failed: then the session is to be made again.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception:
                raise error from None
            raise
