"""The TPU system of this machine: who finds it, what it is, how it is started."""

from __future__ import annotations

from typing import Any, NamedTuple

from towerstrat.platform import config, devices
from towerstrat.platform.addresses import taken_for_here
from towerstrat.towers.cluster.cluster_resolvers import ClusterResolver
from towerstrat.towers.cluster.cluster_spec import ClusterSpec
from towerstrat.towers.cluster.connection import experimental_connect_to_cluster
from towerstrat.towers.cluster.topology import Topology, topology_of


class TPUSystemMetadata(NamedTuple):
    """Figures of a TPU system.

    Attributes:
      num_cores: the cores of all hosts.
      num_hosts: the machines.
      num_of_cores_per_host: the cores of each.
      topology: the Topology, once ``initialize_tpu_system`` made it, or None.
      devices: the devices, by name.
    """

    num_cores: int
    num_hosts: int
    num_of_cores_per_host: int
    topology: Any
    devices: tuple[Any, ...]


class TPUClusterResolver(ClusterResolver):
    """Finds the devices that replicas run on: those of the local machine, TPU or not.

    Args:
      tpu: '', 'local' or None for the local machine. The name of a Cloud TPU, or its address 'grpc://...', is taken for
        the one that this program runs on.
      zone, project, coordinator_name, coordinator_address, credentials, service, discovery_url: where to look a TPU up
        by name; here nothing is looked up, and they change nothing.
      job_name: the answer of ``task_type``.
    """

    def __init__(
        self,
        tpu: Any = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ):
        if isinstance(tpu, list | tuple):
            if not tpu:
                raise ValueError("At least one TPU must be specified.")
            if len(tpu) > 1:
                raise NotImplementedError("Using multiple TPUs in a single session is not supported.")
            (tpu,) = tpu
        if tpu is not None and not isinstance(tpu, str | bytes):
            raise TypeError(f"Expected the name of a TPU, '' for the local machine, got {tpu!r}.")
        if tpu not in (None, "", b"", "local", b"local"):
            taken_for_here(f"TPUClusterResolver(tpu={tpu!r})")
        self._task_type = job_name
        self._task_id = 0
        self._topology: Topology | None = None

    @staticmethod
    def connect(tpu: str | None = None, zone: str | None = None, project: str | None = None) -> TPUClusterResolver:
        """A resolver whose system is started; the arguments are those of ``TPUClusterResolver``."""
        resolver = TPUClusterResolver(tpu, zone, project)
        experimental_connect_to_cluster(resolver)
        initialize_tpu_system(resolver)
        return resolver

    def devices(self) -> list[Any]:
        """The JAX devices that towers may run on: all there are, or as many as the command line asked for."""
        return list(devices.devices())

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """'', the local machine, whichever the task."""
        return ""

    def get_master(self) -> str:
        return self.master()

    def get_job_name(self) -> Any:
        """The job's name, as ``task_type``."""
        return self.task_type

    def get_coordination_service_leader(self) -> str:
        """The name of the first task."""
        return f"/job:{self.get_job_name()}/task:0"

    def cluster_spec(self) -> Any:
        """No tasks: the machine is the local one."""
        return ClusterSpec({})

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """``{"TPU": n}``, the number of ``devices()``, which stand for cores whatever they are."""
        return {"TPU": len(self.devices())}

    def get_tpu_system_metadata(self) -> TPUSystemMetadata:
        """The figures of this machine; its ``devices()`` stand for cores whatever they are."""
        count = len(self.devices())
        task = "/job:localhost/replica:0/task:0/device"
        cores = [config.LogicalDevice(f"{task}:TPU:{i}", "TPU") for i in range(count)]
        named = (config.LogicalDevice(f"{task}:CPU:0", "CPU"), *cores)
        return TPUSystemMetadata(count, 1, count, self._topology, named)

    def set_tpu_topology(self, serialized_tpu_topology: bytes) -> None:
        """Sets the topology that ``get_tpu_system_metadata`` gives.

        Raises:
          ValueError: the bytes are no topology.
        """
        self._topology = Topology(serialized=serialized_tpu_topology)

    @property
    def tpu_hardware_feature(self) -> None:
        """None: JAX does not say how embedding tables may be laid out."""
        return None


class ContribTPUClusterResolver(TPUClusterResolver):
    """The resolver as 1.12 has it: the local machine is no job and no cluster."""

    def get_job_name(self) -> None:
        return None

    def cluster_spec(self) -> None:
        return None


def initialize_tpu_system(cluster_resolver: TPUClusterResolver | None = None) -> Topology:
    """The topology of this machine's devices, which need no start.

    A TPU says its coordinates and cores. Other devices form a mesh: ``[n / 2, 1, 1, 2]`` if n is even, as two cores of
    each chip, else ``[n, 1, 1, 1]``.

    Args:
      cluster_resolver: whose devices; those of ``TPUClusterResolver()`` by default.

    Raises:
      TypeError: ``cluster_resolver`` is no TPUClusterResolver.
    """
    resolver = _of_tpus(cluster_resolver)
    topology = topology_of(resolver.devices())
    resolver.set_tpu_topology(topology.serialized())
    return topology


def shutdown_tpu_system(cluster_resolver: TPUClusterResolver | None = None) -> None:
    """Does nothing: the devices are JAX's, and variables on them live on.

    Raises:
      TypeError: ``cluster_resolver`` is no TPUClusterResolver.
    """
    _of_tpus(cluster_resolver)


def _of_tpus(resolver: Any) -> TPUClusterResolver:
    if resolver is None:
        return TPUClusterResolver()
    if not isinstance(resolver, TPUClusterResolver):
        raise TypeError(f"Expected a TPUClusterResolver as cluster_resolver, got {resolver!r}.")
    return resolver
