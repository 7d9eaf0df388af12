"""``DistributionStrategy`` of 1.8 to 1.12: a view of an engine, whose methods programs may override."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from towerstrat.data.api.dataset import Dataset
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.contrib.per_device_dataset import PerDeviceDataIterator, PerDeviceDataset
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.engine import Engine, grouped
from towerstrat.towers.engine.strategy_scope import colocated, strategy_scope
from towerstrat.towers.engine.tower_contexts import require_cross_tower_context

_REDUCTIONS = (VariableAggregation.SUM, VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_TOWER)


class DistributionStrategy:
    """How state and computation are spread over towers. Subclasses override the methods that begin with ``_``.

    What is called in cross-tower context speaks for all towers; ``call_for_each_tower`` runs a function in the tower
    context of each. The class documents the contract; ``TPUStrategy`` is the usual implementation. A strategy of the
    program's own implements those methods that it uses: its engine refuses them all.

    Attributes:
      engine: the engine that it is a view of.
    """

    def __init__(self) -> None:
        self._stand_on(Engine())

    def _stand_on(self, engine: Engine) -> None:
        """Makes this the strategy over an engine."""
        self.engine = engine
        self._default_device = engine.default_device
        engine.tower_view = self

    # ---- scope and variables ---------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[DistributionStrategy]:
        """Inside, this strategy is current: it makes the variables, and code is in its cross-tower context.

        Raises:
          RuntimeError: inside the scope of another strategy, or in tower context.
        """
        with strategy_scope(self.engine, self._create_variable, self._default_device):
            yield self

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        return self.engine.create_variable(next_creator, **kwargs)

    def read_var(self, v: Any) -> Any:
        """The value of a variable; of a tower-local one its sum or mean over towers."""
        return self.engine.read_var(v)

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[Any]:
        """A context manager: variables made inside live on the devices of ``colocate_with_variable``.

        Raises:
          RuntimeError: not inside ``scope()``.
        """
        return colocated(self.engine, colocate_with_variable)

    # ---- input -----------------------------------------------------------------------------------------------

    def _call_dataset_fn(self, dataset_fn: Callable[[], Any]) -> Dataset:
        if not callable(dataset_fn):
            raise TypeError(f"dataset_fn must be a function that returns a dataset, got {dataset_fn!r}.")
        result = dataset_fn()
        if not isinstance(result, Dataset):
            if hasattr(result, "__iter__") and not isinstance(result, str | bytes):
                return Dataset.from_iterable(result)
            raise ValueError(
                "dataset_fn() must return a tf.data.Dataset (or a Python iterable of batches) when using a "
                f"DistributionStrategy; it returned {result!r}."
            )
        return result

    _auto_shard_dataset = False
    """Whether each of several processes gets its share of the files, or elements, of a dataset."""

    def distribute_dataset(self, dataset_fn: Callable[[], Any]) -> Any:
        """The dataset that ``dataset_fn()`` returns, so that its iterators give one element to each tower."""
        engine = self.engine
        devices, axis = engine.worker_devices, engine.axis if engine.mapped else None
        dataset = self._call_dataset_fn(dataset_fn)
        return PerDeviceDataset(dataset, devices, axis, engine.uneven_input, self._auto_shard_dataset)

    def broadcast(self, tensor: Any, destinations: Any = None) -> Any:
        """``tensor`` mirrored on ``destinations`` (default: all worker devices)."""
        require_cross_tower_context(self.engine)
        return self._broadcast(tensor, destinations)

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        return self.engine.broadcast(tensor, destinations)

    def initialize(self) -> list[Any] | None:
        """Operations to run before any computation; none by default."""
        return []

    def finalize(self) -> list[Any] | None:
        """Operations to run after all computations; none by default."""
        return []

    def run_steps_on_dataset(
        self, fn: Callable[..., Any], iterator: Any, iterations: Any = 1, initial_loop_values: Any = None
    ) -> Any:
        """``fn(context, *inputs)`` run ``iterations`` times on successive elements of an iterator.

        Args:
          fn: traced once; ``context`` is a ``MultiStepContext``.
          iterator: each step takes one element for every tower.
          iterations: a Python integer or an integer tensor.
          initial_loop_values: outputs before the first step, by name; optional.

        Returns:
          The context: ``run_op``, ``last_step_outputs``, ``non_tensor_outputs``.
        """
        require_cross_tower_context(self.engine)
        return self._run_steps_on_dataset(fn, iterator, iterations, initial_loop_values)

    def _run_steps_on_dataset(self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any = None) -> Any:
        if isinstance(iterator, PerDeviceDataIterator) and not get_default_graph().executing_eagerly:
            iterator = iterator.iterator
        return self.engine.run_steps(fn, iterator, iterations, initial_loop_values)

    # ---- towers ----------------------------------------------------------------------------------------------

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(*args, **kwargs)`` in the tower context of each tower; distributed arguments arrive as its part.

        ``run_concurrently`` among the keywords is about threads of the original and is not passed on.
        """
        require_cross_tower_context(self.engine)
        return self._call_for_each_tower(fn, *args, **kwargs)

    def _call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("run_concurrently", None)
        return self.engine.call_for_each_tower(fn, *args, **kwargs)

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(m, *args, **kwargs)`` for each ``m`` of ``map_over``, spread over the towers."""
        require_cross_tower_context(self.engine)
        return self.engine.map(map_over, fn, *args, **kwargs)

    def reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        """One value from a per-device value.

        Args:
          aggregation: SUM, MEAN or ONLY_FIRST_TOWER.
          value: per-device, or a plain value that all towers share.
          destinations: a mirrored variable, per-device value, device name or list of names.

        Raises:
          ValueError: another aggregation, empty destinations, a value that is mirrored already.
        """
        require_cross_tower_context(self.engine)
        if aggregation not in _REDUCTIONS:
            raise ValueError(f"Expected SUM, MEAN or ONLY_FIRST_TOWER as the aggregation, got {aggregation}.")
        return self._reduce(aggregation, value, destinations)

    def _reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        return self.engine.reduce(aggregation, value, destinations)

    def batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """``reduce`` of several (value, destinations) pairs together."""
        require_cross_tower_context(self.engine)
        if aggregation not in _REDUCTIONS:
            raise ValueError(f"Expected SUM, MEAN or ONLY_FIRST_TOWER as the aggregation, got {aggregation}.")
        return self._batch_reduce(aggregation, value_destination_pairs)

    def _batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        return [self.reduce(aggregation, value, destinations=d) for value, d in value_destination_pairs]

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(var, *args, **kwargs)`` on the devices of ``var``; mirrored arguments are unwrapped.

        ``grouped=False`` among the keywords gives lists with an entry per device instead of the merged result.

        Raises:
          TypeError: an argument is per-device.
        """
        require_cross_tower_context(self.engine)
        options = {"grouped": kwargs.pop("grouped", True)}
        return self._update(var, options, fn, *args, **kwargs)

    def _update(self, var: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.engine.update(var, fn, *args, grouped=options["grouped"], **kwargs)

    def update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(*args, **kwargs)`` on the devices that ``non_slot_devices`` returned. Options as of ``update``."""
        require_cross_tower_context(self.engine)
        options = {"grouped": kwargs.pop("grouped", True)}
        return self._update_non_slot(colocate_with, options, fn, *args, **kwargs)

    def _update_non_slot(
        self, colocate_with: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        return self.engine.update_non_slot(colocate_with, fn, *args, grouped=options["grouped"], **kwargs)

    def unwrap(self, value: Any) -> list[Any]:
        """The parts of a value, one per device; ``[value]`` for a plain one."""
        return self._unwrap(value)

    def _unwrap(self, distributed_value: Any) -> list[Any]:
        return self.engine.unwrap(distributed_value)

    def value_container(self, value: Any) -> Any:
        """The distributed value that a component belongs to, otherwise the value itself."""
        return self.engine.value_container(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """One operation that runs all parts of a value."""
        return grouped(self.unwrap(value), name)

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def is_single_tower(self) -> bool:
        """Whether ``call_for_each_tower`` runs its function for one tower only."""
        return self.engine.is_single_tower

    @property
    def num_towers(self) -> int:
        return self.engine.num_towers

    @property
    def worker_devices(self) -> list[str]:
        """Where towers run."""
        return self.engine.worker_devices

    @property
    def parameter_devices(self) -> list[str]:
        """Where variables live."""
        return self.engine.parameter_devices

    def non_slot_devices(self, var_list: Any) -> Any:
        """Where an optimizer's variables that belong to no single variable live."""
        return self.engine.non_slot_devices(var_list)

    @property
    def worker_device_index(self) -> Any:
        """Tower -> its number, to be passed to ``call_for_each_tower``; 0 where there is one tower."""
        require_cross_tower_context(self.engine)
        return self._worker_device_index()

    def _worker_device_index(self) -> Any:
        return self.engine.worker_device_index

    @property
    def between_graph(self) -> bool:
        """Whether each worker builds a graph of its own."""
        raise NotImplementedError("must be implemented in descendants")

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Adapts a session's configuration."""
        self.engine.configure(session_config)

    @property
    def should_init(self) -> bool:
        raise NotImplementedError("must be implemented in descendants")

    @property
    def should_checkpoint(self) -> bool:
        raise NotImplementedError("must be implemented in descendants")

    @property
    def should_save_summary(self) -> bool:
        raise NotImplementedError("must be implemented in descendants")

    def __deepcopy__(self, memo: Any) -> DistributionStrategy:
        return self


class DefaultDistributionStrategy(DistributionStrategy):
    """The strategy that is current where none was entered: a single tower, everything passes through."""

    def __init__(self) -> None:
        self._stand_on(tower_contexts.default_engine())

    @contextmanager
    def scope(self) -> Iterator[DistributionStrategy]:
        if tower_contexts.has_distribution_strategy():
            raise RuntimeError("Must not nest DistributionStrategy scopes.")
        with tower_contexts.enter_cross_tower(self.engine):
            yield self

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[Any]:
        return self.engine.colocate_vars_with(colocate_with_variable)

    def distribute_dataset(self, dataset_fn: Callable[[], Any]) -> Any:
        return self._call_dataset_fn(dataset_fn)


def strategy_of(engine: Engine) -> DistributionStrategy:
    """The strategy over an engine, made where it has none yet."""
    if isinstance(engine.tower_view, DistributionStrategy):
        return engine.tower_view
    if engine is tower_contexts.default_engine():
        return DefaultDistributionStrategy()
    made = DistributionStrategy()
    made._stand_on(engine)
    return made
