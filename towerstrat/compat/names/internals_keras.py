"""Modules of the inside that keras 2.15 imports, beside those that programs do. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    "python.pywrap_tfe": ("", named("compat.keras.eager_context", "TF_ListPluggablePhysicalDevices")),
    "python.data.util.structure": ("", named("graph.ir.type_specs", "NoneTensorSpec type_spec_from_value")),
    "python.framework.tensor": (
        "tf", named("graph.ir.graph_elements", "Tensor") | named("graph.ir.type_specs", "TensorSpec")
    ),
    "python.framework.type_spec": ("", named("graph.ir.type_specs", "TypeSpec type_spec_from_value")),
    "python.distribute.input_lib": (
        "", named("towers.distribute.distributed_dataset", "DistributedDataset")
        | named("data.api.graph_defs", "_get_dataset_attributes=batching")),
    "python.ops.ragged.ragged_map_ops": ("", named("compat.v2_functions.control_flow", "map_fn")),
    "python.ops.ragged.ragged_util": ("", named("compat.keras.ragged_checks", "assert_splits_match")),
    "python.saved_model.save": ("", named("compat.keras.saved_model_stub", "save_and_return_nodes")),
    "python.util.dispatch": ("", named("graph.ir.dispatch", """
        GlobalOpDispatcher OpDispatcher add_dispatch_support dispatch_for_types""")),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
