"""Modules of the original's inside that programs import: where each one's names are found."""

from __future__ import annotations

from towerstrat.compat.names import (
    internals_era,
    internals_estimator,
    internals_hooks,
    internals_images,
    internals_keras,
    internals_optimizers,
    internals_records,
    internals_saving,
    internals_sessions,
    internals_summaries,
    internals_tpu,
    internals_wheel,
)
from towerstrat.compat.names.internals_utilities import UTILITIES
from towerstrat.compat.names.lazy_names import LazyName, named

_FRAMEWORK = "tf tf.errors"
_OPS = "tf tf.nn tf.math tf.train tf.initializers"
_DISTRIBUTE = "tf.contrib.distribute tf"
_TPU = "tf.tpu.experimental tf.distribute.cluster_resolver"


# fmt: off
_NEST = named("graph.ir.nest", """
    assert_same_structure assert_shallow_structure flatten flatten_dict_items flatten_up_to
    flatten_with_joined_string_paths get_traverse_shallow_structure is_sequence map_structure map_structure_up_to
    map_structure_with_paths pack_sequence_as yield_flat_paths""")
_VALUES = {
    **named("towers.engine.distributed_values", """
        DistributedValues MapOutput Mirrored PerDevice regroup select_device select_device_mirrored value_container"""),
    **named("towers.contrib.strategy_variables", """
        AggregatingVariable DistributedVariable MirroredVariable TowerLocalVariable"""),
    **named("towers.contrib.per_device_dataset", "PerDeviceDataIterator PerDeviceDataset"),
    **named("towers.contrib.step_context", "MultiStepContext"),
}
_CONVOLUTIONS = {
    **named("models.layers.convolution", """
        Convolution1D=Conv1D Convolution2D=Conv2D Convolution3D=Conv3D SeparableConvolution1D=SeparableConv1D
        SeparableConvolution2D=SeparableConv2D"""),
    **named("models.layers.transposed_convolution", """
        Convolution2DTranspose=Conv2DTranspose Convolution3DTranspose=Conv3DTranspose"""),
}
_GRAPHS = {
    **named("graph.ir.tensor_conversion", "is_dense_tensor_like register_dense_tensor_like_type"),
    **named("graph.ir.default_graph", "_get_graph_from_inputs=graph_of"),
    **named("compat.utilities.collection_protos", """
        get_collection_proto_type get_from_proto_function get_to_proto_function register_proto_function"""),
    **named("compat.utilities.scope_names", "prepend_name_scope strip_name_scope"),
    **named("graph.eager.tensor", "EagerTensor"),
}
_CONTEXT = {
    **named("graph.eager.mode", "eager_mode executing_eagerly graph_mode"),
    **named("platform.local", "num_gpus"),
    **named("compat.keras.eager_context", "async_wait context get_config get_device_name"),
}
_BACKPROP = named("graph.tapes.gradient_functions", """
    implicit_grad=implicit_gradients implicit_val_and_grad=implicit_value_and_gradients
    val_and_grad_function=value_and_gradients_function""")
_TYPES = """
    FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 QINT16 QUINT16 UINT16
    COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64"""
_DATA_TYPES = named("platform.messages", "DataType DT_INVALID=DataType.DT_INVALID") | {
    f"DT_{name}": LazyName("platform.messages", f"DataType.DT_{name}")
    for kind in _TYPES.split() for name in (kind, f"{kind}_REF")
}
# fmt: on

