"""Checkpoints of objects: the originals' are restored, and ours have the same keys.

That the originals restore ours is shown by ``tests/golden/checkpoints_objects.py --read PREFIX``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.checkpoints_objects_cases import Holder
from towerstrat.graph.eager import mode

FOLDER = Path(__file__).parents[2] / "golden" / "checkpoints"


@pytest.fixture(autouse=True)
def _eagerly():
    with mode.eager_mode():
        yield


def close(found, wanted):
    """One addition apart at most: the originals round the update by momentum in another order."""
    *numbers, step = found
    *wanted_numbers, wanted_step = wanted
    assert step == wanted_step
    for one, other in zip(numbers, wanted_numbers, strict=True):
        np.testing.assert_allclose(one, other, rtol=2**-22, atol=2**-24)


@pytest.mark.parametrize("version", ["1.12", "2.15"])
@pytest.mark.parametrize("late", [False, True])
def test_the_originals_are_restored(version, late):
    golden = json.loads((FOLDER / version / "objects.json").read_text())
    holder = Holder(tf)
    if late:
        holder.checkpoint = tf.train.Checkpoint()
    else:
        holder.change()
    status = holder.checkpoint.restore(str(FOLDER / version / golden["path"]))
    if late:
        for name in ("net", "optimizer", "momentum", "step", "scaled"):
            setattr(holder.checkpoint, name, getattr(holder, name))
    then, other = golden["then"]
    assert holder.other() == other
    close(holder.values(), then)
    holder.train()
    status.assert_consumed()
    close(holder.values(), golden["later"])


def test_ours_have_the_keys_of_the_originals(tmp_path):
    holder = Holder(tf)
    holder.train()
    path = holder.checkpoint.save(str(tmp_path / "objects"))
    found = [name for name, _ in tf.train.list_variables(path)]
    for version in ("1.12", "2.15"):
        assert found == json.loads((FOLDER / version / "objects.json").read_text())["keys"]
