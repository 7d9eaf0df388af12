"""Which of how many processes this is, by the environment that a launcher has set.

The first of these that describes a group of two or more decides; the result is a ``Place`` (index, count, address):

    TF_CONFIG                    chief or master, then workers, in order; a "ps" or evaluator is an ``Aside``
    TPU_WORKER_ID, MEGASCALE_*   one or more TPU slices under Kubernetes; JAX finds its coordinator itself
    OMPI_COMM_WORLD_*            Open MPI; the address is the host of ``mpirun``
    SLURM_*                      a step of ``srun``; the address is the first node of its list

>>> tasks = {"worker": ["10.0.0.1:8476", "10.0.0.2:8476"], "ps": ["10.0.0.3:8476"]}
>>> place = found({"TF_CONFIG": json.dumps({"cluster": tasks, "task": {"type": "worker", "index": 1}})})
>>> place.index, place.count, place.address
(1, 2, '10.0.0.1:8476')
>>> found({"TF_CONFIG": json.dumps({"cluster": tasks, "task": {"type": "ps", "index": 0}})})
Aside(job='ps', task=0)

Open MPI and SLURM name no free port: all processes compute the same one from the job's number (``_port``).
"""

from __future__ import annotations

import dataclasses
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from towerstrat.hosts.process_spec import Place
from towerstrat.hosts.sockets import split_address

_TF_CONFIG = "TF_CONFIG"
_CHIEFS = ("chief", "master")
_PORTS = (61440, 4096)
"""First port and number of ports of the range in which a job's number chooses one, as JAX does it."""
_SLICE_PORT = 8476
_MPI_ADDRESSES = ("OMPI_MCA_orte_hnp_uri", "PRTE_MCA_prte_hnp_uri")
_MPI_5_JOB = "PMIX_NAMESPACE"


@dataclass(frozen=True)
class Aside:
    """A task of a cluster that does not train with the others.

    Attributes:
      job: its job, "ps", "evaluator" or another. task: its index in the job.
    """

    job: str
    task: int


def found(environment: Mapping[str, str], address: str | None = None) -> Place | Aside | None:
    """This process's place by the environment; None: it runs alone.

    Args:
      environment: usually ``os.environ``.
      address: where the processes meet, in place of what the environment says.

    Raises:
      ValueError: a variable is malformed, or there is no address.
    """
    if _TF_CONFIG in environment:
        place = _of_tf_config(environment[_TF_CONFIG])
    else:
        place = _of_slice(environment) or _of_open_mpi(environment) or _of_slurm(environment)
    if isinstance(place, Place):
        if address is not None:
            place = dataclasses.replace(place, address=address)
        if not place.address:
            raise ValueError(
                f"Open MPI started this process as one of {place.count}, and does not say where the first one is: give "
                "--coordinator HOST:PORT, with the host of rank 0 and a free port."
            )
    return place


