"""The backward walk: what was recorded of operations as they were evaluated, and sums of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, vary


class Record(NamedTuple):
    """What an evaluated operation left for gradients.

    Attributes:
      order: its place in the order of evaluation within its region.
      pull: output cotangents -> input cotangents (``jax.vjp``'s), or None where the type has a rule of its own.
      sources, results: the inputs and outputs that ``pull`` is about.
      primals: the outputs' values as they were computed, before feeds replaced any.
    """

    order: int
    pull: Callable[..., Any] | None
    sources: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    primals: tuple[Any, ...] = ()


class Rows(NamedTuple):
    """A cotangent that is zero but for some rows: ``values[i]`` belongs to row ``indices[i]``."""

    values: Any
    indices: Any

    def dense(self, like: Any) -> Any:
        return jnp.zeros(like.shape, self.values.dtype).at[self.indices].add(self.values)


class Cotangents:
    """Sums of cotangents by tensor."""

    def __init__(self) -> None:
        self._parts: dict[Tensor, list[Any]] = {}

    def add(self, tensor: Tensor, value: Any) -> None:
        if value is not None:
            self._parts.setdefault(tensor, []).append(value)

    def rows(self, tensor: Tensor) -> Rows | None:
        """The sum as rows, where it is nothing but rows."""
        parts = self._parts.get(tensor)
        if not parts or not all(isinstance(p, Rows) for p in parts):
            return None
        if len(parts) == 1:
            return parts[0]
        return Rows(jnp.concatenate([p.values for p in parts]), jnp.concatenate([p.indices for p in parts]))

    def total(self, tensor: Tensor, like: Any = None) -> Any:
        """The sum as one array, or None where nothing came."""
        parts = self._parts.get(tensor)
        if not parts:
            return None
        arrays = [p.dense(like) if isinstance(p, Rows) else p for p in parts]
        result = arrays[0]
        for other in arrays[1:]:
            result = result + other
        return result


def pull_back(record: Record, cotangents: Sequence[Any], axis: Axis | None) -> Mapping[Tensor, Any]:
    """Input cotangents of one recorded operation; missing output cotangents are zeros."""
    assert record.pull is not None
    filled = []
    for cotangent, primal in zip(cotangents, record.primals, strict=True):
        if cotangent is None:
            cotangent = jnp.zeros(primal.shape, primal.dtype)
        filled.append(vary(jnp.asarray(cotangent, primal.dtype), axis))
    return dict(zip(record.sources, record.pull(filled), strict=True))


def ones_like(value: Any) -> Any:
    return np.ones(np.shape(value), value.dtype)


def reverse(path: Sequence[Operation], records: Mapping[Operation, Record]) -> list[Operation]:
    """The recorded operations of a path, last evaluated first."""
    return sorted((op for op in path if op in records), key=lambda op: -records[op].order)
