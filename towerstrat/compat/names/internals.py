"""Modules of the original's inside that programs import: where each one's names are found."""

from __future__ import annotations

from typing import Any

from towerstrat.compat.names import internals_era, internals_saving, internals_wheel
from towerstrat.compat.names.internals_utilities import CONVERSIONS, SESSION, UTILITIES
from towerstrat.compat.utilities import collection_protos, scope_names
from towerstrat.graph.eager import mode
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir import default_graph, nest, shapes, tensor_proto
from towerstrat.graph.ops import control_flow
from towerstrat.graph.runtime.timeline import Timeline
from towerstrat.graph.scopes import template
from towerstrat.graph.tapes import gradient_functions
from towerstrat.graph.variables import partitioned, variables
from towerstrat.platform import messages
from towerstrat.platform.local import list_local_devices, num_gpus
from towerstrat.towers.cluster.device_assignment import DeviceAssignment
from towerstrat.towers.contrib import inputs, step_context
from towerstrat.towers.contrib import variables as tower_variables
from towerstrat.towers.engine import values
from towerstrat.training import moving_averages, ranks, slots
from towerstrat.training.layers import base, convolutional, transposed
from towerstrat.training.optimizers.base import get_filtered_grad_fn
from towerstrat.training.rnn import cells

_FRAMEWORK = "tf tf.errors"
_OPS = "tf tf.nn tf.math tf.train tf.initializers"
_DISTRIBUTE = "tf.contrib.distribute tf"
_TPU = "tf.tpu.experimental tf.distribute.cluster_resolver"


def _of(module: Any, names: str) -> dict[str, Any]:
    """Names of a module; ``A=b``: its ``b`` under the name ``A``."""
    pairs = (name.partition("=") for name in names.split())
    return {name: getattr(module, own or name) for name, _, own in pairs}


_NEST = _of(nest, "assert_same_structure assert_shallow_structure flatten flatten_dict_items flatten_up_to "
                  "flatten_with_joined_string_paths get_traverse_shallow_structure is_sequence map_structure "
                  "map_structure_up_to map_structure_with_paths pack_sequence_as yield_flat_paths")  # fmt: skip
_VALUES = {
    **_of(values, "DistributedValues MapOutput Mirrored PerDevice regroup select_device select_device_mirrored "
                  "value_container"),
    **_of(tower_variables, "DistributedVariable MirroredVariable TowerLocalVariable"),
    **_of(inputs, "PerDeviceDataIterator PerDeviceDataset"),
    **_of(step_context, "MultiStepContext"),
}  # fmt: skip
_CONVOLUTIONS = {
    **_of(convolutional, "Convolution1D=Conv1D Convolution2D=Conv2D Convolution3D=Conv3D "
                         "SeparableConvolution1D=SeparableConv1D SeparableConvolution2D=SeparableConv2D"),
    **_of(transposed, "Convolution2DTranspose=Conv2DTranspose Convolution3DTranspose=Conv3DTranspose"),
}  # fmt: skip
_GRAPHS = {
    **_of(default_graph, "_get_graph_from_inputs=graph_of"),
    **_of(collection_protos, "get_collection_proto_type get_from_proto_function get_to_proto_function "
                             "register_proto_function"),
    **_of(scope_names, "prepend_name_scope strip_name_scope"),
    "EagerTensor": EagerTensor,
}  # fmt: skip
_VARIABLES = _of(partitioned, "PartitionedVariable")
_CONTEXT = {**_of(mode, "eager_mode executing_eagerly graph_mode"), "num_gpus": num_gpus}

_BACKPROP = {
    "implicit_grad": gradient_functions.implicit_gradients,
    "implicit_val_and_grad": gradient_functions.implicit_value_and_gradients,
    "val_and_grad_function": gradient_functions.value_and_gradients_function,
}

