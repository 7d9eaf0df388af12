"""``TPUStrategy`` and ``OneDeviceStrategy`` of ``tf.contrib.distribute``, with the members of all versions that had it.

1.8 to 1.12 speak of towers, 1.13 to 1.15 of replicas; one engine is under both. What is run through a member that
speaks of replicas sees their rules: an element of a step loop is one argument, and optimizers leave the loss as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.contrib import (
    collective_all_reduce,
    mirrored_strategy,
    one_device_strategy,
    parameter_server_strategy,
    tpu_strategy,
)
from towerstrat.towers.contrib.contrib_api import CONTRIB
from towerstrat.towers.contrib.distribution_strategy import DistributionStrategy
from towerstrat.towers.distribute.central_storage_strategy import ParameterServerExtended
from towerstrat.towers.distribute.communication_options import CommunicationImplementation
from towerstrat.towers.distribute.distributed_dataset import DistributedDatasetV1, InputIterator
from towerstrat.towers.distribute.input_distribution import dealt
from towerstrat.towers.distribute.mirrored_strategy import MirroredExtended
from towerstrat.towers.distribute.reduce_op import ReduceOp
from towerstrat.towers.distribute.replica_api import ReplicaApi
from towerstrat.towers.distribute.step_functions import DatasetIterator
from towerstrat.towers.distribute.strategy import StrategyV1
from towerstrat.towers.distribute.strategy_extended import StrategyExtendedV1
from towerstrat.towers.distribute.tpu_strategy import TPUExtended
from towerstrat.towers.engine.batch_splitting import ElementPerReplica
from towerstrat.towers.engine.distributed_values import DistributedValues
from towerstrat.towers.engine.engine import Engine
from towerstrat.towers.engine.single_tower_engine import SingleTowerEngine
from towerstrat.towers.engine.spmd_engine import SpmdEngine


class _Replicas(ReplicaApi):
    """The rules of replicas, over the variables of towers."""

    def variable_maker(self, engine: Engine, devices: Sequence[str], axis: Axis, local: bool) -> Callable[..., Any]:
        return CONTRIB.variable_maker(engine, devices, axis, local)

    def central_variable_maker(self, engine: Engine, axis: Axis, device: str) -> Callable[..., Any]:
        return CONTRIB.central_variable_maker(engine, axis, device)

    def written(
        self, engine: Engine, axis: Axis, variable: Variable, type: str, inputs: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        return CONTRIB.written(engine, axis, variable, type, inputs)


_REPLICAS = _Replicas()


# The two bases have names in common; those of towers go first, as programs that wrote them were first.
class Strategy(DistributionStrategy, StrategyV1):  # type: ignore[misc]
    """The members of both; where a name has two meanings, the arguments tell them apart."""

    engine: SpmdEngine | SingleTowerEngine
    _extended: Extended

    def _stand_on(self, engine: Engine) -> None:
        super()._stand_on(engine)
        self._engine = engine
        StrategyV1.__init__(self, self._make_extended())

    def _make_extended(self) -> Extended:
        return Extended(self)

    @contextmanager
    def _of_replicas(self) -> Iterator[None]:
        """Inside, the engine follows the rules of replicas."""
        outer, self.engine.surface = self.engine.surface, _REPLICAS
        try:
            yield
        finally:
            self.engine.surface = outer

    def _called(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Any:
        with self._of_replicas():
            return super()._called(fn, args, kwargs)

    def call_for_each_replica(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(*args, **kwargs)`` in the context of each replica, as 1.13 spelt it.

        ``args=`` and ``kwargs=`` among the keywords are those of ``extended.call_for_each_replica``;
        ``run_concurrently`` is about threads of the original and is not passed on.

        Raises:
          ValueError: arguments are given in both ways. RuntimeError: in tower context.
        """
        kwargs.pop("run_concurrently", None)
        listed, named = kwargs.pop("args", None), kwargs.pop("kwargs", None)
        if (listed is not None and args) or (named is not None and kwargs):
            raise ValueError("call_for_each_replica takes arguments as they are, or as args=(...) and kwargs={...}.")
        return self._extended.call_for_each_replica(
            fn, args if listed is None else listed, kwargs if named is None else named
        )

    def make_dataset_iterator(self, dataset: Any) -> InputIterator | DatasetIterator:
        """An iterator over batches that are divided among the towers, or are one tower's each: those of mirrored
        towers, and of all where ``compile(distribute=...)`` of Keras was given the strategy, as it was in 1.12.

        Raises:
          RuntimeError: inside of a function.
        """
        extended = self._extended
        if extended._global_batch_size:
            return super().make_dataset_iterator(dataset)
        layout, drops = self._layout(), not extended.keeps_batches
        found = dealt(lambda _: dataset, layout, DistributedDatasetV1, self.num_towers, drops=drops, apart=False)
        if drops and isinstance(found._node, ElementPerReplica) and not get_default_graph().executing_eagerly:
            found._node.whole = True
        return self._initializable(found)

    def _run_steps(self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any) -> Any:
        with self._of_replicas():
            return super()._run_steps(fn, iterator, iterations, initial_loop_values)

    def _run_steps_on_dataset(self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any = None) -> Any:
        if isinstance(iterator, InputIterator | DatasetIterator):
            return self._run_steps(fn, iterator, iterations, initial_loop_values)
        return super()._run_steps_on_dataset(fn, iterator, iterations, initial_loop_values)

    def reduce(  # type: ignore[override]
        self, aggregation: Any = None, value: Any = None, destinations: Any = None, axis: Any = None,
        reduce_op: Any = None,
    ) -> Any:  # fmt: skip
        """One value from the values of the towers: ``reduce(aggregation, value, destinations)`` of 1.8 to 1.12, or
        ``reduce(reduce_op, value, axis=None)`` of 1.13 to 1.15.

        Args:
          aggregation: a ``tf.VariableAggregation`` for the first, a ``tf.distribute.ReduceOp`` or the name of one for
            the second.

        Raises:
          ValueError: neither of the two.
        """
        op = aggregation if reduce_op is None else reduce_op
        if isinstance(op, ReduceOp | str):
            return StrategyV1.reduce(self, op, value, destinations if axis is None else axis)
        return super().reduce(op, value, destinations)

    def experimental_initialize(self) -> list[Any] | None:
        """``initialize``, as 1.13 spelt it."""
        return self.initialize()

    def experimental_finalize(self) -> list[Any] | None:
        """``finalize``, as 1.13 spelt it."""
        return self.finalize()

    @property
    def require_static_shapes(self) -> bool:
        """Whether input must have static shapes: no, other shapes are compiled when they come."""
        return self.extended.experimental_require_static_shapes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.num_towers} towers>"


