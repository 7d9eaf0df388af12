"""Modules of the original's inside that are in ``towerstrat.compat.bundled``. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

_OF_DATASETS = (
    "Dataset Datasets load_boston load_csv_with_header load_csv_without_header load_iris maybe_download shrink_csv"
)
_MNIST = "DataSet dense_to_one_hot extract_images extract_labels load_mnist read_data_sets"
_NAMED = {
    **named("compat.bundled.named_datasets", "DATASETS load_dataset"),
    **named("compat.bundled.contrib_datasets", "load_boston load_iris"),
}
_COMBINATIONS = named(
    "compat.bundled.combinations",
    """NamedDistribution NamedObject adagrad_optimizer_v1_fn adam_optimizer_v1_fn adam_optimizer_v2_fn
    combine distributions_and_v1_optimizers distributions_and_v2_optimizers generate gradient_descent_optimizer_v1_fn
    gradient_descent_optimizer_v2_fn graph_and_eager_modes
    mirrored_strategy_with_gpu_and_cpu mirrored_strategy_with_two_gpus one_device_strategy optimizers_v1 optimizers_v2
    rmsprop_optimizer_v1_fn strategies_minus_tpu times tpu_strategy tpu_strategy_one_step
    tpu_strategy_single_iteration""",
)
_TEST_UTIL = named(
    "compat.bundled.test_util",
    """NCHWToNHWC NHWCToNCHW TensorFlowTestCase assert_ops_in_graph deprecated_graph_mode_only device
    for_all_test_methods force_cpu force_gpu generate_combinations_with_testcase_name
    run_all_in_deprecated_graph_mode_only run_all_in_graph_and_eager_modes run_deprecated_v1 run_gpu_only
    run_in_graph_and_eager_modes run_v1_only run_v2_only skip_if use_gpu""",
)

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    **{
        f"{place}{path}": ("", names)
        for place in ("contrib.learn.", "contrib.learn.python.learn.")
        for path, names in {
            "datasets": _NAMED,
            "datasets.base": named("compat.bundled.contrib_datasets", _OF_DATASETS),
            "datasets.mnist": named("compat.bundled.mnist_data", f"{_MNIST} DEFAULT_SOURCE_URL"),
        }.items()
    },
    **{
        f"{place}.{path}": ("", names)
        for place in ("contrib.distribute.python", "python.distribute")
        for path, names in {
            "combinations": _COMBINATIONS,
            "single_loss_example": named(
                "compat.bundled.single_loss_example", "batchnorm_example minimize_loss_example single_loss_example"
            ),
            "strategy_combinations": _COMBINATIONS,
        }.items()
    },
    "examples.tutorials.mnist.input_data": ("", named("compat.bundled.mnist_data", _MNIST)),
    "examples.tutorials.mnist.mnist": (
        "",
        named("compat.bundled.mnist_model", "IMAGE_PIXELS IMAGE_SIZE NUM_CLASSES evaluation inference loss training"),
    ),
    "python.framework.test_util": ("tf.test", _TEST_UTIL),
    **{
        f"python.keras.datasets{path}": (f"tf.keras.datasets{path}", {})
        for path in (
            "",
            ".boston_housing",
            ".cifar10",
            ".cifar100",
            ".fashion_mnist",
            ".imdb",
            ".mnist",
            ".reuters",
        )
    },
    "python.platform.googletest": ("tf.test", {}),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
