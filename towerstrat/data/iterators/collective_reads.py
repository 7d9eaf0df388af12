"""Elements that several processes take together: each brings the parts of its own positions, and all end together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn

import jax
import numpy as np

from towerstrat.data.iterators.iterator_resource import IteratorResource
from towerstrat.data.iterators.string_broadcast import broadcast_strings
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.fingerprint import pieces
from towerstrat.data.pipeline.nodes import INFINITE, UNKNOWN, DatasetNode, Part
from towerstrat.data.pipeline.sources import Generated, Iterated
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.types import DType, HostArray, string
from towerstrat.graph.ir.uneven_shards import UnevenShards, exactly, of_parts
from towerstrat.graph.runtime.loops.collective_input import ENDED, FAILED, THERE, raise_first_failure, who_ended
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.platform import logs

ALIKE = (
    "The input function gives the same in all %d processes: its elements are dealt to them in turn. Where each process "
    "is to read a part only, the function chooses it by the number of the process that it is told."
)
"""A line of the log, where each process could have data of its own."""
_RANK = 8
"""Dimensions of components whose rank is not known."""


def gather_next(resource: IteratorResource, axis: Axis | None, uneven: bool = True) -> list[Any]:
    """The next element of an iterator; along an axis that processes share one of which each has its own parts.

    Args:
      uneven: whether its parts may have different shapes.

    Raises:
      InvalidArgumentError: they have, and may not; the element is back.
      StopIteration: there is none, in one process at least: its value says in which. What others took is back. Where
        processes go on until the data of all has ended: in none.
      FailedPreconditionError: it was not initialized.
      Exception: the pipeline raised it; of another process' pipeline it is an OpError that names that.
    """
    if axis is None or not axis.is_multi_process:
        return resource.next()
    if resource.traits.apart and not resource.agreement.asked:
        _ask(resource)
    own: list[Any] | None
    with jax.enable_x64(True):
        if resource.traits.alone and not resource.traits.apart and resource.used >= (resource.agreement.promised or 0):
            _make_ahead(resource, axis)
        promised = resource.agreement.promised
        ended = promised is not None and resource.used >= promised
        if resource.traits.apart and (promised is None or (ended and resource.traits.fills)):
            own, found = _agreed(resource, axis)
        elif ended:
            raise StopIteration(": one of the processes has no more elements")
        else:
            own = resource.next()
            found = [_spread(axis, part) for part in own]
    if not uneven and any(isinstance(part, UnevenShards) for part in found):
        resource.push_back([] if own is None else [own])
        shapes = [list(part.shape if isinstance(part, UnevenShards) else part.shape[1:]) for part in found]
        raise InvalidArgumentError(
            None,
            None,
            f"The towers' next elements have different shapes: {shapes}. Use batch(..., drop_remainder=True).",
        )
    return found


def require_alike(node: DatasetNode) -> None:
    """Returns where all processes are about to divide the same pipeline among their positions.

    Raises:
      FailedPreconditionError: they have different ones; it names the process, and the part that differs.
    """
    found = pieces(node)
    COLLECTIVES.agree("dividing a dataset", {"the dataset": " ".join(text for text, _ in found)}, lambda: found)


def are_alike(node: DatasetNode) -> bool:
    """Whether all processes have the same pipeline."""
    return len(set(COLLECTIVES.gather(" ".join(text for text, _ in pieces(node)), str))) == 1


def are_surely_alike(node: DatasetNode) -> bool:
    """Whether all processes have the same pipeline, in which no Python, that cannot be compared, tells them apart."""
    alike = are_alike(node)
    return alike and not any(isinstance(part, Generated | Iterated) or _calls_python(part) for part in node.walk())


def _calls_python(part: Part) -> bool:
    functions = [value for value in vars(part).values() if isinstance(value, Function)]
    return any(op.type.startswith("PyFunc") for function in functions for op in function.graph.get_operations())


def _ask(resource: IteratorResource) -> None:
    """Learns once how many elements all processes have, where each knows how many it has, all of one shape."""
    total = UNKNOWN if string in resource.structure.dtypes else resource.alike
    left = max(0, total - resource.used) if total >= 0 else total
    found = COLLECTIVES.gather(left, int)
    resource.agreement.asked = True
    known = [count for count in found if count != INFINITE]
    if UNKNOWN not in found:
        resource.agreement.promised = resource.used + min(known, default=math.inf)
        return
    logs.info(
        "The processes' pipelines do not say how many elements they have, or may fail: where one element is taken by "
        "itself, the processes first tell each other whether they have one. Loops on the device do so once per program "
        "at most."
    )


def _agreed(resource: IteratorResource, axis: Axis) -> tuple[list[Any] | None, list[Any]]:
    """(own parts, all) of the next element, of processes that tell each other whether they have one, and its shapes.

    Own parts are None where this process' data has ended, and it gives batches of nothing.
    """
    element: list[Any] | None = None
    error: Exception | None = None
    state = THERE
    try:
        element = resource.next()
    except StopIteration:
        state = ENDED
    except Exception as caught:
        state, error = FAILED, caught
    told = axis.told(_shapes(resource, element, state, len(axis.local_indices)))
    ended, there = told[:, 0] == ENDED, told[:, 0] == THERE
    goes_on = there.any() and (ended | there).all() if resource.traits.fills else there.all()
    resource.agreement.waits = bool(goes_on) and element is None
    if not goes_on:
        if element is not None:
            resource.push_back([element])
        _end_together(state, error)
    told = np.where(ended[:, None], told[np.argmax(there)], told)
    found, texts, at = list[Any](), {}, 1
    for i, (dtype, dims) in enumerate(zip(resource.structure.dtypes, resource.structure.dims, strict=True)):
        rank = int(told[0, at])
        told[ended, at + 1 : at + 1 + min(rank, 1)] = 0  # the batch has no rows
        part = None if element is None else element[i]
        shapes = [tuple(map(int, row)) for row in told[:, at + 1 : at + 1 + rank]]
        at += 1 + (_RANK if dims is None else len(dims))
        if dtype is string:
            texts[i] = shapes
        found.append(None if dtype is string else _joined(axis, part, shapes, dtype))
    for i, whole in zip(texts, _whole_texts(axis, element, texts), strict=True):
        found[i] = whole
    return element, found


def _whole_texts(
    axis: Axis, element: Sequence[Any] | None, shapes: Mapping[int, Sequence[tuple[int, ...]]]
) -> list[Any]:  # fmt: skip
    """The components of texts with the parts of all positions, which each process has then.

    Args:
      element: this process' parts, None where there is nothing. shapes: by component, those at each position.
    """
    if not shapes:
        return []
    own: list[list[bytes]] = [[] for _ in axis.local_indices]
    for part in [] if element is None else [element[i] for i in shapes]:
        for k, texts in enumerate(own):
            texts += (part.part(k) if isinstance(part, UnevenShards) else part[k, ...]).reshape(-1).tolist()
    sizes = [[math.prod(shape) for shape in of_positions] for of_positions in shapes.values()]
    rest = [iter(texts) for texts in broadcast_strings(axis, own, [sum(each) for each in zip(*sizes, strict=True)])]
    return [of_parts([_shaped(texts, s) for texts, s in zip(rest, each, strict=True)]) for each in shapes.values()]


def _shaped(texts: Iterator[bytes], shape: tuple[int, ...]) -> HostArray:
    """The next texts, as an array."""
    found = np.empty(math.prod(shape), object)
    found[:] = list(islice(texts, len(found)))
    return found.reshape(shape)


def _make_ahead(resource: IteratorResource, axis: Axis) -> None:
    """Learns how many of the next elements all processes have made, where one may fail to make its parts.

    Raises:
      StopIteration: there is none. Exception: a process could not make the next one, which all leave out.
    """
    taken: list[list[Any]] = []
    error: Exception | None = None
    state = THERE
    try:
        taken.append(resource.next())
        while resource.made() and not resource.live:
            taken.append(resource.next())
    except StopIteration:
        state = ENDED
    except Exception as caught:
        state, error = FAILED, caught
    except BaseException:
        resource.push_back(taken)
        raise
    least = int(axis.told([len(taken)]).min())
    resource.push_back(taken if least else taken[1:])
    if not least:
        _end_together(state, error)
    resource.agreement.promised = resource.used + least


def _shapes(resource: IteratorResource, element: Sequence[Any] | None, state: int, own: int) -> HostArray:
    """What a process says of its next element: ``[own positions, (state, rank and shape of each component)]``."""
    widths = [1 + (_RANK if dims is None else len(dims)) for dims in resource.structure.dims]
    rows = np.zeros((own, 1 + sum(widths)), np.int32)
    rows[:, 0] = state
    at = 1
    for part, width in zip(element or (), widths, strict=False):
        shapes = part.shapes if isinstance(part, UnevenShards) else [part.shape[1:]] * own
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
    if isinstance(part, UnevenShards):
        return UnevenShards(axis.put_sharded(np.asarray(part.padded)), part.shapes)
    return axis.put_sharded(part)


def _joined(axis: Axis, part: Any, shapes: Sequence[tuple[int, ...]], dtype: DType) -> Any:
    """A component whose parts have these shapes at all positions, of which this process has its own, or nothing."""
    alike = len(set(shapes)) == 1
    if alike and part is not None:
        return axis.put_sharded(np.asarray(part.padded if isinstance(part, UnevenShards) else part))
    whole = np.zeros((len(axis.local_indices), *np.max(np.asarray(shapes, int), axis=0)), dtype.np)
    if part is None:
        return axis.put_sharded(whole) if alike else UnevenShards(axis.put_sharded(whole), shapes)
    for i, position in enumerate(axis.local_indices):
        inside = exactly(shapes[position])
        whole[i, ...][inside] = part.part(i) if isinstance(part, UnevenShards) else part[i]
    return UnevenShards(axis.put_sharded(whole), shapes)
