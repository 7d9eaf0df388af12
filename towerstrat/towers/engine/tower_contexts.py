"""The engine that is current in a thread, and whether code speaks for one of its towers or for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.context_stacks import TRACE_CONTEXTS
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.engine.engine import CrossTower, Engine
from towerstrat.towers.engine.symbolic_tower_id import TowerId


class Mode(NamedTuple):
    """An engine, and for whom code speaks: a ``TraceContext``.

    Attributes:
      engine: the engine that is current.
      tower: the current tower context; None in cross-tower context.
      update_device: the device that an ``update`` call is at, or None.
      graph: where the scope of the engine's strategy was entered, or what is around the function in which it was; in
        another graph of the program it is not current.
    """

    engine: Engine
    tower: TowerContext | None
    update_device: str | None = None
    graph: Graph | None = None

    def trace_key(self) -> Hashable:
        return (self.engine, self.tower is None, self.update_device is not None)

    def written(self, variable: Variable, type: str, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        return inputs if self.tower is None else self.engine.written(variable, type, inputs)


def current_mode() -> Mode:
    mode = TRACE_CONTEXTS.current()
    if not isinstance(mode, Mode):
        return _DEFAULT_MODE
    elsewhere = mode.graph is not None and type(graph := get_default_graph()) is Graph and graph is not mode.graph
    return _DEFAULT_MODE if elsewhere else mode


def default_mode() -> Mode:
    """The mode where no strategy was entered: the tower context of the default engine."""
    return _DEFAULT_MODE


def default_engine() -> Engine:
    return _DEFAULT_MODE.engine


def current_engine() -> Engine:
    return current_mode().engine


def current_distribution() -> CrossTower:
    """The current strategy of 1.x, or the current engine where it has none."""
    return current_mode().engine.tower_view


def has_distribution_strategy() -> bool:
    """Whether a strategy other than the default is current."""
    return current_mode().engine is not default_engine()


def get_tower_context() -> TowerContext | None:
    """The current tower context; None in cross-tower context. Outside of any strategy, the default one."""
    return current_mode().tower


def in_cross_tower_context() -> bool:
    """Whether code speaks for all towers of the current engine; False outside of any strategy."""
    return current_mode().tower is None


def in_tower_context() -> bool:
    """Whether code speaks for one tower of a strategy; False outside of any."""
    return current_mode().tower is not None and has_distribution_strategy()


def merge_call(merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``TowerContext.merge_call`` of the current tower. Raises RuntimeError in cross-tower context."""
    tower = current_mode().tower
    if tower is None:
        raise RuntimeError("Need to be inside `call_for_each_tower()`")
    return tower.merge_call(merge_fn, *args, **kwargs)


def get_update_device() -> str | None:
    """The device of the current ``update`` call, or None."""
    return current_mode().update_device


def enter_cross_tower(engine: Engine) -> AbstractContextManager[Any]:
    """A context manager: code inside speaks for all towers of ``engine``."""
    return TRACE_CONTEXTS.entered(Mode(engine, None, get_update_device(), get_default_graph().home))


class UpdateContext:
    """Inside, variables are those of one device: assignments are direct.

    Args:
      device: the device that is updated.
    """

    def __init__(self, device: Any):
        self._device = device

    def __enter__(self) -> None:
        TRACE_CONTEXTS.entries.append(current_mode()._replace(update_device=self._device))

    def __exit__(self, *exc: Any) -> None:
        TRACE_CONTEXTS.entries.pop()


_LOSS_REDUCTIONS: WeakKeyDictionary[Graph, str] = WeakKeyDictionary()


def note_loss_reduction(reduction: str) -> None:
    """Notes the reduction, over its batch, of a loss that is added to the current graph."""
    _LOSS_REDUCTIONS[get_default_graph()] = reduction


def note_scaled_loss(scaled: bool) -> None:
    """Notes on the current graph whether an optimizer divided the loss: of such ones estimators report the mean."""
    get_default_graph()._is_loss_scaled_by_optimizer = scaled  # type: ignore[attr-defined]


def get_loss_reduction() -> VariableAggregation:
    """The reduction of the last loss of ``tf.losses`` over its batch: SUM, or MEAN for every other one.

    It says whether optimizers divide the loss by the number of towers. Strategies of ``tf.distribute`` leave that to
    the program, but for estimators: there it is SUM.
    """
    if not current_engine().divides_losses:
        return VariableAggregation.SUM
    weighted_sum = _LOSS_REDUCTIONS.get(get_default_graph()) == "weighted_sum"
    return VariableAggregation.SUM if weighted_sum else VariableAggregation.MEAN


# ---- requirements --------------------------------------------------------------------------------------------------


def _mismatch(engine: Engine) -> RuntimeError:
    current = current_engine()
    if current is default_engine():
        return RuntimeError(f'Need to be inside "with distribution_strategy.scope()" for {engine.tower_view}')
    return RuntimeError(
        f"Mixing different DistributionStrategy objects: {current.tower_view} is not {engine.tower_view}"
    )


def require_scope(engine: Engine) -> None:
    """Raises RuntimeError unless ``engine`` is current."""
    if current_engine() is not engine:
        raise _mismatch(engine)


