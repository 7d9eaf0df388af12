"""The public names of the 1.x namespace for saving and restoring. Data, by module."""

from __future__ import annotations

from types import ModuleType

from towerstrat.platform import messages
from towerstrat.training.saving import from_checkpoint, management, meta_graphs, reading, saver, waiting

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (saver, {
        "tf.train": "Saver",
    }),
    (messages, {
        "tf.train": "SaverDef",
        "tf": "MetaGraphDef",
    }),
    (management, {
        "tf.train": """
            checkpoint_exists generate_checkpoint_state_proto get_checkpoint_mtimes get_checkpoint_state
            latest_checkpoint remove_checkpoint update_checkpoint_state""",
    }),
    (meta_graphs, {
        "tf.train": "export_meta_graph import_meta_graph",
    }),
    (reading, {
        "tf.train": "NewCheckpointReader=CheckpointReader list_variables load_checkpoint load_variable",
        "tf.contrib.framework": "list_variables load_checkpoint load_variable",
    }),
    (from_checkpoint, {
        "tf.train tf.contrib.framework": "init_from_checkpoint",
    }),
    (waiting, {
        "tf.contrib.training": "checkpoints_iterator wait_for_new_checkpoint",
        "tf.train": "checkpoints_iterator",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
