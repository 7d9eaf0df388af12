"""Where the cores of a TPU system are: the mesh, and each device's place in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

RANKS = (3, 4)
"""Axes of a mesh: ``(x, y, core)`` until 1.15, ``(x, y, z, core)`` since."""


class Topology:
    """The devices of a system and their coordinates in its mesh.

    Args:
      serialized: bytes that ``serialized()`` gave, of this class or of the original's; the others are then not used.
      mesh_shape: ``[rank]``, the cores along each axis; rank 4 (x, y, z, core), or 3 (x, y, core) as until 1.15.
      device_coordinates: ``[tasks, devices, rank]``, the place of each device of each task.

    Raises:
      ValueError: ``serialized`` is malformed; the mesh is not of 3 or 4 positive numbers; the coordinates have another
        shape or lie outside the mesh.
    """

    def __init__(self, serialized: bytes | None = None, mesh_shape: Any = None, device_coordinates: Any = None):
        self._serialized = serialized or None
        if serialized:
            mesh_shape, device_coordinates = _parsed(serialized)
        self._mesh_shape = np.asarray(() if mesh_shape is None else mesh_shape, np.int32)
        if self._mesh_shape.ndim != 1 or len(self._mesh_shape) not in RANKS or (self._mesh_shape < 1).any():
            raise ValueError(f"`mesh_shape` must be a sequence of 4 (or 3) positive numbers; got {mesh_shape}.")
        coordinates = np.asarray(() if device_coordinates is None else device_coordinates, np.int32)
        if coordinates.ndim != 3 or coordinates.shape[2] != self.mesh_rank:
            raise ValueError(
                f"`device_coordinates` must have the shape [tasks, devices, {self.mesh_rank}] for the mesh "
                f"{self._mesh_shape.tolist()}; got the shape {list(coordinates.shape)}."
            )
        outside = coordinates[((coordinates < 0) | (coordinates >= self._mesh_shape)).any(axis=-1)]
        if len(outside):
            raise ValueError(
                f"`device_coordinates` must lie in the mesh {self._mesh_shape.tolist()}; got {outside[0].tolist()}."
            )
        self._device_coordinates = coordinates
        places = tuple(coordinates.reshape(-1, self.mesh_rank).T)
        numbers = np.indices(coordinates.shape[:2], np.int32).reshape(2, -1)
        self._tasks, self._ordinals = (np.full(self._mesh_shape, -1, np.int32) for _ in range(2))
        self._tasks[places], self._ordinals[places] = numbers

    @property
    def mesh_shape(self) -> np.ndarray:
        """``[rank]``, int32: the cores along each axis."""
        return self._mesh_shape

    @property
    def mesh_rank(self) -> int:
        """The number of axes."""
        return len(self._mesh_shape)

    @property
    def device_coordinates(self) -> np.ndarray:
        """``[tasks, devices, rank]``, int32: the place of each device of each task."""
        return self._device_coordinates

    @property
    def missing_devices(self) -> np.ndarray:
        """``[missing, rank]``: the places of the mesh that have no device."""
        return np.argwhere(self._tasks < 0)

    @property
    def num_tasks(self) -> int:
        """The number of machines."""
        return self._device_coordinates.shape[0]

    @property
    def num_tpus_per_task(self) -> int:
        """The number of devices of each machine."""
        return self._device_coordinates.shape[1]

    def task_ordinal_at_coordinates(self, device_coordinates: Sequence[int]) -> int:
        """The number of the task whose device is there; -1 for a missing one."""
        return int(self._tasks[tuple(device_coordinates)])

    def tpu_device_ordinal_at_coordinates(self, device_coordinates: Sequence[int]) -> int:
        """The number, within its task, of the device that is there; -1 for a missing one."""
        return int(self._ordinals[tuple(device_coordinates)])

    def cpu_device_name_at_coordinates(self, device_coordinates: Sequence[int], job: str | None = None) -> str:
        """The name of the processor of the machine whose device is there."""
        return f"{_task(job, self.task_ordinal_at_coordinates(device_coordinates))}/device:CPU:0"

    def tpu_device_name_at_coordinates(self, device_coordinates: Sequence[int], job: str | None = None) -> str:
        """The name of the device that is there."""
        task = _task(job, self.task_ordinal_at_coordinates(device_coordinates))
        return f"{task}/device:TPU:{self.tpu_device_ordinal_at_coordinates(device_coordinates)}"

    def serialized(self) -> bytes:
        """The topology as bytes, in the original's format."""
        if self._serialized is None:
            self._serialized = b"".join((
                _numbers(_MESH, self._mesh_shape.tolist()),
                _number(_TASKS, self.num_tasks),
                _number(_DEVICES, self.num_tpus_per_task),
                _numbers(_COORDINATES, self._device_coordinates.ravel().tolist()),
            ))  # fmt: skip
        return self._serialized


