"""Names of the 1.x namespace that only some versions from 1.8 to 1.15 had. Data, as in ``v1``."""

from __future__ import annotations

from types import ModuleType

from towerstrat.compat.v1names import bfloat16, tpu
from towerstrat.compat.wheel import gradient_checker, helpers, resource_loader, sysconfig
from towerstrat.graph.ops import convolution, counting, pooling
from towerstrat.towers.distribute import contexts as distribute_contexts
from towerstrat.towers.distribute import current as distribute_current
from towerstrat.towers.engine import cross_device
from towerstrat.training import schedules as training_schedules
from towerstrat.training.optimizers import cross_shard as optimizers_cross_shard

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (bfloat16, {"tf.contrib.tpu": "bfloat16_scope"}),
    (gradient_checker, {"tf.test": "compute_gradient compute_gradient_error"}),
    (helpers, {"tf.test": " ".join(helpers.__all__)}),
    (resource_loader, {"tf.resource_loader": " ".join(resource_loader.__all__)}),
    (sysconfig, {"tf.sysconfig": " ".join(sysconfig.__all__)}),
    (cross_device, {
        "tf.contrib.distribute": """
            AllReduceCrossTowerOps=AllReduceCrossDeviceOps CrossTowerOps=CrossDeviceOps
            ReductionToOneDeviceCrossTowerOps=ReductionToOneDevice""",
    }),
)  # fmt: skip
"""Names of 1.12."""

LATER_ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (bfloat16, {"tf.tpu": "bfloat16_scope"}),
    (convolution, {"tf.nn": "conv3d_backprop_filter=conv3d_backprop_filter_v2"}),
    (counting, {"tf.math": "confusion_matrix"}),
    (cross_device, {
        "tf.contrib.distribute": "AllReduceCrossDeviceOps CrossDeviceOps",
        "tf.distribute": "CrossDeviceOps HierarchicalCopyAllReduce NcclAllReduce ReductionToOneDevice",
    }),
    (distribute_contexts, {"tf.contrib.distribute": "ReplicaContext"}),
    (distribute_current, {
        "tf.contrib.distribute": """
            get_cross_replica_context get_replica_context get_strategy has_strategy in_cross_replica_context
            require_replica_context""",
    }),
    (optimizers_cross_shard, {"tf.tpu": "CrossShardOptimizer cross_replica_sum"}),
    (pooling, {"tf.nn": "avg_pool2d=avg_pool"}),
    (tpu, {"tf.tpu": "initialize_system shutdown_system"}),
    (training_schedules, {"tf.train": "piecewise_constant_decay=piecewise_constant"}),
)  # fmt: skip
"""Names that 1.13 to 1.15 added to what 1.12 has."""

LATER: dict[str, str] = {
    "tf.config": """
        experimental_functions_run_eagerly=tf.config.functions_run_eagerly
        experimental_run_functions_eagerly=tf.config.run_functions_eagerly""",
    "tf.contrib.distribute": "initialize_tpu_system=tf.tpu.experimental.initialize_tpu_system",
    "tf.data": "AUTOTUNE INFINITE_CARDINALITY NumpyIterator UNKNOWN_CARDINALITY",
    "tf.data.experimental": "AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY",
    "tf.dtypes": "as_string=tf.strings.as_string",
}
"""Those of them whose objects are those of 2.x; ``public=tf.name`` where that has another name there."""
