"""What runs the towers: the local machine's accelerators, or its processor."""

from __future__ import annotations

from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.platform import devices


class ClusterSpec:
    """Jobs and their tasks' addresses, as the original's ``tf.train.ClusterSpec`` shows them."""

    def __init__(self, cluster: dict[str, list[str]]):
        self._jobs = {job: list(tasks) for job, tasks in cluster.items()}

    @property
    def jobs(self) -> list[str]:
        return list(self._jobs)

    def as_dict(self) -> dict[str, list[str]]:
        return {job: list(tasks) for job, tasks in self._jobs.items()}

    def num_tasks(self, job_name: str) -> int:
        return len(self._jobs[job_name])

    def __bool__(self) -> bool:
        return bool(self._jobs)


class TPUClusterResolver:
    """Finds the devices that towers run on: those of the local machine.

    Args:
      tpu: '' or 'local' for the local machine. The name of a Cloud TPU is taken for the one this program runs on.
      zone, project, job_name, coordinator_name, coordinator_address, credentials, service, discovery_url: where to look
        a TPU up by name; here nothing is looked up, and they change nothing.
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
        name = tpu.decode() if isinstance(tpu, bytes) else tpu or ""
        if name.startswith("grpc://"):
            raise UnsupportedError(
                f"TPUClusterResolver(tpu={name!r}): towers run on the machine of the program, not over grpc. Run the "
                "program on the TPU machine with tpu=''."
            )
        self._name = name
        self._job_name = job_name

    def master(self) -> str:
        return ""

    get_master = master

    def get_job_name(self) -> str | None:
        return None

    def cluster_spec(self) -> ClusterSpec | None:
        return None

    def devices(self) -> list[Any]:
        """The JAX devices that towers may run on: all there are, or as many as the command line asked for."""
        return list(devices.devices())
