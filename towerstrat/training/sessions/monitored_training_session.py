"""``tf.train.MonitoredTrainingSession``: a monitored session with the hooks that training has.

Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.runtime.sessions.session import is_between_graph_target
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import messages
from towerstrat.training.hooks.checkpoint_saver import CheckpointSaverHook
from towerstrat.training.hooks.session_run_hook import SessionRunHook
from towerstrat.training.hooks.step_counter import StepCounterHook
from towerstrat.training.hooks.summary_saver import SummarySaverHook
from towerstrat.training.sessions.monitored_session import MonitoredSession
from towerstrat.training.sessions.scaffold import Scaffold
from towerstrat.training.sessions.session_creators import ChiefSessionCreator, WorkerSessionCreator

USE_DEFAULT = object()
"""Stands for an interval that was not given."""


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: messages.ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A ``MonitoredSession`` that restores the latest checkpoint, saves, writes summaries and logs the speed.

    Args:
      master, config: the target and the ``ConfigProto`` of the session.
      is_chief: whether this program initializes and saves; others wait for it, and have only ``hooks``. Processes that
        run one program together, under a strategy, do all of it together, and the first one writes.
      checkpoint_dir: the folder of checkpoints; None: nothing is restored or saved.
      scaffold: default ``Scaffold()``.
      hooks: called after those that are made here. chief_only_hooks: the chief's, called before.
      save_checkpoint_secs, save_checkpoint_steps: seconds or steps between checkpoints; default 600 seconds, None or 0
        for none.
      save_summaries_steps, save_summaries_secs: steps or seconds between summaries; default 100 steps.
      stop_grace_period_secs: how many seconds threads have to end when it is closed.
      log_step_count_steps: steps between two lines of the log that say how many a second makes; None or 0 for none.
      max_wait_secs: how many seconds others than the chief wait.
      summary_dir: the folder of summaries; default ``checkpoint_dir``.
      save_graph_def: whether the graph is written beside the checkpoints.
    """
    scaffold = scaffold or Scaffold()
    is_between_graph_target(master)
    if not (is_chief or PROCESSES.in_lockstep):
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    summary_steps, summary_secs = _intervals(save_summaries_steps, save_summaries_secs, (100, None))
    checkpoint_steps, checkpoint_secs = _intervals(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    summary_dir = summary_dir or checkpoint_dir
    made: list[SessionRunHook] = []
    if summary_dir and _positive(log_step_count_steps):
        made.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
    if summary_dir and (_positive(summary_steps) or _positive(summary_secs)):
        made.append(
            SummarySaverHook(
                scaffold=scaffold, save_steps=summary_steps, save_secs=summary_secs, output_dir=summary_dir
            )
        )
    if checkpoint_dir and (_positive(checkpoint_secs) or _positive(checkpoint_steps)):
        made.append(
            CheckpointSaverHook(
                checkpoint_dir, save_steps=checkpoint_steps, save_secs=checkpoint_secs, scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )  # fmt: skip
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, [*(chief_only_hooks or ()), *made, *(hooks or ())], stop_grace_period_secs)


def _intervals(steps: Any, secs: Any, default: tuple[int | None, int | None]) -> tuple[Any, Any]:
    """Steps and seconds between two: the default where neither was given, None for the one that was not."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return None if steps is USE_DEFAULT else steps, None if secs is USE_DEFAULT else secs


def _positive(interval: float | None) -> bool:
    return interval is not None and interval > 0
