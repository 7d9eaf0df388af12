"""Modules of the original's inside about checkpoints and the objects that they save. Data, as in ``internals``."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.variables import containers, trackable

_OBJECTS = "tf.contrib.checkpoint tf.train tf.contrib.eager"
_WITHOUT = {"no_automatic_dependency_tracking": trackable.no_automatic_dependency_tracking}
_STRUCTURES = {
    name: getattr(containers, name) for name in ("List", "Mapping", "NoDependency", "sticky_attribute_assignment")
}

MODULES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"contrib.checkpoint.python.{name}": (_OBJECTS, {}) for name in (
        "containers", "python_state", "split_dependency", "visualize")},
    "contrib.eager.python.saver": ("tf.contrib.eager", {}),
    "contrib.framework.python.framework.checkpoint_utils": ("tf.contrib.framework", {}),
    "contrib.framework.python.ops.checkpoint_ops": ("tf.contrib.framework", {}),
    "python.training.checkpoint_management": (_OBJECTS, {}),
    "python.training.checkpoint_utils": ("tf.train", {}),
    "python.training.checkpointable.base": (_OBJECTS, {
        "CheckpointableReference": trackable.TrackableReference,
        "VARIABLE_VALUE_KEY": trackable.VARIABLE_VALUE, **_WITHOUT}),
    "python.training.checkpointable.data_structures": (_OBJECTS, _STRUCTURES),
    "python.training.checkpointable.tracking": ("", {"Checkpointable": containers.AutoTrackable}),
    "python.training.checkpointable.util": (_OBJECTS, {}),
    "python.training.saver": ("tf.train", {}),
    "python.training.tracking.base": ("", {
        "Trackable": trackable.Trackable, "TrackableReference": trackable.TrackableReference,
        "VARIABLE_VALUE_KEY": trackable.VARIABLE_VALUE, **_WITHOUT}),
    "python.training.tracking.data_structures": ("", _STRUCTURES),
    "python.training.tracking.tracking": ("", {"AutoTrackable": containers.AutoTrackable}),
    "python.training.tracking.util": (_OBJECTS, {}),
    "python.training.warm_starting_util": ("tf.train", {}),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
