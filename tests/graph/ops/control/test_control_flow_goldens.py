"""Branches, loops, checks and gradients against what TensorFlow 1.12 makes of the same programs."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.golden.control_flow_cases import CASES
from tests.graph.control_flow_namespace import namespace
from tests.spread import spread
from towerstrat import errors
from towerstrat.graph.ir.graph import Graph

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "control_flow.json").read_text())


@spread("name", sorted(CASES), every=15)
def test_as_the_original(name):
    tf, case, wanted = namespace(), CASES[name], GOLDEN[name]
    with Graph().as_default(), tf.Session() as session:
        if "error" in wanted:
            with pytest.raises(_kind(wanted["error"])):
                case(tf)
            return
        fetches, feeds = case(tf)
        session.run(tf.global_variables_initializer())
        for feed, run in zip(feeds, wanted["runs"], strict=True):
            if isinstance(run, str):
                with pytest.raises(_kind(run)):
                    session.run(fetches, feed)
            else:
                _compare(session.run(fetches, feed), run)


def _kind(name):
    return getattr(errors, name, None) or {"TypeError": TypeError, "ValueError": ValueError}[name]


def _compare(found, wanted):
    assert len(found) == len(wanted)
    for value, golden in zip(found, wanted, strict=True):
        assert np.asarray(value).dtype.name == golden["dtype"]
        np.testing.assert_allclose(value, np.array(golden["value"], golden["dtype"]), rtol=2e-6, atol=1e-6)
