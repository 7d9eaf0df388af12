"""``tf.config``: lists of devices, virtual CPU devices, and settings of TensorFlow's runtime.

Physical devices are what the machine has: one CPU, and JAX's accelerators. Logical devices are what programs run on;
the CPU can be several of them (JAX's virtual CPU devices), an accelerator is always one. JAX fixes the number when it
starts, and listing accelerators starts it, so the order of calls matters:

    cpu, = list_physical_devices("CPU")                                     does not start JAX
    set_logical_device_configuration(cpu, [LogicalDeviceConfiguration()] * 4)
    list_logical_devices("CPU")                                             starts JAX: /device:CPU:0 to /device:CPU:3

Settings that have no meaning over JAX are stored and returned and change nothing; their setters say so, and what to set
instead. Devices, device policies and the value of ``set_jit`` are checked as in the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from towerstrat.platform import devices

_JIT = ("", "autoclustering")
_POLICIES = ("explicit", "warn", "silent", "silent_for_int32", None)


@dataclass(frozen=True)
class PhysicalDevice:
    """A device of this machine: name such as ``/physical_device:GPU:0``, type ``"CPU"``, ``"GPU"`` or ``"TPU"``."""

    name: str
    device_type: str

    def __repr__(self) -> str:
        return f"PhysicalDevice(name={self.name!r}, device_type={self.device_type!r})"


@dataclass(frozen=True)
class LogicalDevice:
    """A device that programs run on: name such as ``/device:GPU:0``, type ``"CPU"``, ``"GPU"`` or ``"TPU"``."""

    name: str
    device_type: str

    def __repr__(self) -> str:
        return f"LogicalDevice(name={self.name!r}, device_type={self.device_type!r})"


@dataclass(frozen=True)
class LogicalDeviceConfiguration:
    """Configuration of one logical device of a physical one.

    Args:
      memory_limit, experimental_priority, experimental_device_ordinal: for accelerators, which cannot be divided here.
    """

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class _Settings:
    """Settings of this process, with the original's defaults."""

    def __init__(self) -> None:
        self.visible: dict[str, list[PhysicalDevice]] = {}
        self.logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self.growth: dict[PhysicalDevice, bool] = {}
        self.options: dict[str, bool] = {}
        self.inter_op_threads = 0
        self.intra_op_threads = 0
        self.soft_placement = True
        self.jit = ""
        self.synchronous = True
        self.policy = "silent"
        self.tensor_float_32 = True
        self.log_placement = False


_SETTINGS = _Settings()


# ---- devices -----------------------------------------------------------------------------------------------------


def _accelerators() -> tuple[jax.Device, ...]:
    """JAX's devices other than CPUs. Starts JAX, unless ``jax_platforms`` is "cpu"."""
    settings: Any = jax.config
    chosen: str | None = settings.jax_platforms
    if chosen == "cpu":
        return ()
    return tuple(d for d in jax.local_devices() if d.platform != "cpu")


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine: one CPU, and its accelerators.

    Looking for accelerators starts JAX: ask for ``"CPU"`` before ``set_logical_device_configuration``.

    Args:
      device_type: only those of this type: "CPU", "GPU" or "TPU".
    """
    physical = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    if device_type != "CPU":
        for i, device in enumerate(_accelerators()):
            kind = device.platform.upper()
            physical.append(PhysicalDevice(f"/physical_device:{kind}:{i}", kind))
    return [d for d in physical if device_type in (None, d.device_type)]


def _check_known(device: object) -> None:
    kind = getattr(device, "device_type", None)
    if not isinstance(device, PhysicalDevice) or device not in list_physical_devices(kind):
        raise ValueError(f"Unrecognized device: {device!r}. tf.config.list_physical_devices() gives those there are.")


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Physical devices that ``set_visible_devices`` has not hidden."""
    physical = list_physical_devices(device_type)
    shown = _SETTINGS.visible
    return [d for d in physical if d.device_type not in shown or d in shown[d.device_type]]


def set_visible_devices(devices: PhysicalDevice | Iterable[PhysicalDevice], device_type: str | None = None) -> None:
    """Hide devices from ``get_visible_devices`` and ``list_logical_devices``.

    Where operations run is JAX's choice: set the environment variable JAX_PLATFORMS=cpu to stay off accelerators.

    Args:
      devices: a device or a list of them, that stay visible.
      device_type: the type whose other devices are hidden; all types by default.

    Raises:
      ValueError: a device that does not exist, or is not of the type.
    """
    chosen = list(devices) if isinstance(devices, Iterable) else [devices]
    for device in chosen:
        _check_known(device)
        if device_type is not None and device.device_type != device_type:
            raise ValueError(f"Unrecognized device: {device!r} is no {device_type}.")
    for kind in [device_type] if device_type else {d.device_type for d in list_physical_devices()}:
        _SETTINGS.visible[kind] = [d for d in chosen if d.device_type == kind]


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Configurations that ``set_logical_device_configuration`` stored for a device; None by default."""
    _check_known(device)
    return _SETTINGS.logical.get(device)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Iterable[LogicalDeviceConfiguration] | None
) -> None:
    """Split the CPU into as many logical devices as there are configurations. Must be called before JAX starts.

    Raises:
      ValueError: an unknown device, an accelerator, or a memory limit for a CPU.
      RuntimeError: JAX has started with fewer CPU devices.
    """
    _check_known(device)
    configurations = list(logical_devices or ())
    if device.device_type != "CPU":
        raise ValueError(f"{device!r} cannot be divided: JAX gives each accelerator as one device.")
    if any(c.memory_limit is not None for c in configurations):
        raise ValueError("Setting a memory limit on logical CPU devices is not supported.")
    count = max(len(configurations), 1)
    if not devices.split_cpu(count) and (there := len(jax.local_devices(backend="cpu"))) < count:
        raise RuntimeError(
            f"JAX has already started with {there} CPU devices; {count} logical devices must be configured before "
            "anything runs or accelerators are listed."
        )
    _SETTINGS.logical[device] = configurations


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that programs run on. Starts JAX.

    Args:
      device_type: only those of this type. A ``TPUStrategy`` runs on whatever devices there are, so that "TPU" lists
        one per device of any kind.
    """
    if device_type == "TPU":
        return [LogicalDevice(f"/device:TPU:{i}", "TPU") for i in range(len(devices.devices()))]
    logical = []
    for device in get_visible_devices(device_type):
        if device.device_type == "CPU":
            configured = _SETTINGS.logical.get(device)
            count = len(configured) if configured else len(jax.local_devices(backend="cpu"))
            logical += [LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(count)]
        else:
            logical.append(LogicalDevice(device.name.replace("/physical_device", "/device"), device.device_type))
    return logical


