"""Checkpoints as text: what they hold, and how two differ."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from towerstrat.checkpoints import dtypes as elements
from towerstrat.checkpoints.bundle_reader import Array, Entry
from towerstrat.checkpoints.checkpoint_file import Checkpoint


class Described(NamedTuple):
    """An array in a list.

    Attributes:
      name, type, shape: its own; the type by the original's name.
      bytes: of its elements, of strings as they are stored; None where it has none of its own.
      norm: the Euclidean norm; None where it was not asked for, or there is none.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    bytes: int | None
    norm: float | None


def described(checkpoint: Checkpoint, norms: bool = False) -> Iterator[Described]:
    """The arrays in a list; ``norms`` reads them. Raises DataLossError then."""
    for name, entry in checkpoint.entries.items():
        norm = _norm(checkpoint.read(name)) if norms and _readable(entry) else None
        yield Described(name, elements.name_of(entry.code), entry.shape, _bytes(entry), norm)


def listed(checkpoint: Checkpoint, norms: bool = False) -> Iterator[str]:
    """A line for each array: name, type, shape, bytes, and with ``norms`` its Euclidean norm; then the sums."""
    found = list(described(checkpoint, norms))
    yield from aligned(
        [
            [array.name, array.type, _shape(array.shape), "-" if array.bytes is None else f"{array.bytes:,} B"]
            + (["-" if array.norm is None else f"norm {array.norm:.6g}"] if norms else [])
            for array in found
        ]
    )
    numbers = sum(math.prod(array.shape) for array in found)
    total = sum(array.bytes or 0 for array in found)
    yield f"{len(found)} arrays, {numbers:,} elements, {total:,} bytes"


def aligned(rows: list[list[str]]) -> Iterator[str]:
    """Rows of words as lines with columns of one width."""
    widths = [max(map(len, column)) for column in zip(*(row + [""] * (5 - len(row)) for row in rows), strict=True)]
    for row in rows:
        yield "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=False)).rstrip()


def shown(checkpoint: Checkpoint, name: str, part: str = "", whole: bool = False) -> Iterator[str]:
    """An array: its type and shape, and its elements as numpy prints them.

    Args:
      part: which elements, such as ``0:2,:,-1``; "" for all.
      whole: whether thousands of elements are printed too, and not the first and last ones for them.

    Raises:
      NotFoundError: there is no such array. ValueError: ``part`` is no index of it.
    """
    value = checkpoint.read(name)
    entry = checkpoint.entries[name]
    yield f"{name}: {elements.name_of(entry.code)} {_shape(entry.shape)}"
    try:
        chosen = value[_index(part)] if part else value
    except (IndexError, ValueError) as error:
        raise ValueError(f"[{part}] of an array of shape {_shape(entry.shape)}: {error}.") from None
    yield np.array2string(np.asarray(chosen), threshold=sys.maxsize if whole else 1000)


def _index(text: str) -> tuple[int | slice, ...]:
    """The index that is written as between brackets. Raises ValueError where it is none."""
    parts = [part.split(":") for part in text.split(",")]
    if any(len(part) > 3 for part in parts):
        raise ValueError("expected an index such as 0:2,:,-1")
    return tuple(
        int(part[0]) if len(part) == 1 else slice(*(int(number) if number.strip() else None for number in part))
        for part in parts
    )


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


def _norm(value: Array) -> float | None:
    if value.dtype.kind in "OSb":
        return None
    wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    return float(np.linalg.norm(wide.reshape(-1)))


def _shape(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
