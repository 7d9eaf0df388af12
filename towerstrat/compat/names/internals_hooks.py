"""Modules of the original's inside about hooks of sessions. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_STEPS_PER_RUN = named("training.hooks.steps_per_run", "get_or_create_steps_per_run_variable")

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    "contrib.tpu.python.tpu.async_checkpoint": ("tf.contrib.tpu", {}),
    "python.tpu.async_checkpoint": ("tf.contrib.tpu", {}),
    "contrib.hooks": ("", named("training.hooks.profiler", "ProfilerHook")),
    "contrib.hooks.python.training.profiler_hook": ("tf.train", {}),
    "python.framework.graph_io": ("tf.train", {}),
    "python.training.basic_session_run_hooks": ("tf.train", {
        **_STEPS_PER_RUN,
        **named("training.hooks.stop_at_step", "_MultiStepStopAtStepHook=MultiStepStopAtStepHook"),
        **named("training.hooks.timers", "NeverTriggerTimer"),
    }),
    "python.training.session_run_hook": ("tf.train", {}),
    "python.training.training": ("tf.train", _STEPS_PER_RUN),
    "python.training.training_util": ("tf.train", named("training.base.global_step", """
        GLOBAL_STEP_READ_KEY _get_or_create_global_step_read=get_or_create_global_step_read""")),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
