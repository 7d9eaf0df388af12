"""The strategy and context that are current in a thread, as ``tf.distribute`` asks for them."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.context_stacks import Stack
from towerstrat.towers.distribute.default_strategy import DefaultStrategy
from towerstrat.towers.distribute.replica_context import ReplicaContext, require_replica, strategy_of
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.engine import ReplicaView


def get_strategy() -> ReplicaView:
    """The current strategy; outside of any scope the default one, of a single replica."""
    engine = tower_contexts.current_engine()
    if engine is tower_contexts.default_engine() and engine.replica_view is None:
        return DefaultStrategy()
    return strategy_of(engine)


def has_strategy() -> bool:
    """Whether a strategy other than the default is current."""
    return tower_contexts.has_distribution_strategy()


def in_cross_replica_context() -> bool:
    """Whether code speaks for all replicas of the current strategy; False outside of any scope."""
    return tower_contexts.in_cross_tower_context()


def get_cross_replica_context() -> ReplicaView | None:
    """The current strategy in its cross-replica context; None in a replica's context or outside of any scope."""
    return get_strategy() if in_cross_replica_context() else None


def require_replica_context(replica_ctx: ReplicaContext) -> None:
    """Raises RuntimeError unless ``replica_ctx`` is the current replica's context."""
    require_replica(replica_ctx._tower)


def get_replica_context() -> ReplicaContext | None:
    """The context of the current replica; None in cross-replica context; the default one outside of any scope."""
    tower = tower_contexts.get_tower_context()
    if tower is None:
        return None
    get_strategy()  # makes the view that the context belongs to, if there is none
    return ReplicaContext._of(tower)


_SET: Stack[tuple[Any, tower_contexts.Mode]] = Stack()
"""The scope that was set without a ``with`` block, and the mode in it."""


def experimental_set_strategy(strategy: Any) -> None:
    """Makes a strategy current without a ``with`` block; None: none.

    Raises:
      RuntimeError: inside of a scope.
    """
    outer = tower_contexts.current_mode()
    scope, mode = _SET.current() or (None, tower_contexts.default_mode())
    if outer is not mode:
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    entered = None if strategy is None else strategy.scope
    if scope is not None:
        _SET.entries.pop()
        scope.__exit__(None, None, None)
    if entered is not None:
        scope = entered()
        scope.__enter__()
        _SET.entries.append((scope, tower_contexts.current_mode()))
