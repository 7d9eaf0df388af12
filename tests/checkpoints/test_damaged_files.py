"""Damaged files are refused by their names, or read right."""

import sys

import pytest

from tests.checkpoints.damaged_files import MEMORY, bounded_memory, run
from tests.spread import spread


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded as Linux does it")
@spread(("seed", "count"), [(0, 126), (1, 1000)], every=2)
def test_damaged_files_are_refused_or_read_right(tmp_path, seed, count):
    with bounded_memory(MEMORY):
        found = run(count, seed, tmp_path)
    files, refused = (sum(row[i] for row in found.values()) for i in (0, 1))
    assert files == count
    assert refused >= 0.95 * files
