"""The public names of the 2.x namespace for summaries. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("training.summaries.summary_v2", {
        "tf.summary": """
            audio create_file_writer create_noop_writer flush graph histogram image scalar should_record_summaries text
            write""",
        "tf.summary.experimental": "get_step set_step summary_scope write_raw_pb",
    }),
    ("training.summaries.recording_state", {
        "tf.summary": "SummaryWriter record_if",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
