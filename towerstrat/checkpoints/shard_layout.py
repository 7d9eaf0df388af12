"""Partition a checkpoint's bytes over the processes that save it, so that each writes an equal share.

The partition is a pure function of shapes and dtypes: every process computes the same one, and none has to be sent. The
arrays are laid end to end, and the line is cut into one contiguous range per process. A cut within a large array (more
than 1/16 of a share) becomes a cut between two rows, and the array is saved in parts; a cut within a small array moves
to the nearer end of it, so that shares differ by at most half a small array or half a row per cut.

Arrays that only process 0 writes (``anywhere=False``) count towards its share, which gets so much less of the others.
Two processes, a matrix of 24 kB and a vector of 4 kB that both hold, and 2 kB of process 0 alone, which makes 15 kB
each (``Form(shape, itemsize, code, anywhere)``; float32 has code 1):

    >>> matrix, vector, own = Form((600, 10), 4, 1, True), Form((1000,), 4, 1, True), Form((500,), 4, 1, False)
    >>> for share in divided([matrix, vector, own], 2):
    ...     print(share)
    [Piece(number=0, rows=(0, 325)), Piece(number=2, rows=None)]
    [Piece(number=0, rows=(325, 600)), Piece(number=1, rows=None)]

``cut`` then makes the ``Saved`` part that belongs to a piece. Rows are counted along the first dimension larger than
one, since only these are contiguous in memory.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from towerstrat.checkpoints import dtypes
from towerstrat.checkpoints.bundle_writer import Saved, Whole
from towerstrat.checkpoints.slices import Slice

_CUT = frozenset(
    ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128", "qint8")
    + ("quint8", "qint32")
)
"""Dtypes that TensorFlow 1.12 can restore from parts; arrays of others are never cut."""
_LARGE = 1 / 16
"""An array larger than this fraction of a share may be cut."""


class Form(NamedTuple):
    """Shape and dtype of an array to save, and who can write it.

    Attributes:
      shape: of the array to save. itemsize: bytes of an element. code: number of its dtype (``dtypes``).
      anywhere: whether all processes hold its values, so that any may write any part; else process 0 writes it whole.
    """

    shape: tuple[int, ...]
    itemsize: int
    code: int
    anywhere: bool

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.itemsize


class Piece(NamedTuple):
    """An array, or a range of its rows.

    Attributes:
      number: index of the array among the forms. rows: half-open range along the first dimension larger than one; None:
        the whole array.
    """

    number: int
    rows: tuple[int, int] | None = None


def divided(forms: Sequence[Form], processes: int) -> list[list[Piece]]:
    """The pieces that each process writes, in the order of the arrays; together they have every element once."""
    shares: list[list[Piece]] = [[] for _ in range(processes)]
    fixed = sum(form.nbytes for form in forms if not form.anywhere)
    cuts = _cuts(fixed, sum(form.nbytes for form in forms if form.anywhere), processes)
    large = (cuts[-1] - cuts[-2]) * _LARGE
    start = 0
    for number, form in enumerate(forms):
        if not form.anywhere:
            shares[0].append(Piece(number))
            continue
        rows = _rows(form) if form.nbytes > large and dtypes.name_of(form.code) in _CUT else 1
        # Cuts within the array, rounded to rows; rows = 1 moves them to the array's nearer end.
        end = start + form.nbytes
        first = min(bisect.bisect_right(cuts, start), processes) - 1
        places = [0]
        while first + len(places) < processes and cuts[first + len(places)] < end:
            places.append(round((cuts[first + len(places)] - start) * rows / form.nbytes))
        for k, (a, b) in enumerate(zip(places, [*places[1:], rows], strict=True)):
            if (a, b) == (0, rows):
                shares[first + k].append(Piece(number))
            elif a < b:
                shares[first + k].append(Piece(number, (a, b)))
        start = end
    return shares


def _cuts(fixed: int, total: int, processes: int) -> list[float]:
    """Bounds in bytes of the processes' ranges on the line of all arrays, ``processes + 1`` of them.

    Process 0 also writes ``fixed`` bytes that are not on the line; its range is shorter by as much, if it is that long.
    """
    first = min(total, max(0, (fixed + total) / processes - fixed)) if processes > 1 else total
    each = (total - first) / max(1, processes - 1)
    return list(accumulate([first, *[each] * (processes - 1)], initial=0))


def _dimension(shape: Sequence[int]) -> int | None:
    """The first dimension larger than one: rows along it are contiguous in memory. None where there is none."""
    return next((i for i, size in enumerate(shape) if size > 1), None)


def _rows(form: Form) -> int:
    dimension = _dimension(form.shape)
    return 1 if dimension is None else form.shape[dimension]


def cut(saved: Saved, shape: Sequence[int], piece: Piece) -> Saved:
    """Restrict ``saved``, an array of ``shape``, to a piece's rows. A part of an array becomes a smaller part of it."""
    dimension = _dimension(shape)
    if piece.rows is None or dimension is None:
        return saved
    start, stop = piece.rows
    whole = saved.whole or Whole(tuple(shape), Slice((0,) * len(shape), (-1,) * len(shape)))
    starts, lengths = list(whole.part.starts), list(whole.part.lengths)
    starts[dimension] += start
    lengths[dimension] = stop - start
    index = (slice(None),) * dimension + (slice(start, stop),)
    return saved._replace(
        load=lambda: saved.load()[index],  # type: ignore[index]
        whole=Whole(whole.shape, Slice(tuple(starts), tuple(lengths))),
    )
