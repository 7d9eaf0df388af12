"""Cross-device operations of 1.13 to 2.x: how values of the replicas are reduced and broadcast."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from towerstrat.graph.ops.array.arrays import concat
from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.towers.distribute.communication_options import CommunicationOptions
from towerstrat.towers.distribute.per_replica_values import PerReplica
from towerstrat.towers.distribute.reduce_op import AGGREGATIONS, ReduceOp, reduce_op_of
from towerstrat.towers.engine.collective_all_reduce import CollectiveAllReduce as CollectiveOfTowers
from towerstrat.towers.engine.collective_all_reduce import MultiWorkerAllReduce as MultiWorkerOfTowers
from towerstrat.towers.engine.cross_tower_ops import (
    AllReduceCrossTowerOps,
    CrossTowerOps,
    ReductionToOneDeviceCrossTowerOps,
    checked_pairs,
    per_device,
)
from towerstrat.towers.engine.destinations import get_devices_from, validate_destinations
from towerstrat.towers.engine.distributed_values import Mirrored


class CrossDeviceOps:
    """The base of the ways to reduce and broadcast.

    A subclass implements ``reduce_implementation`` and ``batch_reduce_implementation``; with ``options`` as the last
    argument, as 2.x calls them, or without, as 1.13 to 2.0 did.
    """

    def __init__(self) -> None:
        pass

    @property
    def _num_between_graph_workers(self) -> int:
        """The number of workers with graphs of their own."""
        return 1

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None) -> Any:
        """The replicas' values reduced to one, mirrored on the destinations.

        Args:
          reduce_op: ``ReduceOp.SUM`` or ``ReduceOp.MEAN``.
          per_replica_value: a per-replica value, or a tensor.
          destinations: a distributed value, a variable or a device's name.
          options: a ``CommunicationOptions``.

        Raises:
          ValueError: no destinations, or a list of values.
        """
        value = _per_replica(per_replica_value)
        validate_destinations(destinations)
        return _called(self.reduce_implementation, options, reduce_op, value, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Iterable[Any], options: Any = None) -> list[Any]:
        """``reduce`` of several (value, destinations) pairs together.

        Raises:
          ValueError: no pairs, or as of ``reduce``.
        """
        pairs = [(_per_replica(value), d) for value, d in checked_pairs(list(value_destination_pairs))]
        for _, destinations in pairs:
            validate_destinations(destinations)
        found: list[Any] = _called(self.batch_reduce_implementation, options, reduce_op, pairs)
        return found

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """A tensor mirrored on destinations. Raises ValueError where there are none."""
        validate_destinations(destinations)
        return self.broadcast_implementation(tensor, destinations)

    def _gather(self, per_replica_value: Any, destinations: Any, axis: int, options: Any = None) -> Any:
        """The replicas' values joined along ``axis``."""
        value = _per_replica(per_replica_value)
        validate_destinations(destinations)
        return _called(self._gather_implementation, options, value, destinations, axis)

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """What ``reduce`` does with checked arguments."""
        raise NotImplementedError("reduce_implementation method must be implemented in descendants.")

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Sequence[Any], options: Any = None
    ) -> list[Any]:
        """What ``batch_reduce`` does with checked arguments."""
        raise NotImplementedError("batch_reduce_implementation method must be implemented in descendants.")

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """What ``broadcast`` does with checked arguments."""
        return Mirrored(dict.fromkeys(get_devices_from(destinations), tensor))

    def _gather_implementation(self, per_replica_value: Any, destinations: Any, axis: int, options: Any = None) -> Any:
        joined = concat([per_replica_value.get(device) for device in per_replica_value.devices], axis)
        return self.broadcast_implementation(joined, destinations)


def _per_replica(value: Any) -> PerReplica:
    """A value as a per-replica one. Raises ValueError as ``per_device``."""
    found = per_device(value)
    return found if isinstance(found, PerReplica) else PerReplica(found._index)


def _called(implementation: Callable[..., Any], options: Any, *args: Any) -> Any:
    """Calls an implementation with ``options`` if it takes them."""
    try:
        inspect.signature(implementation).bind(*args, options)
    except TypeError:
        return implementation(*args)
    return implementation(*args, CommunicationOptions() if options is None else options)


class _Reduces(CrossDeviceOps):
    """Cross-device operations that do what cross-tower operations do."""

    _towers: CrossTowerOps

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None
    ) -> Any:
        return self._towers._reduce(AGGREGATIONS[reduce_op_of(reduce_op)], per_replica_value, destinations)

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Sequence[Any], options: Any = None
    ) -> list[Any]:
        return self._towers._batch_reduce(AGGREGATIONS[reduce_op_of(reduce_op)], value_destination_pairs)


