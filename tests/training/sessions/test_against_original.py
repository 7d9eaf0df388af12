"""Programs with monitored sessions call hooks, log, fail and end as TensorFlow 1.12.3 had it."""

import json
from pathlib import Path

import towerstrat.compat.v1 as tf
from tests.golden import monitored_cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "monitored.json").read_text())


@spread("case", monitored_cases.CASES, every=4)
def test_case(case, tmp_path):
    assert monitored_cases.run(tf, case, str(tmp_path)) == GOLDEN[case.__name__]
