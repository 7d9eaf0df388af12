"""``fit`` and ``evaluate``: an execution of several steps begins while the one before is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.graph.functions.polymorphic import Function

_FUNCTIONS = ("train_function", "test_function")
"""Attributes of a model: the functions of an execution."""


def overlap(module: ModuleType) -> None:
    """Lets the executions of an epoch leave the errors of their checks to the next one.

    The package waits for what it began at the end of an epoch, where TensorFlow may run ahead of Python, and wherever
    somebody looks at what a step gave: callbacks get numbers.
    """
    handler = vars(module)["DataHandler"]
    scope: Callable[[Any], AbstractContextManager[None]] = handler.catch_stop_iteration

    @wraps(scope)
    @contextmanager
    def catch_stop_iteration(self: Any) -> Iterator[None]:
        with scope(self), ExitStack() as functions:
            for name in _FUNCTIONS:
                function = getattr(self._model, name, None)
                if isinstance(function, Function):
                    functions.enter_context(function.late())
            yield

    handler.catch_stop_iteration = catch_stop_iteration