class ReductionToOneDevice(_Reduces):
    """Values are reduced one by one.

    Args:
      reduce_to_device: its name. A reduction is one collective here, whichever device adds up.
      accumulation_fn: adds up a list of tensors; None is ``tf.add_n``. Another one is called with each replica's value.
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Callable[..., Any] | None = None):
        super().__init__()
        made = ReductionToOneDeviceCrossTowerOps(reduce_to_device, accumulation_fn)
        self._towers = made
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = made.accumulation_fn


class AllReduceCrossDeviceOps(_Reduces):
    """Values that are reduced together travel in packs: fewer and larger collectives.

    Args:
      all_reduce_alg, num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group: as of ``AllReduceCrossTowerOps``.

    Raises:
      ValueError: a negative ``num_packs``.
    """

    def __init__(
        self, all_reduce_alg: str = "nccl", num_packs: int = 1, agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ):  # fmt: skip
        super().__init__()
        if num_packs < 0:
            raise ValueError(f"{type(self).__name__} takes num_packs from 0, got {num_packs}.")
        self._towers = AllReduceCrossTowerOps(
            all_reduce_alg, num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group
        )


class NcclAllReduce(AllReduceCrossDeviceOps):
    """``AllReduceCrossDeviceOps`` by NCCL."""

    def __init__(self, num_packs: int = 1):
        super().__init__("nccl", num_packs)


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """``AllReduceCrossDeviceOps`` by copies along a hierarchy of devices."""

    def __init__(self, num_packs: int = 1):
        super().__init__("hierarchical_copy", num_packs)


class CollectiveAllReduce(_Reduces):
    """One collective for each value, for dense values in graphs only.

    Args:
      num_workers, num_gpus_per_worker, collective_keys: as of the ``CollectiveAllReduce`` of 1.12.
    """

    def __init__(self, num_workers: int = 1, num_gpus_per_worker: int = 0, collective_keys: Any = None):
        super().__init__()
        self._towers = CollectiveOfTowers(num_workers, num_gpus_per_worker, collective_keys=collective_keys)


class MultiWorkerAllReduce(_Reduces):
    """``AllReduceCrossDeviceOps`` with other packs for values of other sizes, for one worker.

    Args:
      worker_devices, num_gpus_per_worker, all_reduce_spec: as of the ``MultiWorkerAllReduce`` of 1.12.
      num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group: as of ``AllReduceCrossDeviceOps``.
    """

    def __init__(
        self, worker_devices: Sequence[str], num_gpus_per_worker: int, all_reduce_spec: Any = ("pscpu/pscpu", 2, -1),
        num_packs: int = 0, agg_small_grads_max_bytes: int = 0, agg_small_grads_max_group: int = 10,
    ):  # fmt: skip
        super().__init__()
        self._towers = MultiWorkerOfTowers(
            worker_devices, num_gpus_per_worker, all_reduce_spec, num_packs, agg_small_grads_max_bytes,
            agg_small_grads_max_group,
        )  # fmt: skip


class _OfReplicas(CrossTowerOps):
    """Cross-device operations as an engine calls them."""

    def __init__(self, ops: Any):
        super().__init__()
        self._ops = ops

    def _reduce(self, aggregation: VariableAggregation, per_device_value: Any, destinations: Any) -> Any:
        return self._ops.reduce(ReduceOp.from_variable_aggregation(aggregation), per_device_value, destinations)

    def _batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        op = ReduceOp.from_variable_aggregation(aggregation)
        found: list[Any] = self._ops.batch_reduce(op, value_destination_pairs)
        return found

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        return self._ops.broadcast(tensor, destinations)


def of_towers(ops: Any) -> CrossTowerOps | None:
    """What a program gave as ``cross_device_ops=`` as an engine calls it.

    Raises:
      TypeError: neither cross-device operations nor cross-tower ones.
    """
    if ops is None or isinstance(ops, CrossTowerOps):
        return ops
    if not callable(getattr(ops, "batch_reduce", None)):
        raise TypeError(f"Expected cross_device_ops to be a tf.distribute.CrossDeviceOps, got {ops!r}.")
    return _OfReplicas(ops)


def choose_the_best(devices: Sequence[str], session_config: Any = None) -> CrossDeviceOps:
    """The cross-device operations that the original takes for devices: those with packs for GPUs.

    Args:
      devices: their names.
      session_config: decides nothing: the devices of this process are those that sessions have.
    """
    return NcclAllReduce(1) if all("GPU:" in name.upper() for name in devices) else ReductionToOneDevice()
