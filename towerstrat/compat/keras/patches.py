"""What modules of the package get when their files were executed: what its classes have to know of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from towerstrat.compat.keras import collective_files, collective_stop, overlapped_steps, tf_layers, v1_hdf5, v1_training
from towerstrat.compat.keras.symbolic_operators import overload
from towerstrat.models.layers.layer import COUNTS


def _operators(module: ModuleType) -> None:
    # Symbolic inputs take their operators from a class; those of ours are for tensors alone.
    overload(vars(module)["KerasTensor"], vars(module)["tf"])


def _backend(module: ModuleType) -> None:
    # Layers without a name are counted with those of ``tf.layers``.
    vars(module)["PER_GRAPH_OBJECT_NAME_UIDS"] = COUNTS
    v1_training.keep_values(module)


def _complete_training(module: ModuleType) -> None:
    # TensorFlow gave rows of a batch to the replicas of several hosts in turns, and the package puts that right; here
    # they go to the replicas in order.
    vars(module)["_is_tpu_multi_host"] = lambda strategy: False
    collective_stop.look_in_loops(module)


def _complete_models_of_graphs(module: ModuleType) -> None:
    v1_training.complete_models(module)
    collective_stop.look_in_loops(module)


_COMPLETED: Mapping[str, Callable[[ModuleType], None]] = {
    "keras.src.backend": _backend,
    "keras.src.callbacks": collective_stop.end_by_callbacks,
    "keras.src.engine.base_layer": tf_layers.take_layers,
    "keras.src.engine.base_layer_v1": tf_layers.take_layers,
    "keras.src.engine.data_adapter": overlapped_steps.overlap,
    "keras.src.engine.keras_tensor": _operators,
    "keras.src.engine.sequential": tf_layers.take_parts,
    "keras.src.engine.training": _complete_training,
    "keras.src.engine.training_distributed_v1": v1_training.complete_loops,
    "keras.src.engine.training_v1": _complete_models_of_graphs,
    "keras.src.saving.legacy.hdf5_format": v1_hdf5.translate_states,
    "keras.src.saving.legacy.saving_utils": v1_hdf5.translate_configs,
    "keras.src.saving.saving_api": collective_files.share,
    "keras.src.utils.version_utils": tf_layers.tell_kinds,
}
"""Module -> what completes it."""


def complete(module: ModuleType) -> None:
    """Completes a module of the package that was executed."""
    if module.__name__ in _COMPLETED:
        _COMPLETED[module.__name__](module)
