"""The devices of the processes of this run by the names that programs give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from towerstrat.graph.ir.device_names import parse, unparse
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.cluster.task_processes import Task, tasks_of_environment


def local_names(num_gpus: int | None = None, tasks: Sequence[Task] | None = None) -> list[str]:
    """The names of the devices that towers run on where a program names none: those of all processes.

    Args:
      num_gpus: so many accelerators of each process; 0 is one CPU. None: every device that JAX shows.
      tasks: what the processes are called; None: as TF_CONFIG says, or else workers, where there are several.

    Raises:
      ValueError: fewer than none.
    """
    if num_gpus is not None and num_gpus < 0:
        raise ValueError(f"Expected a number of GPUs, got {num_gpus}.")
    if tasks is None and PROCESSES.count > 1:
        tasks = tasks_of_environment()
    processes = [_task_name(task) for task in tasks] if tasks else [""]
    if num_gpus is not None:
        kinds = [f"GPU:{i}" for i in range(num_gpus)] or ["CPU:0"]
        return [f"{process}/device:{kind}" for process in processes for kind in kinds]
    kind = "CPU" if jax.devices()[0].platform == "cpu" else "GPU"
    devices = zip(processes, _devices_of_processes(), strict=True)
    return [f"{process}/device:{kind}:{i}" for process, own in devices for i in range(len(own))]


def of_each_process(names: Sequence[str], tasks: Sequence[Task] | None = None) -> list[str]:
    """Names of devices; where several processes run the program and no name says of which, those of each of them.

    Args:
      tasks: as of ``local_names``.

    Raises:
      ValueError: some names say it, and others do not.
    """
    said = ["task" in parse(name) for name in names]
    if PROCESSES.count == 1 or (names and all(said)):
        return list(names)
    if any(said):
        raise ValueError(
            f"Expected a task, as in '/job:worker/task:1/device:GPU:0', in all names of devices or in none, got "
            f"{list(names)}."
        )
    return [_task_name(task) + unparse(parse(name)) for task in tasks or tasks_of_environment() for name in names]


def devices_named(names: Sequence[str]) -> list[Any]:
    """The JAX devices that names of devices stand for: GPUs, CPUs and TPUs all mean the devices that are here.

    A device's number is its place among those that JAX shows, of its process where there are several. Names of which
    two would mean one device stand for the devices in order.

    Raises:
      ValueError: there are fewer devices, and the message says how to get more; or the names are not of all processes.
    """
    if PROCESSES.count == 1:
        return _numbered(names, jax.devices())
    task_of = {name: _task_of(name) for name in names}
    tasks = sorted(set(task_of.values()), key=lambda task: (task[0] not in ("chief", "master"), task))
    if len(tasks) != PROCESSES.count:
        raise ValueError(
            f"The strategy's devices are {list(names)}, of {len(tasks)} task(s), in a run of {PROCESSES.count} "
            f"processes: "
            "each needs a tower. Name a device of each task, or start as many processes as tasks."
        )
    devices = _devices_of_processes()
    found: dict[str, Any] = {}
    for process, task in enumerate(tasks):
        own = [name for name in names if task_of[name] == task]
        found.update(zip(own, _numbered(own, devices[process]), strict=True))
    return [found[name] for name in names]


def _numbered(names: Sequence[str], present: Sequence[Any]) -> list[Any]:
    """The devices of one process by their numbers."""
    numbers = [int(parse(name).get("device", "CPU:0").partition(":")[2] or 0) for name in names]
    if len(set(numbers)) < len(numbers):
        numbers = list(range(len(names)))
    if max(numbers) >= len(present):
        count = max(numbers) + 1
        raise ValueError(
            f"The strategy's devices are {list(names)}; here {'is' if len(present) == 1 else 'are'} {len(present)} "
            f"{present[0].platform} device(s). Run the program with `towerstrat run --towers {count}` for virtual CPU "
            f'devices (in a process of your own: jax.config.update("jax_num_cpu_devices", {count}) before the first '
            "use), or name fewer devices."
        )
    return [present[number] for number in numbers]


def _devices_of_processes() -> list[list[Any]]:
    """The devices that JAX shows, by process."""
    found: dict[int, list[Any]] = {}
    for device in jax.devices():
        found.setdefault(device.process_index, []).append(device)
    return [found[process] for process in sorted(found)]


def _task_name(task: Task) -> str:
    return f"/job:{task[0]}/task:{task[1]}"


def _task_of(name: str) -> Task:
    parts = parse(name)
    return parts.get("job", "localhost"), int(parts.get("task", 0))
