"""The names of ``tf.estimator`` and ``tf.contrib.estimator``: ours, and those of the package. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("compat.estimator.keys", {
        "tf.estimator": "ModeKeys=EstimatorModeKeys",
    }),
    ("compat.estimator.export_outputs", {
        "tf.estimator.export": "ClassificationOutput ExportOutput PredictOutput RegressionOutput",
    }),
    ("compat.estimator.input_functions", {
        "tf.estimator.inputs": "numpy_input_fn pandas_input_fn",
    }),
    ("compat.estimator.run_coordinator", {
        "tf.contrib.distribute": "DistributeConfig",
    }),
    ("compat.estimator.distribute_coordinator", {
        "tf.contrib.distribute": "run_standard_tensorflow_server",
    }),
    ("compat.estimator.contrib_extenders", {
        "tf.contrib.estimator": "clip_gradients_by_norm forward_features",
    }),
    ("compat.estimator.replicate_model_fn", {
        "tf.contrib.estimator": "replicate_model_fn",
    }),
    ("compat.estimator.tower_optimizer", {
        "tf.contrib.estimator": "TowerOptimizer",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""

V2_ROWS: Rows = (
    ("compat.estimator.keys", {
        "tf.estimator": "ModeKeys=EstimatorModeKeys",
    }),
    ("compat.estimator.export_outputs", {
        "tf.estimator.export": "ClassificationOutput EvalOutput ExportOutput PredictOutput RegressionOutput",
    }),
)  # fmt: skip
"""Likewise, the names of 2.x."""

_STOPPING = """
    make_early_stopping_hook stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook stop_if_no_increase_hook"""
_HOOKS = "InMemoryEvaluatorHook make_stop_at_checkpoint_step_hook"
_EXPORT = """
    ServingInputReceiver TensorServingInputReceiver build_parsing_serving_input_receiver_fn
    build_raw_serving_input_receiver_fn"""
_SUPERVISED = "build_raw_supervised_input_receiver_fn"

_BOTH: Rows = (
    ("early_stopping", {"tf.estimator.experimental": _STOPPING}),
    ("estimator", {"tf.estimator": "VocabInfo WarmStartSettings"}),
    ("export.export", {"tf.estimator.export": _EXPORT, "tf.estimator.experimental": _SUPERVISED}),
    ("exporter", {"tf.estimator": "BestExporter Exporter FinalExporter LatestExporter"}),
    ("extenders", {"tf.estimator": "add_metrics"}),
    ("hooks.basic_session_run_hooks", {
        "tf.estimator": """
            CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook
            LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer
            StepCounterHook StopAtStepHook SummarySaverHook""",
    }),
    ("hooks.hooks", {"tf.estimator.experimental": _HOOKS}),
    ("hooks.session_run_hook", {
        "tf.estimator": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
    }),
    ("model_fn", {"tf.estimator": "EstimatorSpec", "tf.estimator.experimental": "call_logit_fn"}),
    ("run_config", {"tf.estimator": "RunConfig"}),
    ("training", {"tf.estimator": "EvalSpec TrainSpec train_and_evaluate"}),
)  # fmt: skip
_TPU = "tf.contrib.tpu tf.estimator.tpu"

SERVED: dict[int, Rows] = {
    1: (
        *_BOTH,
        ("early_stopping", {"tf.contrib.estimator": f"{_STOPPING} read_eval_metrics"}),
        ("estimator", {"tf.estimator": "Estimator"}),
        ("export.export", {
            "tf.contrib.estimator": f"{_SUPERVISED} build_supervised_input_receiver_fn_from_input_fn",
        }),
        ("extenders", {"tf.contrib.estimator": "add_metrics"}),
        ("hooks.hooks", {"tf.contrib.estimator": _HOOKS}),
        ("model_fn", {"tf.contrib.estimator": "call_logit_fn"}),
        ("tpu.tpu_config", {_TPU: "InputPipelineConfig RunConfig TPUConfig"}),
    ),
    2: (
        *_BOTH,
        ("estimator", {"tf.estimator": "Estimator=EstimatorV2"}),
    ),
}  # fmt: skip
"""By namespace: (module of the package, {place: names})."""

JOINED: dict[int, tuple[tuple[tuple[str, str], tuple[str, str], str], ...]] = {
    1: (
        (("compat.estimator.tpu.tpu_estimator", "TPUEstimator"), ("estimator", "Estimator"), _TPU),
        (("compat.estimator.tpu.estimator_spec", "TPUEstimatorSpec"), ("model_fn", "_TPUEstimatorSpec"), _TPU),
    ),
    2: (),
}
"""By namespace: (module and name of a class of ours, module and name of the package's class under it, places)."""

NEEDED = ("util", "tpu.tpu_config", "tpu.util", "tpu.iteration_count_estimator")
"""The modules of the package that these use beside those of their bases."""
