"""Training that is killed and started again ends with the bits of one that was not: two ways by default."""

import subprocess
import sys

import pytest

EVERY = "monitored,estimator,tpu_estimator,steps,mirrored_estimator,mirrored,keras,mirrored_keras"


@pytest.mark.parametrize(
    ("ways", "count", "seed"),
    [
        ("monitored,tpu_estimator", 2, 406),
        pytest.param("estimator,steps,mirrored_estimator,keras", 4, 258, marks=pytest.mark.long),
        pytest.param(EVERY, 16, 1, marks=pytest.mark.long),
    ],
)
def test_a_killed_run_goes_on_to_the_bit(ways, count, seed, tmp_path):
    command = [sys.executable, "-m", "tests.training.kills", f"--ways={ways}", f"--count={count}", f"--seed={seed}"]
    done = subprocess.run([*command, f"--folder={tmp_path}"], capture_output=True, text=True)
    assert done.stdout.endswith(f"\n{count} kills; 0 runs differ\n"), done.stdout + done.stderr
