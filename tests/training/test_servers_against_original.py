"""One-task servers, devices of replicas and synchronized replicas are as TensorFlow 1.12.3 had them."""

import json
from pathlib import Path

import numpy as np

import towerstrat.compat.v1 as tf
from tests.golden import servers_cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "servers.json").read_text())


def check(found, wanted):
    """Structures are the same, numbers but for the last bits of a float32."""
    if isinstance(wanted, list):
        assert isinstance(found, list)
        assert len(found) == len(wanted), (found, wanted)
        for one, other in zip(found, wanted, strict=True):
            check(one, other)
    elif isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-9)
    else:
        assert found == wanted


@spread("name", servers_cases.CASES, every=5)
def test_case(name):
    check(servers_cases.run(tf, name), GOLDEN[name])
