"""Which core of the mesh each logical device of each replica is."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.platform import devices as platform_devices
from towerstrat.towers.cluster.topology import Topology


class DeviceOrderMode(enum.IntEnum):
    """How replicas and their logical cores are laid over the mesh."""

    AUTO = 0  # rings where they are possible
    RING = 1
    MESH = 2


class DeviceAssignment:
    """Logical cores of replicas on the cores of a topology; usually made by ``DeviceAssignment.build``.

    Args:
      topology: a Topology.
      core_assignment: ``[replicas, logical cores, mesh rank]``, the coordinates of each.

    Raises:
      ValueError: no Topology, an assignment of another shape, or coordinates outside the mesh.
    """

    def __init__(self, topology: Topology, core_assignment: Any):
        if not isinstance(topology, Topology):
            raise ValueError(f"topology must be a Topology object, got {type(topology).__name__}.")
        cores = np.asarray(core_assignment, np.int32)
        if cores.ndim != 3:
            raise ValueError(f"core_assignment must be a rank 3 numpy array, got shape {cores.shape}.")
        if cores.shape[-1] != topology.mesh_rank:
            raise ValueError(
                f"core_assignment.shape[-1] must have size equal to topology rank ({topology.mesh_rank}), got "
                f"core_assignment.shape={cores.shape}."
            )
        outside = cores[((cores < 0) | (cores >= topology.mesh_shape)).any(axis=-1)]
        if len(outside):
            raise ValueError(
                f"core_assignment must lie in the mesh {topology.mesh_shape.tolist()}; got {outside[0].tolist()}."
            )
        self._topology = topology
        self._core_assignment = cores
        self._replicas: dict[tuple[int, int], list[int]] = {}
        for replica, logical_core in np.ndindex(*cores.shape[:2]):
            task = topology.task_ordinal_at_coordinates(self.coordinates(replica, logical_core))
            self._replicas.setdefault((task, logical_core), []).append(replica)

    @property
    def topology(self) -> Topology:
        return self._topology

    @property
    def num_replicas(self) -> int:
        return self._core_assignment.shape[0]

    @property
    def num_cores_per_replica(self) -> int:
        return self._core_assignment.shape[1]

    @property
    def core_assignment(self) -> np.ndarray:
        """``[num_replicas, num_cores_per_replica, mesh rank]``, int32: the coordinates of each logical core."""
        return self._core_assignment

    def coordinates(self, replica: int, logical_core: int) -> tuple[int, ...]:
        """The place of a logical core in the mesh."""
        return tuple(self._core_assignment[replica, logical_core].tolist())

    def lookup_replicas(self, task_id: int, logical_core: int) -> list[int]:
        """The replicas, in order, that have this logical core on the task.

        Raises:
          ValueError: none has.
        """
        if (task_id, logical_core) not in self._replicas:
            raise ValueError(f"Can not find any replica in task: {task_id} contains logical_core: {logical_core}.")
        return self._replicas[task_id, logical_core]

    def tpu_ordinal(self, replica: int = 0, logical_core: int = 0) -> int:
        """The number, within its task, of the device of a logical core."""
        return self._topology.tpu_device_ordinal_at_coordinates(self.coordinates(replica, logical_core))

    def host_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """The name of the processor of the machine that has the logical core."""
        return self._topology.cpu_device_name_at_coordinates(self.coordinates(replica, logical_core), job)

    def tpu_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """The name of the device of a logical core."""
        return self._topology.tpu_device_name_at_coordinates(self.coordinates(replica, logical_core), job)

    def devices(self, present: Sequence[Any] | None = None) -> list[list[Any]]:
        """The JAX device of each logical core of each replica: ``[num_replicas][num_cores_per_replica]``.

        Args:
          present: the devices that the topology describes, as JAX lists them; those that towers may run on by default.

        Raises:
          ValueError: a core is not there, or is used twice.
        """
        present = platform_devices.devices() if present is None else present
        processes = sorted({device.process_index for device in present})
        tasks = [[device for device in present if device.process_index == process] for process in processes]
        used: dict[tuple[int, int], tuple[int, int]] = {}

        def device(replica: int, logical_core: int) -> Any:
            place = self.coordinates(replica, logical_core)
            task = self._topology.task_ordinal_at_coordinates(place)
            ordinal = self._topology.tpu_device_ordinal_at_coordinates(place)
            here = f"Logical core {logical_core} of replica {replica} is at {list(place)}"
            if not (0 <= task < len(tasks) and 0 <= ordinal < len(tasks[task])):
                raise ValueError(
                    f"{here}, device {ordinal} of task {task}, which is not among the {len(present)} devices there "
                    "are. Build the assignment for the topology of tf.tpu.experimental.initialize_tpu_system()."
                )
            if (task, ordinal) in used:
                other, core = used[task, ordinal]
                raise ValueError(f"{here}, where logical core {core} of replica {other} is already.")
            used[task, ordinal] = replica, logical_core
            return tasks[task][ordinal]

        return [[device(r, core) for core in range(self.num_cores_per_replica)] for r in range(self.num_replicas)]

    @classmethod
    def build(
        cls,
        topology: Topology | bytes,
        computation_shape: Any = None,
        computation_stride: Any = None,
        num_replicas: int = 1,
        device_order_mode: DeviceOrderMode = DeviceOrderMode.AUTO,
    ) -> DeviceAssignment:
        """Packs replicas into the mesh, cores of a chip first.

        Args:
          topology: a Topology, or one as bytes.
          computation_shape: ``[mesh rank]``, the block of cores of one replica; ones by default. Where a mesh of rank 4
            has one plane, ``[x, y, core]`` means ``[x, y, 1, core]``.
          computation_stride: how far a replica's cores lie apart along each axis, the cores between them going to other
            replicas; ones by default.
          num_replicas: how many.
          device_order_mode: RING lays replicas, and the cores of each, so that neighbors in number are neighbors in the
            mesh, which takes a mesh of rank 4, whole chips, no stride and as many replicas as fit; MESH counts along
            the axes; AUTO is RING where it is possible.

        Raises:
          ValueError: no topology; a shape or stride of another length or not positive; shape x stride exceeds the mesh;
            too many replicas; RING where it is not possible; a stride where devices are missing.
        """
        if isinstance(topology, bytes):
            topology = Topology(serialized=topology)
        if not isinstance(topology, Topology):
            raise ValueError(f"`topology` is not a Topology object; got {type(topology).__name__}.")
        shape = _per_axis("computation_shape", computation_shape, topology)
        stride = _per_axis("computation_stride", computation_stride, topology)
        mesh = topology.mesh_shape
        if (shape * stride > mesh).any():
            raise ValueError(
                f"The computation's footprint {(shape * stride).tolist()}, computation_shape {shape.tolist()} times "
                f"computation_stride {stride.tolist()}, does not fit in the mesh {mesh.tolist()}."
            )
        counts = mesh // (shape * stride) * stride
        if not 0 <= num_replicas <= counts.prod():
            raise ValueError(
                f"{num_replicas} replicas were asked for, but {counts.prod()} with computation_shape {shape.tolist()} "
                f"and computation_stride {stride.tolist()} fit in the mesh {mesh.tolist()}."
            )
        if len(topology.missing_devices):
            return cls(topology, _in_order_of_tasks(topology, shape, stride, num_replicas))
        ring = (
            topology.mesh_rank == 4 and shape[-1] == mesh[-1] and stride.prod() == 1 and num_replicas == counts.prod()
        )
        if device_order_mode == DeviceOrderMode.RING and not ring:
            raise ValueError(
                "DeviceOrderMode.RING takes a mesh of rank 4, whole chips, no stride and as many replicas as fit; got "
                f"{num_replicas} replicas with computation_shape {shape.tolist()} and computation_stride "
                f"{stride.tolist()} in the mesh {mesh.tolist()}. Use DeviceOrderMode.AUTO."
            )
        if ring and device_order_mode != DeviceOrderMode.MESH:
            return cls(topology, _rings(shape, counts))
        return cls(topology, _offsets(shape, stride, counts, num_replicas)[:, np.newaxis] + _block(shape, stride))


def device_assignment(
    topology: Topology | bytes, computation_shape: Any = None, computation_stride: Any = None, num_replicas: int = 1
) -> DeviceAssignment:
    """``DeviceAssignment.build`` as it was called until 1.13."""
    return DeviceAssignment.build(topology, computation_shape, computation_stride, num_replicas)


def _per_axis(argument: str, given: Any, topology: Topology) -> np.ndarray:
    """A positive number for each axis of the mesh."""
    rank = topology.mesh_rank
    numbers = np.ones(rank, np.int32) if given is None else np.asarray(given, np.int32)
    if rank == 4 and numbers.shape == (3,) and topology.mesh_shape[2] == 1:
        numbers = np.insert(numbers, 2, 1)
    if numbers.shape != (rank,):
        raise ValueError(f"{argument} must have shape [{rank}]; got {list(numbers.shape)}.")
    if (numbers < 1).any():
        raise ValueError(f"{argument} must be positive; got {numbers.tolist()}.")
    return numbers


def _offsets(shape: np.ndarray, stride: np.ndarray, counts: np.ndarray, replicas: int) -> np.ndarray:
    """Where each replica's first core is: ``[replicas, rank]``."""
    rank = len(shape)
    axes = [3, 0, 1, 2] if rank == 4 else [2, 1, 0]
    sizes, left = {}, replicas
    for done, axis in enumerate(sorted(axes, key=lambda axis: counts[axis])):
        # as near to a cube as possible, the most constrained axes first
        sizes[axis] = max(min(math.ceil(left ** (1 / (rank - done))), int(counts[axis])), 1)
        left = -(-left // sizes[axis])
    number = np.arange(replicas)
    at = np.zeros((replicas, rank), np.int64)
    for axis in axes:
        at[:, axis] = number % sizes[axis]
        number = number // sizes[axis]
    return at // stride * (shape * stride) + at % stride


def _block(shape: np.ndarray, stride: np.ndarray) -> np.ndarray:
    """The cores of one replica from its first: ``[cores, rank]``."""
    return np.stack(np.unravel_index(np.arange(shape.prod()), shape), axis=-1) * stride


def _in_order_of_tasks(topology: Topology, shape: np.ndarray, stride: np.ndarray, replicas: int) -> np.ndarray:
    """The devices that are there, one after the other: blocks of a mesh with holes are not blocks."""
    present = topology.device_coordinates.reshape(-1, topology.mesh_rank)
    if stride.prod() != 1:
        raise ValueError(f"computation_stride must be ones where devices are missing; got {stride.tolist()}.")
    if replicas * shape.prod() > len(present):
        raise ValueError(
            f"{replicas} replicas of {shape.prod()} cores were asked for, but there are {len(present)} devices; "
            f"{len(topology.missing_devices)} of the mesh are missing."
        )
    return present[: replicas * shape.prod()].reshape(replicas, shape.prod(), topology.mesh_rank)


def _rings(shape: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Replicas along a ring of blocks, and the cores of each along a ring of chips: ``[replicas, cores, 4]``."""
    blocks, chips = _ring(*counts[:3].tolist()), _ring(*shape[:3].tolist())
    chips = (blocks * shape[:3])[:, np.newaxis] + chips
    cores = int(shape[3])
    number = np.tile(np.arange(cores), chips.shape[1])[:, np.newaxis]
    return np.concatenate([chips.repeat(cores, axis=1), np.broadcast_to(number, (len(blocks), *number.shape))], axis=-1)


def _ring(x: int, y: int, z: int) -> np.ndarray:
    """The places of a box, each beside the one before it and the last beside the first: ``[places, 3]``.

    There is no such order with an odd axis: the places are counted then, x first. So are those of a line.
    """
    sizes = (x, y, z)
    wide = [axis for axis in range(3) if sizes[axis] > 1]
    if len(wide) < 2 or any(sizes[axis] % 2 for axis in wide):
        return np.indices((z, y, x)).reshape(3, -1).T[:, ::-1]
    if len(wide) == 2:
        places = np.zeros((x * y * z, 3), np.int64)
        places[:, wide] = [(0, 0), *_open_ring(*(sizes[axis] for axis in wide))]
        return places
    around = _open_ring(x, y)
    path = [(0, 0, 0)]
    for level in range(z):
        path += [(a, b, level) for a, b in (reversed(around) if level % 2 else around)]
    return np.asarray([*path, *((0, 0, level) for level in range(z - 1, 0, -1))])


def _open_ring(width: int, height: int) -> list[tuple[int, int]]:
    """A ring over a rectangle without its corner (0, 0): forth and back over the rows, home along column 0."""
    path = []
    for row in range(height):
        columns = range(1, width) if row % 2 == 0 else range(width - 1, 0, -1)
        path += [(column, row) for column in columns]
    return [*path, *((0, row) for row in range(height - 1, 0, -1))]
