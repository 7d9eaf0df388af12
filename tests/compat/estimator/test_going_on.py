"""An Estimator that is stopped and started again: killed, it goes on; ended, it begins another run."""

import glob

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.compat.estimator import killing


class Stopped(Exception):
    pass


def stopping_after(runs):
    left = [runs]

    def started():
        left[0] -= 1
        if left[0] == 0:
            raise Stopped

    return started


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "towers", "stops"),
    [(killing.program, 1, (3, 8, 2, 7)), (killing.tpu_program, 1, (3, 2, 1)), (killing.tpu_program, 2, (3, 2, 1))],
)
def test_killed_between_runs(program, towers, stops, tmp_path):
    """One of them is at the last run of the first training. The long form: ``tests.compat.estimator.killing``."""
    wanted = program(str(tmp_path / "whole"), 24, towers)
    for runs in stops:
        with pytest.raises(Stopped):
            program(str(tmp_path / "parts"), 24, towers, stopping_after(runs))
    assert program(str(tmp_path / "parts"), 24, towers) == wanted


def test_a_training_that_ended_is_over(tmp_path):
    """The next one, an evaluation and a prediction read their data from the start, as in the original."""
    seen = []

    def model_fn(features, labels, mode):
        tf.identity(features, "value")
        step = tf.train.get_global_step()
        loss = tf.to_float(features)
        return tf.estimator.EstimatorSpec(mode, {"value": features[None]}, loss, step.assign_add(1, read_value=False))

    class Values(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs("value:0")

        def after_run(self, run_context, run_values):
            seen.append(int(run_values.results))

    def rows():
        return tf.data.Dataset.range(9).map(lambda i: (i, i))

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), tf.estimator.RunConfig(save_checkpoints_steps=2))
    for max_steps in (4, 7):  # at a checkpoint, and between two
        estimator.train(rows, max_steps=max_steps, hooks=[Values()])
        assert not glob.glob(f"{estimator.latest_checkpoint()}.resume-*")
    assert estimator.evaluate(rows, steps=2, hooks=[Values()])["loss"] == 0.5
    assert [row["value"] for row in estimator.predict(rows, hooks=[Values()])][:3] == [0, 1, 2]
    assert seen == [0, 1, 2, 3, 0, 1, 2, 0, 1, *range(9)]
    np.testing.assert_equal(estimator.get_variable_value("global_step"), 7)
