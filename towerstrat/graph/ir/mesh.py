"""Named axes over devices: the only module that asks JAX how a value varies, or maps a function over devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

ALL = PartitionSpec()

Parts = tuple[int, ...] | None
"""Into how many parts each dimension of a value is split over logical devices; None: it is whole on each."""


class Axis:
    """A named axis over devices: positions, each of one device or of several "logical" ones.

    At every position the same function runs on values of its own. On the logical devices of a position every value is
    there whole, except where ``constrained`` splits it: the compiler then shares the work out among them.

    Args:
      name: the mesh axis' name, ``"tower"`` for towers.
      devices: the JAX devices, in order of position; those of one position follow each other.
      logical: how many devices each position has.

    Raises:
      ValueError: the devices do not make up whole positions.
    """

    def __init__(self, name: str, devices: Sequence[Any], logical: int = 1):
        self.name = name
        self.devices = tuple(devices)
        self.logical = logical
        self.size, left = divmod(len(self.devices), logical)
        if left or not self.devices:
            raise ValueError(f"Expected positions of {logical} devices each, got {len(self.devices)} devices.")
        self.one = PartitionSpec(name)

    @cached_property
    def mapped(self) -> bool:
        """Whether a program along it runs elsewhere than on the first device of the machine alone."""
        return len(self.devices) > 1 or self.devices[0] in jax.devices()[1:]

    @cached_property
    def mesh(self) -> Mesh:
        names, sizes = _logical_axes(self.logical)
        devices = np.array(self.devices).reshape(self.size, *sizes)
        return Mesh(devices, (self.name, *names), axis_types=(AxisType.Auto,) * devices.ndim)

    @property
    def platform(self) -> str:
        return self.devices[0].platform

    @cached_property
    def second(self) -> PartitionSpec:
        """``[steps, positions, ...]``: the second dimension split over the positions."""
        return PartitionSpec(None, self.name)

    @cached_property
    def third(self) -> PartitionSpec:
        """``[steps, elements, positions, ...]``: the third dimension split over the positions."""
        return PartitionSpec(None, None, self.name)

    def placed(self, spec: PartitionSpec, parts: Parts = None) -> NamedSharding:
        """Where a value is that ``spec`` splits over the positions, and ``parts`` over each one's logical devices."""
        if parts is None or math.prod(parts) != self.logical:
            return NamedSharding(self.mesh, spec)
        return NamedSharding(self.mesh, PartitionSpec(*spec, *_partition(parts)))

    def bring(self, values: Sequence[Any]) -> list[Any]:
        """Values that are on one device or none, on all devices."""
        whole = self.placed(ALL)
        return [v if len(_devices_of(v)) > 1 else jax.device_put(v, whole) for v in values]

    def map(self, function: Callable[..., Any], in_specs: Any, out_specs: Any) -> Callable[..., Any]:
        """``function`` run at every position. JAX proves that outputs with spec ``ALL`` are equal everywhere."""
        if self.size > 1:
            return jax.shard_map(
                function, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, axis_names={self.name}, check_vma=True
            )

        def alone(*args: Any) -> Any:
            with jax.sharding.use_abstract_mesh(self.mesh.abstract_mesh):
                return function(*args)

        return alone

    def __repr__(self) -> str:
        return f"<Axis {self.name} of {self.size}{f' x {self.logical} devices' if self.logical > 1 else ''}>"


def _logical_axes(count: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and sizes of mesh axes for logical devices, one for each prime factor: so any partition can be said."""
    sizes: list[int] = []
    divisor = 2
    while count > 1:
        if count % divisor:
            divisor += 1
        else:
            sizes.append(divisor)
            count //= divisor
    return tuple(f"logical_{i}" for i in range(len(sizes))), tuple(sizes)


def _partition(parts: tuple[int, ...]) -> PartitionSpec:
    """Each dimension split into so many parts, over logical devices that are as many as all parts together."""
    free = list(zip(*_logical_axes(math.prod(parts)), strict=True))
    dimensions: list[Any] = []
    for count in parts:
        names: list[str] = []
        for size in _logical_axes(count)[1]:
            axis = next(a for a in free if a[1] == size)
            free.remove(axis)
            names.append(axis[0])
        dimensions.append(tuple(names) if len(names) > 1 else names[0] if names else None)
    return PartitionSpec(*dimensions)


def constrained(value: Any, parts: tuple[int, ...], apart: bool = False) -> Any:
    """The same value, split over the logical devices where a program for some is traced; all ones: whole on each.

    Args:
      apart: what is before and after may lie otherwise: the compiler refuses branches whose results, or gradients,
        were demanded in different ways.
    """
    if not has_logical():
        return value
    if not apart:
        return lax.with_sharding_constraint(value, _partition(parts))
    return lax.optimization_barrier(constrained(lax.optimization_barrier(value), parts))


_UNDIVIDED = ContextVar("undivided", default=False)


def has_logical() -> bool:
    """Whether what is being traced is for positions of several logical devices, which may share values out."""
    return "logical_0" in jax.sharding.get_abstract_mesh().axis_names and not _UNDIVIDED.get()


@contextmanager
def undivided() -> Iterator[None]:
    """Nothing that is traced in here splits a value over logical devices.

    For what some positions run and others do not: to bring parts of a value together the compiler may make all devices
    wait for each other.
    """
    before = _UNDIVIDED.set(True)
    try:
        yield
    finally:
        _UNDIVIDED.reset(before)


def whole(structure: Any) -> Any:
    """The arrays of a structure, each of them whole on every logical device."""
    if not has_logical():
        return structure
    return jax.tree.map(lambda v: lax.with_sharding_constraint(v, ALL) if isinstance(v, jax.Array) else v, structure)


def several_devices() -> bool:
    """Whether what is being traced will run on several devices."""
    return not jax.sharding.get_abstract_mesh().empty


def varies(value: Any) -> bool:
    """Whether JAX sees the value as possibly different along a mapped axis."""
    return isinstance(value, jax.Array) and bool(jax.typeof(value).manual_axis_type.varying)


def vary(value: Any, axis: Axis | None) -> Any:
    """The same value, seen as one that may differ along ``axis``."""
    if axis is None or varies(value):
        return value
    return lax.pcast(value, (axis.name,), to="varying")


def at_first(value: Any, axis: Axis) -> Any:
    """What the first position has, the same everywhere."""
    value = vary(jnp.asarray(value), axis)
    value = jnp.where(lax.axis_index(axis.name) == 0, value, jnp.zeros_like(value))
    if value.dtype == jnp.bool_:
        return lax.psum(value.astype(jnp.int32), axis.name).astype(jnp.bool_)
    return lax.psum(value, axis.name)


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


def _devices_of(value: Any) -> Collection[Any]:
    return value.sharding.device_set if isinstance(value, jax.Array) else ()


def on_one_device(value: Any) -> Any:
    """A value that several devices hold, all of it on one of them."""
    if len(_devices_of(value)) < 2:
        return value
    if value.is_fully_replicated:
        return value.addressable_shards[0].data
    return jax.device_put(value, value.addressable_shards[0].device)
