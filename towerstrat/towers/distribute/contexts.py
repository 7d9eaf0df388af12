"""Which strategy is current, and whether code speaks for one replica or for all: the later surface's view of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.device import canonical
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.stacks import Stack
from towerstrat.towers.engine import contexts
from towerstrat.towers.engine.contexts import Mode
from towerstrat.towers.engine.tower_id import TowerId


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


_SET: Stack[Any] = Stack()
"""The scope that was set without a ``with`` block, and the mode in it."""


def experimental_set_strategy(strategy: Any) -> None:
    """Makes a strategy current without a ``with`` block; None: none.

    Raises:
      RuntimeError: inside of a scope.
    """
    outer = contexts.current_mode()
    scope, mode = _SET.current() or (None, contexts.default_mode())
    if outer is not mode:
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    entered = None if strategy is None else strategy.scope
    if scope is not None:
        _SET.entries.pop()
        scope.__exit__(None, None, None)
    if entered is not None:
        scope = entered()
        scope.__enter__()
        _SET.entries.append((scope, contexts.current_mode()))


# ---- what is required ----------------------------------------------------------------------------------------------


def mismatch(engine: Any, mode: Mode) -> RuntimeError:
    """What says that another strategy than an engine's is current."""
    if mode.strategy is contexts.default_strategy():
        return RuntimeError(f'Need to be inside "with strategy.scope()" for {engine.surface!r}')
    return RuntimeError(
        f"Mixing different tf.distribute.Strategy objects: {mode.strategy.surface} is not {engine.surface}"
    )


def require_cross_replica(engine: Any, or_default: bool = True, instead: str | None = None) -> None:
    """Raises RuntimeError in a replica's context, in another strategy's, or without ``or_default`` outside of any.

    Args:
      instead: what is said in a replica's context.
    """
    mode = contexts.current_mode()
    if mode.cross_tower is engine or (or_default and mode is contexts.default_mode()):
        return
    if mode.strategy is not engine:
        raise mismatch(engine, mode)
    raise RuntimeError(
        instead or "Method requires being in cross-replica context, use get_replica_context().merge_call()"
    )


def require_replica(tower: Any) -> None:
    """Raises RuntimeError unless ``tower`` is the current replica's context."""
    mode = contexts.current_mode()
    if mode.tower is tower:
        return
    if mode.tower is None:
        raise RuntimeError(
            "Need to be inside `call_for_each_replica()`: code is in cross-replica context, and a replica's context "
            "is of use in the function that strategy.run calls."
        )
    if mode.strategy is tower.distribution_strategy:
        raise RuntimeError(
            "Mismatching ReplicaContext.: it is one of another run, or made by hand. Ask for the current one with "
            "tf.distribute.get_replica_context()."
        )
    raise RuntimeError(
        f"Mismatching tf.distribute.Strategy objects: {mode.strategy.surface} is not "
        f"{tower.distribution_strategy.surface}."
    )


class ReplicaContext:
    """What a function run by ``Strategy.run`` can ask about its replica.

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
        surface = self._strategy
        return self._tower._merge_call(lambda _, *a, **k: merge_fn(surface, *a, **k), *args, **(kwargs or {}))

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
        if self._tower is contexts.default_mode().tower or number is None:
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
        if self._tower.distribution_strategy is contexts.default_strategy():
            return ("",)
        return (canonical(self._tower.device),)

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
