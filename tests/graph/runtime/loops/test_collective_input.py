"""Errors of input that several processes read: each says of which process it is, and keeps its class."""

from types import SimpleNamespace

import pytest

from towerstrat import errors
from towerstrat.graph.runtime.loops import collective_input

LOST = 15
"""The code of DataLossError."""


@pytest.fixture
def told(monkeypatch):
    """A function that sets what all processes say, after this one."""
    others = []
    monkeypatch.setattr(
        collective_input, "COLLECTIVES", SimpleNamespace(gather=lambda mine, schema: [mine, *others])
    )  # fmt: skip
    return others.extend


@pytest.mark.parametrize(
    "error",
    [
        errors.OpError(None, None, "a file is gone", LOST),
        errors.DataLossError(None, None, "a file is gone"),
        ValueError("a file is gone"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_this_process_keeps_its_class(error, told):
    with pytest.raises(type(error), match="a file is gone") as caught:
        collective_input.raise_first_failure(collective_input.FAILED, error)
    assert type(caught.value) is type(error)
    said = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    assert "in the input pipeline of process 0, of 1" in said
    assert getattr(caught.value, "error_code", None) == getattr(error, "error_code", None)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("DataLossError", errors.DataLossError), ("OpError", errors.UnknownError), ("ValueError", errors.UnknownError)],
)
def test_an_error_of_another_process_is_of_its_class_where_it_is_one_of_runs(kind, wanted, told):
    told([(collective_input.FAILED, kind, f"{kind}: a file is gone")])
    with pytest.raises(wanted, match=f"The input pipeline of process 1, of 1, raised {kind}: a file is gone"):
        collective_input.raise_first_failure(collective_input.THERE, None)