INTERNALS: dict[str, tuple[str, dict[str, LazyName]]] = {
    **internals_era.MODULES,
    **internals_estimator.MODULES,
    **internals_hooks.MODULES,
    **internals_records.MODULES,
    **internals_images.MODULES,
    **internals_keras.MODULES,
    **internals_optimizers.MODULES,
    **internals_saving.MODULES,
    **internals_sessions.MODULES,
    **internals_summaries.MODULES,
    **internals_tpu.MODULES,
    **internals_wheel.MODULES,
    "contrib.cluster_resolver.python.training.tpu_cluster_resolver": ("tf.contrib.cluster_resolver", {}),
    "contrib.distribute.python.monitor": (_DISTRIBUTE, {}),
    "contrib.distribute.python.one_device_strategy": (_DISTRIBUTE, {}),
    "contrib.distribute.python.step_fn": (_DISTRIBUTE, {}),
    "contrib.distribute.python.tpu_strategy": (_DISTRIBUTE, {}),
    "contrib.distribute.python.values": (_DISTRIBUTE, _VALUES),
    "contrib.tpu.python.tpu.device_assignment": ("tf.contrib.tpu", {}),
    "contrib.tpu.python.tpu.topology": ("tf.contrib.tpu", {}),
    **{
        f"core.{path}_pb2": ("", named("platform.messages", names))
        for path, names in {
            "framework.attr_value": "AttrValue NameAttrList",
            "framework.cost_graph": "CostGraphDef",
            "framework.graph": "GraphDef",
            "framework.node_def": "NodeDef",
            "framework.op_def": "OpDef OpDeprecation OpList",
            "framework.step_stats": "DeviceStepStats NodeExecStats StepStats",
            "framework.tensor": "TensorProto VariantTensorDataProto",
            "framework.tensor_shape": "TensorShapeProto",
            "framework.versions": "VersionDef",
            "protobuf.cluster": "ClusterDef JobDef",
            "protobuf.config": "CallableOptions ConfigProto GPUOptions GraphOptions OptimizerOptions RPCOptions "
            "RunMetadata RunOptions TensorConnection ThreadPoolOptionProto",
            "protobuf.rewriter_config": "AutoParallelOptions RewriterConfig ScopedAllocatorOptions",
        }.items()
    },
    "core.framework.types_pb2": ("", _DATA_TYPES),
    "python.client.device_lib": ("", named("platform.local", "list_local_devices")),
    **UTILITIES,
    "python.client.session": (
        "",
        named("graph.runtime.sessions.fetch_conversions", "register_session_run_conversion_functions"),
    ),
    "python.client.timeline": ("", named("graph.runtime.sessions.timeline", "Timeline")),
    "python.distribute.cluster_resolver": ("tf.distribute.cluster_resolver", {}),
    "python.distribute.cluster_resolver.tpu_cluster_resolver": (_TPU, {}),
    "python.eager.backprop": ("tf.contrib.eager tf", _BACKPROP),
    "python.eager.context": ("", _CONTEXT),
    "python.eager.function": ("tf.contrib.eager", {}),
    "python.eager.test": ("tf.test", {}),
    "python.framework.ops": (_FRAMEWORK, _GRAPHS),
    "python.framework.sparse_tensor": (_FRAMEWORK, {}),
    "python.framework.tensor_shape": ("", named("graph.ir.shapes", "as_shape unknown_shape")),
    "python.framework.tensor_util": (_FRAMEWORK, named("graph.ir.tensor_proto", "constant_value")),
    "python.layers.base": ("tf.layers", {}),
    "python.layers.convolutional": ("tf.layers", _CONVOLUTIONS),
    "python.layers.core": ("tf.layers", {}),
    "python.layers.layers": ("tf.layers", {}),
    "python.layers.pooling": ("tf.layers", {}),
    "python.ops.array_ops": (_OPS, {}),
    "python.ops.candidate_sampling_ops": (_OPS, {}),
    "python.ops.control_flow_ops": (
        "",
        named("graph.ops.control.branches", "with_dependencies")
        | named("compat.keras.eager_context", "get_enclosing_xla_context"),
    ),
    "python.ops.math_ops": (_OPS, {}),
    "python.ops.nn": ("tf.nn tf", {}),
    "python.ops.nn_ops": ("tf.nn tf", {}),
    "python.ops.resource_variable_ops": ("", named("graph.variables.variables", "ResourceVariable=Variable")),
    "python.ops.rnn_cell": ("tf.nn.rnn_cell", {}),
    "python.ops.rnn_cell_impl": ("tf.nn.rnn_cell", named("models.rnn.cells", "LayerRNNCell assert_like_rnncell")),
    "python.ops.standard_ops": (_OPS, {}),
    "python.ops.state_ops": (_OPS, {}),
    "python.ops.string_ops": (_OPS, {}),
    "python.ops.template": ("", named("graph.scopes.template", "EagerTemplate Template")),
    "python.ops.variable_scope": (_OPS, named("graph.variables.variables", "variable=Variable")),
    "python.ops.variables": (_OPS, named("graph.variables.partitioned", "PartitionedVariable")),
    "python.ops.weights_broadcast_ops": ("", named("models.shape_matching", "broadcast_weights")),
    "python.platform.flags": ("tf.flags", {}),
    "python.platform.test": ("tf.test", {}),
    "python.training.distribute": (_DISTRIBUTE, named("towers.engine.tower_contexts", "get_update_device")),
    "python.training.distribution_strategy_context": (_DISTRIBUTE, {}),
    "python.training.moving_averages": (
        "",
        named("training.optimizers.exponential_averages", "assign_moving_average weighted_moving_average"),
    ),
    "python.training.slot_creator": (
        "",
        named("training.base.slots", "create_slot create_slot_with_initializer create_zeros_slot"),
    ),
    "python.tpu.device_assignment": (
        _TPU,
        named("towers.cluster.device_assignment", "device_assignment=DeviceAssignment.build"),
    ),
    "python.tpu.topology": (_TPU, {}),
    "python.util.nest": ("", _NEST),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers, in order of search; names of its own)."""
