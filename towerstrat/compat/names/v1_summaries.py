"""The public names of the 1.x namespace for summaries and event files. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.named import Rows

ROWS: Rows = (
    ("platform.messages", {
        "tf": "HistogramProto LogMessage SummaryMetadata",
        "tf tf.summary": "Event SessionLog Summary",
        "tf.summary": "SummaryDescription TaggedRunMetadata",
    }),
    ("training.summaries.summary", {
        "tf.summary": "audio get_summary_description histogram image merge merge_all scalar tensor_summary text",
    }),
    ("training.summaries.writer", {
        "tf.summary": "FileWriter FileWriterCache",
        "tf.train": "summary_iterator",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
