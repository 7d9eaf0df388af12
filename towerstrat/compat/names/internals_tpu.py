"""Modules of the original's inside about TPUs. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_FUNCTION = named(
    "towers.shards.tpu_context",
    """
    TpuContext check_function_argument_count get_tpu_context on_device_training_loop tpu_shard_context""",
)
_TPU = {
    **named("towers.shards.shard_scope", "core outside_compilation under_tpu_inference_context"),
    **named("towers.shards.inference_rewrite", "rewrite_for_inference validate_inference_rewrite_for_variables"),
}
_OWN: dict[str, dict[str, LazyName]] = {
    "datasets": named("data.readers.streaming_datasets", "StreamingFilesDataset"),
    "tpu": _TPU,
    "tpu_function": _FUNCTION,
    "training_loop": named("towers.shards.training_loop", "repeat while_loop"),
}
"""Modules below ``contrib.tpu.python.tpu``, since 1.14 below ``python.tpu``, with names that are not public."""
_PUBLIC = "bfloat16 tpu_config tpu_estimator tpu_feed tpu_optimizer"
_OPS = named("towers.shards.collectives", "all_to_all collective_permute cross_replica_sum")

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    f"{package}.{module}": ("tf.contrib.tpu", _OWN.get(module, {}))
    for package in ("contrib.tpu.python.tpu", "python.tpu")
    for module in (*_OWN, *_PUBLIC.split())
} | {f"{package}.ops.tpu_ops": ("tf.contrib.tpu", _OPS) for package in ("contrib.tpu.python", "python.tpu")}
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
