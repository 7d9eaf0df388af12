"""Named axes over devices: the only module that asks JAX how a value varies, or maps a function over devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

ALL = PartitionSpec()


class Axis:
    """A named axis over devices, one position per device.

    Args:
      name: the mesh axis' name, ``"tower"`` for towers.
      devices: the JAX devices, in order of position.
    """

    def __init__(self, name: str, devices: Sequence[Any]):
        self.name = name
        self.devices = tuple(devices)
        self.size = len(self.devices)
        self.one = PartitionSpec(name)

    @cached_property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), (self.name,), axis_types=(AxisType.Auto,))

    @property
    def platform(self) -> str:
        return self.devices[0].platform

    @cached_property
    def replicated(self) -> NamedSharding:
        return NamedSharding(self.mesh, ALL)

    @cached_property
    def split(self) -> NamedSharding:
        """The leading dimension split over the positions."""
        return NamedSharding(self.mesh, self.one)

    @cached_property
    def split_second(self) -> NamedSharding:
        """``[steps, positions, ...]``: the second dimension split over the positions."""
        return NamedSharding(self.mesh, PartitionSpec(None, self.name))

    def map(self, function: Callable[..., Any], in_specs: Any, out_specs: Any) -> Callable[..., Any]:
        """``function`` run at every position. JAX proves that outputs with spec ``ALL`` are equal everywhere."""
        return jax.shard_map(function, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, check_vma=True)

    def __repr__(self) -> str:
        return f"<Axis {self.name} of {self.size}>"


def varies(value: Any) -> bool:
    """Whether JAX sees the value as possibly different along a mapped axis."""
    return isinstance(value, jax.Array) and bool(jax.typeof(value).manual_axis_type.varying)


def vary(value: Any, axis: Axis | None) -> Any:
    """The same value, seen as one that may differ along ``axis``."""
    if axis is None or varies(value):
        return value
    return lax.pcast(value, (axis.name,), to="varying")


def alike(*values: Any) -> tuple[Any, ...]:
    """The same values, all seen as ones that may differ along every axis along which one of them may."""
    axes: frozenset[str] = frozenset()
    for value in values:
        if isinstance(value, jax.Array):
            axes |= frozenset(jax.typeof(value).manual_axis_type.varying)
    if not axes:
        return values
    return tuple(
        lax.pcast(jnp.asarray(v), tuple(sorted(missing)), to="varying") if (missing := axes - _axes(v)) else v
        for v in values
    )


def _axes(value: Any) -> frozenset[str]:
    return frozenset(jax.typeof(value).manual_axis_type.varying) if isinstance(value, jax.Array) else frozenset()


def on_one_device(value: Any) -> Any:
    """A value that several devices hold copies of, as one of them does."""
    if isinstance(value, jax.Array) and len(value.sharding.device_set) > 1:
        return value.addressable_shards[0].data
    return value
