"""The towers under a strategy of the later surface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.eager.positions import PositionTensor
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops import collectives
from towerstrat.graph.ops.array import identity
from towerstrat.towers.contrib.tpu import TPUStrategy
from towerstrat.towers.distribute.values import PerReplica, from_parts, per_replica
from towerstrat.towers.distribute.variables import make_variable


class _Given:
    """Devices in the place of a resolver."""

    def __init__(self, devices: Sequence[Any]):
        self._devices = list(devices)

    def devices(self) -> list[Any]:
        return self._devices

    def get_job_name(self) -> str | None:
        return None


class Replicas(TPUStrategy):
    """One tower per replica, whose variables follow the later surface's rules.

    Args:
      devices: one for each replica, or a list of logical devices for each.

    Attributes:
      surface: the strategy over it.
    """

    word = "replica"
    kind = "tf.distribute"

    def __init__(self, devices: Sequence[Any]):
        several = bool(devices) and isinstance(devices[0], list | tuple)
        super().__init__(_Given([d[0] for d in devices] if several else devices))
        if several:
            self._run_on(Axis(self.word, [d for own in devices for d in own], len(devices[0])))

    @property
    def mapped(self) -> bool:
        """Whether a function of replicas has to be traced, and runs along a mesh axis."""
        return self._mapped()

    def _variable_maker(self, local: bool) -> Callable[..., Any]:
        return make_variable(self, self._axis, self._devices, local)

    def _leaving(self, structure: Any) -> Any:
        """A structure made in a replica's context as cross-replica context sees it; captured values may be in it."""

        def captured(value: Any) -> Any:
            if not isinstance(value, PerReplica) or not isinstance(value.local, PositionTensor):
                return value
            with get_default_graph().under(self._axis):
                return identity(value.local)

        return super()._leaving(nest.map_structure(captured, structure) if self.mapped else structure)

    def _per_tower(self, local: Any) -> PerReplica:
        return per_replica(local, self._devices, self._axis)

    def own(self, value: Any) -> Any:
        """A per-replica value of other replicas as one of these, which take the first parts. What is not is returned.

        Raises:
          IndexError: it has fewer parts.
        """
        if not isinstance(value, PerReplica) or not isinstance(value.local, PositionTensor):
            return value
        if value.local.axis is self._axis:
            return value
        parts = value.values
        if len(parts) < self._axis.size:
            raise IndexError(
                f"A per-replica value of {len(parts)} replicas was passed to a function of {self._axis.size}."
            )
        return from_parts(parts[: self._axis.size], self._devices, self._axis)

    def local_of(self, value: Any) -> Any:
        """A value as one replica sees it."""
        return self._for_tower(value)

    def leaving(self, structure: Any) -> Any:
        """A structure made in a replica's context as cross-replica context sees it."""
        return self._leaving(structure)

    def concatenated(self, local: Any, axis: int) -> Any:
        """What the replicas hold, joined along ``axis``."""
        if not self.mapped:
            return convert_to_tensor(local)
        with get_default_graph().under(None):
            return collectives.all_concat(convert_to_tensor(local), self._axis, dim=axis)
