"""What modules of the package get when their files were executed: what its classes have to know of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from towerstrat.compat.keras import (
    collective_files,
    collective_stop,
    damaged_files,
    deferred_restore,
    loss_weights,
    overlapped_steps,
    replica_metrics,
    resumed_input,
    stored_arrays,
    tf_layers,
    tower_optimizers,
    v1_defaults,
    v1_hdf5,
    v1_training,
)
from towerstrat.compat.keras.symbolic_operators import overload
from towerstrat.models.layers.layer import COUNTS


def _operators(module: ModuleType) -> None:
    # Symbolic inputs take their operators from a class; those of ours are for tensors alone.
    overload(vars(module)["KerasTensor"], vars(module)["tf"])


def _backend(module: ModuleType) -> None:
    # Layers without a name are counted with those of ``tf.layers``.
    vars(module)["PER_GRAPH_OBJECT_NAME_UIDS"] = COUNTS
    v1_training.keep_values(module)


def _complete_parts(module: ModuleType) -> None:
    tf_layers.take_parts(module)
    deferred_restore.restore_parts(module)


def _complete_training(module: ModuleType) -> None:
    # TensorFlow gave rows of a batch to the replicas of several hosts in turns, and the package puts that right; here
    # they go to the replicas in order.
    vars(module)["_is_tpu_multi_host"] = lambda strategy: False
    collective_stop.look_in_loops(module)


def _complete_input(module: ModuleType) -> None:
    overlapped_steps.overlap(module)
    resumed_input.go_on(module)


def _complete_models_of_graphs(module: ModuleType) -> None:
    v1_training.complete_models(module)
    loss_weights.weigh_graphs(module)
    collective_stop.look_in_loops(module)


def _complete_saving(module: ModuleType) -> None:
    collective_files.share(module)
    damaged_files.name_damage(module)


_COMPLETED: Mapping[str, Callable[[ModuleType], None]] = {
    "keras.src.backend": _backend,
    "keras.src.callbacks": collective_stop.end_by_callbacks,
    "keras.src.datasets.cifar": stored_arrays.read_batches,
    **{
        f"keras.src.datasets.{name}": stored_arrays.read_archives
        for name in ("boston_housing", "imdb", "mnist", "reuters")
    },
    "keras.src.engine.base_layer": tf_layers.take_layers,
    "keras.src.engine.base_layer_v1": tf_layers.take_layers,
    "keras.src.distribute.worker_training_state": resumed_input.save_places,
    "keras.src.engine.data_adapter": _complete_input,
    "keras.src.engine.keras_tensor": _operators,
    "keras.src.engine.sequential": _complete_parts,
    "keras.src.engine.training": _complete_training,
    "keras.src.engine.training_eager_v1": loss_weights.weigh_steps,
    "keras.src.engine.training_distributed_v1": v1_training.complete_loops,
    "keras.src.engine.training_utils_v1": v1_defaults.choose_weights,
    "keras.src.engine.training_v1": _complete_models_of_graphs,
    **{
        f"keras.src.optimizers.legacy.{name.lower()}": v1_defaults.take_defaults(name)
        for name in ("Adadelta", "Adagrad", "Adamax", "Nadam")
    },
    "keras.src.optimizers.legacy.optimizer_v2": tower_optimizers.complete_earlier,
    "keras.src.optimizers.optimizer": tower_optimizers.sum_rows,
    "keras.src.optimizers.optimizer_v1": tower_optimizers.divide_once,
    "keras.src.saving.legacy.hdf5_format": v1_hdf5.translate_states,
    "keras.src.saving.legacy.saving_utils": v1_hdf5.translate_configs,
    "keras.src.saving.saving_lib": stored_arrays.read_archives,
    "keras.src.saving.saving_api": _complete_saving,
    "keras.src.utils.metrics_utils": replica_metrics.merge_results,
    "keras.src.utils.version_utils": tf_layers.tell_kinds,
}
"""Module -> what completes it."""


def complete(module: ModuleType) -> None:
    """Completes a module of the package that was executed."""
    if module.__name__ in _COMPLETED:
        _COMPLETED[module.__name__](module)
