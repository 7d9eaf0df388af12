"""The frame of a run: what the last bits of its numbers depend on besides the program.

It is saved with what a run needs to go on (``resume_state``): under another one a run goes on, and says that it does.
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import jaxlib

from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform.compilation_cache import processor_lines
from towerstrat.platform.compilers import DEFECTS
from towerstrat.platform.devices import devices
from towerstrat.platform.plain import State

_VECTORS = ("sse", "ssse", "avx", "fma", "f16c", "amx", "neon", "asimd", "sve", "fp")
"""What the names of instructions begin with that compute with floats."""
_NO_NUMBERS = ("xla_dump", "xla_force_host_platform_device_count", "xla_hlo_", "xla_gpu_cuda_data_dir")
"""What flags begin with that change no number, or whose number of devices the frame has already."""
_SETTINGS = ("jax_default_matmul_precision", "jax_default_prng_impl", "jax_threefry_partitionable")


def frame() -> dict[str, State]:
    """The frame of this process: a string, a number or a list of strings for each thing that numbers depend on."""
    present = devices()
    return {
        "machine": _machine(),
        "instructions": _instructions(),
        "devices": f"{len(present)} {present[0].device_kind}",
        "runtime": present[0].client.platform_version,
        "cores": _cores(),
        "processes": PROCESSES.count,
        "jaxlib": jaxlib.__version__,
        "jax": jax.__version__,
        "flags": _flags(os.environ) + _settings(),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words, what two frames differ in."""
    return [f"{name} {_change(before[name], now[name])}" for name in now if before.get(name, now[name]) != now[name]]


def _change(was: Any, now: Any) -> str:
    if not isinstance(was, list):
        return f"was {was}, is {now}"
    gone, new = sorted(set(was) - set(now)), sorted(set(now) - set(was))
    return ", ".join([f"no longer {name}" for name in gone] + [f"now {name}" for name in new])


@functools.cache
def _machine() -> str:
    lines = processor_lines(("model name", "CPU implementer", "CPU part"))
    model = " ".join(line.partition(":")[2].strip() for line in lines)
    return f"{platform.machine()} {model or platform.processor()}".strip()


@functools.cache
def _instructions() -> list[str]:
    lines = processor_lines(("flags", "Features"))
    return sorted({name for line in lines for name in line.split() if name.startswith(_VECTORS)})


def _cores() -> int:
    """The cores that this process may use: XLA divides sums of the CPU by their number."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _flags(environment: Mapping[str, str]) -> list[str]:
    """The flags of XLA that may change numbers; of one that is given twice the last."""
    said = environment.get("XLA_FLAGS", "")
    if said.strip() and not said.lstrip().startswith("-"):  # the name of a file
        with suppress(OSError):
            said = Path(said.strip()).read_text()
    flags = {}
    for flag in [*said.split(), *environment.get("LIBTPU_INIT_ARGS", "").split()]:
        name, _, value = flag.lstrip("-").partition("=")
        flags[name] = value
    for defect in DEFECTS:  # Programs are compiled with these, whether or not they are said here.
        if flags.get(defect.option) == defect.value:
            del flags[defect.option]
    return sorted(
        f"--{name}={value}"
        for name, value in flags.items()
        if not name.startswith(_NO_NUMBERS) and not name.endswith("_timeout_seconds")
    )


def _settings() -> list[str]:
    """The settings of JAX, of its libraries and of ours that change numbers, where they are not the usual ones."""
    found = {name: getattr(jax.config, name, None) for name in _SETTINGS}
    found["NVIDIA_TF32_OVERRIDE"] = os.environ.get("NVIDIA_TF32_OVERRIDE")
    found["TOWERSTRAT_TOWERS_ON_CPU"] = "1" if LIMITS.towers_on_cpu else None
    return [f"{name}={value}" for name, value in found.items() if value is not None]
