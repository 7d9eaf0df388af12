"""Cores that all get one batch train, evaluate and predict as a machine without cores does, whatever is added."""

import pytest

from tests.compat.estimator.towers_as_one import difference
from tests.compat.estimator.tpu.cores_as_one import ROWS, trained


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """(model, extra) -> what the training without cores gives, made once."""
    found = {}

    def give(model, extra):
        if (model, extra) not in found:
            found[model, extra] = trained(model, extra, None, str(tmp_path_factory.mktemp("alone")))
        return found[model, extra]

    return give


DEFAULT = {("batch_norm", "metrics", 2), ("embedding", "host_call, loops of 3", 2), ("dense", "scaffold", 1)}
TABLE = [pytest.param(*row, marks=[] if row in DEFAULT else pytest.mark.long) for row in ROWS]


@pytest.mark.parametrize(("model", "extra", "cores"), TABLE)
def test_as_one(model, extra, cores, alone, tmp_path):
    found = difference(trained(model, extra, cores, str(tmp_path)), alone(model, extra))
    assert found is None, found


def test_the_default_rows_are_in_the_table():
    assert set(ROWS) >= DEFAULT
