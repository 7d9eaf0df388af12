"""``tf.__internal__`` and ``tf.__operators__``: what keras 2.15 takes from TensorFlow's inside. Data, as in ``v1``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

_I = "tf.__internal__"
ROWS: Rows = (
    ("compat.v2_functions.profiling", {"tf.profiler.experimental": "Profile ProfilerOptions Trace start stop"}),
    ("compat.bundled.sysconfig", {"tf.sysconfig": "get_build_info"}),
    ("graph.ir.device_spec", {"tf": "DeviceSpec"}),
    ("training.saving.saved_model_options", {"tf.saved_model": "LoadOptions SaveOptions"}),
    ("compat.v2_functions.raw_ops", {
        "tf.raw_ops": """
            Bucketize ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad
            ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad
            ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2
            ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyRMSProp
            ResourceScatterAdd ResourceScatterUpdate ResourceSparseApplyAdadelta
            ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl
            ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum ResourceSparseApplyRMSProp""",
    }),
    ("graph.ops.images.projective_transforms", {"tf.raw_ops": "ImageProjectiveTransformV3=image_projective_transform"}),
    ("compat.v2_functions.operators", {"tf.__operators__": "add eq getitem ne ragged_getitem"}),
    ("compat.v2_functions.tensor_queries", {f"{_I}.types": "Tensor=DenseTensor"}),
    ("compat.utilities.decorators", {f"{_I}.decorator": "TFDecorator make_decorator unwrap"}),
    ("compat.utilities.smart_cond", {f"{_I}.smart_cond": "smart_cond"}),
    ("compat.estimator.usage_gauges", {f"{_I}.monitoring": "BoolGauge"}),
    ("compat.keras.eager_context", {_I: "execute_fn_for_device get_name_scope"}),
    ("compat.keras.func_graph", {_I: "FuncGraph"}),
    ("compat.keras.nest_internals", {
        f"{_I}.nest": """
            flatten_up_to get_traverse_shallow_structure is_attrs is_mapping list_to_tuple map_structure_up_to
            sequence_like yield_flat_paths""",
    }),
    ("compat.keras.saved_model_stub", {f"{_I}.saved_model": "parse_saved_model"}),
    ("compat.keras.registration", {
        _I: """
            register_call_context_function register_clear_session_function register_get_session_function
            register_load_context_function register_load_model_function""",
        f"{_I}.saved_model.load": """
            VersionedTypeRegistration get_setter register_revived_type registered_identifiers""",
    }),
    ("compat.keras.optimizer_distribution", {
        f"{_I}.distribute": "strategy_supports_no_merge_call variable_sync_on_read_context ShardedVariable",
        f"{_I}.distribute.interim": "maybe_merge_call",
    }),
    ("compat.keras.internals", {
        _I: "CompositeTensor",
        f"{_I}.autograph": "control_status_ctx tf_convert",
        f"{_I}.mixed_precision": "register_loss_scale_wrapper",
        f"{_I}.ops": "is_resource_variable",
        f"{_I}.tf2": "enabled",
        f"{_I}.train": "is_mixed_precision_graph_rewrite_enabled set_using_mixed_precision_policy",
    }),
    ("compat.keras.traceback_filter", {
        "tf.debugging": "disable_traceback_filtering enable_traceback_filtering is_traceback_filtering_enabled",
    }),
    ("compat.keras.tracking_internals", {
        f"{_I}.tracking": """
            DelegatingTrackableMixin ObjectGraphView saveable_objects_from_trackable""",
    }),
    ("graph.eager.mode", {f"{_I}.eager_context": "eager_mode"}),
    ("graph.eager.tensor", {_I: "EagerTensor"}),
    ("graph.functions.polymorphic", {f"{_I}.function": "Function=Function"}),
    ("graph.ir.dispatch", {f"{_I}.dispatch": "GlobalOpDispatcher OpDispatcher add_dispatch_support"}),
    ("graph.variables.containers", {
        f"{_I}.tracking": "AutoTrackable TrackableDataStructure sticky_attribute_assignment wrap",
    }),
    ("graph.variables.trackable", {
        f"{_I}.tracking": """
            Trackable no_automatic_dependency_tracking no_automatic_dependency_tracking_scope""",
    }),
    ("training.optimizers.exponential_averages", {f"{_I}.train": "assign_moving_average"}),
    ("models.shape_matching", {f"{_I}.ops": "broadcast_weights"}),
    ("training.saving.load_status", {f"{_I}.tracking": "streaming_restore"}),
    ("training.saving.object_restore", {f"{_I}.tracking": "CheckpointInitialValueCallable"}),
    ("training.saving.saver_sessions", {f"{_I}.tracking": "register_session_provider"}),
    ("training.saving.latest_checkpoint", {f"{_I}.train": "update_checkpoint_state"}),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
