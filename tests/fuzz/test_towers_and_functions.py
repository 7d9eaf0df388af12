"""Random programs of towers and of functions: some of each agree, and a fault that is planted is found."""

import pytest

from tests.fuzz import functions, towers
from tests.spread import spread


@spread("seed", range(4), every=4)
def test_towers_do_what_numpy_says(seed):
    assert towers.program(seed) is None


@spread("seed", range(4), every=2)
def test_functions_do_the_same_in_all_homes(seed):
    assert functions.program(seed) is None


@pytest.mark.long
def test_a_wrong_mean_over_towers_is_found_and_shown(monkeypatch):
    monkeypatch.setitem(towers.MODEL, "MEAN", towers.MODEL["SUM"])
    found = [d for d in map(towers.program, range(6)) if d is not None]
    assert found
    assert "def tower(x):" in found[0].program


def test_a_lost_write_is_found_and_shown(monkeypatch):
    def losing(text, name, inputs):
        return functions._eagerly(text.replace("v.assign", "w.assign"), name, inputs)

    monkeypatch.setattr(functions, "_as_function", losing)
    found = [d for d in map(functions.program, range(6)) if d is not None]
    assert found
    assert "def function(x):" in found[0].program
    assert "losing" in found[0].what
