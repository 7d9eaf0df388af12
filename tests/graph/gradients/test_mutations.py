"""The mutations of gradients are of the source as it is."""

import pathlib

import pytest

import towerstrat
from tests.graph.gradients.mutations import FLOWS, REPAIRS

ROOT = pathlib.Path(towerstrat.__file__).parent


@pytest.mark.parametrize("mutation", REPAIRS + FLOWS, ids=lambda mutation: mutation.what)
def test_each_changes_one_place(mutation):
    assert (ROOT / mutation.file).read_text(encoding="utf-8").count(mutation.text) == 1
