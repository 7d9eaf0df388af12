"""Failed checks in compiled programs: one record, written by the first check that fails.

A device program raises nothing. Its record is a vector of int32: a number that stands for the check, 0 for none, and
the bits of the values that its message shows, in two numbers where they are 64. (A TPU makes every operation on int64
two.) Along a mesh axis each position has its own. It travels as the cell ``ERROR_RECORD`` does, through loops and
branches; the host reads it after the program and raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.types import Array


class _Shown(NamedTuple):
    """One value in a record: its numpy type, its shape, and the type of its bits."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    bits: np.dtype[Any]


class _Entry(NamedTuple):
    op: Operation
    finding: CheckResult
    shown: tuple[_Shown, ...]


class ErrorRecords:
    """The checks that one program evaluates: what the numbers in its record stand for."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self._entries: list[_Entry] = []

    def record(self, op: Operation, finding: CheckResult, size: int) -> jax.Array:
        """The record of a check that fails, ``[size]``."""
        shown, words = [], []
        for value in finding.shown:
            bits, dtype = self._bits(value)
            shown.append(_Shown(np.dtype(value.dtype), tuple(np.shape(value)), dtype))
            words.append(_words_of(jnp.ravel(bits)))
        self._entries.append(_Entry(op, finding, tuple(shown)))
        parts = jnp.concatenate([jnp.full((1,), len(self._entries), jnp.int32), *words])
        return jnp.pad(parts, (0, size - parts.shape[0]))

    def _bits(self, value: Any) -> tuple[Array, np.dtype[Any]]:
        """A value as integers, and the type whose bits they are."""
        value = jnp.asarray(value)
        if not jnp.issubdtype(value.dtype, jnp.floating):
            return value, np.dtype(value.dtype)
        if value.dtype == jnp.float64 and self.platform != "tpu":  # a TPU makes doubles of pairs of floats
            return lax.bitcast_convert_type(value, jnp.int64), np.dtype(np.float64)
        return lax.bitcast_convert_type(value.astype(jnp.float32), jnp.int32), np.dtype(np.float32)

    def error(self, records: Array) -> InvalidArgumentError | None:
        """The error of a record, or of the first with one among ``[positions, size]``; None where there is none."""
        rows = np.asarray(records)
        # One position is the usual case, and read after every run: without the cost of a reduction by numpy.
        if not (rows.item(0) if rows.ndim == 1 else rows[:, 0].any()):
            return None
        rows = np.atleast_2d(rows)
        position = np.flatnonzero(rows[:, 0])[0]
        row = rows[position]
        entry = self._entries[int(row[0]) - 1]
        values, start = [], 1
        for shown in entry.shown:
            count = int(np.prod(shown.shape)) * (2 if shown.bits.itemsize == 8 else 1)
            words = row[start : start + count]
            start += count
            if shown.bits.itemsize >= 4:
                words = words.view(shown.bits)
            values.append(words.astype(shown.dtype).reshape(shown.shape))
        message = entry.finding.messages[position] if entry.finding.messages else entry.finding.message
        return InvalidArgumentError(None, entry.op, message(*values))


def record_size(operations: Iterable[Operation]) -> int:
    """Elements of the record of a program with such operations."""
    return 1 + 2 * max(_words(operations), default=0)


def _words(operations: Iterable[Operation]) -> Sequence[int]:
    found: list[int] = []
    for op in operations:
        if op.checks and op.definition.check is not None:
            found.append(op.definition.check.words(op))
        for body in op.bodies:
            found += _words(body.needed)
    return found


def no_error(size: int) -> np.ndarray[Any, Any]:
    """A record of ``size`` elements that no check has written."""
    return np.zeros(size, np.int32)


def _words_of(bits: Any) -> jax.Array:
    """Integers, ``[n]``, as int32: two of each that has 64 bits."""
    if bits.dtype.itemsize < 4:
        return jnp.asarray(bits, jnp.int32)
    return jnp.ravel(lax.bitcast_convert_type(bits, jnp.int32))


def failed_anywhere(found: Array, axis: Axis | None) -> jax.Array:
    """Scalar bool, equal at all positions: whether a check has failed at one of them. ``found``: at this one."""
    if axis is None:
        return jnp.asarray(found)
    return lax.psum(failing(found, axis), axis.name) > 0


def failing(found: Array, axis: Axis | None) -> jax.Array:
    """Whether a check has failed at this position, as a float, to be added up with the gradients."""
    return vary(jnp.asarray(found), axis).astype(jnp.float32)


def found_on_host(check: InputCheck, op: Operation, values: Sequence[Any]) -> InvalidArgumentError | None:
    """The error of a check on known values, evaluated by numpy; None where it passes."""
    wanted = [np.asarray(v) if i in check.values else v for i, v in enumerate(values)]
    finding = check.test(op, wanted)
    if finding is None or not bool(finding.bad):
        return None
    return InvalidArgumentError(None, op, finding.message(*(np.asarray(v) for v in finding.shown)))
