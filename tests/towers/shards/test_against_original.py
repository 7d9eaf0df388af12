"""What computations return and refuse, against 1.12 and 1.15."""

import json
from pathlib import Path

import towerstrat.compat.v1 as tf
from tests.golden.tpu_computations_cases import found

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/tpu_computations.json").read_text())
LATER = {"a dictionary", "a nest", "replicas of a dictionary"}
"""Nests as 1.15 returns them; 1.12 refused dictionaries and packed inner lists."""
OURS = {"a loop of nothing": "int32()"}
"""The originals failed where a loop without values runs operations."""


def test_structures_and_errors():
    ours = found(tf)
    earlier, later = GOLDEN["1.12"], GOLDEN["1.15"]
    assert {name for name in earlier if earlier[name] != later[name]} == LATER | OURS.keys()
    assert ours == {**later, **OURS}
