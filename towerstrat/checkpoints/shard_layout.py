"""Which process writes which bytes of a checkpoint: equal shares, the same in all processes without a word.

The arrays are laid end to end, and the line is cut into one stretch for each process. Where a cut falls into a large
array it is cut between two rows, and saved in parts; into a small one, the cut moves to its nearer end.
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
"""The types of elements whose parts TensorFlow 1.12 puts together."""
_LARGE = 1 / 16
"""The part of a share from which on an array is cut."""


class Form(NamedTuple):
    """An array as the division sees it.

    Attributes:
      shape: its own. itemsize: bytes of an element. code: the number of its element type.
      anywhere: whether each process may write it, or parts of it. Otherwise the first one does.
    """

    shape: tuple[int, ...]
    itemsize: int
    code: int
    anywhere: bool

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return math.prod(self.shape) * self.itemsize


class Piece(NamedTuple):
    """An array, or a part of one.

    Attributes:
      number: of the array. rows: from where to where along ``Form``'s first dimension of more than one; None: all.
    """

    number: int
    rows: tuple[int, int] | None = None


def divided(forms: Sequence[Form], processes: int) -> list[list[Piece]]:
    """What each process writes, in the order of the arrays. Each element is written once."""
    shares: list[list[Piece]] = [[] for _ in range(processes)]
    own = sum(form.nbytes for form in forms if not form.anywhere)
    cuts = _cuts(own, sum(form.nbytes for form in forms if form.anywhere), processes)
    large = (cuts[-1] - cuts[-2]) * _LARGE
    start = 0
    for number, form in enumerate(forms):
        if not form.anywhere:
            shares[0].append(Piece(number))
            continue
        rows = _rows(form) if form.nbytes > large and dtypes.name_of(form.code) in _CUT else 1
        # The rows at which the cuts within the array come to be.
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


def _cuts(own: int, total: int, processes: int) -> list[float]:
    """Where the stretch of each process begins, and the end of the last; the first process writes ``own`` besides."""
    first = min(total, max(0, (own + total) / processes - own)) if processes > 1 else total
    each = (total - first) / max(1, processes - 1)
    return list(accumulate([first, *[each] * (processes - 1)], initial=0))


def _dimension(shape: Sequence[int]) -> int | None:
    """The first dimension of more than one: rows along it lie end to end."""
    return next((i for i, size in enumerate(shape) if size > 1), None)


def _rows(form: Form) -> int:
    dimension = _dimension(form.shape)
    return 1 if dimension is None else form.shape[dimension]


def cut(saved: Saved, shape: Sequence[int], piece: Piece) -> Saved:
    """What is saved of an array for a piece of it."""
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
