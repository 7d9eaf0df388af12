"""``tensorflow.python.training.training`` as estimators have it: a ``train`` that ends is a run that is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.training.hooks.checkpoint_saver import CheckpointSaverHook
from towerstrat.training.hooks.session_run_hook import SessionRunHook
from towerstrat.training.hooks.steps_per_run import get_or_create_steps_per_run_variable  # noqa: F401 - as it is
from towerstrat.training.hooks.stop_at_step import MultiStepStopAtStepHook, StopAtStepHook
from towerstrat.training.sessions import monitored_training_session
from towerstrat.training.sessions.monitored_session import MonitoredSession


def MonitoredTrainingSession(
    hooks: Sequence[SessionRunHook], chief_only_hooks: Sequence[SessionRunHook], **others: Any
) -> MonitoredSession:
    """The session of one call of ``Estimator.train``, which reads its input from the start.

    Where it is killed, the next one goes on with it; where it ends in order, the next one begins another run.

    Args:
      hooks, chief_only_hooks: the hooks that save among them say in the last checkpoint that the run is over.
      others: see ``tf.train.MonitoredTrainingSession``.
    """
    every = (*hooks, *chief_only_hooks)
    stops = [hook for hook in every if isinstance(hook, StopAtStepHook | MultiStepStopAtStepHook)]
    for hook in every:
        if isinstance(hook, CheckpointSaverHook):
            hook.ends_run, hook.stops = True, stops
    return monitored_training_session.MonitoredTrainingSession(hooks=hooks, chief_only_hooks=chief_only_hooks, **others)
