"""Variable scopes, name scopes, collections and assignments: names, sharing and refusals as the original has them."""

import json
from pathlib import Path

import towerstrat.compat.v1 as tf
from tests.golden import scope_cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "scopes.json").read_text())


@spread("case", scope_cases.CASES, every=3, ids=lambda case: case.__name__)
def test_case(case):
    found = case(tf)
    wanted = GOLDEN[case.__name__]
    for i, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        assert ours == theirs, f"entry {i}"
