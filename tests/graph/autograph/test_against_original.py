"""Converted programs against what TensorFlow 2.15 makes of them under tf.function."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.golden.autograph_cases import CASES
from tests.graph.autograph.common import array, run, tf
from tests.spread import spread
from towerstrat import errors
from towerstrat.graph.ir import nest

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "autograph.json").read_text())
RAISED = {"InaccessibleTensorError": ValueError, "TypeError": TypeError, "ValueError": ValueError,
          "NotImplementedError": NotImplementedError}  # fmt: skip


@spread("case", CASES, every=7, ids=lambda case: case.__name__)
def test_as_the_original(case):
    program, runs = case(tf)
    for args, wanted in zip(runs, GOLDEN[case.__name__], strict=True):
        if isinstance(wanted, str):
            with pytest.raises(RAISED.get(wanted) or getattr(errors, wanted)):
                run(program, *args)
        else:
            compare(run(program, *args), wanted)


@spread("case", CASES, every=7, ids=lambda case: case.__name__)
def test_with_unknown_sizes(case):
    program, runs = case(tf)
    for args, wanted in zip(runs, GOLDEN[case.__name__], strict=True):
        if not isinstance(wanted, str) and case.__name__ not in ("builtins",):
            shapes = [[None] * np.ndim(a) for a in args]
            compare(run(program, *args, shapes=shapes), wanted)


def compare(found, wanted):
    leaves = nest.flatten(found)
    assert len(leaves) == len(wanted)
    for leaf, golden in zip(leaves, wanted, strict=True):
        assert array(leaf).dtype.name == golden["dtype"].replace("int64", "int32")
        np.testing.assert_allclose(leaf, np.array(golden["value"], golden["dtype"]), rtol=2e-6)
