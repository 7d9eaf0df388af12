"""``tf.distribute.Strategy``: what every strategy of the later surface has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from towerstrat.data.api.dataset import Dataset
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.distribute.distributed_dataset import (
    DistributedDataset,
    DistributedDatasetV1,
    InputIterator,
    Layout,
)
from towerstrat.towers.distribute.input_distribution import (
    InputOptions,
    InputReplicationMode,
    ValueContext,
    check_options,
    dealt,
    divided,
)
from towerstrat.towers.distribute.per_replica_values import from_parts, of_replicas, require_numbers
from towerstrat.towers.distribute.reduce_op import reduce_op_of
from towerstrat.towers.distribute.reduction_checks import checked_axis, checked_dimension
from towerstrat.towers.distribute.replica_context import Scope, require_cross_replica
from towerstrat.towers.distribute.step_functions import DatasetIterator, run_steps
from towerstrat.towers.distribute.strategy_extended import StrategyExtended, StrategyExtendedV1
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.batch_splitting import ElementPerReplica
from towerstrat.towers.engine.distributed_values import DistributedValues
from towerstrat.towers.engine.strategy_scope import strategy_scope


class _Base:
    """The base of strategies of 1.14 and of 2.x: a view of an engine."""

    _extended: StrategyExtended

    def __init__(self, extended: StrategyExtended):
        self._extended = extended
        self._engine = extended._engine
        self._engine.replica_view = self

    @property
    def extended(self) -> StrategyExtended:
        """The strategy's methods for libraries."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which gradients are added up."""
        return self._extended._num_replicas_in_sync

    _should_use_with_coordinator = False
    """Whether a coordinator sends work to its workers, as libraries ask."""

    @property
    def cluster_resolver(self) -> Any:
        """The resolver of the strategy's cluster; None where the strategy has none."""
        return None

    # ---- scope -----------------------------------------------------------------------------------------------

    def scope(self) -> Scope:
        """Inside, this strategy is current: it makes the variables, and code is in cross-replica context.

        Nothing is distributed by that alone.

        Raises:
          RuntimeError: inside the scope of another strategy, or in a replica's context.
        """
        self._require_scope()
        return Scope(self, self._entered)

    def _require_scope(self) -> None:
        """Raises RuntimeError where the scope cannot be entered."""
        if tower_contexts.has_distribution_strategy():
            require_cross_replica(self._engine, or_default=False)

    def _entered(self) -> AbstractContextManager[Any]:
        self._require_scope()
        engine = self._engine
        return strategy_scope(engine, engine.create_variable, engine.default_device)

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Deprecated: ``extended.colocate_vars_with``."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    # ---- running ---------------------------------------------------------------------------------------------

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """``fn(*args, **kwargs)`` on every replica; per-replica arguments arrive as each replica's part.

        ``fn`` may be traced more than once.

        Args:
          fn: what every replica does.
          args: a tuple or list.
          kwargs: a dict, or None.
          options: a ``RunOptions``; shapes may always change, and whatever is compiled needs no bucketing.

        Returns:
          What ``fn`` returns, with a per-replica value for each tensor (the tensor itself where there is one replica),
          or the one object that all replicas returned.

        Raises:
          ValueError: ``args`` is no tuple or list. RuntimeError: in a replica's context.
        """
        if not isinstance(args, list | tuple):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}: pass args=(value,).")
        return self._called(fn, args, kwargs)

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """``run``, as 1.14 to 2.1 spelt it."""
        return self.run(fn, args, kwargs)

    def _called(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Any:
        extended = self._extended
        kwargs = dict(kwargs or {})
        if extended._mapped:
            args, kwargs = nest.map_structure(self._fitted, (tuple(args), kwargs))
        if extended._calls_each(fn):
            return extended._run(fn, args, kwargs)
        require_numbers([*args, *kwargs.values()])

        def run(args: Any, kwargs: Any) -> Any:
            return extended._run(fn, args, kwargs)

        return extended._carried(("run", fn), run, tuple(args), kwargs)

    def _fitted(self, value: Any) -> Any:
        """An argument whose parts are as many as the replicas."""
        return of_replicas(value, self._engine.worker_devices, self._engine.mesh_axis)

    def reduce(self, reduce_op: Any, value: Any, axis: Any) -> Any:
        """The replicas' values reduced to one, for each tensor of a structure.

        Args:
          reduce_op: ``ReduceOp.SUM`` or ``ReduceOp.MEAN``, or the name of one.
          value: a per-replica value, or a structure of such.
          axis: None to combine the replicas' values element by element; or the axis (or axes) along which each value is
            reduced too. A MEAN then divides by the number of entries on all replicas together.

        Raises:
          ValueError: another ``reduce_op``. TypeError: ``axis`` or ``reduce_op`` of another type.
          RuntimeError: in a replica's context. InvalidArgumentError: shapes that differ by replica, without ``axis``.
        """
        require_cross_replica(self._engine)
        op = reduce_op_of(reduce_op)
        along = checked_axis(axis)
        extended = self._extended

        def reduced(value: Any) -> Any:
            return nest.map_structure(lambda v: extended._reduced(op, v, along), value)

        return extended._carried(("reduce", op, along), reduced, value)

    def gather(self, value: Any, axis: int) -> Any:
        """The replicas' values joined along ``axis``, in the order of the replicas.

        Args:
          value: a per-replica value of dense tensors of rank 1 or more, or a structure of such; shapes may differ along
            ``axis`` only.

        Raises:
          RuntimeError: in a replica's context. NotImplementedError: IndexedSlices. ValueError: a scalar, or no axis.
        """
        require_cross_replica(
            self._engine,
            instead="tf.distribute.Strategy.gather method requires cross-replica context, use "
            "get_replica_context().all_gather() instead",
        )
        if not any(isinstance(leaf, DistributedValues | IndexedSlices) for leaf in nest.flatten(value)):
            return value
        require_numbers(value)
        extended = self._extended
        axis = checked_dimension(axis)
        for leaf in nest.flatten(value):
            local = leaf.local if isinstance(leaf, DistributedValues) else leaf
            if isinstance(local, IndexedSlices):
                raise NotImplementedError(
                    "gather does not support IndexedSlices: pass tf.convert_to_tensor(value), or reduce them."
                )

        def gathered(value: Any) -> Any:
            return nest.map_structure(lambda v: extended._gathered(v, axis), value)

        return extended._carried(("gather", axis), gathered, value)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The parts of a value, in the order of the replicas: ``(value,)`` for a single one.

        Of a structure that is one structure for each replica.
        """
        if nest.is_sequence(value):
            columns = [self.experimental_local_results(leaf) for leaf in nest.flatten(value)]
            count = self.num_replicas_in_sync
            rows = zip(*(c * count if len(c) == 1 else c for c in columns), strict=True) if columns else [()] * count
            return tuple([nest.pack_sequence_as(value, row) for row in rows])
        if isinstance(value, DistributedValues) and (self._extended._mapped or isinstance(value, Variable)):
            return self._extended._local_results(value)
        return (value,)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Deprecated: ``experimental_local_results``."""
        return self.experimental_local_results(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """Deprecated: one operation that runs all parts of a value."""
        parts = self.experimental_local_results(value)
        if len(parts) == 1 and name is None:
            return parts[0]
        return group(*parts, name=name)

    # ---- input -----------------------------------------------------------------------------------------------

    _datasets: type[DistributedDataset] = DistributedDataset
    _in_workers = False
    """Whether the batches of several workers' own pipelines have no known size: the last ones have no rows."""

    def _layout(self) -> Layout | None:
        """The replicas as datasets see them; None for a single one."""
        engine = self._engine
        return Layout(engine.worker_devices, engine.mesh_axis) if engine.mapped else None

    def experimental_distribute_dataset(self, dataset: Any, options: InputOptions | None = None) -> DistributedDataset:
        """A dataset of global batches, each divided among the replicas.

        Each replica gets the global batch size divided by the number of replicas, rounded up; the last ones may get
        less, or a batch of nothing. With one worker nothing is sharded.

        Args:
          options: an ``InputOptions``.

        Raises:
          TypeError: not a dataset. ValueError: elements without a batch. NotImplementedError: replication per replica.
        """
        check_options(options, from_function=False)
        return divided(dataset, self._layout(), self._datasets, self._in_workers)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[Any], Any], options: InputOptions | None = None
    ) -> DistributedDataset:
        """The dataset that ``dataset_fn(input_context)`` returns, of batches of one replica each.

        Args:
          options: an ``InputOptions``. Where its replication mode is PER_REPLICA the function is called for each
            replica, which has a dataset of its own.

        Raises:
          TypeError: the function returns no dataset. ValueError: options that contradict each other.
        """
        check_options(options, from_function=True)
        kind, count = self._datasets, self.num_replicas_in_sync
        return dealt(dataset_fn, self._layout(), kind, count, options, in_workers=self._in_workers)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[Any], Any], options: InputOptions | None = None
    ) -> DistributedDataset:
        """``distribute_datasets_from_function``, as 1.15 to 2.3 spelt it."""
        return self.distribute_datasets_from_function(dataset_fn, options)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Dataset:
        """A dataset of the rows of numpy arrays, or of a structure of such.

        Args:
          session: nothing has to be initialized, so it changes nothing.
        """
        return Dataset.from_tensor_slices(nest.map_structure(np.asarray, numpy_input))

    def make_dataset_iterator(self, dataset: Any) -> InputIterator | DatasetIterator:
        """Deprecated: an iterator over global batches, each divided among the replicas.

        Raises:
          RuntimeError: inside of a function.
        """
        return self._initializable(divided(dataset, self._layout(), DistributedDatasetV1))

    def make_input_fn_iterator(
        self, input_fn: Callable[[Any], Any], replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    ) -> InputIterator | DatasetIterator:
        """Deprecated: an iterator over the dataset of an input function, an element for each replica.

        Elements that are left at the end, fewer than replicas, are dropped.

        Raises:
          ValueError: another replication mode than PER_WORKER.
        """
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError(
                f"Input replication mode not supported: {replication_mode}: expected InputReplicationMode.PER_WORKER."
            )
        found = dealt(input_fn, self._layout(), DistributedDatasetV1, self.num_replicas_in_sync)
        if isinstance(found._node, ElementPerReplica):
            found._node.whole = True
        return self._initializable(found)

    def _initializable(self, dataset: Any) -> InputIterator | DatasetIterator:
        if get_default_graph().executing_eagerly:
            return DatasetIterator(dataset)
        if get_default_graph().building_function:
            raise RuntimeError(
                "Iterators of this kind cannot be made inside of a tf.function: iterate over "
                "strategy.experimental_distribute_dataset(dataset)."
            )
        iterator: InputIterator = dataset.make_initializable_iterator()
        return iterator

    def _run_steps(self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any) -> Any:
        return run_steps(self, fn, iterator, iterations, initial_loop_values)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Deprecated: ``run`` with the next element of an iterator as the argument, where one is given."""
        args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.run(fn, args=args)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """A per-replica value of what ``value_fn(value_context)`` gives for each replica.

        On several replicas the parts become tensors.

        Raises:
          ValueError: while a graph is built that is no function's; structures or ranks differ between replicas.
          TypeError: types differ, or what cannot be a tensor.
        """
        graph = get_default_graph()
        if not graph.executing_eagerly and not graph.building_function:
            raise ValueError("The distributed value creation is only supported in eager mode.")
        count = self.num_replicas_in_sync
        parts = [value_fn(ValueContext(i, count)) for i in range(count)]
        for part in parts[1:]:
            nest.assert_same_structure(parts[0], part)
        if not self._extended._mapped:
            return parts[0]
        engine = self._engine
        columns = zip(*(nest.flatten(part) for part in parts), strict=True)
        made = [from_parts(column, engine.worker_devices, engine.mesh_axis) for column in columns]
        return nest.pack_sequence_as(parts[0], made)

    @contextmanager
    def _scale_loss_for_estimator_enabled(self) -> Iterator[None]:
        """Inside, which is where estimators build their graphs, optimizers divide losses by the number of replicas."""
        self._engine.trains_estimator = True
        try:
            yield
        finally:
            self._engine.trains_estimator = False

    # ---- sessions --------------------------------------------------------------------------------------------

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Deprecated: ``update_config_proto``."""
        self._engine.configure(session_config)

    def update_config_proto(self, config_proto: Any) -> Any:
        """A copy of a session's configuration, for this strategy: sessions of several replicas share no state."""
        updated = deepcopy(config_proto)
        self._engine.configure(updated)
        return updated

    def __copy__(self) -> Any:
        raise RuntimeError("Must only deepcopy DistributionStrategy.")

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.num_replicas_in_sync} replicas>"


class Strategy(_Base):
    """State and computation spread over replicas.

    Args:
      extended: what does the work.
    """


class StrategyV1(_Base):
    """``Strategy`` as 1.14 and 1.15 had it."""

    _extended: StrategyExtendedV1
    _datasets = DistributedDatasetV1

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        return super().reduce(reduce_op, value, axis)
