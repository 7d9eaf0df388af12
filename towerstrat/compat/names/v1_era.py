"""Names of the 1.x namespace that only some versions from 1.8 to 1.15 had. Data, as in ``v1``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("compat.bundled.gradient_checker", {"tf.test": "compute_gradient compute_gradient_error"}),
    ("compat.bundled.test_helpers", {"tf.test": "StubOutForTesting assert_equal_graph_def test_src_dir_path"}),
    ("compat.bundled.resource_loader", {
        "tf.resource_loader": """
            get_data_files_path get_path_to_datafile get_root_dir_with_all_resources load_resource
            readahead_file_path""",
    }),
    ("compat.bundled.sysconfig", {
        "tf.sysconfig": "CXX11_ABI_FLAG MONOLITHIC_BUILD get_compile_flags get_include get_lib get_link_flags",
    }),
    ("towers.engine.cross_tower_ops", {
        "tf.contrib.distribute": "AllReduceCrossTowerOps CrossTowerOps ReductionToOneDeviceCrossTowerOps",
    }),
)  # fmt: skip
"""Names of 1.12."""

LATER_ROWS: Rows = (
    ("compat.v1_functions.autograph_conversion", {"tf.autograph": "to_code to_graph"}),
    ("data.elements.options", {"tf.data.experimental": "MapVectorizationOptions"}),
    ("graph.ops.nn.convolution", {"tf.nn": "conv3d_backprop_filter=conv3d_backprop_filter_v2"}),
    ("graph.ops.indexing.histograms", {"tf.math": "confusion_matrix"}),
    ("towers.distribute.cross_device_ops", {
        "tf.contrib.distribute": "AllReduceCrossDeviceOps CrossDeviceOps MultiWorkerAllReduce",
        "tf.distribute": "CrossDeviceOps HierarchicalCopyAllReduce NcclAllReduce ReductionToOneDevice",
    }),
    ("towers.distribute.central_storage_strategy", {
        "tf.distribute.experimental": """
            CentralStorageStrategy=CentralStorageStrategyV1 ParameterServerStrategy=ParameterServerStrategyV1""",
    }),
    ("towers.distribute.multi_worker_strategy", {
        "tf.distribute.experimental": "MultiWorkerMirroredStrategy=MultiWorkerMirroredStrategyV1",
    }),
    ("towers.distribute.replica_context", {"tf.contrib.distribute": "ReplicaContext"}),
    ("towers.distribute.current_strategy", {
        "tf.contrib.distribute": """
            get_cross_replica_context get_replica_context get_strategy has_strategy in_cross_replica_context
            require_replica_context""",
    }),
    ("graph.ops.nn.pooling", {"tf.nn": "avg_pool2d=avg_pool"}),
    ("training.optimizers.learning_rate_schedules", {"tf.train": "piecewise_constant_decay=piecewise_constant"}),
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
