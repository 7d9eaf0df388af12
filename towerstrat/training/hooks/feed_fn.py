"""``tf.train.FeedFnHook``: feeds each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.training.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class FeedFnHook(SessionRunHook):
    """Feeds what a function returns.

    Args:
      feed_fn: function without arguments that returns the ``feed_dict`` of a run.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]):
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())

    def steps_until_session_use(self, step: int) -> int | None:
        return 1
