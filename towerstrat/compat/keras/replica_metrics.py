"""Results of metrics under a strategy: one value, whichever replica asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.towers.distribute.current_strategy import get_replica_context, has_strategy


def merge_results(module: ModuleType) -> None:
    """Let replicas give a metric's result together, so that nothing adds it up over them again.

    Args:
      module: ``metrics_utils``.
    """
    wrap: Callable[..., Callable[..., Any]] = vars(module)["result_wrapper"]
    behaves_as_later = vars(module)["tf"].compat.v1.executing_eagerly_outside_functions

    @wraps(wrap)
    def result_wrapper(result_fn: Callable[..., Any]) -> Callable[..., Any]:
        own = wrap(result_fn)

        @wraps(own)
        def result(metric: Any, *args: Any) -> Any:
            context = get_replica_context()
            if context is None or not has_strategy() or not behaves_as_later():
                return own(metric, *args)
            merged = context.merge_call(lambda strategy: own(metric, *args))
            metric._call_result = merged
            return merged

        return result

    vars(module)["result_wrapper"] = result_wrapper
