"""Training that is killed and started again ends with the bits of one that was not: one kill a way by default."""

import subprocess
import sys

import pytest

OF_1_X = "monitored,estimator,tpu_estimator,steps,mirrored_estimator"


@pytest.mark.parametrize(
    ("ways", "count", "seed"),
    [
        (OF_1_X, 5, 406),
        ("keras", 1, 258),
        pytest.param(f"{OF_1_X},mirrored,keras,mirrored_keras", 16, 1, marks=pytest.mark.long),
    ],
)
def test_a_killed_run_goes_on_to_the_bit(ways, count, seed, tmp_path):
    command = [sys.executable, "-m", "tests.training.kills", f"--ways={ways}", f"--count={count}", f"--seed={seed}"]
    done = subprocess.run([*command, f"--folder={tmp_path}"], capture_output=True, text=True)
    assert done.stdout.endswith(f"\n{count} kills; 0 runs differ\n"), done.stdout + done.stderr
