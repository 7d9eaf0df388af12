"""Which strategy is current in a thread, and whether code speaks for one tower or for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from towerstrat.graph.functions.polymorphic import AROUND
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.stacks import Stack
from towerstrat.graph.variables.variables import VariableAggregation


class Mode(NamedTuple):
    """What is current: a strategy, and either its cross-tower context (the strategy itself) or a tower context."""

    strategy: Any
    cross_tower: Any
    tower: Any


_MODES: Stack[Mode] = Stack()
_UPDATES: Stack[Any] = Stack()
_DEFAULT: list[Mode] = []


def install_default(strategy: Any) -> None:
    """Sets what is current where no strategy was entered: the tower context of ``strategy``."""
    _DEFAULT[:] = [Mode(strategy, None, TowerContext(strategy, tower_id=0))]


def current_mode() -> Mode:
    return _MODES.entries[-1] if _MODES.entries else _DEFAULT[0]


def default_mode() -> Mode:
    """What is current where no strategy was entered."""
    return _DEFAULT[0]


def default_strategy() -> Any:
    return _DEFAULT[0].strategy


def enter_cross_tower(strategy: Any) -> Any:
    """A context manager: code inside speaks for all towers of ``strategy``."""
    return _MODES.entered(Mode(strategy, strategy, None))


def enter_tower(context: TowerContext) -> Any:
    """A context manager: code inside speaks for one tower."""
    return _MODES.entered(Mode(context.distribution_strategy, None, context))


def _around() -> Any:
    """What a function that is traced now depends on: the strategy, and for whom code speaks."""
    if not _MODES.entries:
        return None
    mode = _MODES.entries[-1]
    return (mode.strategy, mode.tower is None, bool(_UPDATES.entries))


AROUND.append(_around)


def get_tower_context() -> Any:
    """The current tower context; None in cross-tower context. Outside of any strategy, the default one."""
    return current_mode().tower


def get_cross_tower_context() -> Any:
    """The current strategy in its cross-tower context; None in tower context or outside of any strategy."""
    return current_mode().cross_tower


def get_distribution_strategy() -> Any:
    """The current strategy; outside of any scope a default one of a single tower."""
    return current_mode().strategy


def has_distribution_strategy() -> bool:
    """Whether a strategy other than the default is current."""
    return get_distribution_strategy() is not default_strategy()


def get_update_device() -> str | None:
    """The device of the current ``update`` call, or None."""
    return _UPDATES.current()


class UpdateContext:
    """Inside, variables are those of one device: assignments are direct.

    Args:
      device: the device that is updated.
    """

    def __init__(self, device: Any):
        self._entered = _UPDATES.entered(device)

    def __enter__(self) -> None:
        self._entered.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._entered.__exit__(*exc)


def get_loss_reduction() -> VariableAggregation:
    """How the last loss of ``tf.losses`` was reduced over its batch: SUM, or MEAN for every other reduction.

    It says whether optimizers divide the loss by the number of towers. Strategies of ``tf.distribute`` leave that to
    the program: there it is SUM.
    """
    if has_distribution_strategy() and get_distribution_strategy().surface is not None:
        return VariableAggregation.SUM
    reduction = get_default_graph().last_loss_reduction
    return VariableAggregation.SUM if reduction == "weighted_sum" else VariableAggregation.MEAN


def _describe_mismatch(strategy: Any) -> str:
    current = current_mode().strategy
    if current is default_strategy():
        return f'Need to be inside "with distribution_strategy.scope()" for {strategy}'
    return f"Mixing different DistributionStrategy objects: {current} is not {strategy}"


def require_scope(strategy: Any) -> None:
    """Raises RuntimeError unless ``strategy`` is current."""
    if current_mode().strategy is not strategy:
        raise RuntimeError(_describe_mismatch(strategy))


def require_cross_tower_context(strategy: Any) -> None:
    """Raises RuntimeError unless code speaks for all towers of ``strategy``."""
    mode = current_mode()
    if mode.cross_tower is strategy:
        return
    if mode.strategy is not strategy:
        raise RuntimeError(_describe_mismatch(strategy))
    raise RuntimeError("Method requires being in cross-tower context, use get_tower_context().merge_call()")


def require_tower_context(tower_ctx: TowerContext) -> None:
    """Raises RuntimeError unless ``tower_ctx`` is the current tower context."""
    mode = current_mode()
    if mode.tower is tower_ctx:
        return
    if mode.tower is None:
        raise RuntimeError("Need to be inside `call_for_each_tower()`")
    if mode.strategy is tower_ctx.distribution_strategy:
        raise RuntimeError("Mismatching tower context.")
    raise RuntimeError(
        f"Mismatching DistributionStrategy objects: {mode.strategy} is not {tower_ctx.distribution_strategy}."
    )


class TowerContext:
    """What a function run by ``call_for_each_tower`` can ask about its tower; a context manager too.

    Args:
      distribution_strategy: its strategy.
      tower_id: the tower's number.
    """

    def __init__(self, distribution_strategy: Any, tower_id: Any):
        self._distribution_strategy = distribution_strategy
        self._tower_id = tower_id
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        self._entered.append(enter_tower(self))
        self._entered[-1].__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._entered.pop().__exit__(*exc)

    def merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls ``merge_fn(distribution, *args, **kwargs)`` once, in cross-tower context.

        Every tower's arguments arrive as per-device values; each tower gets its own part of the result.

        Raises:
          RuntimeError: not called in this tower context, or inside a condition that differs by tower.
        """
        require_tower_context(self)
        return self._merge_call(merge_fn, *args, **kwargs)

    def _merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        strategy = self._distribution_strategy
        if strategy is default_strategy():
            with _MODES.entered(Mode(strategy, strategy, None)):
                return merge_fn(strategy, *args, **kwargs)
        with enter_cross_tower(strategy):
            return merge_fn(strategy, *args, **kwargs)

    @property
    def is_single_tower(self) -> bool:
        require_tower_context(self)
        return self._distribution_strategy.is_single_tower

    @property
    def num_towers(self) -> int:
        return self._distribution_strategy.num_towers

    @property
    def tower_id(self) -> Any:
        """This tower's number: an integer, or where one trace stands for all towers a symbolic one."""
        require_tower_context(self)
        return self._tower_id

    @property
    def distribution_strategy(self) -> Any:
        return self._distribution_strategy

    @property
    def device(self) -> str:
        """The device this tower runs on."""
        require_tower_context(self)
        return self._distribution_strategy.worker_devices[0]