INTERNALS: dict[str, tuple[str, dict[str, Any]]] = {
    **internals_era.MODULES,
    **internals_saving.MODULES,
    **internals_wheel.MODULES,
    "contrib.cluster_resolver.python.training.cluster_resolver": ("tf.contrib.cluster_resolver", {}),
    "contrib.cluster_resolver.python.training.tpu_cluster_resolver": ("tf.contrib.cluster_resolver", {}),
    **{
        f"contrib.data.python.ops.{module}": ("tf.contrib.data tf.data.experimental", {})
        for module in ("batching", "grouping", "interleave_ops", "resampling", "scan_ops", "shuffle_ops", "unique")
    },
    "contrib.distribute.python.monitor": (_DISTRIBUTE, {}),
    "contrib.distribute.python.one_device_strategy": (_DISTRIBUTE, {}),
    "contrib.distribute.python.step_fn": (_DISTRIBUTE, {}),
    "contrib.distribute.python.tpu_strategy": (_DISTRIBUTE, {}),
    "contrib.distribute.python.values": (_DISTRIBUTE, _VALUES),
    "contrib.tpu.python.ops.tpu_ops": ("tf.contrib.tpu", {}),
    "contrib.tpu.python.tpu.device_assignment": ("tf.contrib.tpu", {}),
    "contrib.tpu.python.tpu.topology": ("tf.contrib.tpu", {}),
    "contrib.tpu.python.tpu.tpu": ("tf.contrib.tpu", {}),
    "contrib.tpu.python.tpu.tpu_optimizer": ("tf.contrib.tpu", {}),
    **{
        f"core.{path}_pb2": ("", _of(messages, names))
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
            "protobuf.config": "ConfigProto GPUOptions GraphOptions OptimizerOptions RPCOptions RunMetadata RunOptions "
            "ThreadPoolOptionProto",
            "protobuf.rewriter_config": "AutoParallelOptions RewriterConfig ScopedAllocatorOptions",
        }.items()
    },
    "core.framework.types_pb2": ("", {"DataType": messages.DataType, **dict(messages.DataType.items())}),
    "python.client.device_lib": ("", {"list_local_devices": list_local_devices}),
    **UTILITIES,
    "python.client.session": ("tf", SESSION),
    "python.client.timeline": ("", {"Timeline": Timeline}),
    "python.data": ("tf.data", {}),
    "python.data.ops.dataset_ops": ("tf.data", {}),
    "python.data.ops.iterator_ops": ("tf.data", {}),
    "python.distribute.cluster_resolver": ("tf.distribute.cluster_resolver", {}),
    "python.distribute.cluster_resolver.tpu_cluster_resolver": (_TPU, {}),
    "python.eager.backprop": ("tf.contrib.eager tf", _BACKPROP),
    "python.eager.context": ("", _CONTEXT),
    "python.eager.def_function": ("tf", {}),
    "python.eager.function": ("tf.contrib.eager", {}),
    "python.eager.test": ("tf.test", {}),
    "python.framework.constant_op": (_FRAMEWORK, {}),
    "python.framework.dtypes": (_FRAMEWORK, {}),
    "python.framework.errors": ("tf.errors", {}),
    "python.framework.ops": (_FRAMEWORK, {**CONVERSIONS, **_GRAPHS}),
    "python.framework.random_seed": (_FRAMEWORK, {}),
    "python.framework.sparse_tensor": (_FRAMEWORK, {}),
    "python.framework.tensor_shape": (_FRAMEWORK, _of(shapes, "as_shape unknown_shape")),
    "python.framework.tensor_util": (_FRAMEWORK, _of(tensor_proto, "constant_value")),
    "python.keras.engine.input_spec": ("", _of(base, "InputSpec")),
    "python.layers.base": ("tf.layers", {}),
    "python.layers.convolutional": ("tf.layers", _CONVOLUTIONS),
    "python.layers.core": ("tf.layers", {}),
    "python.layers.layers": ("tf.layers", {}),
    "python.layers.normalization": ("tf.layers", {}),
    "python.layers.pooling": ("tf.layers", {}),
    "python.ops.array_ops": (_OPS, {}),
    "python.ops.candidate_sampling_ops": (_OPS, {}),
    "python.ops.check_ops": (_OPS, {}),
    "python.ops.clip_ops": (_OPS, {}),
    "python.ops.control_flow_ops": (_OPS, _of(control_flow, "with_dependencies")),
    "python.ops.custom_gradient": (_OPS, {}),
    "python.ops.data_flow_ops": (_OPS, {}),
    "python.ops.embedding_ops": (_OPS, {}),
    "python.ops.functional_ops": (_OPS, {}),
    "python.ops.gradients": (_OPS, {}),
    "python.ops.gradients_impl": (_OPS, {}),
    "python.ops.init_ops": (_OPS, {}),
    "python.ops.linalg_ops": (_OPS, {}),
    "python.ops.losses.losses": ("tf.losses", {}),
    "python.ops.losses.losses_impl": ("tf.losses", {}),
    "python.ops.math_ops": (_OPS, {}),
    "python.ops.metrics": ("tf.metrics", {}),
    "python.ops.metrics_impl": ("tf.metrics", {}),
    "python.ops.nn": ("tf.nn tf", {}),
    "python.ops.nn_impl": ("tf.nn tf", {}),
    "python.ops.nn_ops": ("tf.nn tf", {}),
    "python.ops.random_ops": (_OPS, {}),
    "python.ops.resource_variable_ops": (_OPS, {"ResourceVariable": variables.Variable}),
    "python.ops.rnn": ("tf.nn", {}),
    "python.ops.rnn_cell": ("tf.nn.rnn_cell", {}),
    "python.ops.rnn_cell_impl": ("tf.nn.rnn_cell", _of(cells, "LayerRNNCell assert_like_rnncell")),
    "python.ops.sparse_ops": (_OPS, {}),
    "python.ops.script_ops": (_OPS, {}),
    "python.ops.standard_ops": (_OPS, {}),
    "python.ops.state_ops": (_OPS, {}),
    "python.ops.string_ops": (_OPS, {}),
    "python.ops.template": (_OPS, _of(template, "EagerTemplate Template")),
    "python.ops.variable_scope": (_OPS, {"variable": variables.Variable}),
    "python.ops.variables": (_OPS, _VARIABLES),
    "python.ops.weights_broadcast_ops": ("", _of(ranks, "broadcast_weights")),
    "python.platform.app": ("tf.app", {}),
    "python.platform.flags": ("tf.flags", {}),
    "python.platform.gfile": ("tf.gfile", {}),
    "python.platform.test": ("tf.test", {}),
    "python.platform.tf_logging": ("tf.logging", {}),
    "python.training.adadelta": ("tf.train", {}),
    "python.training.adagrad": ("tf.train", {}),
    "python.training.adam": ("tf.train", {}),
    "python.training.coordinator": ("tf.train", {}),
    "python.training.distribute": (_DISTRIBUTE, {}),
    "python.training.distribution_strategy_context": (_DISTRIBUTE, {}),
    "python.training.ftrl": ("tf.train", {}),
    "python.training.gradient_descent": ("tf.train", {}),
    "python.training.input": ("tf.train", {}),
    "python.training.learning_rate_decay": ("tf.train", {}),
    "python.training.momentum": ("tf.train", {}),
    "python.training.moving_averages": (
        "tf.train",
        _of(moving_averages, "assign_moving_average weighted_moving_average"),
    ),
    "python.training.optimizer": ("tf.train", {"get_filtered_grad_fn": get_filtered_grad_fn}),
    "python.training.queue_runner": ("tf.train", {}),
    "python.training.queue_runner_impl": ("tf.train", {}),
    "python.training.rmsprop": ("tf.train", {}),
    "python.training.server_lib": ("tf.train", {}),
    "python.training.slot_creator": ("", _of(slots, "create_slot create_slot_with_initializer create_zeros_slot")),
    "python.training.training": ("tf.train", {}),
    "python.training.training_util": ("tf.train", {}),
    "python.tpu.device_assignment": (_TPU, {"device_assignment": DeviceAssignment.build}),
    "python.tpu.topology": (_TPU, {}),
    "python.tpu.tpu_strategy_util": (_TPU, {}),
    "python.util.nest": ("", _NEST),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers, in order of search; names of its own)."""
