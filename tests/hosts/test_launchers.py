"""Programs started by what starts them on clusters: ``mpirun`` of Open MPI, and ``srun`` of SLURM."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.hosts.several import ROOT, environment

PROGRAM = ROOT / "examples" / "digits.py"
AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []
LAUNCHERS = {"mpirun": ["--oversubscribe", *AS_ROOT], "srun": ["--overcommit"]}
RUN = [sys.executable, "-m", "towerstrat", "run", "--quiet"]
FAILS = """
import time
import tensorflow as tf
from towerstrat.hosts.process_index import PROCESSES
assert PROCESSES.index == 0, "mine"
time.sleep(100)
"""

pytestmark = pytest.mark.long


def numbers(text):
    """What the program has printed of its losses and accuracies, sorted: lines of processes come in any order."""
    return sorted(map(float, re.findall(r"(?:loss|accuracy)\s+([\d.]+)", text)))


@pytest.fixture(params=LAUNCHERS)
def launcher(request):
    """The command, to which the number of processes is added."""
    if shutil.which(request.param) is None:
        pytest.skip(f"there is no {request.param} here")
    return [request.param, *LAUNCHERS[request.param]]


def run(*command):
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("count", [2, 4])
def test_a_run_gives_the_numbers_of_one_process(launcher, count):
    alone = run(*RUN, f"--towers={count}", PROGRAM, "--runs=2")
    done = run(*launcher, "-n", str(count), *RUN, PROGRAM, "--runs=2")
    assert done.returncode == 0, done.stderr
    assert len(numbers(alone.stdout)) == 5
    assert numbers(done.stdout) == pytest.approx(sorted(count * numbers(alone.stdout)), abs=2e-3)


def test_a_process_that_fails_ends_all_and_is_named(launcher, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(FAILS)
    done = run(*launcher, "-n", "2", *RUN, program)
    assert done.returncode != 0
    assert re.search(r"process 1 \(host .*, pid \d+\) ended with exit status 1\. .*AssertionError: mine", done.stderr)
