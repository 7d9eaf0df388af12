"""Modules of the inside of 1.8 to 1.15 about strategies and their input. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_LATER = "tf.distribute tf.contrib.distribute"
_DATA = """batching counter enumerate_ops error_ops get_single_element grouping interleave_ops
    prefetching_ops random_ops scan_ops shuffle_ops unique"""


MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    **{f"contrib.data.python.ops.{name}": ("tf.contrib.data", {}) for name in _DATA.split()},
    "contrib.distribute.python.cross_tower_ops": (
        "tf.contrib.distribute",
        {
            **named(
                "towers.engine.collective_all_reduce",
                "AllReduceSpecTuple CollectiveAllReduce MultiWorkerAllReduce choose_the_best",
            ),
            **named("towers.engine.destinations", "check_destinations get_devices_from validate_destinations"),
        },
    ),
    "contrib.distribute.python.collective_all_reduce_strategy": ("tf.contrib.distribute", {}),
    "contrib.distribute.python.parameter_server_strategy": ("tf.contrib.distribute", {}),
    "contrib.distribute.python.cross_tower_utils": (
        "",
        named(
            "towers.engine.cross_tower_ops",
            """
            aggregate_tensors_or_indexed_slices=aggregate contains_indexed_slices
            divide_by_n_tensors_or_indexed_slices=divided""",
        ),
    ),
    "contrib.distribute.python.mirrored_strategy": (
        "tf.contrib.distribute",
        named("towers.contrib.mirrored_strategy", "_reduce_non_distributed_value=reduce_non_distributed_value"),
    ),
    "contrib.distribute.python.shared_variable_creator": (
        "",
        named("towers.engine.shared_variable_creators", "make_fn"),
    ),
    "python.data.experimental.ops.optimization": ("tf.data.experimental", {}),
    "python.distribute.cross_device_ops": (
        _LATER,
        {
            **named(
                "towers.distribute.cross_device_ops", "AllReduceCrossDeviceOps CollectiveAllReduce choose_the_best"
            ),
            **named("towers.engine.destinations", "check_destinations get_devices_from validate_destinations"),
        },
    ),
    "python.distribute.cross_device_utils": (
        "",
        named(
            "towers.engine.cross_tower_ops",
            """
            aggregate_tensors_or_indexed_slices=aggregate contains_indexed_slices
            divide_by_n_tensors_or_indexed_slices=divided""",
        ),
    ),
    "python.distribute.device_util": ("", named("compat.v1_functions.device_util", "canonicalize current resolve")),
    "python.distribute.distribute_lib": (
        _LATER,
        {
            **named("towers.engine.tower_contexts", "UpdateContext get_update_device"),
            **named("towers.distribute.reduce_op", "get_loss_reduction"),
        },
    ),
    "python.distribute.distribution_strategy_context": (
        _LATER,
        named(
            "towers.distribute.current_strategy",
            "get_cross_replica_context get_replica_context get_strategy has_strategy in_cross_replica_context",
        ),
    ),
    "python.distribute.mirrored_strategy": (
        "",
        named("towers.distribute.mirrored_strategy", "MirroredExtended MirroredStrategy MirroredStrategyV1"),
    ),
    "python.distribute.central_storage_strategy": (
        "",
        named("towers.distribute.central_storage_strategy", "CentralStorageStrategy CentralStorageStrategyV1"),
    ),
    "python.distribute.collective_all_reduce_strategy": (
        "",
        named(
            "towers.distribute.multi_worker_strategy",
            """
            CollectiveAllReduceExtended CollectiveAllReduceStrategy=MultiWorkerMirroredStrategy
            CollectiveAllReduceStrategyV1=MultiWorkerMirroredStrategyV1""",
        ),
    ),
    "python.distribute.parameter_server_strategy": (
        "",
        named(
            "towers.distribute.central_storage_strategy",
            "ParameterServerStrategyExtended=ParameterServerExtended ParameterServerStrategyV1",
        ),
    ),
    "python.distribute.one_device_strategy": (
        "",
        named("towers.distribute.one_device_strategy", "OneDeviceStrategy OneDeviceStrategyV1"),
    ),
    "python.distribute.step_fn": ("tf.contrib.distribute", {}),
    "python.distribute.tpu_strategy": (
        "",
        named("towers.distribute.tpu_strategy", "TPUExtended TPUStrategy TPUStrategyV1"),
    ),
    "python.distribute.values": (
        "",
        {
            **named("towers.distribute.per_replica_values", "Mirrored PerReplica"),
            **named(
                "towers.engine.distributed_values",
                "DistributedValues regroup select_device select_device_mirrored value_container",
            ),
        },
    ),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
