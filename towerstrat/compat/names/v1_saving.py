"""The public names of the 1.x namespace for saving and restoring. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("training.saving.saver", {
        "tf.train": "Saver",
    }),
    ("training.saving.checkpoint", {
        "tf.train tf.contrib.eager": "Checkpoint=CheckpointV1",
    }),
    ("training.saving.object_saver", {
        "tf.contrib.eager": "CheckpointableSaver",
    }),
    ("graph.variables.trackable", {
        "tf.contrib.checkpoint": "CheckpointableBase=Trackable",
    }),
    ("graph.variables.containers", {
        "tf.contrib.checkpoint tf.contrib.eager": "Checkpointable=AutoTrackable",
        "tf.contrib.checkpoint": "List Mapping NoDependency",
    }),
    ("graph.scopes.template", {
        "tf.contrib.checkpoint": "capture_dependencies",
    }),
    ("platform.messages", {
        "tf.contrib.checkpoint": "CheckpointableObjectGraph=TrackableObjectGraph",
    }),
    ("compat.v1_functions.contrib_checkpointables", {
        "tf.contrib.checkpoint": """
            CheckpointManager NumpyState PythonStateWrapper UniqueNameTracker dot_graph_from_checkpoint list_objects
            object_metadata split_dependency""",
        "tf.contrib.eager": "Saver get_optimizer_variables restore_variables_on_create",
    }),
    ("training.saving.latest_checkpoint", {
        "tf.train": """
            checkpoint_exists generate_checkpoint_state_proto get_checkpoint_mtimes get_checkpoint_state
            latest_checkpoint remove_checkpoint update_checkpoint_state""",
    }),
    ("training.saving.meta_graphs", {
        "tf.train": "export_meta_graph import_meta_graph",
    }),
    ("training.saving.checkpoint_reader", {
        "tf.train": "NewCheckpointReader list_variables load_checkpoint load_variable",
    }),
    ("training.saving.iterator_saveables", {
        "tf.contrib.data tf.data.experimental": "make_saveable_from_iterator",
    }),
    ("training.saving.init_from_checkpoint", {
        "tf.train": "init_from_checkpoint",
    }),
    ("compat.v1_functions.contrib_checkpoints", {
        "tf.contrib.framework": "init_from_checkpoint list_variables load_checkpoint load_variable",
    }),
    ("training.saving.assign_from_checkpoint", {
        "tf.contrib.framework": "assign_from_checkpoint assign_from_checkpoint_fn",
    }),
    ("training.saving.vocabulary_remapping", {
        "tf.contrib.framework": """
            load_and_remap_matrix_initializer load_embedding_initializer load_linear_multiclass_bias_initializer
            load_variable_slot_initializer""",
    }),
    ("training.saving.warm_starting", {
        "tf.train": "VocabInfo warm_start",
    }),
    ("training.saving.checkpoint_polling", {
        "tf.contrib.training": "checkpoints_iterator wait_for_new_checkpoint",
        "tf.train": "checkpoints_iterator",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""

LATER_ROWS: Rows = (
    ("training.saving.checkpoint_manager", {
        "tf.train": "CheckpointManager",
    }),
    ("training.saving.python_state", {
        "tf.train.experimental": "PythonState",
    }),
)  # fmt: skip
"""Likewise, the names that 1.13 to 1.15 added."""
