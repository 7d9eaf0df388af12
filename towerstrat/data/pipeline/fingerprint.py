"""What a pipeline is, in short: whether the place in one means the same in another, perhaps of another process."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array
from towerstrat.data.pipeline.dataset_variants import Bound
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.graph_input import Computed
from towerstrat.data.pipeline.nodes import IteratorContext, Part, Seeds
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.graph_elements import Operation, Tensor, dependencies
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.types import DType
from towerstrat.platform.plain import State

_ROWS = 16
"""Rows of an array that are looked at."""
_SHOWN = 80
"""Characters of the description of a pipeline's part that messages show."""
_NAMES: dict[Any, str] = {DType: "DType", LocalIndices: "Share", TensorShape: "TensorShape"}
"""Own classes of values that pipelines hold -> what they are called in saved states."""


class _Look(NamedTuple):
    """How a pipeline is looked at.

    Attributes:
      values: of the graph tensors that it holds; None: these are described by the operations that they come from.
      rows: how many rows of an array; None: all.
    """

    values: Mapping[Tensor, Array] | None
    rows: int | None


def _checksum(node: Part, opening: IteratorContext, rows: int | None) -> int:
    return _checksum_of(node, _Look(opening.values, rows))


def _checksum_of(node: Part, look: _Look) -> int:
    return zlib.crc32(repr(_described(node, look)).encode())


def whole_checksum(node: Part, opening: IteratorContext) -> int:
    """A checksum of a part of a pipeline with all rows of its arrays."""
    return _checksum(node, opening, None)


def fingerprint(opening: IteratorContext) -> State:
    """The kinds of the nodes of a pipeline, and a checksum of all that they were given.

    Of arrays that are their types and shapes and some rows, of functions their operations. What elements cost to look
    at is not there: Python iterables and files are described by what they are, not by what is in them.
    """
    node = opening.node.meaning or opening.node
    kinds = [part.kind for part in node.walk()]
    return {"kinds": kinds, "checksum": _checksum(node, opening, _ROWS)}


def pieces(node: Part) -> list[tuple[str, str]]:
    """(text, words) for each part of a pipeline, sources first: texts are equal where the parts are.

    Where a graph computes the elements its operations are parts too, and the pipelines of its iterators.
    """
    texts = [text for part in node.walk() for text in _texts(part)]
    return [(str(zlib.crc32(text.encode())), f"the dataset {text[:_SHOWN]}") for text in reversed(texts)]


def _texts(part: Part) -> Iterator[str]:
    look = _Look(None, _ROWS)
    yield repr(_described(part, look))
    if not isinstance(part, Computed):
        return
    numbers: dict[Operation, int] = {}
    for op in part.graph.get_operations():
        yield repr(_operation(op, look, numbers))
        source = op.attrs.get("node") or getattr(op.attrs.get("iterator"), "node", None)
        if isinstance(source, Part):
            yield from (text for inner in source.walk() for text in _texts(inner))


def check_fingerprint(saved: State, found: State) -> None:
    """Raises ValueError where two fingerprints are of different pipelines."""
    if saved["kinds"] != found["kinds"]:
        raise ValueError(f"the pipeline was {_in_words(saved)}, and is {_in_words(found)}")
    if saved["checksum"] != found["checksum"]:
        raise ValueError(f"the pipeline {_in_words(found)} has other data, arguments or functions")


def _in_words(found: State) -> str:
    return " <- ".join(found["kinds"])


def _described(value: Any, look: _Look) -> Any:
    if isinstance(value, Function):
        numbers: dict[Operation, int] = {}
        return [_operation(op, look, numbers) for op in value.graph.get_operations()]
    if isinstance(value, Bound):
        return _described(value.node, _Look(value.values, look.rows))
    if isinstance(value, Part):
        return [value.kind, *(_described(v, look) for v in vars(value).values())]
    if isinstance(value, Seeds):
        return [value.graph_seed, _described(value.seed, look)]
    if isinstance(value, Structure):
        return repr((value.dtypes, value.dims))
    if isinstance(value, Tensor):
        if look.values is None:
            return _origin(value, look)
        return (
            _described(look.values[value], look) if value in look.values else (value.name, value.dtype.name, value.dims)
        )
    if isinstance(value, np.ndarray):
        return _array(value, look)
    if isinstance(value, list | tuple):
        return [_described(v, look) for v in value]
    if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
        return value
    return getattr(value, "__qualname__", None) or _NAMES.get(type(value), type(value).__qualname__)


def _origin(tensor: Tensor, look: _Look) -> Any:
    """The operations that a graph's tensor comes from; of an eager one its value."""
    if isinstance(tensor, EagerTensor):
        return _array(tensor.host(), look)
    found: set[Operation] = set()
    waiting = [tensor.op]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting += dependencies(op)
    numbers: dict[Operation, int] = {}
    return [tensor.value_index, [_operation(op, look, numbers) for op in sorted(found, key=lambda op: op.index)]]


def _operation(op: Operation, look: _Look, numbers: dict[Operation, int]) -> Any:
    """An operation of a function, in which it has the next number: names depend on the rest of the program."""
    numbers[op] = len(numbers)
    inputs = [(numbers.get(t.op), t.value_index) for t in op.inputs]
    given: Any = _described(op.attrs["value"], look) if op.type == "Const" else None
    if look.rows is None:
        given = [[name, _described(value, look)] for name, value in sorted(op.attrs.items())]
    bodies = [[_operation(inner, look, numbers) for inner in body.ops] for body in op.bodies]
    return [op.type, inputs, [(t.dtype.name, t.dims) for t in op.outputs], given, bodies]


def _array(array: Array, look: _Look) -> Any:
    rows = np.atleast_1d(array)
    some = rows[np.linspace(0, len(rows) - 1, min(look.rows or len(rows), len(rows)), dtype=np.int64)]
    if array.dtype.hasobject:
        return [array.shape, [_described(v, look) for v in some.reshape(-1)]]
    return [array.dtype.name, array.shape, zlib.crc32(np.ascontiguousarray(some).tobytes())]
