"""Device names such as ``/job:worker/replica:0/task:1/device:GPU:0``.

Source: ``tensorflow/python/framework/device.py``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from towerstrat.graph.ir.device_spec import DeviceSpec

_PARTS = ("job", "replica", "task", "device")
_KINDS = ("CPU", "GPU", "TPU", "XLA_CPU", "XLA_GPU")


def parse(name: str) -> dict[str, str]:
    """The parts of a name: "job", "replica", "task", "device" -> value. Raises ValueError on a malformed name."""
    parts: dict[str, str] = {}
    for piece in filter(None, name.split("/")):
        key, _, value = piece.partition(":")
        if key in ("job", "replica", "task") and value:
            parts[key] = value
        elif key == "device" and value:
            kind, _, number = value.partition(":")
            parts["device"] = f"{kind.upper()}:{number or '0'}" if number != "*" else kind.upper()
        elif key.upper() in _KINDS:
            parts["device"] = f"{key.upper()}:{value or '0'}"
        else:
            raise ValueError(f"Expected a device name like '/job:worker/task:0/device:GPU:0', got '{name}'.")
    return parts


def merge_device(base: str, over: str | DeviceSpec | None) -> str:
    """``base`` with the parts that ``over`` names; None in ``over`` clears everything."""
    if over is None:
        return ""
    return _merge(base, over if isinstance(over, str) else over.to_string())


@cache
def _merge(base: str, name: str) -> str:
    return unparse(parse(base) | parse(name))


def unparse(parts: dict[str, str]) -> str:
    """The name with these parts: the inverse of ``parse``."""
    return "".join(f"/{key}:{parts[key]}" for key in _PARTS if key in parts)


def canonical(name: str) -> str:
    """The name with missing parts filled in for the local machine's CPU."""
    parts = {"job": "localhost", "replica": "0", "task": "0", "device": "CPU:0"} | parse(name)
    return unparse(parts)
