"""The public names of the 1.x namespace for summaries and event files. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("platform.messages", {
        "tf.contrib.tensorboard.plugins.projector": "EmbeddingInfo ProjectorConfig SpriteMetadata",
        "tf": "HistogramProto LogMessage SummaryMetadata",
        "tf tf.summary": "Event SessionLog Summary",
        "tf.summary": "SummaryDescription TaggedRunMetadata",
    }),
    ("training.summaries.contrib_summary", {
        "tf.contrib.summary": """
            all_summary_ops always_record_summaries audio create_file_writer create_summary_file_writer eval_dir flush
            generic graph histogram image import_event initialize never_record_summaries
            record_summaries_every_n_global_steps scalar should_record_summaries summary_writer_initializer_op""",
    }),
    ("training.summaries.dataset_stats", {
        "tf.data.experimental": "StatsAggregator latency_stats set_stats_aggregator",
    }),
    ("training.summaries.projector", {
        "tf.contrib.tensorboard.plugins.projector": "visualize_embeddings",
    }),
    ("training.summaries.recording_state", {
        "tf.contrib.summary": "SummaryWriter",
    }),
    ("training.summaries.summary", {
        "tf.summary": "audio get_summary_description histogram image merge merge_all scalar tensor_summary text",
    }),
    ("training.summaries.file_writer", {
        "tf.summary": "FileWriter FileWriterCache",
        "tf.train": "summary_iterator",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""

LATER_ROWS: Rows = (
    ("training.summaries.dataset_stats", {
        "tf.data.experimental": "bytes_produced_stats",
    }),
    ("training.summaries.contrib_summary", {
        "tf.summary": "all_v2_summary_ops=all_summary_ops initialize",
    }),
)  # fmt: skip
"""Likewise, the names that 1.13 to 1.15 added."""
