"""Checkpoints as text: what they hold, and how two differ."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from towerstrat.checkpoints import elements
from towerstrat.checkpoints.bundle import Array, Entry
from towerstrat.checkpoints.opening import Checkpoint


def listed(checkpoint: Checkpoint, norms: bool = False) -> Iterator[str]:
    """A line for each array: name, type, shape, bytes, and with ``norms`` its Euclidean norm; then the sums."""
    rows = [
        [name, elements.name_of(entry.code), _shape(entry.shape), *_size(entry)]
        + ([_norm(checkpoint.read(name))] if norms and _readable(entry) else [])
        for name, entry in checkpoint.entries.items()
    ]
    yield from aligned(rows)
    numbers = sum(math.prod(entry.shape) for entry in checkpoint.entries.values())
    total = sum(_bytes(entry) or 0 for entry in checkpoint.entries.values())
    yield f"{len(rows)} arrays, {numbers:,} elements, {total:,} bytes"


def aligned(rows: list[list[str]]) -> Iterator[str]:
    """Rows of words as lines with columns of one width."""
    widths = [max(map(len, column)) for column in zip(*(row + [""] * (5 - len(row)) for row in rows), strict=True)]
    for row in rows:
        yield "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=False)).rstrip()


def shown(checkpoint: Checkpoint, name: str) -> Iterator[str]:
    """An array: its type and shape, and its elements as numpy prints them. Raises NotFoundError."""
    value = checkpoint.read(name)
    entry = checkpoint.entries[name]
    yield f"{name}: {elements.name_of(entry.code)} {_shape(entry.shape)}"
    yield np.array2string(value, threshold=1000)


def differences(first: Checkpoint, second: Checkpoint) -> Iterator[str]:
    """A line for each array that only one checkpoint has, or whose type, shape or elements differ."""
    for name in sorted({*first.entries, *second.entries}):
        if name not in second:
            yield f"- {name}  only in the first"
        elif name not in first:
            yield f"+ {name}  only in the second"
        else:
            found = _difference(first, second, name)
            if found:
                yield f"~ {name}  {found}"


def _difference(first: Checkpoint, second: Checkpoint, name: str) -> str | None:
    """How an array differs; None where it does not, NaN being equal to NaN."""
    one, two = first.entries[name], second.entries[name]
    if one.code != two.code or one.shape != two.shape:
        return " against ".join(f"{elements.name_of(e.code)} {_shape(e.shape)}" for e in (one, two))
    if not _readable(one):
        return f"{elements.name_of(one.code)} cannot be compared"
    a, b = first.read(name), second.read(name)
    if (a.tobytes() == b.tobytes() and not a.dtype.hasobject) or np.array_equal(a, b):
        return None
    if a.dtype.kind in "OSb":
        return f"{int(np.sum(a != b)):,} of {a.size:,} elements differ"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    apart = np.abs(a.astype(wide) - b.astype(wide))
    same = (np.isnan(a.astype(wide)) & np.isnan(b.astype(wide))) | (a == b)
    if same.all():
        return None
    return f"{int(np.sum(~same)):,} of {a.size:,} elements differ, by at most {np.max(apart[~same]):.6g}"


def _readable(entry: Entry) -> bool:
    return elements.name_of(entry.code) not in ("resource", "variant")


def _bytes(entry: Entry) -> int | None:
    """The bytes of an array's elements; None for strings."""
    if not _readable(entry) or entry.code == elements.STRING:
        return entry.size or None
    return math.prod(entry.shape) * elements.type_of(entry.code).itemsize


def _size(entry: Entry) -> list[str]:
    size = _bytes(entry)
    return ["-" if size is None else f"{size:,} B"]


def _norm(value: Array) -> str:
    if value.dtype.kind in "OSb":
        return "-"
    wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    return f"norm {np.linalg.norm(wide.reshape(-1)):.6g}"


def _shape(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
