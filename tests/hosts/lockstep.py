"""Runs tests of towers in several processes in step: each test's towers lie on devices of all processes.

    python -m tests.hosts.several 2 4 tests.hosts.lockstep tests/towers/test_contract.py tests/towers/engine

Tests with one tower are left out, and those named in ``APART``: they speak of one process. Those with fewer towers than
processes are skipped where they make their strategy.
"""

import pathlib
import sys
import tempfile

import jax
import pytest

from towerstrat.graph.ir.mesh import Axis
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.engine import mirrored_engine

APART = (
    "test_tower_counts_agree",
    "test_integers_agree_exactly",
    "test_ctrl_c_in_the_middle_of_a_run",
    "test_input_budget",
    "one-replica",
    "one_tower",
    "one_replica",
    "no_strategy",
    "test_printing",
    "test_several_workers_are_refused",
    "test_towers_take_elements_of_one_shape",
)
"""Parts of the names of tests that use one tower among others, send signals to their process, look at what it prints
for its own towers or into an iterator of its own, or expect that there is no other process."""
_FIRST_OF_ALL = jax.devices


def _in_turns(*args, **kwargs):
    """The devices, one of each process after the other, so that few towers are on several processes too."""
    return sorted(_FIRST_OF_ALL(*args, **kwargs), key=lambda device: (device.id % 2048, device.process_index))


def _named_in_turns(names):
    """The names that a test gives to devices of one process, as those of devices of all, likewise."""
    if len(names) < PROCESSES.count:
        pytest.skip(f"{len(names)} towers on {PROCESSES.count} processes")
    return [f"/job:worker/task:{i % PROCESSES.count}/device:CPU:{i // PROCESSES.count}" for i in range(len(names))]


def _skipped(require):
    """A check that an axis is on all processes, which skips the test where it is not."""

    def checked(axis):
        try:
            require(axis)
        except ValueError as error:
            pytest.skip(str(error))

    return checked


class InStep:
    """Leaves out tests that are not for several processes, and draws the same examples in all."""

    def pytest_configure(self, config):
        from hypothesis import settings

        settings.register_profile("same", settings.get_profile("default"), derandomize=True, database=None)
        settings.load_profile("same")

    def pytest_collection_modifyitems(self, config, items):
        items[:] = [item for item in items if not _is_apart(item)]

    @pytest.fixture
    def tmp_path(self):
        return pathlib.Path(COLLECTIVES.broadcast(tempfile.mkdtemp()))

    def pytest_runtest_logstart(self, nodeid, location):
        print(">>", nodeid, flush=True)


def _is_apart(item):
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(name in item.nodeid for name in APART) or any(value == 1 and type(value) is int for value in values)


if __name__ == "__main__":
    if PROCESSES.count > 1:
        jax.devices = _in_turns
        mirrored_engine.of_each_process = _named_in_turns
        Axis._require_all_processes = _skipped(Axis._require_all_processes)
    # A process that waits for one whose test has failed would wait for ever.
    limits = ["-o", "faulthandler_timeout=120", "-o", "faulthandler_exit_on_timeout=true"]
    sys.exit(pytest.main(["-p", "no:cacheprovider", "-q", "-x", "--tb=short", *limits, *sys.argv[1:]], [InStep()]))