def get_device_details(device: PhysicalDevice) -> dict[str, str]:
    """Details of a device: ``{"device_name": ...}`` of an accelerator, ``{}`` of a CPU."""
    _check_known(device)
    return {} if device.device_type == "CPU" else {"device_name": _jax_device(device.name).device_kind}


def _jax_device(name: str) -> jax.Device:
    kind, _, index = name.upper().removeprefix("/PHYSICAL_DEVICE:").removeprefix("/DEVICE:").partition(":")
    accelerators = [d for d in _accelerators() if d.platform.upper() == kind]
    if not index.isdigit() or int(index) >= len(accelerators):
        raise ValueError(f"Expected an accelerator that is there, such as 'GPU:0', got {name!r}.")
    return accelerators[int(index)]


def get_memory_info(device: str) -> dict[str, int]:
    """``{"current": bytes, "peak": bytes}`` in use on an accelerator, such as "GPU:0".

    Raises:
      ValueError: a CPU, or a device that does not exist.
    """
    stats = _jax_device(device).memory_stats()
    return {"current": stats["bytes_in_use"], "peak": stats["peak_bytes_in_use"]}


def get_memory_usage(device: str) -> int:
    """The bytes in use on an accelerator."""
    return get_memory_info(device)["current"]


def get_memory_growth(device: PhysicalDevice) -> bool:
    """The stored setting; False by default."""
    _check_known(device)
    return _SETTINGS.growth.get(device, False)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Changes nothing: JAX allocates; set XLA_PYTHON_CLIENT_PREALLOCATE=false for memory that grows.

    Raises:
      ValueError: an unknown device.
    """
    _check_known(device)
    _SETTINGS.growth[device] = bool(enable)


# ---- settings ----------------------------------------------------------------------------------------------------


def get_inter_op_parallelism_threads() -> int:
    return _SETTINGS.inter_op_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Changes nothing: XLA decides how many threads work."""
    _SETTINGS.inter_op_threads = num_threads


def get_intra_op_parallelism_threads() -> int:
    return _SETTINGS.intra_op_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Changes nothing: XLA decides how many threads work."""
    _SETTINGS.intra_op_threads = num_threads


def get_soft_device_placement() -> bool:
    return _SETTINGS.soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Changes nothing: placement is XLA's."""
    _SETTINGS.soft_placement = bool(enabled)


def get_jit() -> str:
    """The stored setting: "autoclustering" or ""."""
    return _SETTINGS.jit


def set_jit(enabled: bool | str) -> None:
    """Changes nothing: programs are always compiled by XLA.

    Raises:
      ValueError: neither a bool nor "autoclustering".
    """
    value = "autoclustering" if enabled is True else enabled or ""
    if value not in _JIT:
        raise ValueError(f"Expected True, False or 'autoclustering', got {enabled!r}.")
    _SETTINGS.jit = value


def get_experimental_options() -> dict[str, bool]:
    return dict(_SETTINGS.options)


def set_experimental_options(options: Mapping[str, bool]) -> None:
    """Changes nothing: graphs are optimized by XLA."""
    _SETTINGS.options.update(options)


def get_synchronous_execution() -> bool:
    return _SETTINGS.synchronous


def set_synchronous_execution(enable: bool | None) -> None:
    """Changes nothing: JAX dispatches asynchronously, and reading a value waits for it."""
    _SETTINGS.synchronous = True if enable is None else bool(enable)


def get_device_policy() -> str:
    return _SETTINGS.policy


def set_device_policy(device_policy: str | None) -> None:
    """Changes nothing: values are moved where they are needed.

    Raises:
      ValueError: no such policy.
    """
    if device_policy not in _POLICIES:
        raise ValueError(f"Expected one of {_POLICIES} as device_policy, got {device_policy!r}.")
    _SETTINGS.policy = device_policy or "silent"


def tensor_float_32_execution_enabled() -> bool:
    return _SETTINGS.tensor_float_32


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Changes nothing: the precision of products is JAX's ``jax_default_matmul_precision``."""
    _SETTINGS.tensor_float_32 = bool(enabled)


def get_log_device_placement() -> bool:
    return _SETTINGS.log_placement


def set_log_device_placement(enabled: bool) -> None:
    """Changes nothing: placement is XLA's; ``tensor.device`` tells where an operation was asked to run."""
    _SETTINGS.log_placement = bool(enabled)


def enable_op_determinism() -> None:
    """Changes nothing: effects have a fixed order, and random numbers depend on seeds only.

    On GPUs XLA_FLAGS=--xla_gpu_deterministic_ops=true makes scatter-add sums deterministic too.
    """
