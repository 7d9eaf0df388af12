"""TensorArrays that a loop walks one element per iteration become the ``xs`` and ``ys`` of a scan.

Were they read by index inside the scan, the gradient of each iteration would have the size of the whole array.

A ``Walk`` is such a read or write. Its index is a loop variable that goes up or down by one, by the evaluated control
part (``trip_counts``); the array is one that the loop does not change (reads), or one that is written once per
iteration and used in no other way (writes).

>>> down = Walk(None, 4, -1)                     # elements 4, 3, 2
>>> down.lowest(3), down.fits(5, 3), down.fits(4, 3)
(2, True, False)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph_elements import Operation, Tensor, place_of
from towerstrat.graph.ir.types import Array
from towerstrat.graph.ops.control.tensor_array_lowering import Unwritten, Value
from towerstrat.graph.ops.control.trip_counts import LoopTrajectory


class Walk(NamedTuple):
    """A read or write of elements ``first, first + step, ...`` of an array, one per iteration; step is 1 or -1."""

    op: Operation
    first: int
    step: int

    def lowest(self, count: int) -> int:
        """The smallest index in ``count`` iterations."""
        return self.first if self.step == 1 else self.first - count + 1

    def fits(self, size: int, count: int) -> bool:
        """Whether all indices lie within an array of ``size`` elements."""
        return self.lowest(count) >= 0 and self.lowest(count) + count <= size

    def begins(self, size: int) -> bool:
        """Whether it goes upwards from within an array of ``size`` elements."""
        return self.step == 1 and 0 <= self.first < size

    def take(self, array: Array, count: int) -> jax.Array:
        """The elements that are read, in the order of the iterations: ``[count, ...]``, or up to the array's end."""
        rows = lax.slice_in_dim(array, self.lowest(count), min(self.lowest(count) + count, array.shape[0]))
        return rows if self.step == 1 else jnp.flip(rows, 0)

    def put(self, array: Value, rows: jax.Array) -> jax.Array:
        """The array after the iterations wrote ``rows``, ``[count, ...]`` in their order."""
        count = rows.shape[0]
        rows = rows if self.step == 1 else jnp.flip(rows, 0)
        size = array.size if isinstance(array, Unwritten) else array.shape[0]
        if size == count:
            return rows
        if isinstance(array, Unwritten):
            array = array.zeros(rows.shape[1:])
        return lax.dynamic_update_slice_in_dim(array, rows, self.lowest(count), 0)


class Walks:
    """The reads and writes of a loop's arrays that are inputs and outputs of its iterations.

    Attributes:
      reads: the reads.
      writes: loop variable, by index -> its write.
    """

    def __init__(self) -> None:
        self.reads: list[Walk] = []
        self.writes: dict[int, Walk] = {}
        self._unsure: set[Operation] = set()

    def __iter__(self) -> Iterator[Walk]:
        return iter((*self.reads, *self.writes.values()))

    def admits(self, walk: Walk, size: int, count: int, exact: bool) -> bool:
        """Whether a read or write may walk an array in a loop. Notes that it may run past the array's end.

        Args:
          walk: the read or write.
          size: number of elements of the array.
          count: number of iterations of the loop.
          exact: whether there are so many, rather than at most so many.
        """
        if walk.fits(size, count) and (exact or walk.step == 1):
            return True
        if exact or not walk.begins(size):
            return False
        self._unsure.add(walk.op)
        return True

    def is_unsure(self, walk: Walk) -> bool:
        """Whether an index of a read or write may lie outside of the array."""
        return walk.op in self._unsure


def _course_of(index: Tensor, variables: Sequence[Tensor], trajectory: LoopTrajectory) -> tuple[int, int] | None:
    """(first value, step) of an index that is a loop variable with step 1 or -1, else None."""
    number = place_of(index, variables)
    if number is None or number not in trajectory.values:
        return None
    places = np.array(trajectory.values[number])
    if places.ndim != 1 or not places.size:
        return None
    steps = np.diff(places)
    step = int(steps[0]) if steps.size else 1
    if step not in (1, -1) or (steps != step).any():
        return None
    return int(places[0]), step


def indices_in(op: Operation) -> set[Tensor]:
    """The indices at which a loop's body reads and writes arrays."""
    return {o.inputs[1] for o in op.bodies[1].needed if o.type in ("TensorArrayReadV3", "TensorArrayWriteV3")}


def reads_of(op: Operation, trajectory: LoopTrajectory, fixed: Collection[Tensor]) -> list[Walk]:
    """Reads, one element per iteration, of arrays that the loop does not change: outside ones and ``fixed``."""
    body = op.bodies[1]
    variables: Sequence[Tensor] = op.attrs["variables"][1]
    result = []
    for inner in body.needed:
        if inner.type != "TensorArrayReadV3":
            continue
        array, index = inner.inputs
        course = _course_of(index, variables, trajectory)
        if course is not None and (array in fixed or not body.encloses(array.op.block)):
            result.append(Walk(inner, *course))
    return result


def writes_of(op: Operation, trajectory: LoopTrajectory, changing: Sequence[int]) -> dict[int, Walk]:
    """Place -> write of each array that the body writes once per iteration, in order, and uses in no other way."""
    cond, body = op.bodies
    loop: tuple[Sequence[Tensor], Sequence[Tensor]] = op.attrs["variables"]
    cond_vars, variables = loop
    used_by_condition = {t for o in cond.needed for t in o.inputs}
    uses: dict[Tensor, int] = {}
    for tensor in (*(t for o in body.needed for t in o.inputs), *body.results):
        uses[tensor] = uses.get(tensor, 0) + 1
    result = {}
    for i in changing:
        output = body.results[i]
        inner = output.op
        if inner.type != "TensorArrayWriteV3" or inner.block is not body.region or cond_vars[i] in used_by_condition:
            continue
        array, index, _ = inner.inputs
        course = _course_of(index, variables, trajectory)
        if course is not None and array is variables[i] and uses[array] == 1 and uses[output] == 1:
            result[i] = Walk(inner, *course)
    return result
