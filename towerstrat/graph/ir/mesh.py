"""Mesh axes over devices. The only module that uses JAX's mesh, ``shard_map`` and varying types.

An ``Axis`` is a mesh axis of shards ("towers"), each of one device or of several logical ones. ``Axis.map`` runs a
function on every shard:

    axis = Axis("tower", jax.devices()[:2])
    step = axis.map(lambda w, x: lax.psum(jnp.sum(x @ w), "tower"), in_specs=(ALL, axis.one), out_specs=ALL)
    step(w, x)                             # w: [3, 1] on both; x: [8, 3], 4 rows on each; the result: replicated

Inside, a value's type says whether it is varying along the axis or invariant (``varies``); ``vary`` casts,
``check_vma`` has JAX prove that an output with spec ``ALL`` is invariant. The transpose of the cast is a ``psum``:
where that is not wanted, ``share`` and ``sum_shares`` have cotangents of their own.

Logical devices of a shard are further axes of the mesh, of type Auto: values are replicated over them, except where
``constrain`` gives a sharding, from which the compiler partitions the work. With several processes an axis may span
devices of others: then ``told`` and
``everywhere`` are collective: all processes call them together.

Source for varying and invariant values: https://docs.jax.dev/en/latest/notebooks/shard_map.html.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, partial
from typing import Any, ParamSpec, TypeVar, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from towerstrat.graph.ir.types import Array, HostArray
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import compilers

ALL = PartitionSpec()
"""Replicated over the whole mesh."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Parts = tuple[int, ...] | None
"""Number of parts of each dimension of a value over the logical devices of a shard; None: not split."""


