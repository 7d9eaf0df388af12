"""Distribution of datasets: options, contexts of input functions, pipelines with a part for every replica."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.elements.options import AutoShardPolicy
from towerstrat.data.files.file_sharding import of_files
from towerstrat.data.iterators.collective_reads import ALIKE, are_surely_alike, require_alike
from towerstrat.data.pipeline.nodes import INFINITE, DatasetNode
from towerstrat.data.pipeline.prefetch import Prefetch
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.towers.distribute.distributed_dataset import DistributedDataset, Layout
from towerstrat.towers.engine.batch_splitting import ElementPerReplica, Shares, share_of
from towerstrat.towers.engine.local_batches import split_rows


class InputReplicationMode(enum.Enum):
    """The number of calls of an input function: one for each worker, or one for each replica."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputContext:
    """The argument of an input function: the pipelines and replicas that there are.

    Args:
      num_input_pipelines: how many input pipelines there are: one for each worker.
      input_pipeline_id: the number of this one.
      num_replicas_in_sync: the number of replicas that train together.
    """

    __slots__ = ("_input_pipeline_id", "_num_input_pipelines", "_num_replicas_in_sync")

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1):
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        return self._num_replicas_in_sync

    @property
    def input_pipeline_id(self) -> int:
        return self._input_pipeline_id

    @property
    def num_input_pipelines(self) -> int:
        return self._num_input_pipelines

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The batch size of one replica.

        Raises:
          ValueError: the replicas cannot have equal parts.
        """
        if global_batch_size % self._num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self._num_replicas_in_sync}."
            )
        return global_batch_size // self._num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self._input_pipeline_id}, total: "
            f"{self._num_input_pipelines})"
        )


class ValueContext:
    """The argument of a function that makes one replica's value.

    Args:
      replica_id_in_sync_group: the replica's number.
      num_replicas_in_sync: how many there are.
    """

    __slots__ = ("_num_replicas_in_sync", "_replica_id_in_sync_group")

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1):
        self._replica_id_in_sync_group = replica_id_in_sync_group
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        return self._num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        return self._replica_id_in_sync_group

    def __str__(self) -> str:
        return (
            f"tf.distribute.ValueContext(replica id {self._replica_id_in_sync_group},  total replicas in sync: "
            f"{self._num_replicas_in_sync})"
        )


class _InputOptions(NamedTuple):
    experimental_fetch_to_device: bool | None
    experimental_replication_mode: InputReplicationMode
    experimental_place_dataset_on_device: bool
    experimental_per_replica_buffer_size: int


class InputOptions(_InputOptions):
    """Options of the distribution of a dataset.

    Attributes:
      experimental_fetch_to_device: True, also for None: elements are put on the devices ahead of their use in any case.
      experimental_replication_mode: whether ``dataset_fn`` is called once per worker, or once per replica.
      experimental_place_dataset_on_device: whether the pipeline runs on the device; elements are the same wherever it
        does, and it runs on the host.
      experimental_per_replica_buffer_size: how many elements wait on each device; changes no value.
    """

    __slots__ = ()

    def __new__(
        cls,
        experimental_fetch_to_device: bool | None = None,
        experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
        experimental_place_dataset_on_device: bool = False,
        experimental_per_replica_buffer_size: int = 1,
    ) -> InputOptions:
        return super().__new__(
            cls,
            True if experimental_fetch_to_device is None else experimental_fetch_to_device,
            experimental_replication_mode,
            experimental_place_dataset_on_device,
            experimental_per_replica_buffer_size,
        )


def check_options(options: InputOptions | None, from_function: bool) -> None:
    """Raises for options that cannot be followed.

    Raises:
      NotImplementedError: per-replica replication of a dataset that is divided.
      ValueError: options that contradict each other.
    """
    if options is None:
        return
    per_replica = options.experimental_replication_mode is InputReplicationMode.PER_REPLICA
    if per_replica and not from_function:
        raise NotImplementedError(
            "InputReplicationMode.PER_REPLICA is only supported in `distribute_datasets_from_function`."
        )
    if options.experimental_place_dataset_on_device and not per_replica:
        raise ValueError(
            "When `experimental_place_dataset_on_device` is set for dataset placement, you must also specify "
            "`PER_REPLICA` for the replication mode"
        )
    if options.experimental_place_dataset_on_device and options.experimental_fetch_to_device:
        raise ValueError(
            "`experimental_place_dataset_on_device` can not be set to True when experimental_fetch_to_device is True "
            "and replication mode is set to `PER_REPLICA`"
        )


def divided(
    dataset: Any, layout: Layout | None, kind: type[DistributedDataset], in_workers: bool = False
) -> DistributedDataset:
    """A dataset of global batches, each divided among the replicas, one of them ahead of its use.

    Args:
      in_workers: as of ``dealt``.

    Raises:
      TypeError: not a dataset. ValueError: elements without a batch.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"Expected a tf.data.Dataset to distribute, got {dataset!r}. Make one of it with "
            "tf.data.Dataset.from_tensor_slices or from_generator, or use distribute_datasets_from_function."
        )
    if layout is None:
        return kind(dataset.node, None)
    node = dataset.node
    if layout.axis.is_multi_process:
        policy = dataset.options().experimental_distribute.auto_shard_policy  # type: ignore[attr-defined]
        if policy in (AutoShardPolicy.OFF, AutoShardPolicy.FILE):
            return kind(_of_process(node, layout, policy, in_workers), layout)
        require_alike(node)
    return kind(split_rows(node, share_of(layout.axis)), layout)


