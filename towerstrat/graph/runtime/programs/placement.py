"""The devices that a program runs on: one, or those of a mesh axis, and how its arrays are sharded over them.

``mapped_axis`` finds the axis of a program's operations. A ``Placement`` moves the arguments of a run there:

    axis of 2 devices    v, a variable that is replicated      one copy on each
                         x: float32[2, 8], spec "split"        PartitionSpec("tower"), one row on each
    None                 v, x                                  on the one device

>>> placement = Placement(None, ["same"])
>>> placement.axis, placement.platform == jax.local_devices()[0].platform
(None, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import ALL, Axis, on_one_device, put
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import Array


def effective_axis(operations: Sequence[Operation]) -> Axis | None:
    """The mesh axis that some of the operations run along, None where there is none or it has size 1.

    Raises:
      ValueError: operations of two different axes (two strategies) in one run.
    """
    return along(mapped_axis(operations))


def along(axis: Axis | None) -> Axis | None:
    """The axis, or None if it has size 1: then nothing varies along it."""
    return axis if axis is not None and axis.size > 1 else None


def mapped_axis(operations: Sequence[Operation]) -> Axis | None:
    """The mesh axis over whose devices some of the operations run, None where one device runs all of them.

    Raises:
      ValueError: operations of two different axes (two strategies) in one run.
    """
    common: Axis | None = None
    first: Operation | None = None
    for op, axis in _axes(operations):
        if not axis.needs_mesh:
            continue
        if common is not None and axis is not common:
            assert first is not None
            raise ValueError(
                f"One run cannot mix two strategies: {first.name} (created at {first.line}) runs on {common}, "
                f"{op.name} (created at {op.line}) on {axis}. Run them one after the other."
            )
        common, first = axis, op
    return common


def _axes(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Axis]]:
    for op in operations:
        if op.axis is not None:
            yield op, op.axis
        elif op.definition.collective:
            yield op, op.attrs["axis"]
        for tensor in op.inputs:
            if tensor.varies and tensor.op.axis is not None:
                yield op, tensor.op.axis
        for cell in (*op.reads, *op.writes):
            if cell.axis is not None:
                yield op, cell.axis
        for body in op.bodies:
            yield from _axes(body.needed)


class Placement:
    """The devices of one program, and the shardings of its inputs and state on them.

    Args:
      mapped: the mesh axis over whose devices the program runs, None: one device.
      input_specs: for each input how it lies along the axis, see ``spec``.

    Attributes:
      axis: the same, None if it has size 1.
      platform: "cpu", "gpu" or "tpu".
      input_shardings: one for each input; none on one device.
      unverified: until the program is compiled, name -> local state that must be identical on all processes that run
        it.
    """

    __slots__ = ("_seen", "_state_shardings", "axis", "input_shardings", "mapped", "platform", "unverified")

    def __init__(self, mapped: Axis | None, input_specs: Sequence[str]):
        self.mapped = mapped
        self.axis = along(mapped)
        self.platform: str = mapped.platform if mapped is not None else jax.local_devices()[0].platform
        self.input_shardings = [] if mapped is None else [mapped.placed(self.spec(s)) for s in input_specs]
        self.unverified: dict[str, Array] | None = {}
        self._state_shardings: dict[StateVariable, NamedSharding] = {}
        self._seen: dict[StateVariable, jax.sharding.Sharding] = {}
        """The sharding object of a variable's array that was right before: the comparison by identity is cheap."""

    def spec(self, kind: str) -> PartitionSpec:
        """The PartitionSpec of an input or output.

        Args:
          kind: "split": dimension 0 is the axis; "rows": dimension 0 is divided along the axis; "steps": [step, axis,
            ...];
            "iterations": [iteration, take, axis, ...]; "same": replicated.
        """
        if self.axis is None or kind == "same":
            return ALL
        return {"steps": self.axis.second, "iterations": self.axis.third}.get(kind, self.axis.one)

    def state_specs(self, cells: Iterable[StateVariable]) -> list[PartitionSpec]:
        """The PartitionSpecs of variables: those that vary along the axis are split."""
        return [self.spec("split" if cell.is_varying else "same") for cell in cells]

    def state_shardings(self, cells: Iterable[StateVariable]) -> list[NamedSharding]:
        """The shardings of the variables' arrays in the store, before and after the program."""
        return [self._state_sharding(cell) for cell in cells]

    def _state_sharding(self, cell: StateVariable) -> NamedSharding:
        assert self.mapped is not None
        if cell not in self._state_shardings:
            (spec,) = self.state_specs([cell])
            self._state_shardings[cell] = self.mapped.placed(spec, cell.parts)
        return self._state_shardings[cell]

    def gather(self, store: StateStore, cells: Sequence[StateVariable], donating: bool) -> list[Array]:
        """The variables' arrays, on the program's devices; a donated one is copied if somebody else holds it."""
        result: list[Array] = []
        seen: set[int] = set()
        for cell in cells:
            value = store.get(cell)
            if not isinstance(value, jax.Array) or value.sharding is not self._seen.get(cell):
                value = self._place(store, cell, value, donating)
            if donating:
                # No buffer may be donated twice, or while somebody else holds it.
                if id(value) in seen or store.has_shared_buffer(cell):
                    value = jnp.copy(value)
                seen.add(id(value))
            result.append(value)
        return result

    def _place(self, store: StateStore, cell: StateVariable, value: Array, donating: bool) -> Array:
        """A variable's array with the program's sharding, or on its one device."""
        if self.mapped is not None:
            sharding = self._state_sharding(cell)
            value = cell.stacked(value)
            if isinstance(value, jax.Array) and value.sharding == sharding:
                self._seen[cell] = value.sharding
                return value
            if self.mapped.is_multi_process and self.unverified is not None:
                self.unverified[f"the variable {cell.name}"] = value
            placed: jax.Array = put(_detach(value), sharding)
            if not donating:
                store.move({cell: placed})
            return placed
        if not isinstance(value, jax.Array):
            alone: jax.Array = jax.device_put(np.array(value))
            return alone
        if len(value.sharding.device_set) > 1:
            moved: jax.Array = on_one_device(value)
            return jnp.copy(moved) if donating else moved
        self._seen[cell] = value.sharding
        return value

    def bring(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Inputs, moved to the program's devices where they are elsewhere."""
        if self.mapped is None:
            return [on_one_device(v) if isinstance(v, jax.Array) else v for v in inputs]
        pairs = zip(inputs, self.input_shardings, strict=True)
        return [put(v, sharding) if _must_move(v, sharding) else v for v, sharding in pairs]


def _must_move(value: Array, sharding: NamedSharding) -> bool:
    """Whether an input must be moved: it is on other devices, or on the host and sharded over processes."""
    if isinstance(value, jax.Array):
        return value.sharding != sharding
    return not sharding.is_fully_addressable and not sharding.is_fully_replicated


def _detach(value: Array) -> Array:
    """A value that is safe from later in-place writes: a device array itself, a copy of a numpy array."""
    return value if isinstance(value, jax.Array) else np.array(value)
