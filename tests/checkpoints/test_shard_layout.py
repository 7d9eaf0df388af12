"""Which process writes which bytes: each element once, in equal shares, and what comes back is what was saved."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from towerstrat.checkpoints import bundle_writer, dtypes
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.checkpoints.bundle_writer import Saved, Whole
from towerstrat.checkpoints.shard_layout import Form, Piece, cut, divided
from towerstrat.checkpoints.slices import Slice

TYPES = ("float32", "float16", "bool", "int64", "bfloat16")
FORMS = st.builds(
    lambda shape, kind, anywhere: Form(tuple(shape), dtypes.type_of(code(kind)).itemsize, code(kind), anywhere),
    st.lists(st.sampled_from((0, 1, 1, 2, 3, 7, 50, 301)), max_size=3),
    st.sampled_from(TYPES),
    st.sampled_from((True, True, True, False)),
)
LISTS = st.lists(FORMS, max_size=12)
PROCESSES = st.integers(1, 6)


def code(name):
    return next(n for n in range(1, 30) if dtypes.name_of(n) == name)


def rows_of(form):
    return next((size for size in form.shape if size > 1), 1)


def nbytes(form, piece):
    start, stop = piece.rows or (0, rows_of(form))
    return form.nbytes * (stop - start) // rows_of(form)


@given(LISTS, PROCESSES)
def test_each_element_is_written_once_and_in_order(forms, processes):
    shares = divided(forms, processes)
    assert len(shares) == processes
    pieces = [(piece.number, *(piece.rows or (0, rows_of(forms[piece.number])))) for share in shares for piece in share]
    for number, form in enumerate(forms):
        mine = sorted(piece for piece in pieces if piece[0] == number)
        assert [start for _, start, _ in mine] == [0, *(stop for *_, stop in mine[:-1])]
        assert mine[-1][2] == rows_of(form)
        if not form.anywhere:
            assert Piece(number) in shares[0]
        if dtypes.name_of(form.code) in ("float16", "bfloat16"):
            assert len(mine) == 1
    for share in shares:
        assert [piece.number for piece in share] == sorted(piece.number for piece in share)


@given(LISTS, PROCESSES)
def test_shares_are_equal(forms, processes):
    """But for a row of an array that is cut, half of one that cannot be, and a small part of the share, at each end."""
    shares = divided(forms, processes)
    own = sum(form.nbytes for form in forms if not form.anywhere)
    total = sum(form.nbytes for form in forms)
    first = max(own, total / processes)
    each = (total - first) / (processes - 1) if processes > 1 else 0
    whole = [f.nbytes for f in forms if f.anywhere and dtypes.name_of(f.code) in ("float16", "bfloat16")]
    rows = [form.nbytes / rows_of(form) for form in forms if form.anywhere]
    apart = max([each / 16, *whole, *rows]) + 1
    for process, share in enumerate(shares):
        found = sum(nbytes(forms[piece.number], piece) for piece in share)
        assert abs(found - (first if process == 0 else each)) <= apart


def test_few_arrays_are_cut():
    forms = [Form((1000, 4), 4, code("float32"), True)] * 500
    assert all(piece.rows is None for share in divided(forms, 4) for piece in share)
    table = Form((1_000_000, 4), 4, code("float32"), True)
    shares = divided([*forms, table], 4)
    assert sum(map(len, shares)) <= 501 + 3
    assert all(len([piece for piece in share if piece.rows]) <= 1 for share in shares)


class Together:
    """The processes 1, 2, ... of a checkpoint, one after another."""

    def __init__(self, prefix, shares):
        self.prefix, self.shares, self.count = prefix, shares, len(shares)

    def begin(self, shards):
        assert shards > self.count

    def written(self, shards):
        for process, share in enumerate(self.shares, 1):
            done = bundle_writer.write_shard(self.prefix, process, shards, share)
            yield share, done.entries


def test_what_is_read_is_what_was_saved(tmp_path):
    draws = np.random.RandomState(0)
    shapes = [(301, 4), (), (1, 1, 900), (3, 4), (0, 5), (1, 200, 3), (64,)]
    arrays = [draws.standard_normal(shape).astype(np.float32) for shape in shapes]
    arrays += [draws.standard_normal((500, 2)).astype(np.float16)]
    saved = [Saved(f"v{i}", lambda array=array: array) for i, array in enumerate(arrays)]
    # A part of a partitioned variable is cut further.
    halves = draws.standard_normal((1, 400, 5)).astype(np.float32)
    saved += [
        Saved("halves", lambda a=a: halves[:, a : a + 200], Whole(halves.shape, Slice((0, a, 0), (1, 200, -1))))
        for a in (0, 200)
    ]
    forms = [Form(np.shape(one.load()), one.load().itemsize, dtypes.code_of(one.load().dtype), True) for one in saved]
    for processes in (2, 3, 7):
        shares = [
            [cut(saved[p.number], forms[p.number].shape, p) for p in share] for share in divided(forms, processes)
        ]
        prefix = str(tmp_path / f"of-{processes}")
        for _ in range(2):
            bundle_writer.write(prefix, shares[0], None, Together(prefix, shares[1:]))
        bundle = Bundle(prefix)
        for number, array in enumerate(arrays):
            found = bundle.read(f"v{number}")
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)
        np.testing.assert_array_equal(bundle.read("halves"), halves)
        assert len(list(tmp_path.glob(f"of-{processes}.data-*"))) == processes
        assert math.prod(bundle.entries["v0"].shape) == 301 * 4
