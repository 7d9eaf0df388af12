"""Modules of the original's inside about checkpoints and the objects that they save. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_OBJECTS = "tf.contrib.checkpoint tf.train tf.contrib.eager"
_BASE = "VARIABLE_VALUE_KEY=VARIABLE_VALUE no_automatic_dependency_tracking"
_STRUCTURES = named("graph.variables.containers", "List Mapping NoDependency sticky_attribute_assignment")

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    **{f"contrib.checkpoint.python.{name}": (_OBJECTS, {}) for name in (
        "containers", "python_state", "split_dependency", "visualize")},
    "contrib.eager.python.saver": ("tf.contrib.eager", {}),
    "contrib.framework.python.framework.checkpoint_utils": ("tf.contrib.framework", {}),
    "contrib.framework.python.ops.checkpoint_ops": ("tf.contrib.framework", {}),
    "python.training.checkpoint_management": (_OBJECTS, {}),
    "python.training.checkpoint_utils": ("tf.train", {}),
    "python.training.checkpointable.base": (
        _OBJECTS, named("graph.variables.trackable", f"CheckpointableReference=TrackableReference {_BASE}")),
    "python.training.checkpointable.data_structures": (_OBJECTS, _STRUCTURES),
    "python.training.checkpointable.tracking": (
        "", named("graph.variables.containers", "Checkpointable=AutoTrackable")),
    "python.training.checkpointable.util": (_OBJECTS, {}),
    "python.training.saver": ("tf.train", {}),
    "python.training.tracking.base": (
        "", named("graph.variables.trackable", f"Trackable TrackableReference {_BASE}")),
    "python.training.tracking.data_structures": ("", _STRUCTURES),
    "python.training.tracking.tracking": ("", named("graph.variables.containers", "AutoTrackable")),
    "python.training.tracking.util": (_OBJECTS, {}),
    "python.training.warm_starting_util": ("tf.train", {}),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
