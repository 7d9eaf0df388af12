"""The public names of the 1.x namespace for saving and restoring. Data, by module."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from towerstrat.platform.deferred import Deferred

if TYPE_CHECKING:
    from towerstrat.compat.v1names import contrib_checkpoints, contrib_objects
    from towerstrat.graph.scopes import template
    from towerstrat.graph.variables import containers, trackable
    from towerstrat.platform import messages
    from towerstrat.training.saving import (
        assign_from_checkpoint,
        checkpoint,
        checkpoint_manager,
        from_checkpoint,
        management,
        meta_graphs,
        object_saver,
        python_state,
        reading,
        saver,
        vocabulary_remapping,
        waiting,
        warm_starting,
    )
else:  # protobuf
    contrib_checkpoints = Deferred("towerstrat.compat.v1names.contrib_checkpoints")
    contrib_objects = Deferred("towerstrat.compat.v1names.contrib_objects")
    template = Deferred("towerstrat.graph.scopes.template")
    containers = Deferred("towerstrat.graph.variables.containers")
    trackable = Deferred("towerstrat.graph.variables.trackable")
    messages = Deferred("towerstrat.platform.messages")
    assign_from_checkpoint = Deferred("towerstrat.training.saving.assign_from_checkpoint")
    checkpoint = Deferred("towerstrat.training.saving.checkpoint")
    checkpoint_manager = Deferred("towerstrat.training.saving.checkpoint_manager")
    from_checkpoint = Deferred("towerstrat.training.saving.from_checkpoint")
    management = Deferred("towerstrat.training.saving.management")
    meta_graphs = Deferred("towerstrat.training.saving.meta_graphs")
    object_saver = Deferred("towerstrat.training.saving.object_saver")
    python_state = Deferred("towerstrat.training.saving.python_state")
    reading = Deferred("towerstrat.training.saving.reading")
    saver = Deferred("towerstrat.training.saving.saver")
    vocabulary_remapping = Deferred("towerstrat.training.saving.vocabulary_remapping")
    waiting = Deferred("towerstrat.training.saving.waiting")
    warm_starting = Deferred("towerstrat.training.saving.warm_starting")

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (saver, {
        "tf.train": "Saver",
    }),
    (checkpoint, {
        "tf.train tf.contrib.eager": "Checkpoint=CheckpointV1",
    }),
    (object_saver, {
        "tf.contrib.eager": "CheckpointableSaver",
    }),
    (trackable, {
        "tf.contrib.checkpoint": "CheckpointableBase=Trackable",
    }),
    (containers, {
        "tf.contrib.checkpoint tf.contrib.eager": "Checkpointable=AutoTrackable",
        "tf.contrib.checkpoint": "List Mapping NoDependency",
    }),
    (template, {
        "tf.contrib.checkpoint": "capture_dependencies",
    }),
    (messages, {
        "tf.contrib.checkpoint": "CheckpointableObjectGraph=TrackableObjectGraph",
    }),
    (contrib_objects, {
        "tf.contrib.checkpoint": """
            CheckpointManager NumpyState PythonStateWrapper UniqueNameTracker dot_graph_from_checkpoint list_objects
            object_metadata split_dependency""",
        "tf.contrib.eager": "Saver get_optimizer_variables restore_variables_on_create",
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
    (from_checkpoint, {
        "tf.train": "init_from_checkpoint",
    }),
    (contrib_checkpoints, {
        "tf.contrib.framework": "init_from_checkpoint list_variables load_checkpoint load_variable",
    }),
    (assign_from_checkpoint, {
        "tf.contrib.framework": "assign_from_checkpoint assign_from_checkpoint_fn",
    }),
    (vocabulary_remapping, {
        "tf.contrib.framework": """
            load_and_remap_matrix_initializer load_embedding_initializer load_linear_multiclass_bias_initializer
            load_variable_slot_initializer""",
    }),
    (warm_starting, {
        "tf.train": "VocabInfo warm_start",
    }),
    (waiting, {
        "tf.contrib.training": "checkpoints_iterator wait_for_new_checkpoint",
        "tf.train": "checkpoints_iterator",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""

LATER_ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (checkpoint_manager, {
        "tf.train": "CheckpointManager",
    }),
    (python_state, {
        "tf.train.experimental": "PythonState",
    }),
)  # fmt: skip
"""Likewise, the names that 1.13 to 1.15 added."""
