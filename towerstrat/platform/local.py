"""This machine's devices as TensorFlow lists them: ``device_lib.list_local_devices``, ``tf.test.is_gpu_available``.

All functions start JAX and answer from ``jax.local_devices()``: an accelerator counts if JAX has a plug-in for it.
Names are TensorFlow's short ones here, and full ones where a session lists its devices:

    [device.name for device in list_local_devices()]        ["/device:CPU:0", "/device:CPU:1"]
    session.list_devices()[0].name                          "/job:localhost/replica:0/task:0/device:CPU:0"

The number in a name is JAX's device id. ``tf.config`` (``config.py``) counts devices of each kind from 0 instead.
"""

from __future__ import annotations

from collections.abc import Iterable

import jax


class LocalDevice:
    """A device: ``name``, ``device_type``, ``memory_limit`` in bytes (0 if unknown), ``physical_device_desc``."""

    def __init__(self, device: jax.Device):
        self.device_type: str = device.platform.upper()
        self.name = f"/device:{self.device_type}:{device.id}"
        self.memory_limit: int = (device.memory_stats() or {}).get("bytes_limit", 0)
        self.physical_device_desc: str = device.device_kind

    def __repr__(self) -> str:
        return f"name: {self.name!r}\ndevice_type: {self.device_type!r}\nmemory_limit: {self.memory_limit}\n"


class SessionDevice:
    """A device as ``Session.list_devices`` describes it: ``name``, ``device_type``, ``memory_limit_bytes``."""

    def __init__(self, device: jax.Device):
        local = LocalDevice(device)
        self.name = f"/job:localhost/replica:0/task:{device.process_index}{local.name}"
        self.device_type = local.device_type
        self.memory_limit_bytes = local.memory_limit

    def __repr__(self) -> str:
        return f"SessionDevice({self.name}, {self.device_type}, {self.memory_limit_bytes})"


def list_local_devices(session_config: object = None) -> list[LocalDevice]:
    """JAX's devices of this process. ``session_config`` changes nothing."""
    return [LocalDevice(device) for device in jax.local_devices()]


def num_gpus() -> int:
    """Number of GPUs of this process."""
    return sum(device.platform == "gpu" for device in jax.local_devices())


def gpu_device_name() -> str:
    """``/device:GPU:0``, or an empty string without a GPU."""
    return "/device:GPU:0" if num_gpus() else ""


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Iterable[int] | None = None) -> bool:
    """Whether there is a GPU, with at least the compute capability ``(major, minor)`` if one is given.

    ``cuda_only``: GPUs without a numeric compute capability, such as those of ROCm, do not count.
    """
    for device in jax.local_devices():
        if device.platform != "gpu":
            continue
        version = getattr(device, "compute_capability", None)
        numbers = tuple(int(n) for n in str(version).split(".")) if version and str(version)[0].isdigit() else None
        if cuda_only and numbers is None:
            continue
        if min_cuda_compute_capability is None or (
            numbers is not None and numbers >= tuple(min_cuda_compute_capability)
        ):
            return True
    return False


def is_built_with_cuda() -> bool:
    """Whether JAX found a CUDA GPU: here support for it is a plugin, not a build."""
    return is_gpu_available(cuda_only=True)
