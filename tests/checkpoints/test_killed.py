"""A process that is killed while it saves leaves a checkpoint that is whole: the one before, or the new one."""

import numpy as np
import pytest

from tests.faults.disk import Disk, copies
from towerstrat.checkpoints import checkpoint_state
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.checkpoints.bundle_writer import Saved, write


def save(where, number, same):
    path = f"{where}/model" if same else f"{where}/model-{number}"
    write(path, [Saved(name, lambda: np.full(50_000, number, np.float32)) for name in "abc"], b"beside")
    checkpoint_state.write_state(where, checkpoint_state.new_state(where, path))


@pytest.mark.parametrize("same", [True, False], ids=["same", "numbered"])
def test_what_is_there_is_whole(tmp_path, same):
    place, left = tmp_path / "place", tmp_path / "left"
    left.mkdir()
    save(str(place), 1, same)
    with Disk(place, copies(place, left)) as disk:
        save(str(place), 2, same)
    found = []
    for state in sorted(left.iterdir()):
        bundle = Bundle(checkpoint_state.latest(str(state)))
        values = {name: bundle.read(name) for name in "abc"}
        found.append(values["a"][0])
        assert all((value == found[-1]).all() for value in values.values())
    assert len(found) > len(disk.points) > 15
    assert found == sorted(found)
    assert set(found) == {1, 2}
