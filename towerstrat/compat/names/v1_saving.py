"""The public names of the 1.x namespace for saving and restoring. Data, by module."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from towerstrat.platform.deferred import Deferred

if TYPE_CHECKING:
    from towerstrat.compat.v1names import contrib_checkpoints
    from towerstrat.training.saving import (
        from_checkpoint,
        iterator_states,
        management,
        meta_graphs,
        reading,
        saver,
        waiting,
    )
else:  # protobuf
    contrib_checkpoints = Deferred("towerstrat.compat.v1names.contrib_checkpoints")
    from_checkpoint = Deferred("towerstrat.training.saving.from_checkpoint")
    iterator_states = Deferred("towerstrat.training.saving.iterator_states")
    management = Deferred("towerstrat.training.saving.management")
    meta_graphs = Deferred("towerstrat.training.saving.meta_graphs")
    reading = Deferred("towerstrat.training.saving.reading")
    saver = Deferred("towerstrat.training.saving.saver")
    waiting = Deferred("towerstrat.training.saving.waiting")

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (saver, {
        "tf.train": "Saver",
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
        "tf.train": "NewCheckpointReader list_variables load_checkpoint load_variable",
    }),
    (iterator_states, {
        "tf.contrib.data tf.data.experimental": "make_saveable_from_iterator",
    }),
    (from_checkpoint, {
        "tf.train": "init_from_checkpoint",
    }),
    (contrib_checkpoints, {
        "tf.contrib.framework": "init_from_checkpoint list_variables load_checkpoint load_variable",
    }),
    (waiting, {
        "tf.contrib.training": "checkpoints_iterator wait_for_new_checkpoint",
        "tf.train": "checkpoints_iterator",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
