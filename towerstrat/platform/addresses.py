"""Tell a user once that remote addresses and absent devices of a program mean this machine's devices.

Programs name devices that exist elsewhere: ``grpc://10.0.0.2:8470`` as a session's target, ``/device:TPU:0`` in
``tf.device``. They run unchanged on what is here, and one warning per process says so: the first such name, not each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import jax

from towerstrat.platform import logs

_ACCELERATOR = re.compile(r"(?:^|/)(?:device:)?(GPU|TPU)(?::(\d+))?$", re.IGNORECASE)

_said = False


def is_remote(target: str | bytes | None) -> bool:
    """Whether a session's target is the address of a server, ``grpc://host:port``."""
    return (target.decode() if isinstance(target, bytes) else target or "").startswith("grpc://")


def taken_for_here(description: str) -> None:
    """Warn, once per process, that ``description`` means the devices of this machine."""
    global _said
    if not _said:
        _said = True
        logs.warning(
            "%s: a program runs on the devices of this machine; what names others means them too.", description
        )


def take_for_here(names: Iterable[str]) -> None:
    """Warn, once per process, of the first device name whose accelerator this machine lacks, such as ``/device:GPU:0``.

    Starts JAX if a name has an accelerator and nothing was said yet; other names are ignored.
    """
    named = {name: accelerator for name in names if not _said and (accelerator := _ACCELERATOR.search(name))}
    present = Counter(device.platform.upper() for device in jax.local_devices()) if named else Counter[str]()
    for name, accelerator in sorted(named.items()):
        if int(accelerator[2] or 0) >= present[accelerator[1].upper()]:
            taken_for_here(f"tf.device({name!r})")
