"""Data sets by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.compat.bundled.contrib_datasets import load_boston, load_iris
from towerstrat.compat.bundled.mnist_data import load_mnist

DATASETS: dict[str, Callable[[], Any]] = {"iris": load_iris, "boston": load_boston, "mnist": load_mnist}


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """The data set of a name of ``DATASETS``.

    Args:
      size, test_with_fake_data: of texts, which are not here; they change nothing of the others.

    Raises:
      ValueError: another name.
    """
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}; there are {', '.join(DATASETS)}.")
    return DATASETS[name]()
