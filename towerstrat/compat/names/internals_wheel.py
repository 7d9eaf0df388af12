"""Modules of the original's inside that are in ``towerstrat.compat.wheel``. Data, as in ``internals``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from towerstrat.compat.wheel import (
    combinations,
    datasets,
    mnist_data,
    mnist_model,
    named_datasets,
    single_loss_example,
    test_util,
)

_OF_DATASETS = (
    "Dataset Datasets load_boston load_csv_with_header load_csv_without_header load_iris maybe_download shrink_csv"
)
_MNIST = "DataSet dense_to_one_hot extract_images extract_labels load_mnist read_data_sets"


def _of(module: ModuleType, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


_NAMED = _of(named_datasets, "DATASETS load_dataset") | _of(datasets, "load_boston load_iris")

MODULES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"{place}{path}": ("", names)
        for place in ("contrib.learn.", "contrib.learn.python.learn.")
        for path, names in {
            "datasets": _NAMED,
            "datasets.base": _of(datasets, _OF_DATASETS),
            "datasets.mnist": _of(mnist_data, f"{_MNIST} DEFAULT_SOURCE_URL"),
        }.items()
    },
    **{
        f"{place}.{name}": ("", _of(module, " ".join(module.__all__)))
        for place in ("contrib.distribute.python", "python.distribute")
        for name, module in (
            ("combinations", combinations),
            ("single_loss_example", single_loss_example),
            ("strategy_combinations", combinations),
        )
    },
    "examples.tutorials.mnist.input_data": ("", _of(mnist_data, _MNIST)),
    "examples.tutorials.mnist.mnist": (
        "",
        _of(mnist_model, "IMAGE_PIXELS IMAGE_SIZE NUM_CLASSES evaluation inference loss training"),
    ),
    "python.framework.test_util": ("tf.test", _of(test_util, " ".join(test_util.__all__))),
    "python.platform.googletest": ("tf.test", {}),
    "python.platform.resource_loader": ("tf.resource_loader", {}),
}
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
