"""tf.contrib.framework, HParams and tf.contrib.util do what the original does, errors included."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.golden import framework_cases

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "framework.json").read_text())


def test_every_case_has_its_golden():
    assert sorted(framework_cases.CASES) == sorted(GOLDEN)


@pytest.mark.parametrize("name", framework_cases.CASES)
def test_case(name):
    found = json.loads(json.dumps(framework_cases.run(tf, name)))
    wanted = GOLDEN[name]
    if name in framework_cases.SAID and wanted[0] == found[0] and str(wanted[0]).endswith("Error"):
        assert found[1].startswith(wanted[1])
    else:
        assert found == wanted
