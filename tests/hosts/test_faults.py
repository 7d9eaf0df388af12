"""One fault of each kind; ``python -m tests.hosts.faults`` draws many."""

import random

import pytest

from tests.hosts import faults


@pytest.mark.parametrize("kind", faults.KINDS)
def test_a_fault_ends_all_processes_and_its_culprit_is_named(kind, tmp_path):
    assert faults.run(kind, 1, 3, tmp_path, random.Random(kind)) == []


@pytest.mark.parametrize("kind", ["kill_supervisor", "stop_supervisor", "never", "twice"])
def test_a_fault_of_the_process_where_all_meet(kind, tmp_path):
    assert faults.run(kind, 0, 3, tmp_path, random.Random(kind)) == []
