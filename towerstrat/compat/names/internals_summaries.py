"""Modules of the original's inside about summaries and event files. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    "contrib.tensorboard.plugins.projector.projector_config_pb2": ("tf.contrib.tensorboard.plugins.projector", {}),
    "core.framework.summary_pb2": (
        "", named("platform.messages", "HistogramProto Summary SummaryDescription SummaryMetadata")),
    "core.util.event_pb2": ("", named("platform.messages", "Event LogMessage SessionLog TaggedRunMetadata")),
    "python.ops.summary_op_util": (
        "", named("training.summaries.summary_names", "clean_tag collect summary_scope")),
    "python.ops.summary_ops": ("tf.summary", {}),
    "python.ops.summary_ops_v2": ("tf.contrib.summary", {}),
    "python.summary.summary": ("tf.summary", {}),
    "python.summary.summary_iterator": ("tf.train", {}),
    "python.summary.writer.writer": ("tf.summary", {}),
    "python.summary.writer.writer_cache": ("tf.summary", {}),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
