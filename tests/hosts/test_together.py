"""Several processes give the numbers of one, and refuse by name what differs between them."""

import numpy as np
import pytest

from tests.hosts import several


def assert_equal(found, wanted):
    """Equal numbers: integers exactly, others to what sums in another order may differ by."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for name in wanted:
            assert_equal(found[name], wanted[name])
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for each, other in zip(found, wanted, strict=True):
            assert_equal(each, other)
    elif isinstance(wanted, int):
        assert found == wanted
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("processes", "devices"),
    [(2, 2), pytest.param(4, 1, marks=pytest.mark.long), pytest.param(4, 2, marks=pytest.mark.long)],
)
def test_numbers_are_those_of_one_process(processes, devices):
    (wanted,) = several.values(1, processes * devices, "tests.hosts.cases", [str(processes * devices)])
    for found in several.values(processes, devices, "tests.hosts.cases", [str(processes * devices)]):
        assert_equal(found, wanted)


def test_what_differs_is_refused_by_name():
    first, second = several.values(2, 1, "tests.hosts.disagreements")
    assert first == second
    assert not first["none"]
    assert all(m.startswith("Process 1 differs from process 0, of 2: ") for k, m in first.items() if k != "none")
    assert "with the seeds (2, None), created at" in first["seed"]
    assert "another value of the variable weights" in first["initial value"]
    assert "has Relu (type Relu, created at" in first["operation"]
    assert "disagreements.py" in first["operation"]
    assert "another value of the input x:0" in first["feed"]
    assert "has other (type RandomUniform" in first["name"]
    assert "other shapes or types" in first["shape"]


@pytest.mark.long
@pytest.mark.parametrize(("processes", "devices"), [(2, 4), (4, 2)])
@pytest.mark.parametrize(
    "paths",
    [
        ["tests/towers/test_contract.py", "--long"],
        ["tests/towers/test_agreement.py", "tests/towers/test_control_flow.py"],
        ["tests/towers/engine", "tests/towers/test_functions.py", "tests/towers/test_uneven.py"],
        ["tests/towers/test_checkpoints.py", "tests/towers/test_views.py", "tests/towers/test_generator.py"],
    ],
)
def test_tests_of_towers_in_step(processes, devices, paths):
    done = several.run(processes, devices, "tests.hosts.lockstep", paths, seconds=1500)
    assert all(status == 0 for status, *_ in done), "\n".join(
        output[-3000:] + errors[-1000:] for _, output, errors in done
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strategy", ["tpu", "workers"])
def test_models_of_keras(strategy):
    (wanted,) = several.values(1, 4, "tests.hosts.keras_models", [strategy])
    for found in several.values(2, 2, "tests.hosts.keras_models", [strategy]):
        assert_equal(found, wanted)


@pytest.mark.long
def test_keras_evaluates_all_rows_of_pipelines_of_different_lengths():
    for own, whole in several.values(2, 2, "tests.hosts.keras_models", ["ends"]):
        assert own == pytest.approx(whole, rel=1e-6)
