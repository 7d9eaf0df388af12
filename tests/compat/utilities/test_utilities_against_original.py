"""The helper modules of the originals' inside do what those of 1.12 do."""

import importlib
import json
import pathlib
import re
import sys

import pytest

from towerstrat.compat import importer

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
FOUND = json.loads((GOLDEN / "utilities.json").read_text())
if sys.version_info >= (3, 13):  # It compiles docstrings without the indentation that their lines share.
    FOUND["decorators"] = [re.sub(r"\n +", "\n", v) if isinstance(v, str) else v for v in FOUND["decorators"]]


@pytest.fixture(scope="module")
def cases():
    with importer.names_installed(), pytest.MonkeyPatch.context() as patch:
        # Messages say the module's name.
        patch.syspath_prepend(GOLDEN)
        yield importlib.import_module("utilities_cases")
    del sys.modules["utilities_cases"]


@pytest.mark.parametrize("name", FOUND)
def test_case(cases, name):
    assert json.loads(json.dumps(getattr(cases, name)())) == FOUND[name]


def test_all_cases_are_kept(cases):
    assert {case.__name__ for case in cases.CASES} == set(FOUND)
