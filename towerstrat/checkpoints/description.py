"""Checkpoints as text, for ``towerstrat checkpoint list``, ``show`` and ``diff``: lines for a terminal, no decisions.

    list     dense/kernel  float32  [784, 10]  31,360 B  norm 2.79     one line per array, then the totals
    show     dense/kernel: float32 [784, 10], then the elements as numpy prints them; ``part`` as in 0:2,:,-1
    diff     - name  only in the first
             + name  only in the second
             ~ name  float32 [784, 10] against float32 [784, 20]
             ~ name  3 of 7,840 elements differ, by at most 0.5

A list without norms reads the index alone. Elements are equal where ``==`` says so or both are NaN; norms and the sizes
of differences are computed in float64 (complex128), so that no small dtype overflows.

>>> import os, tempfile
>>> from towerstrat.checkpoints.bundle_writer import Saved, write
>>> from towerstrat.checkpoints.checkpoint_file import opened
>>> with tempfile.TemporaryDirectory() as folder:
...     for name, values in ("one", [3, 4]), ("two", [3, 4.5]):
...         write(os.path.join(folder, name), [Saved("w", lambda: np.float32(values))])
...     one, two = (opened(os.path.join(folder, name)) for name in ("one", "two"))
...     print(*listed(one, norms=True), *differences(one, two), sep=os.linesep)
w  float32  [2]  8 B  norm 5
1 arrays, 2 elements, 8 bytes
~ w  1 of 2 elements differ, by at most 0.5
"""

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
    """Row of a list of arrays.

    Attributes:
      name, type, shape: of the array; ``type`` is the name of a TensorFlow dtype.
      bytes: size of the elements; of strings the stored size, None where they have no bytes in one place.
      norm: Euclidean norm; None where it was not asked for, or the elements are not numbers.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    bytes: int | None
    norm: float | None


def described(checkpoint: Checkpoint, norms: bool = False) -> Iterator[Described]:
    """A row per array, by name. With ``norms`` every array is read, which can raise DataLossError."""
    for name, entry in checkpoint.entries.items():
        norm = _norm(checkpoint.read(name)) if norms and _readable(entry) else None
        yield Described(name, elements.name_of(entry.code), entry.shape, _bytes(entry), norm)


def listed(checkpoint: Checkpoint, norms: bool = False) -> Iterator[str]:
    """A line for each array: name, type, shape, bytes, and with ``norms`` its Euclidean norm; then the totals."""
    arrays = list(described(checkpoint, norms))
    yield from aligned(
        [
            [array.name, array.type, _shape(array.shape), "-" if array.bytes is None else f"{array.bytes:,} B"]
            + (["-" if array.norm is None else f"norm {array.norm:.6g}"] if norms else [])
            for array in arrays
        ]
    )
    numbers = sum(math.prod(array.shape) for array in arrays)
    total = sum(array.bytes or 0 for array in arrays)
    yield f"{len(arrays)} arrays, {numbers:,} elements, {total:,} bytes"


def aligned(rows: list[list[str]]) -> Iterator[str]:
    """Format rows of at most five words as lines, columns aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*(row + [""] * (5 - len(row)) for row in rows), strict=True)]
    for row in rows:
        yield "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=False)).rstrip()


def shown(checkpoint: Checkpoint, name: str, part: str = "", whole: bool = False) -> Iterator[str]:
    """Lines of one array: its type and shape, then its elements as numpy prints them.

    Args:
      checkpoint: an open checkpoint of any format.
      name: of the array in it.
      part: index of the elements to print, such as ``0:2,:,-1``; "" for all.
      whole: print all elements also where there are more than 1000, instead of the first and last ones.

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
    """Parse a numpy index of integers and slices, such as ``0:2,:,-1``. Raises ValueError for anything else."""
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
            difference = _difference(first, second, name)
            if difference:
                yield f"~ {name}  {difference}"


def _difference(first: Checkpoint, second: Checkpoint, name: str) -> str | None:
    """Describe the difference of an array in two checkpoints; None where there is none. NaN equals NaN."""
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
    """Size of an array's elements; for strings as stored, None where the entry has no bytes (parts, V1)."""
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