class Axis:
    """A mesh axis of shards, each of one device or of several "logical" ones.

    ``map`` runs the same function on every shard, on values of its own. Within a shard values are replicated over its
    logical devices, except where ``constrain`` splits them: the compiler then partitions the work.

    Args:
      name: the mesh axis' name, ``"tower"`` for towers.
      devices: the JAX devices, in order of axis index; those of one shard follow each other.
      logical: the number of devices of each shard.
      copies_on_write: whether shards may write different values to any variable; from the first such write on each has
        its own (``graph_elements.make_varying``).

    Attributes:
      size: the number of shards.

    Raises:
      ValueError: the number of devices is no multiple of ``logical``, or 0; or they are of several processes, and some
        process has none.
    """

    def __init__(self, name: str, devices: Sequence[jax.Device], logical: int = 1, copies_on_write: bool = False):
        self.name = name
        self.devices = tuple(devices)
        self.logical = logical
        self.copies_on_write = copies_on_write
        self.size, left = divmod(len(self.devices), logical)
        if left or not self.devices:
            raise ValueError(f"Expected positions of {logical} devices each, got {len(self.devices)} devices.")
        self.one = PartitionSpec(name)
        if self.is_multi_process:
            self._require_all_processes()
            if not PROCESSES.united:
                PROCESSES.unite(jax.process_count(), jax.process_index())

    @cached_property
    def needs_mesh(self) -> bool:
        """False where the axis is just the machine's first device: programs along it need no mesh."""
        return len(self.devices) > 1 or self.devices[0] != jax.local_devices()[0]

    @cached_property
    def is_multi_process(self) -> bool:
        """Whether some of its devices are another process's: programs along it are run by all of these together.

        False of devices that are described and not there.
        """
        return jax.process_count() > 1 and any(device.process_index != jax.process_index() for device in self.devices)

    def _require_all_processes(self) -> None:
        """Raise ValueError unless every process has a shard: each runs its part of the program."""
        present = {device.process_index for device in self.devices}
        if len(present) < jax.process_count():
            raise ValueError(
                f"{self.size} {self.name}(s) on devices of the processes {sorted(present)}, in a run of "
                f"{jax.process_count()} processes: each needs a {self.name}. Ask for more, or start fewer processes."
            )

    @cached_property
    def sends_unfused(self) -> bool:
        """Whether each buffer of a collective is sent in a message of its own, so that combining them pays.

        True of gloo, by which the CPUs of several processes reduce: some 0.3 ms each, however small. Others send many
        together.
        """
        return self.is_multi_process and self.platform == "cpu"

    @cached_property
    def local_indices(self) -> tuple[int, ...]:
        """The axis indices of this process: of the shards that have a device of it."""
        if not self.is_multi_process:
            return tuple(range(self.size))
        mine = jax.process_index()
        parts = [self.devices[i * self.logical : (i + 1) * self.logical] for i in range(self.size)]
        return tuple([i for i, part in enumerate(parts) if any(d.process_index == mine for d in part)])

    @cached_property
    def most(self) -> int:
        """The largest number of shards that a process has."""
        if not self.is_multi_process:
            return self.size
        return max(Counter(device.process_index for device in self.devices[:: self.logical]).values())

    @cached_property
    def mesh(self) -> Mesh:
        """The mesh of this axis and one for each prime factor of ``logical``, all of type Auto."""
        names, sizes = _logical_axes(self.logical)
        devices = np.array(self.devices).reshape(self.size, *sizes)
        return Mesh(devices, (self.name, *names), axis_types=(AxisType.Auto,) * devices.ndim)

    @property
    def platform(self) -> str:
        platform: str = self.devices[0].platform
        return platform

    @cached_property
    def second(self) -> PartitionSpec:
        """Spec of ``[steps, shards, ...]``: the second dimension split over the axis."""
        return PartitionSpec(None, self.name)

    @cached_property
    def third(self) -> PartitionSpec:
        """Spec of ``[steps, elements, shards, ...]``: the third dimension split over the axis."""
        return PartitionSpec(None, None, self.name)

    def placed(self, spec: PartitionSpec, parts: Parts = None) -> NamedSharding:
        """The sharding of a value split by ``spec`` over shards and by ``parts`` over their logical devices."""
        if parts is None or math.prod(parts) != self.logical:
            return NamedSharding(self.mesh, spec)
        return NamedSharding(self.mesh, PartitionSpec(*spec, *_partition(parts)))

    def bring(self, values: Sequence[Array]) -> list[Array]:
        """Replicate values that are on one device, or on the host, over all devices; others stay where they are."""
        replicated = self.placed(ALL)
        return [v if len(_devices_of(v)) > 1 else put(v, replicated) for v in values]

    def put_sharded(self, shards: HostArray, dimension: int = 0) -> jax.Array:
        """The array split over the axis, of which each process gives the slices of its own shards.

        Args:
          shards: has one entry for each of ``self.local_indices`` along a dimension. Nobody writes to it later.
          dimension: the one along which shards are: 0, 1 or 2.
        """
        sharding = self.placed((self.one, self.second, self.third)[dimension])
        before = (slice(None),) * dimension
        rows = {position: shards[(*before, slice(i, i + 1))] for i, position in enumerate(self.local_indices)}
        shape = (*shards.shape[:dimension], self.size, *shards.shape[dimension + 1 :])
        return jax.make_array_from_callback(
            shape, sharding, lambda index: rows[(index or ())[dimension].start or 0], dtype=shards.dtype
        )

    def told(self, numbers: Sequence[int] | HostArray) -> HostArray:
        """All-gather of integers between processes: int32 ``[shards, numbers]``, the same in each. Collective.

        Args:
          numbers: integers of 32 bits, or a row of them for each of ``self.local_indices``.
        """
        mine = np.asarray(numbers, np.int32)
        rows = np.broadcast_to(mine, (len(self.local_indices), mine.shape[-1]))
        return np.asarray(everywhere(self.put_sharded(np.array(rows))))

    def map(self, function: Callable[P, R], in_specs: Any, out_specs: Any) -> Callable[P, R]:
        """``jax.shard_map`` of ``function`` over the axis; with one shard, the function itself.

        ``check_vma=True``: JAX proves that outputs with spec ``ALL`` are equal on all shards.
        """
        if self.size > 1:
            return jax.shard_map(
                function, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, axis_names={self.name}, check_vma=True
            )

        def alone(*args: P.args, **kwargs: P.kwargs) -> R:
            with jax.sharding.use_abstract_mesh(self.mesh.abstract_mesh):
                return function(*args, **kwargs)

        return alone

    def __repr__(self) -> str:
        return f"<Axis {self.name} of {self.size}{f' x {self.logical} devices' if self.logical > 1 else ''}>"


