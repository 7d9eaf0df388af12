"""What trains a model eagerly: names, values and refusals as the original has them."""

import json
from pathlib import Path

import numpy as np

import towerstrat.compat.v1 as tf
from tests.golden import eager_training_cases
from tests.spread import spread
from towerstrat.graph.eager import mode
from towerstrat.models.layers import layer

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "eager_training.json").read_text())


def check(found, wanted, where):
    if isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
            check(ours, theirs, f"{where}[{i}]")
    elif isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6, err_msg=where)
    else:
        assert found == wanted, where


@spread("case", eager_training_cases.CASES, every=9, ids=lambda case: case.__name__)
def test_case(case, monkeypatch):
    monkeypatch.setattr(layer, "COUNTS", {})  # names count from the beginning, as where the golden was made
    with mode.eager_mode():
        check(case(tf), GOLDEN[case.__name__], case.__name__)
