"""Unedited packages of the time train as on the original: the programs of ``examples/libraries``, loss by loss.

They skip where a package is not installed: ``pip install -e '.[libraries]'``.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
KEPT = json.loads((ROOT / "tests" / "golden" / "libraries.json").read_text())


def losses(program, *arguments, needs, towers=1):
    """The losses that a program of ``examples/libraries`` prints under ``towerstrat run``."""
    for package in needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed: pip install 'towerstrat[libraries]'")
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    # dm-sonnet brings messages that were generated for an older protobuf.
    environment["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
    path = str(ROOT / "examples" / "libraries" / program)
    command = [sys.executable, "-m", "towerstrat", "run", "--towers", str(towers), path, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return [float(found) for found in re.findall(r"^step \d+ .*loss (\S+)$", done.stdout, re.M)]


def as_on_the_original(name, *command, **options):
    found = losses(*command, **options)
    assert len(found) == len(KEPT[name]) == 20
    np.testing.assert_allclose(found, KEPT[name], rtol=1e-4)


@pytest.mark.long
def test_bert_with_its_own_optimizer():
    as_on_the_original("bert_tiny", "bert_tiny.py", needs=["bert", "tf_slim"])


@pytest.mark.long
def test_bert_on_four_towers():
    as_on_the_original("bert_towers", "bert_towers.py", needs=["bert", "tf_slim"], towers=4)


@pytest.mark.long
def test_a_residual_network_of_slim():
    as_on_the_original("resnet_small", "slim_nets.py", "resnet_small", needs=["tf_slim"])


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet_v1_50", "inception_v3"])
def test_whole_networks_of_slim(name):
    as_on_the_original(name, "slim_nets.py", name, needs=["tf_slim"])


def test_modules_of_sonnet():
    needs = ["sonnet", "tensorflow_probability", "tf_slim"]
    as_on_the_original("sonnet_nets", "sonnet_nets.py", needs=needs)


@pytest.mark.long
def test_natural_gradients_of_kfac():
    as_on_the_original("kfac_mlp", "kfac_mlp.py", needs=["kfac"])


@pytest.mark.long
def test_q_learning_of_trfl():
    """Against numpy: the package is newer than 1.12."""
    found = losses("trfl_qlearning.py", needs=["trfl", "tensorflow_probability"])
    numbers = np.random.RandomState(4)
    states, following = numbers.randint(0, 6, (2, 16))
    actions, rewards = numbers.randint(0, 3, 16), numbers.rand(16)
    values, wanted = np.linspace(0, 1, 18).reshape(6, 3), []
    for _ in range(20):
        errors = rewards + 0.9 * values[following].max(1) - values[states, actions]
        wanted.append(np.mean(0.5 * errors**2))
        np.add.at(values, (states, actions), 0.5 * errors / 16)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
