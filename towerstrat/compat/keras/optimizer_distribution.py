"""``tf.__internal__.distribute``: how the package's optimizers meet strategies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from towerstrat.towers.distribute.current_strategy import get_replica_context, get_strategy, has_strategy
from towerstrat.towers.engine.mirrored_engine import MirroredEngine
from towerstrat.towers.engine.tower_contexts import current_engine


class ShardedVariable:
    """A variable that parameter servers keep in parts; there are none here, and ``isinstance`` finds none."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(
            "ShardedVariable is not supported: variables are kept whole. tf.compat.v1.get_variable(partitioner=...) "
            "makes a variable of several parts."
        )


def strategy_supports_no_merge_call() -> bool:
    """Whether replicas can update variables, and branch on what they have reduced, without a ``merge_call`` around.

    Not where they share variables, nor where each is traced for itself: those meet outside of branches.
    """
    if isinstance(current_engine(), MirroredEngine):
        return False
    return not has_strategy() or not get_strategy().extended._use_merge_call()


def maybe_merge_call(fn: Callable[..., Any], strategy: Any, *args: Any, **kwargs: Any) -> Any:
    """``fn(strategy, ...)``, for all replicas together where they have to meet for it."""
    context = get_replica_context()
    if context is None or strategy_supports_no_merge_call():
        return fn(strategy, *args, **kwargs)
    return context.merge_call(fn, args, kwargs)


def variable_sync_on_read_context() -> AbstractContextManager[None]:
    """Inside, variables that replicas write for themselves are read combined: they are everywhere here."""
    return nullcontext()