def topology_of(devices: Sequence[Any]) -> Topology:
    """The topology of JAX devices: a TPU says its coordinates; others form a mesh of two cores each, if even.

    Args:
      devices: as JAX lists them. Devices of one process are one task, in this order.
    """
    if all(hasattr(device, "coords") for device in devices):
        places = [(*device.coords, device.core_on_chip) for device in devices]
    else:
        cores = 1 if len(devices) % 2 else 2
        places = [(i // cores, 0, 0, i % cores) for i in range(len(devices))]
    tasks = [
        [place for device, place in zip(devices, places, strict=True) if device.process_index == process]
        for process in sorted({device.process_index for device in devices})
    ]
    return Topology(mesh_shape=np.max(places, axis=0) + 1, device_coordinates=tasks)


def _task(job: str | None, task: int) -> str:
    return f"/task:{task}" if job is None else f"/job:{job}/task:{task}"


# ---- the bytes: a protocol buffer's fields of integers -----------------------------------------------------------

_MESH, _TASKS, _DEVICES, _COORDINATES = 1, 2, 3, 4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value) if value else b""


def _numbers(field: int, values: list[int]) -> bytes:
    packed = b"".join(_varint(value) for value in values)
    return _varint(field << 3 | _BYTES) + _varint(len(packed)) + packed if packed else b""


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer of 32 bits and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            value &= 0xFFFFFFFF
            return value - (1 << 32) if value >> 31 else value, at


def _fields(data: bytes) -> Iterator[tuple[int, list[int]]]:
    """The fields of integers, in order; others are passed over."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        field, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield field, [value]
        elif kind == _BYTES:
            length, at = _read_varint(data, at)
            end, values = at + length, []
            if end > len(data) or length < 0:
                raise IndexError(end)
            while field in (_MESH, _COORDINATES) and at < end:
                value, at = _read_varint(data[:end], at)
                values.append(value)
            at = end
            yield field, values
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise IndexError(at)


def _parsed(data: bytes) -> tuple[list[int], np.ndarray]:
    """The mesh's shape and the devices' coordinates in serialized bytes."""
    if not isinstance(data, bytes):
        raise ValueError(f"`serialized` must be the bytes of a topology; got {type(data).__name__}.")
    found: dict[int, list[int]] = {field: [] for field in (_MESH, _TASKS, _DEVICES, _COORDINATES)}
    try:
        for field, values in _fields(data):
            found.setdefault(field, []).extend(values)
    except IndexError:
        raise ValueError(f"`serialized` does not describe a topology: {len(data)} bytes, {data[:20]!r}...") from None
    tasks, devices = ((found[field] or [0])[-1] for field in (_TASKS, _DEVICES))
    mesh, coordinates = found[_MESH], found[_COORDINATES]
    if tasks < 0 or devices < 0:
        raise ValueError(f"`num_tasks` and `num_tpu_devices_per_task` must be >= 0; got {tasks} and {devices}.")
    if len(coordinates) != tasks * devices * len(mesh):
        raise ValueError(
            f"`device_coordinates` must have the shape num_tasks ({tasks}) * num_tpu_devices_per_task ({devices}) * "
            f"len(mesh_shape) ({len(mesh)}); got {len(coordinates)} numbers."
        )
    return mesh, np.reshape(np.asarray(coordinates, np.int32), (tasks, devices, len(mesh)))
