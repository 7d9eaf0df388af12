"""Defaults of optimizers and the order of weights, where 1.12 had others than 2.15."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from types import ModuleType
from typing import Any

from towerstrat.compat.keras.program_release import LAST_OF_TOWERS, RELEASE

_OPTIMIZERS: Mapping[str, Mapping[str, float]] = {
    "Adadelta": {"learning_rate": 1.0},
    "Adagrad": {"learning_rate": 0.01, "initial_accumulator_value": 0.0},
    "Adamax": {"learning_rate": 0.002},
    "Nadam": {"learning_rate": 0.002},
}
"""Arguments of optimizers up to 1.12; ``initial_accumulator_value`` was none, accumulators began with zeros."""


def _is_earlier() -> bool:
    """Whether the program is known to be one of 1.12 or earlier."""
    return RELEASE.version is not None and RELEASE.version <= LAST_OF_TOWERS


def take_defaults(name: str) -> Callable[[ModuleType], None]:
    """A function that completes the module of the optimizer ``name``, whose defaults it lets depend on the release."""
    return partial(_take_defaults, name)


def _take_defaults(name: str, module: ModuleType) -> None:
    kind = vars(module)[name]
    make = kind.__init__

    @wraps(make)
    def make_with_defaults(self: Any, *args: Any, **kwargs: Any) -> None:
        if _is_earlier() and type(self) is kind:
            defaults = dict(_OPTIMIZERS[name])
            if args or "lr" in kwargs:
                del defaults["learning_rate"]
            if name == "Adagrad" and args[1:]:
                # The second argument was epsilon then.
                args, kwargs = args[:1], {**dict(zip(("epsilon", "decay"), args[1:], strict=False)), **kwargs}
            kwargs = {**defaults, **kwargs}
        make(self, *args, **kwargs)

    kind.__init__ = make_with_defaults


def choose_weights(module: ModuleType) -> None:
    """Let weights of samples take the place of those of classes, as up to 1.12; later both are multiplied.

    Args:
      module: ``training_utils_v1``.
    """
    standardize = vars(module)["standardize_weights"]

    @wraps(standardize)
    def standardize_weights(y: Any, sample_weight: Any = None, class_weight: Any = None, *args: Any) -> Any:
        alone = sample_weight is not None and RELEASE.of_graphs <= LAST_OF_TOWERS
        return standardize(y, sample_weight, None if alone else class_weight, *args)

    vars(module)["standardize_weights"] = standardize_weights
