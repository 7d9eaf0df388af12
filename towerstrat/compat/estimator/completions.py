"""Changes to modules of the package once their files were executed: its functions learn of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from towerstrat.compat.estimator import checkpoint_exports, early_stopping, tower_results, unfilled_steps

_MODULES = "tensorflow_estimator.python.estimator"


def _complete_estimator(module: ModuleType) -> None:
    checkpoint_exports.take_exports(module)
    tower_results.take_results(module)
    unfilled_steps.count_what_is_there(module)


_COMPLETED: Mapping[str, Callable[[ModuleType], None]] = {
    f"{_MODULES}.early_stopping": early_stopping.tell_strategies,
    f"{_MODULES}.estimator": _complete_estimator,
}
"""Module -> what completes it."""


def complete(module: ModuleType) -> None:
    """Completes a module of the package that was executed."""
    if module.__name__ in _COMPLETED:
        _COMPLETED[module.__name__](module)
