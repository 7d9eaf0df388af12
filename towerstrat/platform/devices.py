"""The JAX devices that towers run on: one tower per device, on several processes the same number on each.

    towerstrat run --towers 4 (CPU)      ask(4) makes JAX start with 4 virtual CPU devices     devices(): 4 devices
    without --towers, 8 TPU cores        nothing is asked                                      devices(): 8 devices
    2 processes with --towers 4          ask(2) in each                                        devices(): 2 + 2 of all

JAX fixes its devices when it starts, with the first operation or listing: ``ask`` and ``split_cpu`` must come before.
On accelerators ``ask`` takes the first ones; more than there are is an error and never a silent fall-back to the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import groupby
from typing import Any

import jax

_asked: int | None = None


def ask(count: int) -> None:
    """Set the number of towers of this process; without an accelerator they are virtual CPU devices.

    Raises:
      ValueError: count is not positive.
      RuntimeError: JAX has started already, with other devices.
    """
    global _asked
    if count < 1:
        raise ValueError(f"Expected at least 1 tower, got {count}.")
    if not split_cpu(count) and len(jax.devices()) < count:
        raise RuntimeError(
            f"JAX has already started with {_describe(jax.devices())}; {count} towers must be asked for before "
            "anything runs."
        )
    _asked = count


def split_cpu(count: int) -> bool:
    """Split the CPU into ``count`` JAX devices. Returns False, with nothing changed, where JAX has started."""
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError:
        return False
    return True


def may_be_accelerated() -> bool:
    """Whether JAX may find an accelerator when it starts: a plug-in is installed and ``jax_platforms`` allows it."""
    config: Any = jax.config
    chosen: str | None = config.jax_platforms
    if chosen:
        return set(chosen.split(",")) != {"cpu"}
    return find_spec("libtpu") is not None or bool(entry_points(group="jax_plugins"))


def devices() -> tuple[jax.Device, ...]:
    """The towers' JAX devices, in tower order: of all processes, the same number of each. Starts JAX.

    Raises:
      ValueError: more towers were asked for than there are devices.
    """
    present = tuple(jax.devices())
    if _asked is None:
        return present
    chosen: list[jax.Device] = []
    for _, of_process in groupby(present, lambda device: device.process_index):
        here = list(of_process)
        if _asked > len(here):
            raise ValueError(
                f"{_asked} towers were asked for, but there are {_describe(here)}. Ask for at most {len(here)}, "
                "or set JAX_PLATFORMS=cpu to have them as virtual devices of the CPU."
            )
        chosen += here[:_asked]
    return tuple(chosen)


def _describe(present: Sequence[jax.Device]) -> str:
    return f"{len(present)} {present[0].platform.upper()} device{'s' if len(present) > 1 else ''}"
