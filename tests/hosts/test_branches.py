"""Branches in which towers of several processes wait for one another are the same in all, or refused in all."""

import pytest

from tests.hosts import several


@pytest.mark.long
def test_a_predicate_that_differs_by_process_is_refused_in_all_of_them():
    first, second = several.values(2, 2, "tests.hosts.branches")
    assert first == second
    # Results and a variable, of runs in which all processes take the branch, none does, one does, and all do again.
    wanted = {
        "sum": [4, 0, 0, 0, 0, 4, 0],
        "optimizer": [1, 0.5, 0, 0.5, 0.5, 1, 0.75],
        "function": [1, 1, 0, 1, 1, 1, 2],
    }
    for name, (*before, said, after, again, last) in first.items():
        assert [*before, after, again, last] == wanted[name], name
        assert "of a cond differs by process, and the branches combine values of all towers" in said
        assert "By tower, which come in the order of the processes, it is] [1 1 0 0]" in said
        assert "branches.py:" in said.partition("created at: ")[2]
