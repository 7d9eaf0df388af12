"""The public names of the 2.x namespace for saving and restoring. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("training.saving.meta_graphs", {
        "tf.io": "write_graph",
    }),
    ("training.saving.checkpoint", {
        "tf.train": "Checkpoint",
    }),
    ("training.saving.checkpoint_manager", {
        "tf.train": "CheckpointManager",
    }),
    ("training.saving.checkpoint_options", {
        "tf.train": "CheckpointOptions",
    }),
    ("training.saving.python_state", {
        "tf.train.experimental": "PythonState",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
