"""The public names of the 1.x namespace for saving and restoring. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.named import Rows

ROWS: Rows = (
    ("training.saving.saver", {
        "tf.train": "Saver",
    }),
    ("training.saving.management", {
        "tf.train": """
            checkpoint_exists generate_checkpoint_state_proto get_checkpoint_mtimes get_checkpoint_state
            latest_checkpoint remove_checkpoint update_checkpoint_state""",
    }),
    ("training.saving.meta_graphs", {
        "tf.train": "export_meta_graph import_meta_graph",
    }),
    ("training.saving.reading", {
        "tf.train": "NewCheckpointReader list_variables load_checkpoint load_variable",
    }),
    ("training.saving.from_checkpoint", {
        "tf.train": "init_from_checkpoint",
    }),
    ("compat.v1names.contrib_checkpoints", {
        "tf.contrib.framework": "init_from_checkpoint list_variables load_checkpoint load_variable",
    }),
    ("training.saving.waiting", {
        "tf.contrib.training": "checkpoints_iterator wait_for_new_checkpoint",
        "tf.train": "checkpoints_iterator",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
