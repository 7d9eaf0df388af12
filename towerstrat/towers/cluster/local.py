"""The devices of this machine by the names that programs give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from towerstrat.graph.ir.device import parse


def local_names(num_gpus: int | None = None) -> list[str]:
    """The names of the devices that towers run on where a program names none.

    Args:
      num_gpus: so many accelerators; 0 is one CPU. None: every device that JAX shows.

    Raises:
      ValueError: fewer than none.
    """
    if num_gpus is None:
        present = jax.devices()
        kind = "CPU" if present[0].platform == "cpu" else "GPU"
        return [f"/device:{kind}:{i}" for i in range(len(present))]
    if num_gpus < 0:
        raise ValueError(f"Expected a number of GPUs, got {num_gpus}.")
    return [f"/device:GPU:{i}" for i in range(num_gpus)] if num_gpus else ["/device:CPU:0"]


def devices_named(names: Sequence[str]) -> list[Any]:
    """The JAX devices that names of devices stand for: GPUs, CPUs and TPUs all mean the devices that are here.

    A device's number is its place among those that JAX shows. Names of which two would mean one device stand for the
    devices in order.

    Raises:
      ValueError: there are fewer devices; the message says how to get more.
    """
    present = jax.devices()
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