def _logical_axes(count: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and sizes of mesh axes for logical devices: one per prime factor, so that any partition is expressible."""
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
    """The spec that splits each dimension into its number of parts; there is one logical device per part."""
    free = list(zip(*_logical_axes(math.prod(parts)), strict=True))
    dimensions: list[tuple[str, ...] | str | None] = []
    for count in parts:
        names: list[str] = []
        for size in _logical_axes(count)[1]:
            axis = next(a for a in free if a[1] == size)
            free.remove(axis)
            names.append(axis[0])
        dimensions.append(tuple(names) if len(names) > 1 else names[0] if names else None)
    return PartitionSpec(*dimensions)


def constrain(value: Array, parts: tuple[int, ...], apart: bool = False) -> Array:
    """A sharding constraint over the logical devices of a shard; the identity where it has only one.

    Args:
      value: an array of a shard, inside of ``Axis.map``.
      parts: the number of parts of each dimension; all ones: replicated.
      apart: put optimization barriers around it, so that the constraint does not spread to the values before and after:
        the compiler refuses branches whose results, or gradients, are constrained in different ways.
    """
    if not has_logical():
        return value
    split: jax.Array
    if not apart:
        split = lax.with_sharding_constraint(value, _partition(parts))
    else:
        split = lax.optimization_barrier(constrain(lax.optimization_barrier(value), parts))
    return split


_UNDIVIDED = ContextVar("undivided", default=False)


def has_logical() -> bool:
    """Whether a program for shards of several logical devices is traced, outside of ``undivided``."""
    return "logical_0" in jax.sharding.get_abstract_mesh().axis_names and not _UNDIVIDED.get()


@contextmanager
def undivided() -> Iterator[None]:
    """Turn ``constrain`` off inside, for code that only some shards run.

    To reassemble a value that is split the compiler may insert collectives over all devices: shards that do not run the
    code would never join them.
    """
    before = _UNDIVIDED.set(True)
    try:
        yield
    finally:
        _UNDIVIDED.reset(before)


def whole(structure: T) -> T:
    """A pytree with its arrays replicated over the logical devices of each shard."""
    if not has_logical():
        return structure
    replicated: T = jax.tree.map(
        lambda v: lax.with_sharding_constraint(v, ALL) if isinstance(v, jax.Array) else v, structure
    )
    return replicated


def several_devices() -> bool:
    """Whether a program for a mesh is traced."""
    return not jax.sharding.get_abstract_mesh().empty


def varies(value: object) -> bool:
    """Whether the value's type is varying along a mapped axis; False of host arrays."""
    return isinstance(value, jax.Array) and bool(jax.typeof(value).manual_axis_type.varying)


@overload
def vary(value: jax.Array, axis: Axis | None) -> jax.Array: ...


@overload
def vary(value: Array, axis: Axis | None) -> Array: ...


def vary(value: Array, axis: Axis | None) -> Array:
    """Cast a value to varying along ``axis`` (``lax.pcast``); the transpose of the cast is a ``psum``."""
    if axis is None or varies(value):
        return value
    varying: jax.Array = lax.pcast(value, (axis.name,), to="varying")
    return varying


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def share(value: jax.Array, axis: Axis) -> jax.Array:
    """A replicated value as a varying one; its cotangent, on each shard, is the sum of all shards' (``sum_shares``).

    Source: the operators *f* and, for ``sum_shares``, *g* of Shoeybi et al., *Megatron-LM*,
    https://arxiv.org/abs/1909.08053, section 3. Each is the other's transpose.
    """
    return vary(value, axis)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def sum_shares(value: jax.Array, axis: Axis) -> jax.Array:
    """``psum`` as a varying value; the cotangent of each shard's summand is the sum's one (``share``)."""
    return vary(_sum(vary(value, axis), axis), axis)


share.defvjp(lambda value, axis: (share(value, axis), None), lambda axis, _, cotangent: (sum_shares(cotangent, axis),))
sum_shares.defvjp(
    lambda value, axis: (sum_shares(value, axis), None), lambda axis, _, cotangent: (share(cotangent, axis),)
)


def axis_index(axis: Axis | None) -> Array:
    """This shard's index along the axis, an int32 scalar; 0 without an axis."""
    return np.zeros((), np.int32) if axis is None else lax.axis_index(axis.name).astype(jnp.int32)


def at_first(value: Array, axis: Axis) -> jax.Array:
    """Broadcast from shard 0: its value on all shards, as an invariant one, by one ``psum``."""
    summand = vary(jnp.asarray(value), axis)
    summand = jnp.where(lax.axis_index(axis.name) == 0, summand, jnp.zeros_like(summand))
    if summand.dtype == jnp.bool_:
        return _sum(summand.astype(jnp.int32), axis).astype(jnp.bool_)
    return _sum(summand, axis)


def _sum(value: jax.Array, axis: Axis) -> jax.Array:
    total: jax.Array = lax.psum(value, axis.name)
    return total


def alike(*values: T) -> tuple[T, ...]:
    """Cast values to varying along every axis along which one of them varies."""
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


def _axes(value: object) -> frozenset[str]:
    return frozenset(jax.typeof(value).manual_axis_type.varying) if isinstance(value, jax.Array) else frozenset()


def _devices_of(value: object) -> Collection[jax.Device]:
    return value.sharding.device_set if isinstance(value, jax.Array) else ()


def put(value: Array, sharding: NamedSharding) -> jax.Array:
    """Place a value on devices; where some are another process's, from what each process has of it (or all of it)."""
    if sharding.is_fully_addressable or (isinstance(value, jax.Array) and not value.is_fully_addressable):
        placed: jax.Array = jax.device_put(value, sharding)
        return placed
    host = np.asarray(value)
    return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])


