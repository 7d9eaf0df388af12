"""Scopes and replica contexts of ``tf.distribute``, and what methods require of the context they are called in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from towerstrat.graph.ir.device_names import canonical
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.engine import Engine, ReplicaView
from towerstrat.towers.engine.symbolic_tower_id import TowerId
from towerstrat.towers.engine.tower_contexts import Mode, TowerContext


def strategy_of(engine: Engine) -> ReplicaView:
    """The strategy of this surface over an engine.

    Raises:
      RuntimeError: there is none: the engine's strategy is one of ``tf.contrib.distribute``.
    """
    if engine.replica_view is None:
        raise RuntimeError(
            f"The current strategy {engine.tower_view!r} is one of tf.contrib.distribute, which tf.distribute does not "
            "show. Use tf.contrib.distribute.get_distribution_strategy() and get_tower_context()."
        )
    return engine.replica_view


class Scope:
    """Inside, a strategy is current, and code speaks for all of its replicas.

    Args:
      strategy: the strategy; ``with`` gives it.
      enter: makes a context manager in which it is current.
    """

    def __init__(self, strategy: Any, enter: Callable[[], AbstractContextManager[Any]]):
        self._strategy = strategy
        self._enter = enter
        self._entered: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> Any:
        manager = self._enter()
        manager.__enter__()
        self._entered.append(manager)
        return self._strategy

    def __exit__(self, *exc: Any) -> None:
        if not self._entered:
            raise RuntimeError(
                "Variable scope nesting error: this scope of a tf.distribute.Strategy was left more often than it was "
                "entered. Use `with strategy.scope():`."
            )
        self._entered.pop().__exit__(*exc)


# ---- requirements ----------------------------------------------------------------------------------------------------


def mismatch(engine: Engine, mode: Mode) -> RuntimeError:
    """The error where another engine than ``engine`` is current."""
    if mode.engine is tower_contexts.default_engine():
        return RuntimeError(f'Need to be inside "with strategy.scope()" for {engine.replica_view!r}')
    return RuntimeError(
        f"Mixing different tf.distribute.Strategy objects: {strategy_shown(mode.engine)} is not {engine.replica_view}"
    )


def strategy_shown(engine: Engine) -> object:
    """The strategy of an engine, for messages."""
    return engine.replica_view or engine.tower_view


def require_cross_replica(engine: Engine, or_default: bool = True, instead: str | None = None) -> None:
    """Raises RuntimeError in a replica's context, in another strategy's, or without ``or_default`` outside of any.

    Args:
      instead: the message in a replica's context.
    """
    mode = tower_contexts.current_mode()
    if or_default and mode.tower is tower_contexts.default_mode().tower:
        return
    if mode.engine is engine and mode.tower is None:
        return
    if mode.engine is not engine:
        raise mismatch(engine, mode)
    raise RuntimeError(
        instead or "Method requires being in cross-replica context, use get_replica_context().merge_call()"
    )


def require_replica(tower: TowerContext) -> None:
    """Raises RuntimeError unless ``tower`` is the current replica's context."""
    mode = tower_contexts.current_mode()
    if mode.tower is tower:
        return
    if mode.tower is None:
        raise RuntimeError(
            "Need to be inside `call_for_each_replica()`: code is in cross-replica context, and a replica's context "
            "is of use in the function that strategy.run calls."
        )
    if mode.engine is tower.engine:
        raise RuntimeError(
            "Mismatching ReplicaContext.: it is one of another run, or made by hand. Ask for the current one with "
            "tf.distribute.get_replica_context()."
        )
    raise RuntimeError(
        f"Mismatching tf.distribute.Strategy objects: {strategy_shown(mode.engine)} is not "
        f"{strategy_shown(tower.engine)}."
    )


class ReplicaContext:
    """The context of one replica: its number, its devices, ``merge_call`` and collectives.

    Args:
      strategy: its strategy.
      replica_id_in_sync_group: the replica's number: an integer or a scalar int32 tensor. None: it has none.

    Raises:
      ValueError: the number is something else.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any):
        if not (replica_id_in_sync_group is None or isinstance(replica_id_in_sync_group, int | Tensor)):
            raise ValueError(
                f"replica_id_in_sync_group can only be an integer, a Tensor or None., got {replica_id_in_sync_group!r}."
            )
        self._strategy = strategy
        self._tower = tower_contexts.TowerContext(strategy.extended._engine, replica_id_in_sync_group)

    @classmethod
    def _of(cls, tower: TowerContext) -> ReplicaContext:
        """The context of this surface over a tower's, one and the same each time.

        Raises:
          RuntimeError: the tower's strategy is one of ``tf.contrib.distribute``.
        """
        found = tower.replica_view
        if not isinstance(found, ReplicaContext):
            found = tower.replica_view = cls.__new__(cls)
            found._tower = tower
            found._strategy = strategy_of(tower.engine)
        return found

    def __enter__(self) -> None:
        self._tower.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._tower.__exit__(*exc)

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Calls ``merge_fn(strategy, *args, **kwargs)`` once, in cross-replica context.

        Each replica's arguments arrive as per-replica values; each replica gets its part of the result.

        Raises:
          RuntimeError: not in this context, or in a condition or loop that may differ between replicas.
        """
        require_replica(self._tower)
        strategy = self._strategy
        return self._tower._merge_call(lambda _, *a, **k: merge_fn(strategy, *a, **k), *args, **(kwargs or {}))

    @property
    def num_replicas_in_sync(self) -> int:
        return int(self._strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """This replica's number, from 0: a scalar int32 tensor. Outside of any strategy the integer 0.

        Raises:
          RuntimeError: one trace stands for all replicas, and it is over.
        """
        number = self._tower._tower_id
        if self._tower is tower_contexts.default_mode().tower or number is None:
            return number
        if isinstance(number, TowerId):
            require_replica(self._tower)
        return convert_to_tensor(number)

    @property
    def strategy(self) -> Any:
        return self._strategy

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica, in a tuple; outside of any strategy an empty name."""
        require_replica(self._tower)
        if self._tower.engine is tower_contexts.default_engine():
            return ("",)
        return (canonical(self._tower.device),)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The sum or mean of the replicas' values, on every replica; differentiable.

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
        """The replicas' values joined along ``axis``, on every replica; differentiable.

        Raises:
          RuntimeError: not in a replica's context. NotImplementedError: IndexedSlices.
        """
        require_replica(self._tower)
        return self._strategy.extended._all_gather(self, value, axis, options)

    def __repr__(self) -> str:
        return f"<ReplicaContext of {self._strategy!r}>"
