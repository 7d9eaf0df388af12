"""Faults around a training, and what happens then; ``python -m tests.faults`` has those that take longer too."""

import pytest

from tests.faults import memory
from tests.faults.__main__ import ROWS

LONGER = {"sigkill", "changing_shapes", "graphs"}


@pytest.mark.parametrize("row", sorted(ROWS.keys() - LONGER))
def test_what_happens_is_right(row, tmp_path):
    assert ROWS[row](str(tmp_path)).what


def test_no_graph_is_left():
    assert memory.rebuilt_graphs(3)["left"] == 0
