"""A BERT is fine-tuned from a checkpoint of TensorFlow 1.12 as TensorFlow 1.12 does it, on one tower and on eight."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import bert_cases as cases

pytestmark = pytest.mark.skipif(find_spec("tf_slim") is None, reason="tf.contrib.layers needs the package tf-slim")
KEPT = json.loads((Path(cases.HERE) / "bert.json").read_text())


@pytest.mark.long
def test_losses_on_eight_towers(tmp_path):
    """Thirty steps are three loops; the loss of each is the mean over the towers."""
    settings = {"iterations_per_loop": 10, "num_shards": 8, **cases.CASES["one layer"]}
    found = cases.trained(tf, str(tmp_path), use_tpu=True, **settings)[-1]
    np.testing.assert_allclose(found, KEPT["one layer"]["losses"], rtol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(("name", "towers"), [("for towers", 8), ("as it is", 1), ("clipped", 1), ("one layer", 4)])
def test_fine_tuning_from_a_checkpoint_of_the_original(name, towers, tmp_path):
    settings = {"iterations_per_loop": 10, "num_shards": towers, **cases.CASES[name]}
    found, kept = cases.fine_tuned(tf, str(tmp_path), use_tpu=True, **settings), KEPT[name]
    np.testing.assert_allclose(found["losses"], kept["losses"], rtol=1e-4)
    np.testing.assert_allclose(found["probabilities"], kept["probabilities"], rtol=1e-4)
    assert found["result"] == pytest.approx(kept["result"], rel=1e-4)


@pytest.mark.long
def test_fine_tuning_without_towers(tmp_path):
    found, kept = cases.fine_tuned(tf, str(tmp_path), use_tpu=False), KEPT["as it is"]
    np.testing.assert_allclose(found["losses"], kept["losses"], rtol=1e-4)
    np.testing.assert_allclose(found["probabilities"], kept["probabilities"], rtol=1e-4)
    assert found["result"] == pytest.approx(kept["result"], rel=1e-4)


@pytest.mark.long
def test_towers_clip_their_own_gradients_which_are_added_up(tmp_path):
    """As on the original's shards: see ``SMALL``."""
    settings = {"iterations_per_loop": 7, "num_shards": 8, "rate": cases.HIGH_RATE}
    found = cases.trained(tf, str(tmp_path), use_tpu=True, **settings)[-1]
    np.testing.assert_allclose(found, KEPT["by_hand"], rtol=1e-4)
