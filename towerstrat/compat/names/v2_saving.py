"""The public names of the 2.x namespace for saving and restoring. Data, by module."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from towerstrat.platform.deferred import Deferred

if TYPE_CHECKING:
    from towerstrat.training.saving import checkpoint, checkpoint_manager, checkpoint_options, python_state
else:  # protobuf
    checkpoint = Deferred("towerstrat.training.saving.checkpoint")
    checkpoint_manager = Deferred("towerstrat.training.saving.checkpoint_manager")
    checkpoint_options = Deferred("towerstrat.training.saving.checkpoint_options")
    python_state = Deferred("towerstrat.training.saving.python_state")

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (checkpoint, {
        "tf.train": "Checkpoint",
    }),
    (checkpoint_manager, {
        "tf.train": "CheckpointManager",
    }),
    (checkpoint_options, {
        "tf.train": "CheckpointOptions",
    }),
    (python_state, {
        "tf.train.experimental": "PythonState",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
