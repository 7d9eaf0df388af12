"""The programs of ``tests/cases`` print here what they printed under the original (``scripts/cases``)."""

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spread import spread

SCRIPT = Path(__file__).parents[1] / "scripts" / "cases"


def _loaded():
    loader = importlib.machinery.SourceFileLoader("cases", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cases", loader))
    sys.modules["cases"] = module
    loader.exec_module(module)
    return module


cases = _loaded()


@spread("case", cases.cases(), every=5, ids=lambda case: case.name)
def test_prints_what_the_original_printed(case):
    found = cases.failure(case, original=False)
    assert found is None, found


def test_every_program_is_in_the_table_and_has_its_output():
    names = {case.name for case in cases.cases()}
    assert names == {path.stem for path in cases.CASES.glob("*.py")}
    assert names == {path.stem for path in (cases.CASES / "expected").glob("*.txt")}
    assert {case.original for case in cases.cases()} <= {*cases.OPTIONS, "NumPy"}


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("[1. 2.]", "[1.00001 2.]", True), ("[1. 2.]", "[1.001 2.]", False), ("x 1.0", "y 1.0", False),
        ("a\nb", "a", False), ("a", "a\nb", False), ("ValueError: of theirs", "ValueError: of ours", True),
        ("ValueError", "TypeError", False), ("1.0", "np.float32(1.0)", True),
        ("1", "WARNING: slow\n1", True), ("200000.0", "200010.0", True), ("True", "False", False), ("nan", "nan", True),
        ("[[1 2]\n [3 4]]", "[[1 2] [3 4]]", True),
    ],
)  # fmt: skip
def test_outputs_are_compared(expected, printed, same):
    assert (cases.difference(expected, printed) is None) is same


def test_unknown_names_are_refused():
    done = subprocess.run([sys.executable, SCRIPT, "nothing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no such case: nothing" in done.stderr
