"""A session that calls hooks around each run.

Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.hosts.heartbeat import PROGRESS
from towerstrat.platform import messages
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.steps_between_hooks import steps_until_session_use
from towerstrat.training.sessions.session_wrapper import WrappedSession

Feeds = Mapping[Any, Any]


class HookedSession(WrappedSession):
    """Runs a session with what hooks want computed and fed besides, and gives them their values.

    Args:
      sess: the session inside. hooks: called in this order.
    """

    _sess: BaseSession | None

    def __init__(self, sess: BaseSession, hooks: Sequence[SessionRunHook]):
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False
        self._wanted: dict[Any, Any] = {}
        # Looked up here: a run takes microseconds where many are made at once.
        self._no_options = messages.RunOptions
        self._no_metadata = messages.RunMetadata

    def _check_stop(self) -> bool:
        return self._should_stop

    def steps_until_session_use(self, step: int) -> int | None:
        """How many runs all hooks leave the session alone, from the global step ``step`` on; None: no limit."""
        return steps_until_session_use(self._hooks, step, self._wanted)

    def run(
        self,
        fetches: Any,
        feed_dict: Feeds | None = None,
        options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any:
        """As ``Session.run``.

        Raises:
          RuntimeError: a stop was requested; a tensor is fed by two hooks, or by a hook and the caller.
        """
        if self._sess is None or self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        options = self._no_options() if options is None else options
        wanted = {"caller": fetches}
        feeds = self._asked(context, wanted, feed_dict, options)
        self._wanted = wanted
        context.all_args = SessionRunArgs(wanted, feeds)
        # Where nobody asks how the run went, it is one like those before it, which a session may know already.
        described = run_metadata is not None or bool(options.ListFields())
        metadata = self._no_metadata() if run_metadata is None else run_metadata
        found = super().run(wanted, feeds, *((options, metadata) if described else ()))
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(found.get(hook), options, metadata))
        self._should_stop = self._should_stop or context.stop_requested or PROGRESS.reached_stop()
        return found["caller"]

    def _asked(
        self, context: SessionRunContext, wanted: dict[Any, Any], feed_dict: Feeds | None, options: messages.RunOptions
    ) -> Feeds | None:
        """Asks the hooks what they want: adds to ``wanted`` and ``options``, and returns all feeds."""
        feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            asked = hook.before_run(context)
            if asked is None:
                continue
            if asked.fetches is not None:
                wanted[hook] = asked.fetches
            if asked.feed_dict:
                _no_conflict(feeds, asked.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(asked.feed_dict)
            if asked.options:
                merge_run_options(options, asked.options)
        if not feeds:
            return feed_dict
        if feed_dict:
            _no_conflict(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
            feeds.update(feed_dict)
        return feeds


def _no_conflict(feeds: Feeds, others: Feeds, what: str) -> None:
    both = feeds.keys() & others.keys()
    if both:
        raise RuntimeError(f"{what} Conflict(s): {list(both)}")


def merge_run_options(options: messages.RunOptions, other: messages.RunOptions) -> None:
    """Makes ``options`` ask for all that either asks for: the larger of two numbers, both lists of watched tensors."""
    for field in ("trace_level", "timeout_in_ms", "inter_op_thread_pool", "output_partition_graphs",
                  "report_tensor_allocations_upon_oom"):  # fmt: skip
        setattr(options, field, max(getattr(options, field), getattr(other, field)))
    debug, watched = options.debug_options, other.debug_options
    debug.debug_tensor_watch_opts.extend(watched.debug_tensor_watch_opts)
    debug.reset_disk_byte_usage = debug.reset_disk_byte_usage or watched.reset_disk_byte_usage
