"""Checks of operations' inputs that several types share: divisors, indices, labels, lengths, matrices.

Each is an ``InputCheck`` for a type's definition. Its test looks at values that are numpy's (then it is decided at
once) or tracers (then ``CheckResult.bad`` is a traced bool, and the lowering keeps it in the error record). The
messages begin as the original's do and show the first entry that is wrong:

>>> finding = rows(np.array([0, 7]), 5)
>>> finding.bad, finding.message(*finding.shown)
(np.True_, 'indices[1] = 7 is not in [0, 5)')

Static shapes leave padding rows, whose indices lie past the end of every table (``LEFT_OVER`` to ``PADDING``): reads
clip them, writes drop them, and the checks let them pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.types import Array, HostArray

Values: TypeAlias = Sequence[Array]
PADDING = np.iinfo(np.int32).max
"""The largest index of padding rows, which lie past the end of every table: reads are clipped, writes dropped."""
_SHOWN = 8
"""Coordinates that a message shows at most."""
LEFT_OVER = PADDING - (1 << 24)
"""The smallest index of padding rows."""


class ArrayNamespace(Protocol):
    """``numpy`` or ``jax.numpy``: the functions that checks call."""

    def any(self, a: Array, /, *, axis: int | None = None) -> Array: ...

    def asarray(self, a: Array | np.signedinteger, dtype: type[np.generic], /) -> Array: ...

    def broadcast_to(self, a: Array, shape: tuple[int, ...], /) -> Array: ...

    def isnan(self, a: Array, /) -> Array: ...

    def logical_not(self, a: Array, /) -> Array: ...

    def reshape(self, a: Array, shape: tuple[int, ...], /) -> Array: ...


def on_host(*values: object) -> bool:
    """Whether all values are numpy's, or Python's."""
    return all(isinstance(v, np.ndarray | np.generic | int | float) for v in values)


def _first_true(bad: Array) -> tuple[Array | np.bool_, Array | np.signedinteger]:
    """(scalar bool: any of ``bad`` [n] is true, index of the first). Traced, one reduction gives both."""
    if on_host(bad):
        return np.any(bad), np.argmax(bad)
    count = bad.shape[0]
    index = jnp.min(jnp.where(bad, lax.iota(jnp.int64 if count > PADDING else jnp.int32, count), count))
    return index < count, jnp.minimum(index, count - 1)


def first_of(bad: Array, *values: Array, message: Callable[..., str]) -> CheckResult | None:
    """Find the first true entry of ``bad``; None where it is empty.

    Args:
      bad: booleans.
      values: arrays of the same shape, of which the message gets the entry.
      message: (place of the entry as text, such as "[1,0]", entries of ``values``) -> text.
    """
    if not np.size(bad):
        return None
    numpy: ArrayNamespace = np if on_host(bad) else jnp
    shape = np.shape(bad)
    any_true, index = _first_true(numpy.reshape(bad, (-1,)))
    entries = [numpy.reshape(numpy.broadcast_to(v, shape), (-1,))[index] for v in values]

    def text(index: HostArray, *entries: HostArray) -> str:
        where = ",".join(str(int(i)) for i in np.unravel_index(int(index), shape)) if shape else ""
        return message(f"[{where}]" if shape else "", *entries)

    number = np.int32 if np.size(bad) <= np.iinfo(np.int32).max else np.int64
    return CheckResult(any_true, (numpy.asarray(index, number), *entries), text)


def _zero_divisor(op: Operation, values: Values) -> CheckResult | None:
    divisor = values[1]
    if not op.inputs[1].dtype.is_integer or not np.size(values[0]):
        return None
    return first_of(divisor == 0, message=lambda where: f"Integer division by zero: divisor{where} is 0")


DIVISOR = InputCheck(_zero_divisor, (1,))
"""Of integers: the second input, a divisor, is nowhere 0."""


def _negative_exponent(op: Operation, values: Values) -> CheckResult | None:
    exponent = values[1]
    if not op.inputs[1].dtype.is_integer or op.inputs[1].dtype.is_unsigned or not np.size(values[0]):
        return None
    return first_of(
        exponent < 0,
        exponent,
        message=lambda where, e: f"Integers to negative integer powers are not allowed: exponent{where} is {int(e)}",
    )


EXPONENT = InputCheck(_negative_exponent, (1,))
"""Of integers: the second input, an exponent, is nowhere negative."""


def outside(indices: Array, size: int) -> Array:
    """Mask of the indices that are not in [0, size)."""
    if np.dtype(indices.dtype).itemsize < 8 and size > np.iinfo(indices.dtype).max:
        return indices < 0
    return (indices < 0) | (indices >= np.asarray(size, indices.dtype))


def beyond(indices: Array, size: int) -> Array:
    """Mask of the indices that are not in [0, size), except those of padding rows, which lie past every table."""
    numpy: ArrayNamespace = np if on_host(indices) else jnp
    mask = outside(indices, size)
    if np.iinfo(indices.dtype).max < LEFT_OVER:
        return mask
    return mask & numpy.logical_not((indices >= LEFT_OVER) & (indices <= PADDING))


def in_range(indices: Array, size: int, description: str = "indices") -> CheckResult | None:
    """Check that every index is in [0, size)."""
    return first_of(
        outside(indices, size),
        indices,
        message=lambda where, i: f"{description}{where} = {int(i)} is not in [0, {size})",
    )


def known_sizes(position: int, message: str) -> InputCheck:
    """The check that sizes which must be known are not negative. ``message`` has fields ``where`` and ``size``."""

    def test(op: Operation, values: Values) -> CheckResult | None:
        sizes = values[position]
        if not on_host(sizes):
            return None
        return first_of(sizes < 0, sizes, message=lambda where, s: message.format(where=where, size=int(s)))

    return InputCheck(test, (position,))


def indices(
    size: Callable[[Operation, Values], int | None], position: int = 1, description: str = "indices"
) -> InputCheck:
    """The check that an input holds indices below a size, a function of the operation and its inputs; None: any."""

    def test(op: Operation, values: Values) -> CheckResult | None:
        limit = size(op, values)
        return None if limit is None else in_range(values[position], limit, description)

    return InputCheck(test, (position,))


def rows(indices: Array, size: int) -> CheckResult | None:
    """Check that every index is in [0, size) or of a padding row."""
    return first_of(
        beyond(indices, size), indices, message=lambda where, i: f"indices{where} = {int(i)} is not in [0, {size})"
    )


ROWS = InputCheck(lambda op, values: rows(values[1], values[0].shape[0]), (1,))
"""The second input holds indices of rows of the first, or of padding rows."""


def _coordinates(op: Operation, values: Values) -> CheckResult | None:
    return coordinates(values[1], values[0].shape, "shape")


COORDINATES = InputCheck(_coordinates, (1,))
"""The second input holds coordinates in the shape of the first."""


def coordinates(indices: Array, shape: Sequence[int], description: str) -> CheckResult | None:
    """Check that every row of the last dimension is a (partial) coordinate in a shape."""
    depth = indices.shape[-1]
    numpy: ArrayNamespace = np if on_host(indices) else jnp
    if not depth or not indices.size:
        return None
    limits = np.asarray(shape[:depth])
    bad = numpy.any((indices < 0) | (indices >= limits.astype(np.int64)), axis=-1)
    failed, index = _first_true(numpy.reshape(bad, (-1,)))
    outer = indices.shape[:-1]

    def text(index: HostArray, row: HostArray) -> str:
        where = ",".join(str(int(i)) for i in np.unravel_index(int(index), outer)) if outer else ""
        entries = ", ".join(str(int(i)) for i in row)
        return f"indices[{where}] = [{entries}] does not index into {description} [{','.join(map(str, shape))}]"

    return CheckResult(failed, (index, numpy.reshape(indices, (-1, depth))[index][:_SHOWN]), text)


def not_finite(words: str) -> Callable[[Array], CheckResult]:
    """A check of a decomposition's result: the finding, with this message, that it has a NaN."""

    def find_nan(result: Array) -> CheckResult:
        numpy: ArrayNamespace = np if on_host(result) else jnp
        return CheckResult(numpy.any(numpy.isnan(result)), (), lambda: words)

    return find_nan
