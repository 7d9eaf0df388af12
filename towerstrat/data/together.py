"""Elements that several processes take together: each brings the parts of its own positions, and all end together."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import jax
import numpy as np

from towerstrat.data.fingerprint import pieces
from towerstrat.data.iterator_resource import IteratorResource
from towerstrat.data.pipeline import INFINITE, Node
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.types import HostArray
from towerstrat.graph.ir.uneven import Uneven, exactly
from towerstrat.graph.runtime.shared_input import ENDED, FAILED, THERE, raise_first_failure, who_ended
from towerstrat.hosts.exchange import AGREEMENT
from towerstrat.platform import logs

ALIKE = (
    "The input function gives the same in all %d processes: its elements are dealt to them in turn. Where each process "
    "is to read a part only, the function chooses it by the number of the process that it is told."
)
"""A line of the log, where each process could have data of its own."""
_RANK = 8
"""Dimensions of components whose rank is not known."""


def next_of(resource: IteratorResource, axis: Axis | None, uneven: bool = True) -> list[Any]:
    """The next element of an iterator; along an axis that processes share one of which each has its own parts.

    Args:
      uneven: whether its parts may have different shapes.

    Raises:
      InvalidArgumentError: they have, and may not; the element is back.
      StopIteration: there is none, in one process at least: its value says in which. What others took is back.
      FailedPreconditionError: it was not initialized.
      Exception: the pipeline raised it; of another process' pipeline it is an OpError that names that.
    """
    if axis is None or not axis.spans:
        return resource.next()
    if resource.apart and not resource.asked:
        _ask(resource)
    promised = resource.promised
    agreed = resource.alone or (resource.apart and promised is None)
    with jax.enable_x64(True):
        if agreed:
            own, found = _agreed(resource, axis)
        elif promised is not None and resource.used >= promised:
            raise StopIteration(": one of the processes has no more elements")
        else:
            own = resource.next()
            found = [_spread(axis, part) for part in own]
    if not uneven and any(isinstance(part, Uneven) for part in found):
        resource.push_back([own])
        shapes = [list(part.shape if isinstance(part, Uneven) else part.shape[1:]) for part in found]
        raise InvalidArgumentError(
            None,
            None,
            f"The towers' next elements have different shapes: {shapes}. Use batch(..., drop_remainder=True).",
        )
    return found


def require_alike(node: Node) -> None:
    """Returns where all processes are about to divide the same pipeline among their positions.

    Raises:
      FailedPreconditionError: they have different ones; it names the process, and the part that differs.
    """
    found = pieces(node)
    AGREEMENT.require("dividing a dataset", {"the dataset": " ".join(text for text, _ in found)}, lambda: found)


def are_alike(node: Node) -> bool:
    """Whether all processes have the same pipeline."""
    return len(set(AGREEMENT.all_of(" ".join(text for text, _ in pieces(node))))) == 1


def _ask(resource: IteratorResource) -> None:
    """Learns once how many elements all processes have, where each knows how many it has, all of one shape."""
    dims = resource.structure.dims
    fixed = all(d is not None and None not in d for d in dims)
    total = resource.total
    left = max(0, total - resource.used) if fixed and total >= 0 else total if fixed else None
    found = [json.loads(text) for text in AGREEMENT.all_of(json.dumps(left))]
    resource.asked = True
    known = [count for count in found if count is not None and count != INFINITE]
    if all(count is not None and count >= INFINITE for count in found):
        resource.promised = resource.used + min(known, default=math.inf)
        return
    logs.info(
        "The processes' pipelines do not say how many elements they have, or may fail: where one element is taken by "
        "itself, the processes first tell each other whether they have one. Loops on the device do so once per program "
        "at most."
    )


def _agreed(resource: IteratorResource, axis: Axis) -> tuple[list[Any], list[Any]]:
    """(own parts, all) of the next element, of processes that tell each other whether they have one, and its shapes."""
    element: list[Any] | None = None
    error: Exception | None = None
    state = THERE
    try:
        element = resource.next()
    except StopIteration:
        state = ENDED
    except Exception as caught:
        state, error = FAILED, caught
    told = axis.told(_shapes(resource, element, state, len(axis.own)) if resource.apart else [state])
    if (told[:, 0] != THERE).any():
        if element is not None and resource.apart:
            resource.push_back([element])
        _end_together(state, error)
    assert element is not None
    if not resource.apart:
        return element, [_spread(axis, part) for part in element]
    found, at = [], 1
    for part, dims in zip(element, resource.structure.dims, strict=True):
        rank = int(told[0, at])
        found.append(_joined(axis, part, [tuple(map(int, row)) for row in told[:, at + 1 : at + 1 + rank]]))
        at += 1 + (_RANK if dims is None else len(dims))
    return element, found


def _shapes(resource: IteratorResource, element: Sequence[Any] | None, state: int, own: int) -> HostArray:
    """What a process says of its next element: ``[own positions, (state, rank and shape of each component)]``."""
    widths = [1 + (_RANK if dims is None else len(dims)) for dims in resource.structure.dims]
    rows = np.zeros((own, 1 + sum(widths)), np.int32)
    rows[:, 0] = state
    at = 1
    for part, width in zip(element or (), widths, strict=False):
        shapes = part.shapes if isinstance(part, Uneven) else [part.shape[1:]] * own
        for row, shape in zip(rows, shapes, strict=True):
            row[at : at + 1 + len(shape)] = (len(shape), *shape)
        at += width
    return rows


def _end_together(state: int, error: Exception | None) -> NoReturn:
    """Raises what ended or failed in some process, in all of them."""
    states = raise_first_failure(state, error)
    raise StopIteration(who_ended(states))


def _spread(axis: Axis, part: Any) -> Any:
    """A component of which this process has its own positions' parts, on the devices of all. Texts stay on the host."""
    if part.dtype.hasobject:
        return part
    if isinstance(part, Uneven):
        return Uneven(axis.spread(np.asarray(part.padded)), part.shapes)
    return axis.spread(part)


def _joined(axis: Axis, part: Any, shapes: Sequence[tuple[int, ...]]) -> Any:
    """A component whose parts have these shapes at all positions, of which this process has its own."""
    if len(set(shapes)) == 1:
        return axis.spread(np.asarray(part.padded if isinstance(part, Uneven) else part))
    whole = np.zeros((len(axis.own), *np.max(np.asarray(shapes), axis=0)), part.dtype)
    for i, position in enumerate(axis.own):
        inside = exactly(shapes[position])
        whole[i, ...][inside] = part.part(i) if isinstance(part, Uneven) else part[i]
    return Uneven(axis.spread(whole), shapes)
