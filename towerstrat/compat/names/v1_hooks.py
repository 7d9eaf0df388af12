"""The public names of the 1.x namespace for hooks of sessions. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("training.hooks.session_run_hook", {
        "tf.train": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
    }),
    ("training.hooks.timers", {
        "tf.train": "SecondOrStepTimer",
    }),
    ("training.hooks.stop_at_step", {
        "tf.train": "StopAtStepHook",
    }),
    ("training.hooks.nan_tensor", {
        "tf.train": "NanLossDuringTrainingError NanTensorHook",
    }),
    ("training.hooks.logging_tensor", {
        "tf.train": "LoggingTensorHook",
    }),
    ("training.hooks.step_counter", {
        "tf.train": "StepCounterHook",
    }),
    ("training.hooks.checkpoint_saver", {
        "tf.train": "CheckpointSaverHook CheckpointSaverListener",
    }),
    ("training.hooks.summary_saver", {
        "tf.train": "SummarySaverHook",
    }),
    ("training.hooks.global_step_waiter", {
        "tf.train": "GlobalStepWaiterHook",
    }),
    ("training.hooks.final_ops", {
        "tf.train": "FinalOpsHook",
    }),
    ("training.hooks.feed_fn", {
        "tf.train": "FeedFnHook",
    }),
    ("training.hooks.profiler", {
        "tf.train": "ProfilerHook",
    }),
    ("training.hooks.async_checkpoint_saver", {
        "tf.contrib.tpu": "AsyncCheckpointSaverHook",
    }),
    ("training.hooks.input_checkpoint", {
        "tf.contrib.data tf.data.experimental": "CheckpointInputPipelineHook",
    }),
    ("training.saving.meta_graphs", {
        "tf.io tf.train": "write_graph",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
