"""Modules of the original's inside about sessions that call hooks. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_SESSIONS = "training.sessions"

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    "contrib.training.python.training.evaluation": ("tf.contrib.training", {}),
    "python.training.basic_loops": ("tf.train", {}),
    "python.training.coordinator": ("tf.train", {}),
    "python.training.evaluation": ("", {
        **named(f"{_SESSIONS}.evaluation", """
            _evaluate_once=evaluate_once _get_latest_eval_step_value=get_latest_eval_step_value
            _get_or_create_eval_step=get_or_create_eval_step"""),
        **named(f"{_SESSIONS}.evaluation_hooks", """
            _MultiStepStopAfterNEvalsHook=MultiStepStopAfterNEvalsHook _StopAfterNEvalsHook=StopAfterNEvalsHook"""),
    }),
    "python.training.monitored_session": ("tf.train", {
        **named(f"{_SESSIONS}.coordinated_session", "_CoordinatedSession=CoordinatedSession"),
        **named(f"{_SESSIONS}.hooked_session", "_HookedSession=HookedSession"),
        **named(f"{_SESSIONS}.monitored_session", "_MonitoredSession"),
        **named(f"{_SESSIONS}.monitored_training_session", "USE_DEFAULT"),
        **named(f"{_SESSIONS}.recoverable_session", "_RecoverableSession=RecoverableSession"),
        **named(f"{_SESSIONS}.wrapped_session", """
            _PREEMPTION_ERRORS=PREEMPTION_ERRORS _WrappedSession=WrappedSession"""),
    }),
    "python.training.session_manager": ("tf.train", {}),
    "python.training.supervisor": ("tf.train", named(f"{_SESSIONS}.supervisor_services", """
        SVStepCounterThread=StepCounterService SVSummaryThread=SummaryService
        SVTimerCheckpointThread=CheckpointService""")),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
