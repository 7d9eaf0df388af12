"""Addresses of machines and names of devices that programs run on: here they mean this one's. It is said once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import jax

from towerstrat.platform import logs

_ACCELERATOR = re.compile(r"(?:^|/)(?:device:)?(GPU|TPU)(?::(\d+))?$", re.IGNORECASE)

_said = False


def is_remote(target: str | bytes | None) -> bool:
    """Whether a target is the address of a machine, ``grpc://host:port``."""
    return (target.decode() if isinstance(target, bytes) else target or "").startswith("grpc://")


def taken_for_here(what: str) -> None:
    """Says, the first time in a process, that ``what`` means the devices of this machine."""
    global _said
    if not _said:
        _said = True
        logs.warning("%s: a program runs on the devices of this machine; what names others means them too.", what)


def take_for_here(names: Iterable[str]) -> None:
    """Says it of the first device name, such as ``/device:GPU:0``, whose accelerator this machine does not have.

    JAX starts, if it has not. Names without an accelerator are passed over.
    """
    named = {name: found for name in names if not _said and (found := _ACCELERATOR.search(name))}
    present = Counter(device.platform.upper() for device in jax.local_devices()) if named else Counter[str]()
    for name, found in sorted(named.items()):
        if int(found[2] or 0) >= present[found[1].upper()]:
            taken_for_here(f"tf.device({name!r})")
