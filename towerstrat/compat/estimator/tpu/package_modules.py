"""The modules of the package of estimators that ``TPUEstimator`` stands on. Who makes its class loads them first."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from towerstrat.compat.estimator.package_loader import ESTIMATOR, INSIDE

Base: Any = object
"""Stands for a class of the package, which the class of ours is joined with."""


def loaded(name: str) -> ModuleType:
    """One of them."""
    return ESTIMATOR.loaded(f"{INSIDE}.{name}")
