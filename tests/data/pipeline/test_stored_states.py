"""States that earlier code has stored: later code goes on from them, with the elements of an undisturbed run."""

import json
import pathlib
import shutil

import pytest
from jax import tree

from tests.golden import stored_states_cases as cases
from tests.spread import spread

STORED = pathlib.Path(__file__).parents[2] / "golden/stored_states"
FOUND = json.loads((STORED / "elements.json").read_text())


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """The pipelines in a folder that has the files which they read and wrote."""
    monkeypatch.chdir(tmp_path)
    cases.write_files()
    shutil.copy(STORED / "cached", tmp_path)
    shutil.copytree(STORED / "snapshot", tmp_path / "snapshot")
    with_session = cases.Pipelines()
    yield with_session
    with_session.close()


def test_pipelines_go_on(runs, caplog):
    with caplog.at_level("INFO"):
        runs.saver.restore(runs.session, str(STORED / "pipelines" / "model"))
    left = runs.take(cases.LEFT)
    assert [name for name in FOUND["left"] if left[name] != FOUND["left"][name]] == []
    assert f"positions of {len(left)} iterators" in caplog.text
    assert "frame" not in caplog.text  # They were stored without one.


@pytest.mark.long
def test_pipelines_undisturbed(runs):
    assert runs.take(cases.TAKEN) == FOUND["taken"]
    assert runs.take(cases.LEFT) == FOUND["left"]


@spread("name", [train.__name__ for train in cases.TRAINING], every=3)
def test_training_goes_on(name, tmp_path):
    (train,) = (train for train in cases.TRAINING if train.__name__ == name)
    shutil.copytree(STORED / name, tmp_path / "model")
    for one, other in zip(tree.leaves(train(str(tmp_path / "model"), [])), tree.leaves(FOUND[name]), strict=True):
        assert one == pytest.approx(other, rel=1e-5)
