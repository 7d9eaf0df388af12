"""Failed checks in compiled programs: one int32 vector, written by the first check that fails.

A device program cannot raise. So it carries a record, as ``jax.experimental.checkify`` does: the number of the check
that failed (0: none), then the bits of the values that its message shows. The host reads the record after the program,
looks the number up in ``ErrorRecords`` and raises the error with the operation and the user's line.

>>> import towerstrat.compat.v1 as tf
>>> from towerstrat.graph.lowering.input_checks import rows
>>> with tf.Graph().as_default():
...     op = tf.gather(tf.zeros([5, 2]), [0, 7]).op
>>> checks = ErrorRecords("cpu")
>>> record = checks.record(op, rows(np.array([0, 7]), 5), size=5)
>>> record.tolist()                                         # check 1, at index 1 the value 7, padded
[1, 1, 7, 0, 0]
>>> checks.error(record).message
'indices[1] = 7 is not in [0, 5)'

The record is the value of the state variable ``ERROR_RECORD`` while lowering (``error_state``), so that it passes
through loops and branches as all state does. Along a mesh axis each shard has its own. Values of 64 bits take two
elements, since a TPU makes two operations of each on int64.
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
from towerstrat.graph.ir.types import Array, HostArray


class _Shown(NamedTuple):
    """One value in a record: its numpy type, its shape, and the type whose bits are stored."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    bits: np.dtype[Any]


class _Entry(NamedTuple):
    op: Operation
    finding: CheckResult
    shown: tuple[_Shown, ...]


class ErrorRecords:
    """The checks that one program evaluates, numbered from 1: decodes its record to an error."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self._entries: list[_Entry] = []

    def record(self, op: Operation, finding: CheckResult, size: int) -> jax.Array:
        """The record of a failure of this check, int32 ``[size]``; gives the check the next number."""
        shown, words = [], []
        for value in finding.shown:
            bits, dtype = self._bits(value)
            shown.append(_Shown(np.dtype(value.dtype), tuple(np.shape(value)), dtype))
            words.append(_words_of(jnp.ravel(bits)))
        self._entries.append(_Entry(op, finding, tuple(shown)))
        parts = jnp.concatenate([jnp.full((1,), len(self._entries), jnp.int32), *words])
        return jnp.pad(parts, (0, size - parts.shape[0]))

    def _bits(self, value: Array | np.generic) -> tuple[Array, np.dtype[Any]]:
        """A value as integers, and the type whose bits they are."""
        value = jnp.asarray(value)
        if not jnp.issubdtype(value.dtype, jnp.floating):
            return value, np.dtype(value.dtype)
        if value.dtype == jnp.float64 and self.platform != "tpu":  # a TPU makes doubles of pairs of floats
            return lax.bitcast_convert_type(value, jnp.int64), np.dtype(np.float64)
        return lax.bitcast_convert_type(value.astype(jnp.float32), jnp.int32), np.dtype(np.float32)

    def error(self, records: Array) -> InvalidArgumentError | None:
        """The error of a record ``[size]``, or of the first failed one of ``[shards, size]``; None for no failure."""
        rows = np.asarray(records)
        # One shard is the usual case, and read after every run: without the cost of a reduction by numpy.
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
    """Elements of the record of a program with these operations: 1, and two per value of the longest message."""
    return 1 + 2 * max(_words(operations), default=0)


def _words(operations: Iterable[Operation]) -> Sequence[int]:
    words: list[int] = []
    for op in operations:
        if op.checks and op.definition.check is not None:
            words.append(op.definition.check.words(op))
        for body in op.bodies:
            words += _words(body.needed)
    return words


def no_error(size: int) -> HostArray:
    """A record of ``size`` zeros: no check has failed."""
    return np.zeros(size, np.int32)


def _words_of(bits: Array) -> jax.Array:
    """Integers ``[n]`` as int32 ``[n]``, or ``[2 * n]`` where they have 64 bits."""
    if bits.dtype.itemsize < 4:
        return jnp.asarray(bits, jnp.int32)
    return jnp.ravel(lax.bitcast_convert_type(bits, jnp.int32))


def failed_anywhere(failed: Array, axis: Axis | None) -> jax.Array:
    """Scalar bool, replicated: whether a check has failed on some shard (one ``psum``). ``failed``: on this one."""
    if axis is None:
        return jnp.asarray(failed)
    shards: jax.Array = lax.psum(failing(failed, axis), axis.name)
    return shards > 0


def failing(failed: Array, axis: Axis | None) -> jax.Array:
    """Whether a check has failed on this shard, as float32, so that it can be summed in one buffer with gradients."""
    varying: jax.Array = vary(jnp.asarray(failed), axis)
    return varying.astype(jnp.float32)


def found_on_host(check: InputCheck, op: Operation, values: Sequence[Array]) -> InvalidArgumentError | None:
    """The error of a check on known values, evaluated by numpy; None where it passes."""
    arrays = [np.asarray(v) if i in check.values else v for i, v in enumerate(values)]
    finding = check.test(op, arrays)
    if finding is None or not bool(finding.bad):
        return None
    return InvalidArgumentError(None, op, finding.message(*(np.asarray(v) for v in finding.shown)))
