"""Exports of estimators: no SavedModel, but the part of the training that it would keep, so that training goes on."""

import os

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.estimator_cases import X, Y, logistic


def rows():
    return tf.data.Dataset.from_tensors(({"x": X}, Y))


def receive():
    raise AssertionError("no graph is made for serving")


def kept(folder):
    return tf.contrib.framework.load_checkpoint(os.path.join(folder, "variables", "variables"))


@pytest.fixture
def warnings(monkeypatch):
    """The sentence about exports."""
    said = []

    def warning(text, *values):
        if text.startswith("No SavedModel is written"):
            said.append(text % values)

    monkeypatch.setattr("towerstrat.platform.logs.warning", warning)
    return said


def test_an_export_has_the_variables_of_the_checkpoint(tmp_path, warnings):
    (tmp_path / "words").write_text("a b")
    estimator = tf.estimator.Estimator(logistic(tf), str(tmp_path / "model"))
    with pytest.raises(ValueError, match="Couldn't find trained model at"):
        estimator.export_savedmodel(str(tmp_path / "out"), receive)
    estimator.train(lambda: rows().repeat(), steps=2)
    folder = estimator.export_savedmodel(str(tmp_path / "out"), receive, {"more/words": str(tmp_path / "words")})
    np.testing.assert_array_equal(kept(folder.decode()).get_tensor("w"), estimator.get_variable_value("w"))
    assert (
        tmp_path / "out" / os.path.basename(folder.decode()) / "assets.extra" / "more" / "words"
    ).read_text() == "a b"
    (said,) = warnings
    assert folder.decode() in said
    following = estimator.export_saved_model(str(tmp_path / "out"), receive)
    assert int(os.path.basename(following)) > int(os.path.basename(folder))


def test_exporters_keep_the_best_and_the_latest(tmp_path, warnings):
    """As many folders as the original keeps, the newest of which has the last step."""
    config = tf.estimator.RunConfig(save_checkpoints_steps=2, keep_checkpoint_max=1)
    estimator = tf.estimator.Estimator(logistic(tf), str(tmp_path), config)
    exporters = [
        tf.estimator.BestExporter("best", receive, exports_to_keep=2),
        tf.estimator.LatestExporter("latest", receive, exports_to_keep=1),
        tf.estimator.FinalExporter("final", receive),
    ]
    evaluation = tf.estimator.EvalSpec(rows, steps=1, throttle_secs=0, start_delay_secs=0, exporters=exporters)
    training = tf.estimator.TrainSpec(lambda: rows().repeat(), max_steps=8)
    results, exported = tf.estimator.train_and_evaluate(estimator, training, evaluation)
    assert results["global_step"] == 8
    assert [len(os.listdir(tmp_path / "export" / e.name)) for e in exporters] == [2, 1, 1]
    assert [kept(folder.decode()).get_tensor("global_step") for folder in exported] == [8, 8, 8]
    assert len(warnings) == 4 + 4 + 1
