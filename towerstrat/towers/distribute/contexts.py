"""Which strategy is current, and whether code speaks for one replica or for all: the later surface's view of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from towerstrat.graph.convert import convert_to_tensor
from towerstrat.towers import contexts
from towerstrat.towers.contexts import Mode


def surface_of(engine: Any) -> Any:
    """The strategy of this surface over a strategy of towers.

    Raises:
      RuntimeError: it is one of ``tf.contrib.distribute``.
    """
    if engine.surface is None:
        raise RuntimeError(
            f"The current strategy {engine!r} is one of tf.contrib.distribute, which tf.distribute does not show. Use "
            "tf.contrib.distribute.get_distribution_strategy() and get_tower_context()."
        )
    return engine.surface


def get_strategy() -> Any:
    """The current strategy; outside of any scope the default one, of a single replica."""
    return surface_of(contexts.get_distribution_strategy())


def has_strategy() -> bool:
    """Whether a strategy other than the default is current."""
    return contexts.has_distribution_strategy()


def in_cross_replica_context() -> bool:
    """Whether code speaks for all replicas of the current strategy; False outside of any scope."""
    return contexts.get_cross_tower_context() is not None


def get_replica_context() -> Any:
    """The context of the current replica; None in cross-replica context; the default one outside of any scope."""
    tower = contexts.get_tower_context()
    return None if tower is None else ReplicaContext._of(tower)


_SET: list[AbstractContextManager[Any]] = []


def experimental_set_strategy(strategy: Any) -> None:
    """Makes a strategy current without a ``with`` block; None: none.

    Raises:
      RuntimeError: inside of a scope.
    """
    outer = contexts.current_mode()
    set_mode = _SET[0].mode if _SET else None  # type: ignore[attr-defined]
    if outer.strategy is not contexts.default_strategy() and outer is not set_mode:
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if _SET:
        _SET.pop().__exit__(None, None, None)
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        scope.mode = contexts.current_mode()
        _SET.append(scope)


# ---- what is required ----------------------------------------------------------------------------------------------


def _mismatch(engine: Any, mode: Mode) -> RuntimeError:
    if mode.strategy is contexts.default_strategy():
        return RuntimeError(f'Need to be inside "with strategy.scope()" for {engine.surface!r}')
    return RuntimeError(
        f"Mixing different tf.distribute.Strategy objects: {mode.strategy.surface} is not {engine.surface}"
    )


def require_cross_replica(engine: Any, or_default: bool = True) -> None:
    """Raises RuntimeError in a replica's context, in another strategy's, or without ``or_default`` outside of any."""
    mode = contexts.current_mode()
    if mode.cross_tower is engine:
        return
    if mode.strategy is contexts.default_strategy() and (or_default or engine is mode.strategy):
        return
    if mode.strategy is not engine:
        raise _mismatch(engine, mode)
    raise RuntimeError("Method requires being in cross-replica context, use get_replica_context().merge_call()")


def require_replica(tower: Any) -> None:
    """Raises RuntimeError unless ``tower`` is the current replica's context."""
    mode = contexts.current_mode()
    if mode.tower is tower or (mode.tower is not None and mode.strategy is tower.distribution_strategy):
        return
    if mode.tower is None:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
    raise RuntimeError(
        f"Mismatching tf.distribute.Strategy objects: {mode.strategy.surface} is not "
        f"{tower.distribution_strategy.surface}."
    )


class ReplicaContext:
    """What a function run by ``Strategy.run`` can ask about its replica.

    Args:
      strategy: its strategy.
      replica_id_in_sync_group: the replica's number: an integer or a scalar int32 tensor.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any):
        self._strategy = strategy
        self._tower = contexts.TowerContext(strategy.extended._towers, replica_id_in_sync_group)

    @classmethod
    def _of(cls, tower: Any) -> ReplicaContext:
        """The context over a tower's."""
        found = getattr(tower, "replica", None)
        if found is None:
            found = cls.__new__(cls)
            found._tower = tower
            found._strategy = surface_of(tower.distribution_strategy)
            tower.replica = found
        return found

    def __enter__(self) -> ReplicaContext:
        self._tower.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._tower.__exit__(*exc)

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Calls ``merge_fn(strategy, *args, **kwargs)`` once, in cross-replica context.

        Each replica's arguments arrive as per-replica values; each replica gets its part of the result.

        Raises:
          RuntimeError: not in this context, or in a condition or loop that may differ between replicas.
        """
        require_replica(self._tower)
        surface = self._strategy
        return self._tower._merge_call(lambda _, *a, **k: merge_fn(surface, *a, **k), *args, **(kwargs or {}))

    @property
    def num_replicas_in_sync(self) -> int:
        return int(self._strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """This replica's number, from 0: a scalar int32 tensor."""
        require_replica(self._tower)
        return convert_to_tensor(self._tower._tower_id)

    @property
    def strategy(self) -> Any:
        return self._strategy

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica, in a tuple."""
        require_replica(self._tower)
        return (self._tower.device,)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The sum or mean of what the replicas pass, on every replica; differentiable.

        Args:
          reduce_op: ``ReduceOp.SUM`` or ``ReduceOp.MEAN``, or the name of one.
          value: a structure of tensors, IndexedSlices among them: the same on all replicas, in the same order.
          options: a ``CommunicationOptions``; how the sum is computed is the compiler's choice.

        Raises:
          RuntimeError: not in a replica's context. ValueError: another ``reduce_op``.
        """
        require_replica(self._tower)
        return self._strategy.extended._all_reduce(self, reduce_op, value, options)

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """What the replicas pass, joined along ``axis``, on every replica; differentiable.

        Raises:
          RuntimeError: not in a replica's context. NotImplementedError: IndexedSlices.
        """
        require_replica(self._tower)
        return self._strategy.extended._all_gather(self, value, axis, options)

    def __repr__(self) -> str:
        return f"<ReplicaContext of {self._strategy!r}>"