@overload
def everywhere(value: jax.Array) -> jax.Array: ...


@overload
def everywhere(value: T) -> T: ...


def everywhere(value: Any) -> Any:
    """All-gather of a value that lies on devices of several processes, whole in each of them; others as they are.

    All processes call it together.
    """
    if not isinstance(value, jax.Array) or value.is_fully_addressable or value.is_fully_replicated:
        return value
    sharding = value.sharding
    assert isinstance(sharding, NamedSharding)
    return _replicator(sharding.mesh)(value)


@cache
def _replicator(mesh: Mesh) -> Callable[[jax.Array], jax.Array]:
    platform: str = mesh.devices.flat[0].platform
    gather: Callable[[jax.Array], jax.Array] = compilers.jit(
        lambda value: value, platform, out_shardings=NamedSharding(mesh, ALL)
    )
    return gather


@overload
def on_one_device(value: jax.Array) -> jax.Array: ...


@overload
def on_one_device(value: T) -> T: ...


def on_one_device(value: Any) -> Any:
    """A value on several devices moved to one of them; any other value as it is."""
    if len(_devices_of(value)) < 2:
        return value
    value = everywhere(value)
    if value.is_fully_replicated:
        return value.addressable_shards[0].data
    return jax.device_put(value, value.addressable_shards[0].device)