def _of_process(node: DatasetNode, layout: Layout, policy: AutoShardPolicy, in_workers: bool) -> DatasetNode:
    """The batches of a pipeline that is this process' own, in parts of which its replicas get the next ones in turn.

    Raises:
      ValueError: files are to be divided, and the pipeline reads none.
    """
    if policy is AutoShardPolicy.FILE:
        shared = of_files(node, PROCESSES.count, PROCESSES.index)
        if shared is None:
            raise ValueError(
                "auto_shard_policy is FILE, and the dataset reads no files by TFRecordDataset, TextLineDataset or "
                "FixedLengthRecordDataset. Set AutoShardPolicy.DATA, or OFF where the dataset is divided already."
            )
        node = shared
    parts = Shares(Prefetch(node, 1), layout.axis.size)
    made = ElementPerReplica([parts], share_of(layout.axis, apart=True), apart=True)
    _go_on(made, in_workers)
    return made


def _go_on(node: ElementPerReplica, in_workers: bool) -> None:
    """Has processes go on until the data of all has ended, where the original does: unless shapes are known, or data
    has no end. All processes come to it together.
    """
    if INFINITE in COLLECTIVES.gather(node.cardinality(), int):
        return
    if in_workers:
        node.whole = False
        node.structure = node.structure.with_dims([dims and (None, *dims[1:]) for dims in node.structure.dims])
    node.fills = not node.whole


def dealt(
    dataset_fn: Callable[..., Any],
    layout: Layout | None,
    kind: type[DistributedDataset],
    replicas: int,
    options: InputOptions | None = None,
    drops: bool = True,
    apart: bool = True,
    in_workers: bool | None = None,
) -> DistributedDataset:
    """The dataset of an input function, an element of which goes to each replica; or each replica's own dataset.

    Args:
      drops: as of ``ElementPerReplica``; where it is False, the batch dimension of elements is unknown.
      apart: whether each process has an input pipeline of its own, where several have replicas. Where all have the same
        its elements go to all replicas in turn.
      in_workers: whether shapes count as unknown where there are several such pipelines, so that processes go on until
        the data of all has ended. None: they end together in any case.

    Raises:
      TypeError: the function returns no dataset.
    """
    per_replica = options is not None and options.experimental_replication_mode is InputReplicationMode.PER_REPLICA
    apart = apart and layout is not None and layout.axis.is_multi_process
    if per_replica:
        datasets = [dataset_fn(InputContext(replicas, i, replicas)) for i in range(replicas)]
    elif apart:
        datasets = [dataset_fn(InputContext(PROCESSES.count, PROCESSES.index, replicas))]
    else:
        datasets = [dataset_fn(InputContext(1, 0, replicas))]
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"dataset_fn must return a tf.data.Dataset, got {dataset!r}.")
    if layout is None:
        return kind(datasets[0].node, None)
    if apart and per_replica:  # Each process calls the function for all, so that seeds are those of one process.
        datasets = [datasets[i] for i in layout.axis.local_indices]
    elif apart and are_surely_alike(datasets[0].node):
        logs.info(ALIKE, PROCESSES.count)
        apart = False
    node = ElementPerReplica([dataset.node for dataset in datasets], share_of(layout.axis, apart), drops, apart)
    if not drops:
        node.structure = node.structure.with_dims([dims and (None, *dims[1:]) for dims in node.structure.dims])
    if apart and in_workers is not None:
        _go_on(node, in_workers)
    return kind(node, layout)
