"""Towers that all get one batch train, evaluate and predict as one device does, whatever is added to the training."""

import math

import pytest

from tests.compat.estimator.towers_as_one import ROWS, difference, trained


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """(model, extra) -> what one device gives, trained once."""
    found = {}

    def give(model, extra):
        if (model, extra) not in found:
            found[model, extra] = trained(model, extra, None, str(tmp_path_factory.mktemp("alone")))
        return found[model, extra]

    return give


DEFAULT = {
    ("batch_norm", "metrics", "contrib"), ("loop", "averages", "later"), ("dense", "evaluations", "contrib"),
    ("recurrent", "scaffold", "contrib"), ("batch_norm", "summaries", "later"),
}  # fmt: skip
TABLE = [pytest.param(*row, marks=[] if row in DEFAULT else pytest.mark.long) for row in ROWS]


@pytest.mark.parametrize(("model", "extra", "strategy"), TABLE)
def test_as_one(model, extra, strategy, alone, tmp_path):
    found = difference(trained(model, extra, strategy, str(tmp_path)), alone(model, extra))
    assert found is None, found


def test_the_default_rows_are_in_the_table():
    assert set(ROWS) >= DEFAULT


def test_differences_are_seen():
    assert difference({"a": 1.0}, {"a": 1.0}) is None
    assert difference({"a": 1.0}, {"a": 1.1}) == "a: 1.0, expected 1.1"
    assert difference({"a": math.nan}, {"a": 1.0}) == "a: nan, expected 1.0"
    assert difference({"a": 1.0}, {"b": 1.0}) == "names: ['a', 'b']"
