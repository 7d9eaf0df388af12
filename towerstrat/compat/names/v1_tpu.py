"""Names of ``tf.contrib.tpu`` and ``tf.tpu``. Data, as in ``v1``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("compat.keras.multi_gpu_model", {"tf.keras.utils": "multi_gpu_model"}),
    ("compat.keras.tpu_model", {"tf.contrib.tpu": "TPUDistributionStrategy keras_to_tpu_model"}),
    ("compat.v1_functions.bfloat16_scope", {"tf.contrib.tpu": "bfloat16_scope"}),
    ("compat.v1_functions.tpu_system", {"tf.contrib.tpu": "initialize_system shutdown_system"}),
    ("towers.shards.collectives", {"tf.contrib.tpu": "cross_replica_sum"}),
    ("towers.shards.replication", {"tf.contrib.tpu": "batch_parallel replicate rewrite shard"}),
    ("towers.shards.shard_scope", {"tf.contrib.tpu": "outside_compilation"}),
    ("towers.shards.training_loop", {"tf.contrib.tpu": "repeat while_loop"}),
    ("training.optimizers.cross_shard", {"tf.contrib.tpu": "CrossShardOptimizer"}),
)
"""Names of 1.12."""

LATER_ROWS: Rows = (
    ("compat.v1_functions.bfloat16_scope", {"tf.tpu": "bfloat16_scope"}),
    ("compat.v1_functions.tpu_system", {"tf.tpu": "initialize_system shutdown_system"}),
    ("towers.shards.collectives", {"tf.tpu": "cross_replica_sum"}),
    ("towers.shards.replication", {"tf.tpu": "batch_parallel replicate rewrite shard"}),
    ("towers.shards.shard_scope", {"tf.contrib.tpu": "core", "tf.tpu": "core outside_compilation"}),
    ("training.optimizers.cross_shard", {"tf.tpu": "CrossShardOptimizer"}),
)
"""Names that 1.13 to 1.15 added to what 1.12 has."""
