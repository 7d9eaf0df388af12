"""Modules of the inside about estimators, and those that their package imports. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_NAMES = "SINGLE_FEATURE_DEFAULT_NAME SINGLE_LABEL_DEFAULT_NAME SINGLE_RECEIVER_DEFAULT_NAME"
_OUTPUTS = """
    ClassificationOutput EvalOutput ExportOutput PredictOutput RegressionOutput TrainOutput _SupervisedOutput"""
_INPUTS = "tf.estimator.inputs"
_CONTRIB = "tf.contrib.estimator"
_ESTIMATOR = "tf.estimator tf.estimator.experimental"
_EXPORT = "tf.estimator.export"

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    **{f"contrib.estimator.python.estimator.{name}": (_CONTRIB, {})
       for name in ("early_stopping", "export", "extenders", "hooks", "replicate_model_fn")},
    "contrib.learn.python.learn.learn_io.generator_io": (
        "", named("compat.estimator.input_functions", "generator_input_fn")),
    **{f"python.estimator.{name}": (_ESTIMATOR, {})
       for name in ("estimator", "estimator_lib", "exporter", "mode_keys", "model_fn", "training")},
    **{f"python.estimator.export.{name}": (_EXPORT, {}) for name in ("export", "export_lib", "export_output")},
    "python.estimator.run_config": (_ESTIMATOR, named("compat.estimator.keys", "TaskType")),
    "python.estimator.util": ("", named("compat.utilities.inspection", "fn_args")),
    **{f"python.estimator.inputs.{name}": (_INPUTS, {}) for name in ("inputs", "numpy_io", "pandas_io")},
    "python.checkpoint.checkpoint": ("", named("training.saving.checkpoint", "Checkpoint")),
    "python.checkpoint.checkpoint_management": ("tf.train", {}),
    "python.checkpoint.graph_view": ("tf.contrib.checkpoint", {}),
    "python.distribute.estimator_training": ("", named("compat.estimator.run_coordinator", """
        estimator_evaluate estimator_train init_run_config should_run_distribute_coordinator train_and_evaluate""")),
    "python.distribute.distribute_coordinator": ("", named("compat.estimator.distribute_coordinator", """
        CoordinatorMode run_distribute_coordinator run_standard_tensorflow_server""")),
    "python.distribute.distribute_coordinator_context": (
        "", named("compat.estimator.distribute_coordinator", "get_current_worker_context")),
    "python.eager.monitoring": ("", named("compat.estimator.usage_gauges", "BoolGauge StringGauge")),
    "python.profiler.trace": ("", named("compat.v2_functions.profiling", "Trace")),
    "python.saved_model.model_utils": ("", named("compat.estimator.export_outputs", "get_export_outputs")),
    "python.saved_model.model_utils.export_output": ("", named("compat.estimator.export_outputs", _OUTPUTS)),
    "python.saved_model.model_utils.export_utils": ("", named("compat.estimator.keys", _NAMES)),
    "python.saved_model.model_utils.mode_keys": (
        "", named("compat.estimator.keys", "EstimatorModeKeys KerasModeKeys")),
    "python.saved_model.path_helpers": ("", named("compat.estimator.keys", "get_variables_dir get_variables_path")),
    "python.tpu.tensor_tracer": ("", named("compat.estimator.usage_gauges", "TensorTracer")),
    "python.training.device_setter": ("tf.train", named("training.base.device_setter", "STANDARD_PS_OPS")),
    "python.training.server_lib": ("tf.train", {}),
    "tools.docs.doc_controls": ("", named("compat.utilities.doc_controls", """
        do_not_doc_inheritable do_not_generate_docs for_subclass_implementers inheritable_header""")),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""

PACKAGED = {
    "contrib.estimator.python.estimator.early_stopping": (
        "early_stopping", "_StopOnPredicateHook _get_or_create_stop_var"),
    "python.estimator.estimator": ("estimator", """
        _check_checkpoint_available _check_hooks_type _dict_to_str _get_replica_device_setter
        _load_global_step_from_checkpoint_dir _write_dict_to_summary maybe_overwrite_model_dir_and_session_config"""),
    "python.estimator.model_fn": ("model_fn", "LOSS_METRIC_KEY"),
    "python.estimator.run_config": ("run_config", "get_default_session_config"),
    "python.estimator.training": ("training", "_StopAtSecsHook _TrainingExecutor"),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the package's module that is there; those of its names that are not public)."""