class Extended(StrategyExtendedV1):
    """``extended`` of these strategies.

    Attributes:
      batches_of_towers: whether ``make_dataset_iterator`` gives each tower whole batches of a dataset.
      keeps_batches: whether batches at the end that do not suffice for all towers are used too.
    """

    batches_of_towers = False
    keeps_batches = False

    @property
    def _global_batch_size(self) -> bool:
        return not self.batches_of_towers


class _MirroredExtended(Extended, MirroredExtended):
    batches_of_towers = True


class _ParameterServerExtended(Extended, ParameterServerExtended):
    batches_of_towers = True


class _TPUExtended(Extended, TPUExtended):
    pass


class OneDeviceStrategy(Strategy, one_device_strategy.OneDeviceStrategy):  # type: ignore[misc]
    """A single tower on one device, for trying out code written for several.

    Args:
      device: the device's name.
      prefetch_on_device: where input waits is decided here; changes no value.
    """


class MirroredStrategy(Strategy, mirrored_strategy.MirroredStrategy):  # type: ignore[misc]
    """Synchronous training with a tower on each device: variables are mirrored, functions are called for each tower.

    Args:
      devices: the devices' names; default all that there are.
      num_gpus, num_gpus_per_worker: so many accelerators, instead of ``devices``.
      cross_tower_ops: how values of the towers are combined.
      prefetch_on_device: where input waits is decided here; changes no value.
      auto_shard_dataset: as of 1.12's.
      cross_device_ops: ``cross_tower_ops``, as 1.13 spelt it.

    Raises:
      ValueError: more than one of the first three, two of the last, or devices that are not here.
    """

    def __init__(
        self, devices: Sequence[str] | None = None, num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None, cross_tower_ops: Any = None, prefetch_on_device: bool | None = None,
        auto_shard_dataset: bool = False, cross_device_ops: Any = None,
    ):  # fmt: skip
        if cross_tower_ops is not None and cross_device_ops is not None:
            raise ValueError("Give cross_tower_ops or cross_device_ops, not both: they are two names of one argument.")
        chosen = cross_device_ops if cross_tower_ops is None else cross_tower_ops
        super().__init__(devices, num_gpus, num_gpus_per_worker, chosen, prefetch_on_device, auto_shard_dataset)

    def _make_extended(self) -> Extended:
        return _MirroredExtended(self, self._cross_tower_ops)


class CollectiveAllReduceStrategy(MirroredStrategy, collective_all_reduce.CollectiveAllReduceStrategy):  # type: ignore[misc]
    """A tower on each device of one worker; values are reduced by ``CollectiveAllReduce``, in graphs.

    Args:
      num_gpus_per_worker: so many towers on accelerators; 0: one on the CPU.
      communication: changes nothing: the compiler's collectives reduce.
    """

    def __init__(
        self,
        num_gpus_per_worker: int = 0,
        communication: CommunicationImplementation = CommunicationImplementation.AUTO,
    ):
        collective_all_reduce.CollectiveAllReduceStrategy.__init__(self, num_gpus_per_worker)


class ParameterServerStrategy(Strategy, parameter_server_strategy.ParameterServerStrategy):  # type: ignore[misc]
    """Towers on a worker's devices, with variables on a parameter device of the same machine.

    Updates of the towers are synchronous.

    Args:
      num_gpus_per_worker: so many towers on accelerators; 0: one on the CPU.
    """

    def _make_extended(self) -> Extended:
        return _ParameterServerExtended(self)


class TPUStrategy(tpu_strategy.TPUStrategy, OneDeviceStrategy):  # type: ignore[misc]
    """Trains on every device of the machine, one tower on each.

    Args:
      tpu_cluster_resolver: which machine; None is the local one.
      steps_per_run: steps between returns to the host where a training loop of the library drives the strategy; its
        default is 100.
      num_cores: how many towers; default one per device.
      device_assignment: how many towers there are, and on which devices.

    Raises:
      ValueError: more towers than devices, fewer than one, or both ``num_cores`` and ``device_assignment``.
    """

    extended: _TPUExtended

    def _make_extended(self) -> Extended:
        return _TPUExtended(self, self.steps_per_run)

    def unwrap(self, value: Any) -> Any:
        """The parts of a value, one per device; in a step function, which is one program for all of them, its own."""
        if get_default_graph().block.in_steps and isinstance(value, DistributedValues):
            return list(self._extended._local_results(value))
        return super().unwrap(value)

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that was given, or the local machine's."""
        return self._resolver
