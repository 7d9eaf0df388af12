"""Results of metrics under a strategy: one value, whichever replica asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.towers.distribute.current_strategy import get_replica_context, has_strategy
from towerstrat.towers.engine.mirrored_engine import MirroredEngine
from towerstrat.towers.engine.tower_contexts import current_engine


def merge_results(module: ModuleType) -> None:
    """Let replicas give a metric's result together, so that nothing adds it up over them again.

    Models of graphs count a result that all replicas have once for each of them where these are traced together: there
    each keeps its own.

    Args:
      module: ``metrics_utils``.
    """
    wrap: Callable[..., Callable[..., Any]] = vars(module)["result_wrapper"]
    tf = vars(module)["tf"]

    @wraps(wrap)
    def result_wrapper(result_fn: Callable[..., Any]) -> Callable[..., Any]:
        own = wrap(result_fn)

        @wraps(own)
        def result(metric: Any, *args: Any) -> Any:
            context = get_replica_context()
            later = tf.compat.v1.executing_eagerly_outside_functions()
            if context is None or not has_strategy() or not (later or isinstance(current_engine(), MirroredEngine)):
                return own(metric, *args)

            # Towers of 1.12 met without the control dependencies that put the result behind the updates.
            updated = None if later else tf.group()

            def merge(strategy: Any, updated: Any) -> Any:
                with tf.control_dependencies([] if later else strategy.experimental_local_results(updated)):
                    return own(metric, *args)

            merged = context.merge_call(merge, (updated,))
            metric._call_result = merged
            return merged

        return result

    vars(module)["result_wrapper"] = result_wrapper
