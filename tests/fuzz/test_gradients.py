"""Random gradients: some agree with their formulas, and a flow that is dropped is found."""

import pytest

from tests.fuzz import gradients
from tests.graph.gradients import ways


@pytest.mark.parametrize("seed", range(30))
def test_gradients_are_those_of_the_formula(seed):
    difference = gradients.program(seed)
    assert difference is None, f"{difference.what}\n{difference.program}"


def test_a_dropped_flow_is_found_and_shown(monkeypatch):
    by_tape = ways._by_tape
    monkeypatch.setattr(ways, "_by_tape", lambda *given: [0.5 * t for t in by_tape(*given)])
    difference = next(d for d in map(gradients.program, range(8)) if d is not None)
    assert "compare(task, WAYS[" in difference.program