def _of_tf_config(text: str) -> Place | Aside | None:
    """The place of a task of ``TF_CONFIG``: process 0 is the chief, or else worker 0; the workers follow in order."""
    try:
        said = json.loads(text)
        cluster = {job: _tasks(tasks) for job, tasks in said.get("cluster", {}).items()}
        chiefs = [(job, task) for job in _CHIEFS for task in sorted(cluster.get(job, {}))]
        training = chiefs + [("worker", task) for task in sorted(cluster.get("worker", {}))]
        if len(training) < 2:
            return None
        job, task = said["task"]["type"], int(said["task"]["index"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f'Expected {_TF_CONFIG} as {{"cluster": {{JOB: [ADDRESS, ...]}}, "task": {{"type": JOB, "index": I}}}}; it '
            f"is {text!r} ({type(error).__name__}: {error})."
        ) from None
    if job not in (*_CHIEFS, "worker"):
        return Aside(job, task)
    if (job, task) not in training:
        raise ValueError(f"The cluster of {_TF_CONFIG} has no task {task} of job {job!r}: {text!r}.")
    first, number = training[0]
    address = cluster[first][number].removeprefix("grpc://")
    split_address(address)
    return Place(
        len(training), training.index((job, task)), address, (job, str(task)),
        f"{_TF_CONFIG} {json.dumps(cluster, sort_keys=True)}",
    )  # fmt: skip


def _tasks(tasks: list[str] | dict[str, str]) -> dict[int, str]:
    pairs = tasks.items() if isinstance(tasks, dict) else enumerate(tasks)
    return {int(task): address for task, address in pairs}


def _of_slice(environment: Mapping[str, str]) -> Place | None:
    """The place of a host of one or more TPU slices, by the variables of Kubernetes that JAX reads too."""
    text = environment.get("TPU_PROCESS_ADDRESSES", environment.get("TPU_WORKER_HOSTNAMES", ""))
    hosts = [name for name in text.split(",") if name]
    slices = _number(environment, "MEGASCALE_NUM_SLICES", 1)
    if len(hosts) * slices < 2 or "TPU_WORKER_ID" not in environment:
        return None
    index = _number(environment, "TPU_WORKER_ID") + len(hosts) * _number(environment, "MEGASCALE_SLICE_ID", 0)
    first = environment.get("MEGASCALE_COORDINATOR_ADDRESS", hosts[0]).partition(":")[0]
    return Place(len(hosts) * slices, index, f"{first}:{_SLICE_PORT}", on_slice=True)


def _of_open_mpi(environment: Mapping[str, str]) -> Place | None:
    if _number(environment, "OMPI_COMM_WORLD_SIZE", 1) < 2:
        return None
    return Place(
        _number(environment, "OMPI_COMM_WORLD_SIZE"), _number(environment, "OMPI_COMM_WORLD_RANK"),
        _address_of_open_mpi(environment),
    )  # fmt: skip


def _address_of_open_mpi(environment: Mapping[str, str]) -> str:
    """An address on the host of ``mpirun``; "": the environment does not name it."""
    text = next((environment[name] for name in _MPI_ADDRESSES if name in environment), "")
    # 1531576320.0;tcp://10.96.0.1,10.148.0.1:34911 or ...;tcp6://[fe80::b9b,2620:10d::2]:43370
    address = re.search(r";tcp4?://([^,:]+)|;tcp6://\[([^,\]]+)", text)
    if address is not None:
        return f"{address[1] or f'[{address[2]}]'}:{_port(text.partition(';')[0])}"
    # From Open MPI 5 on only the name of the job has it: prterun-node001-4711@1
    job = re.match(r"prte(?:run)?-(.+)-\d+@", environment.get(_MPI_5_JOB, ""))
    return f"{job[1]}:{_port(job.string)}" if job is not None else ""


def _of_slurm(environment: Mapping[str, str]) -> Place | None:
    """The place of a task of an ``srun`` step. A batch script itself has no step's node list, and runs alone."""
    nodes = environment.get("SLURM_STEP_NODELIST")
    if not nodes or _number(environment, "SLURM_NTASKS", 1) < 2 or "SLURM_PROCID" not in environment:
        return None
    # node001 or node001,host2 or node[001-015],host2 or node[001,007-015],host2
    name = re.match(r"([^\[,]+)(?:\[([^,\-\]]+))?", nodes)
    if name is None:
        raise ValueError(f"Expected names of nodes in SLURM_STEP_NODELIST, got {nodes!r}.")
    # Steps of one job may run beside one another, and need ports of their own.
    step = f"{environment.get('SLURM_JOB_ID', '')}.{environment.get('SLURM_STEP_ID', '')}"
    return Place(
        _number(environment, "SLURM_NTASKS"), _number(environment, "SLURM_PROCID"),
        f"{name[1]}{name[2] or ''}:{_port(step)}",
    )  # fmt: skip


def _port(job: str) -> int:
    first, number = _PORTS
    return first + zlib.crc32(job.encode()) % number


def _number(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environment.get(name, "" if default is None else str(default))
    if not text.isdecimal():
        raise ValueError(f"Expected a number in {name}, got {text!r}.")
    return int(text)
