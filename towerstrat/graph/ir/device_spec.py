"""``tf.DeviceSpec``: the name of a device by its parts.

Source: ``tensorflow/python/framework/device_spec.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from towerstrat.graph.ir import device_names

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Operation

_PARTS = ("job", "replica", "task", "device_type", "device_index")

Number: TypeAlias = "int | str"
"""A part of a name that is a number, or its digits."""
DeviceLike: TypeAlias = "str | DeviceSpec | Callable[[Operation], str | DeviceSpec | None] | None"
"""What ``tf.device`` takes: a name, its parts, or a function of the operation; None forgets those around."""


class DeviceSpec:
    """A device, or some parts of its name. Two are equal where their parts are.

    Args:
      job, device_type: names. replica, task, device_index: numbers. None: any.

    >>> DeviceSpec(job="worker", device_type="gpu", device_index=1).to_string()
    '/job:worker/device:GPU:1'
    """

    def __init__(
        self,
        job: str | None = None,
        replica: Number | None = None,
        task: Number | None = None,
        device_type: str | None = None,
        device_index: Number | None = None,
    ):
        self._job = None if job is None else str(job)
        self._replica, self._task, self._device_index = (
            None if number is None else int(number) for number in (replica, task, device_index)
        )
        self._device_type = None if device_type is None else str(device_type).upper()

    @classmethod
    def from_string(cls, spec: str) -> Self:
        """The parts of a name. Raises ValueError where it is none."""
        return cls(*_parse(spec))

    def parse_from_string(self, spec: str) -> Self:
        """The parts of another name, as ``from_string``."""
        return self.from_string(spec)

    def to_string(self) -> str:
        """The name, such as ``/job:worker/task:0/device:CPU:0``."""
        parts = [f"/{each}:{value}" for each in _PARTS[:3] if (value := getattr(self, each)) is not None]
        if self._device_type is not None:
            parts.append(f"/device:{self._device_type}:{'*' if self._device_index is None else self._device_index}")
        return "".join(parts)

    def make_merged_spec(self, dev: DeviceSpec) -> Self:
        """A spec with the parts that ``dev`` names, and its own for the others."""
        return type(self)(*_merge(self, dev))

    def replace(self, **kwargs: Any) -> Self:
        """A spec with other parts, by the arguments' names."""
        return type(self)(**{name: getattr(self, name) for name in _PARTS} | kwargs)

    @property
    def job(self) -> str | None:
        return self._job

    @property
    def replica(self) -> int | None:
        return self._replica

    @property
    def task(self) -> int | None:
        return self._task

    @property
    def device_type(self) -> str | None:
        return self._device_type

    @property
    def device_index(self) -> int | None:
        return self._device_index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in _PARTS if getattr(self, name) is not None)
        return f"{type(self).__name__}({fields})"


class DeviceSpecV1(DeviceSpec):
    """``DeviceSpec`` of 1.x, whose parts can be set."""

    @property
    def job(self) -> str | None:
        return self._job

    @job.setter
    def job(self, job: str | None) -> None:
        self._job = None if job is None else str(job)

    @property
    def replica(self) -> int | None:
        return self._replica

    @replica.setter
    def replica(self, replica: Number | None) -> None:
        self._replica = None if replica is None else int(replica)

    @property
    def task(self) -> int | None:
        return self._task

    @task.setter
    def task(self, task: Number | None) -> None:
        self._task = None if task is None else int(task)

    @property
    def device_type(self) -> str | None:
        return self._device_type

    @device_type.setter
    def device_type(self, device_type: str | None) -> None:
        self._device_type = None if device_type is None else str(device_type).upper()

    @property
    def device_index(self) -> int | None:
        return self._device_index

    @device_index.setter
    def device_index(self, device_index: Number | None) -> None:
        self._device_index = None if device_index is None else int(device_index)

    def parse_from_string(self, spec: str) -> Self:
        """Takes the parts of a name for its own; returns itself. Raises ValueError where it is none."""
        self.__init__(*_parse(spec))  # type: ignore[misc]
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes the parts that ``dev`` names for its own."""
        self.__init__(*_merge(self, dev))  # type: ignore[misc]


def _parse(spec: str) -> tuple[str | None, Number | None, Number | None, str | None, Number | None]:
    parts = device_names.parse(spec)
    kind, _, number = parts.get("device", "").partition(":")
    return parts.get("job"), parts.get("replica"), parts.get("task"), kind or None, number or None


def _merge(base: DeviceSpec, over: DeviceSpec) -> list[Any]:
    pairs = [(getattr(over, name), getattr(base, name)) for name in _PARTS]
    return [default if theirs is None else theirs for theirs, default in pairs]