def require_cross_tower_context(engine: Engine) -> None:
    """Raises RuntimeError unless code speaks for all towers of ``engine``."""
    require_scope(engine)
    if current_mode().tower is not None:
        raise RuntimeError("Method requires being in cross-tower context, use get_tower_context().merge_call()")


def require_tower_context(tower_ctx: TowerContext) -> None:
    """Raises RuntimeError unless ``tower_ctx`` is the current tower context."""
    mode = current_mode()
    if mode.tower is tower_ctx:
        return
    if mode.tower is None:
        raise RuntimeError("Need to be inside `call_for_each_tower()`")
    if mode.engine is tower_ctx.engine:
        raise RuntimeError("Mismatching tower context.")
    raise RuntimeError(
        f"Mismatching DistributionStrategy objects: {mode.engine.tower_view} is not {tower_ctx.distribution_strategy}."
    )


class TowerContext:
    """The context of one tower: its number, its device, ``merge_call``. Also a context manager that makes it current.

    Args:
      distribution_strategy: its strategy, or an engine.
      tower_id: the tower's number.

    Attributes:
      engine: the engine whose tower it is.
      replica_view: the ``ReplicaContext`` over it, once there is one.
    """

    def __init__(self, distribution_strategy: CrossTower, tower_id: int | Tensor | TowerId | None):
        self.engine = distribution_strategy.engine
        self.replica_view: object | None = None
        self._tower_id = tower_id

    def __enter__(self) -> None:
        TRACE_CONTEXTS.entries.append(Mode(self.engine, self, get_update_device()))

    def __exit__(self, *exc: Any) -> None:
        TRACE_CONTEXTS.entries.pop()

    def merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls ``merge_fn(distribution, *args, **kwargs)`` once, in cross-tower context.

        Every tower's arguments arrive as per-device values; each tower gets its own part of the result.

        Raises:
          RuntimeError: not called in this tower context, or inside a condition that differs by tower.
        """
        require_tower_context(self)
        return self._merge_call(merge_fn, *args, **kwargs)

    def _merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with enter_cross_tower(self.engine):
            return merge_fn(self.distribution_strategy, *args, **kwargs)

    @property
    def is_single_tower(self) -> bool:
        require_tower_context(self)
        return self.distribution_strategy.is_single_tower

    @property
    def num_towers(self) -> int:
        return self.distribution_strategy.num_towers

    @property
    def tower_id(self) -> Any:
        """This tower's number: an integer, or where one trace stands for all towers a symbolic one."""
        require_tower_context(self)
        return self._tower_id

    @property
    def distribution_strategy(self) -> CrossTower:
        return self.engine.tower_view

    @property
    def device(self) -> str:
        """The device this tower runs on; where no strategy was entered the current one."""
        require_tower_context(self)
        if self.engine is default_engine():
            return get_default_graph().current_device
        return self.distribution_strategy.worker_devices[0]


# ---- where no strategy was entered ---------------------------------------------------------------------------------


class SingleTower(Engine):
    """An engine of one tower: values have one part, and what is done for all towers is done once."""

    def read_var(self, v: Any) -> Any:
        return identity(v)

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self._placed(), TowerContext(self, tower_id=0):
            return fn(*args, **kwargs)

    def _placed(self) -> AbstractContextManager[Any]:
        """A context manager: operations made inside are placed where the tower is."""
        return nullcontext()

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any) -> Any:
        return self.update_non_slot(var, fn, var, *args, grouped=grouped, **kwargs)

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any
    ) -> Any:
        with self._placed(), UpdateContext(self.default_device or colocate_with):
            result = fn(*args, **kwargs)
        return result if grouped else nest.map_structure(self.tower_view.unwrap, result)

    def unwrap(self, value: Any) -> list[Any]:
        return [value]

    def value_container(self, value: Any) -> Any:
        return value

    @property
    def is_single_tower(self) -> bool:
        return True

    @property
    def num_towers(self) -> int:
        return 1


class NoStrategy(SingleTower):
    """The engine that is current where no strategy was entered: everything passes through."""

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[Any]:
        require_scope(self)
        return get_default_graph().colocate_with(colocate_with_variable)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        if destinations is not None:
            raise NotImplementedError("Without a strategy in scope there are no destinations to broadcast to.")
        return tensor

    def reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        return value

    @property
    def worker_devices(self) -> list[str]:
        raise RuntimeError("worker_devices is not defined where no strategy is in scope.")

    @property
    def parameter_devices(self) -> list[str]:
        raise RuntimeError("parameter_devices is not defined where no strategy is in scope.")

    def non_slot_devices(self, var_list: Sequence[Variable]) -> Any:
        return min(var_list, key=lambda v: v.name)

    @property
    def worker_device_index(self) -> Any:
        raise RuntimeError("worker_device_index is not defined where no strategy is in scope.")

    def __repr__(self) -> str:
        return "<the default strategy>"


def _outside() -> Mode:
    engine = NoStrategy()
    return Mode(engine, TowerContext(engine, tower_id=0))


_DEFAULT_MODE = _outside()
