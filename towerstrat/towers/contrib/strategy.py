"""The contract of a strategy, and the default one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from absl import logging

from towerstrat.data.dataset import Dataset
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ops.array import identity
from towerstrat.graph.ops.control_flow import group
from towerstrat.graph.scopes.variable_scope import get_variable_scope, variable_scope
from towerstrat.graph.variables.variables import VariableAggregation, variable_creator_scope
from towerstrat.towers.engine import contexts
from towerstrat.towers.engine.contexts import require_cross_tower_context, require_scope

_REDUCTIONS = (VariableAggregation.SUM, VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_TOWER)


class DistributionStrategy:
    """How state and computation are spread over towers. Subclasses implement the methods that begin with ``_``.

    What is called in cross-tower context speaks for all towers; ``call_for_each_tower`` runs a function in the tower
    context of each. The class documents the contract; ``TPUStrategy`` is the usual implementation.
    """

    surface: Any = None
    """The strategy of ``tf.distribute`` that is a view of this one, if there is one."""
    word = "tower"
    """What messages call a tower."""

    def __init__(self) -> None:
        self._default_device: str | None = None

    # ---- scope and variables ---------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[DistributionStrategy]:
        """Inside, this strategy is current: it makes the variables, and code is in its cross-tower context.

        Raises:
          RuntimeError: inside the scope of another strategy, or in tower context.
        """
        if contexts.has_distribution_strategy():
            require_cross_tower_context(self)
            yield self
            return

        def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            require_scope(self)
            kwargs["use_resource"] = True
            return self._create_variable(next_creator, **kwargs)

        def without_partitioner(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if kwargs.pop("partitioner", None) is not None:
                logging.log_first_n(
                    logging.WARNING, "Partitioned variables are disabled when using DistributionStrategy.", 1
                )
            return getter(*args, **kwargs)

        with (
            contexts.enter_cross_tower(self),
            variable_scope(get_variable_scope(), custom_getter=without_partitioner),
            variable_creator_scope(creator),
            get_default_graph().device(self._default_device or ""),
        ):
            yield self

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def read_var(self, v: Any) -> Any:
        """The value of a variable; of a tower-local one its sum or mean over towers."""
        raise NotImplementedError("must be implemented in descendants")

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A context manager: variables made inside live on the devices of ``colocate_with_variable``.

        Raises:
          RuntimeError: not inside ``scope()``.
        """
        require_scope(self)

        def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            require_scope(self)
            kwargs["use_resource"] = True
            kwargs["colocate_with"] = colocate_with_variable
            return next_creator(**kwargs)

        return variable_creator_scope(creator)

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

    def distribute_dataset(self, dataset_fn: Callable[[], Any]) -> Any:
        """The dataset that ``dataset_fn()`` returns, so that its iterators give one element to each tower."""
        raise NotImplementedError("must be implemented in descendants")

    def broadcast(self, tensor: Any, destinations: Any = None) -> Any:
        """``tensor`` mirrored on ``destinations`` (default: all worker devices)."""
        require_cross_tower_context(self)
        return self._broadcast(tensor, destinations)

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def initialize(self) -> list[Any]:
        """Operations to run before any computation; none by default."""
        return []

    def finalize(self) -> list[Any]:
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
        require_cross_tower_context(self)
        return self._run_steps_on_dataset(fn, iterator, iterations, initial_loop_values)

    def _run_steps_on_dataset(self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any = None) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    # ---- towers ----------------------------------------------------------------------------------------------

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(*args, **kwargs)`` in the tower context of each tower; distributed arguments arrive as its part.

        ``run_concurrently`` among the keywords is about threads of the original and is not passed on.
        """
        require_cross_tower_context(self)
        return self._call_for_each_tower(fn, *args, **kwargs)

    def _call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(m, *args, **kwargs)`` for each ``m`` of ``map_over``, spread over the towers."""
        raise NotImplementedError("must be implemented in descendants")

    def reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        """One value from a per-device value.

        Args:
          aggregation: SUM, MEAN or ONLY_FIRST_TOWER.
          value: per-device, or a plain value that all towers share.
          destinations: a mirrored variable, per-device value, device name or list of names.

        Raises:
          ValueError: another aggregation, empty destinations, a value that is mirrored already.
        """
        require_cross_tower_context(self)
        if aggregation not in _REDUCTIONS:
            raise ValueError(f"Expected SUM, MEAN or ONLY_FIRST_TOWER as the aggregation, got {aggregation}.")
        return self._reduce(aggregation, value, destinations)

    def _reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """``reduce`` of several (value, destinations) pairs together."""
        require_cross_tower_context(self)
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
        require_cross_tower_context(self)
        options = {"grouped": kwargs.pop("grouped", True)}
        return self._update(var, options, fn, *args, **kwargs)

    def _update(self, var: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(*args, **kwargs)`` on the devices that ``non_slot_devices`` returned. Options as of ``update``."""
        require_cross_tower_context(self)
        options = {"grouped": kwargs.pop("grouped", True)}
        return self._update_non_slot(colocate_with, options, fn, *args, **kwargs)

    def _update_non_slot(
        self, colocate_with: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def unwrap(self, value: Any) -> list[Any]:
        """The parts of a value, one per device; ``[value]`` for a plain one."""
        return self._unwrap(value)

    def _unwrap(self, distributed_value: Any) -> list[Any]:
        raise NotImplementedError("must be implemented in descendants")

    def value_container(self, value: Any) -> Any:
        """The distributed value that a component belongs to, otherwise the value itself."""
        raise NotImplementedError("must be implemented in descendants")

    def group(self, value: Any, name: str | None = None) -> Any:
        """One operation that runs all parts of a value."""
        parts = nest.flatten(self.unwrap(value))
        if len(parts) == 1 and name is None:
            return getattr(parts[0], "op", parts[0])
        return group(*parts, name=name)

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def is_single_tower(self) -> bool:
        """Whether ``call_for_each_tower`` runs its function for one tower only."""
        raise NotImplementedError("must be implemented in descendants")

    @property
    def num_towers(self) -> int:
        raise NotImplementedError("must be implemented in descendants")

    @property
    def worker_devices(self) -> list[str]:
        """Where towers run."""
        raise NotImplementedError("must be implemented in descendants")

    @property
    def parameter_devices(self) -> list[str]:
        """Where variables live."""
        raise NotImplementedError("must be implemented in descendants")

    def non_slot_devices(self, var_list: Any) -> Any:
        """Where an optimizer's variables that belong to no single variable live."""
        raise NotImplementedError("must be implemented in descendants")

    @property
    def worker_device_index(self) -> Any:
        """Tower -> its number, to be passed to ``call_for_each_tower``; 0 where there is one tower."""
        require_cross_tower_context(self)
        return self._worker_device_index()

    def _worker_device_index(self) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    @property
    def between_graph(self) -> bool:
        """Whether each worker builds a graph of its own."""
        raise NotImplementedError("must be implemented in descendants")

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Adapts a session's configuration; nothing to do by default."""

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


class SingleTowerStrategy(DistributionStrategy):
    """What strategies of one tower share: values have one part, updates run once."""

    def _on_device(self, device: Any) -> AbstractContextManager[Any]:
        """Where updates run."""
        return nullcontext()

    def _update(self, var: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._update_non_slot(var, options, fn, var, *args, **kwargs)

    def _update_non_slot(
        self, colocate_with: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        with self._on_device(colocate_with), contexts.UpdateContext(self._default_device or colocate_with):
            result = fn(*args, **kwargs)
        return result if options["grouped"] else nest.map_structure(self._unwrap, result)

    def read_var(self, tower_local_var: Any) -> Any:
        return identity(tower_local_var)

    def _unwrap(self, distributed_value: Any) -> list[Any]:
        return [distributed_value]

    def value_container(self, value: Any) -> Any:
        return value

    @property
    def is_single_tower(self) -> bool:
        return True

    @property
    def num_towers(self) -> int:
        return 1


class DefaultDistributionStrategy(SingleTowerStrategy):
    """What is current where no strategy was entered: a single tower, everything passes through."""

    @contextmanager
    def scope(self) -> Iterator[DistributionStrategy]:
        if contexts.has_distribution_strategy():
            raise RuntimeError("Must not nest DistributionStrategy scopes.")
        with contexts.enter_cross_tower(self):
            yield self

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        require_scope(self)
        return get_default_graph().colocate_with(colocate_with_variable)

    def distribute_dataset(self, dataset_fn: Callable[[], Any]) -> Any:
        return self._call_dataset_fn(dataset_fn)

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        if destinations is not None:
            raise NotImplementedError("Without a strategy in scope there are no destinations to broadcast to.")
        return tensor

    def _call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("run_concurrently", None)
        with contexts.TowerContext(self, tower_id=0):
            return fn(*args, **kwargs)

    def _reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        return value

    @property
    def worker_devices(self) -> list[str]:
        raise RuntimeError("worker_devices is not defined where no strategy is in scope.")

    @property
    def parameter_devices(self) -> list[str]:
        raise RuntimeError("parameter_devices is not defined where no strategy is in scope.")

    def non_slot_devices(self, var_list: Any) -> Any:
        return min(var_list, key=lambda v: v.name)

    def _worker_device_index(self) -> Any:
        raise RuntimeError("worker_device_index is not defined where no strategy is in scope.")


contexts.install_default(DefaultDistributionStrategy())
