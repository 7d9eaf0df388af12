"""Cross-tower operations that were for several workers: the processes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.cross_tower_ops import (
    AllReduceCrossTowerOps,
    CrossTowerOps,
    ReductionToOneDeviceCrossTowerOps,
    contains_indexed_slices,
)
from towerstrat.towers.engine.destinations import get_devices_from
from towerstrat.towers.engine.distributed_values import Mirrored
from towerstrat.towers.engine.distributed_variables import HOW
from towerstrat.towers.engine.tower_reductions import reduced, size_in_bytes


class AllReduceSpecTuple(NamedTuple):
    """How values up to a size are reduced.

    Attributes:
      alg: the algorithm's name; the compiler has its own.
      shards: each pack is split into so many collectives.
      limit: the size in bytes up to which values are reduced so; -1: all others.
    """

    alg: str
    shards: int
    limit: int


class MultiWorkerAllReduce(AllReduceCrossTowerOps):
    """``AllReduceCrossTowerOps`` with other packs for values of other sizes.

    Args:
      worker_devices: the names of the workers, which are the processes of this run.
      num_gpus_per_worker: how many devices a worker has; the towers' strategy says it.
      all_reduce_spec: an algorithm's name, a tuple (name, shards, limit) or a list of such, by limit.
      num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group: as of ``AllReduceCrossTowerOps``.

    Raises:
      UnsupportedError: other workers than the processes of this run. ValueError: no tuple, or too long a one.
    """

    def __init__(
        self, worker_devices: Sequence[str], num_gpus_per_worker: int, all_reduce_spec: Any = ("pscpu/pscpu", 2, -1),
        num_packs: int = 0, agg_small_grads_max_bytes: int = 0, agg_small_grads_max_group: int = 10,
    ):  # fmt: skip
        _require_workers("MultiWorkerAllReduce", len(worker_devices))
        super().__init__("nccl", num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group)
        self._worker_devices = list(worker_devices)
        self._num_gpus_per_worker = num_gpus_per_worker
        if isinstance(all_reduce_spec, str):
            all_reduce_spec = (all_reduce_spec,)
        specs = all_reduce_spec if isinstance(all_reduce_spec, list) else [all_reduce_spec]
        self._all_reduce_spec = [_completed(spec) for spec in specs]

    def _groups(self, locals: Sequence[Any]) -> list[tuple[list[int], int]]:
        left = list(range(len(locals)))
        found: list[tuple[list[int], int]] = []
        for spec in self._all_reduce_spec:
            taken = [i for i in left if spec.limit < 0 or size_in_bytes(locals[i]) <= spec.limit]
            left = [i for i in left if i not in taken]
            for group, packs in super()._groups([locals[i] for i in taken]):
                found.append(([taken[i] for i in group], max(packs, 1) * spec.shards))
        if left:
            raise ValueError(
                f"all_reduce_spec={self._all_reduce_spec} says nothing of values of {size_in_bytes(locals[left[0]])} "
                "bytes: the last limit is -1, for all that are left."
            )
        return found


def _require_workers(what: str, count: int) -> None:
    """Raises UnsupportedError where workers are not the processes of this run; one is any number of them."""
    if count not in (1, PROCESSES.count):
        raise UnsupportedError(
            f"{what} of {count} workers in a run of {PROCESSES.count} process(es), one for each worker: start {count} "
            f"(`towerstrat launch -n {count} SCRIPT`), or name one worker, whose towers it reduces over."
        )


def _completed(spec: Any) -> AllReduceSpecTuple:
    if not isinstance(spec, tuple):
        raise ValueError(f"A tuple is expected for all-reduce spec: {spec!r}")
    if not spec or len(spec) > 3:
        raise ValueError(f"Expected (algorithm, shards, limit) in the all-reduce spec, got {spec!r}.")
    return AllReduceSpecTuple(*spec, *(1, -1)[len(spec) - 1 :])


class CollectiveAllReduce(CrossTowerOps):
    """One collective for each value, for graphs and dense values only, as in the original.

    Args:
      num_workers: the processes of this run.
      num_gpus_per_worker: how many devices a worker has; the towers' strategy says it.
      all_reduce_merge_scope: so many values that follow each other are in one name scope; the compiler combines what
        it finds best.
      collective_keys: the original's numbers of groups; nothing is numbered here.

    Raises:
      UnsupportedError: other workers than the processes of this run.
    """

    def __init__(
        self, num_workers: int = 1, num_gpus_per_worker: int = 0, all_reduce_merge_scope: int = 32,
        collective_keys: Any = None,
    ):  # fmt: skip
        _require_workers("CollectiveAllReduce", num_workers)
        self._num_workers = num_workers
        self._num_gpus_per_worker = num_gpus_per_worker
        self._all_reduce_merge_scope = all_reduce_merge_scope
        self._collective_keys = collective_keys
        super().__init__()

    def _reduce(self, aggregation: VariableAggregation, per_device_value: Any, destinations: Any) -> Any:
        (found,) = self._batch_reduce(aggregation, [(per_device_value, destinations)])
        return found

    def _batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        values = [value for value, _ in value_destination_pairs]
        if contains_indexed_slices(values):
            raise ValueError(
                "`IndexedSlices` are not supported for Collective All-Reduce: make the gradient dense with "
                "tf.convert_to_tensor, or use AllReduceCrossTowerOps."
            )
        if get_default_graph().executing_eagerly:
            raise ValueError("Eager execution is not supported for Collective All-Reduce: use AllReduceCrossTowerOps.")
        found = self._batch_all_reduce(aggregation, values)
        return [
            Mirrored(dict.fromkeys(get_devices_from(destinations), result.primary))
            for result, (_, destinations) in zip(found, value_destination_pairs, strict=True)
        ]

    def _batch_all_reduce(self, aggregation: VariableAggregation, per_device_values: Sequence[Any]) -> list[Any]:
        size = self._all_reduce_merge_scope
        found = []
        for start in range(0, len(per_device_values), size):
            with get_default_graph().name_scope("allreduce"):
                for value in per_device_values[start : start + size]:
                    found.append(_reduced_alone(aggregation, value))
        return found


def _reduced_alone(aggregation: VariableAggregation, value: Any) -> Mirrored:
    if len(value.devices) == 1:
        return Mirrored(dict(value._index))
    result = reduced(HOW[aggregation], value.local, value._index.axis, tower_contexts.current_engine().own_gradients)
    return Mirrored(dict.fromkeys(value.devices, result))


def choose_the_best(devices: Sequence[str], session_config: Any = None) -> CrossTowerOps:
    """The cross-tower operations that the original takes for devices: those with packs for GPUs.

    Args:
      devices: their names.
      session_config: decides nothing: the devices of this process are those that sessions have.
    """
    if all("GPU:" in name.upper() for name in devices):
        logs.info("Configured nccl all-reduce.")
        return AllReduceCrossTowerOps("nccl", num_packs=1)
    logs.warning("Not all devices of the strategy are GPUs: values are reduced one by one.")
    return ReductionToOneDeviceCrossTowerOps()
