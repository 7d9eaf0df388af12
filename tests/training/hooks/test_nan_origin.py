"""The NaN hook names the first tensor that is not finite where the run can be computed again, else why not."""

import logging

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.runtime.programs.limits import LIMITS

ROWS = np.random.RandomState(0).rand(64, 3).astype(np.float32) + 1
BAD = np.concatenate([ROWS[:33], -ROWS[33:34], ROWS[34:]])
"""Its row 33 has no logarithm."""


@pytest.fixture(autouse=True)
def steps_are_fast(monkeypatch):
    """A session runs ahead, and keeps the state before, on a busy machine too."""
    monkeypatch.setattr(LIMITS, "return_seconds", 1e9)


def train(x, loss_of, rows=None, fail=True, trains=True, hooked=True, limit=60):
    """Trains until the hook or ``limit`` stops it: (error or None, variables after it)."""
    step = tf.train.get_or_create_global_step()
    with tf.variable_scope("model", use_resource=True):
        w = tf.get_variable("w", initializer=[1.0, 2.0, 3.0])
    loss = loss_of(x, w)
    run = tf.train.AdamOptimizer(0.01).minimize(loss, step) if trains else loss
    hooks = [tf.train.NanTensorHook(loss, fail)] * hooked + [tf.train.StopAtStepHook(limit)] * trains
    with tf.train.MonitoredSession(hooks=hooks) as session:
        inner = session._tf_sess()
        try:
            while not session.should_stop():
                session.run(run, None if rows is None else {x: next(rows)})
        except tf.train.NanLossDuringTrainingError as error:
            return error, None
        return None, inner.run(tf.global_variables())


def elements(rows):
    return tf.data.Dataset.from_tensor_slices(rows).batch(1).repeat().make_one_shot_iterator().get_next()


def by_log(x, w):
    return tf.reduce_sum(tf.log(x, name="logarithm") * w)


def by_branch(x, w):
    return tf.reduce_sum(tf.cond(tf.reduce_all(x > 0), lambda: x * w, lambda: tf.log(x) * w))


def by_root(x, w):
    """Its gradient at zero is infinite, and zero times that is not a number: the step after has NaN in ``w``."""
    return tf.reduce_sum(tf.sqrt((w - w) * x) + w * x)


def by_overflow(x, w):
    large = tf.exp(100.0 * tf.nn.relu(-x) * w, name="large")
    return tf.reduce_sum(large - large)


@pytest.mark.parametrize(
    ("rows", "loss_of", "says"),
    [
        (BAD, by_log, ["logarithm:0 (Log, ", ": 3 NaN of 3 values."]),
        (BAD, by_branch, ["cond/If:0 (If, ", ": 3 NaN of 3 values."]),
        (BAD, by_overflow, ["large:0 (Exp, ", "infinite of 3 values. The first with a NaN: ", " (Sub, created at "]),
    ],
)
def test_a_step_that_ran_ahead(rows, loss_of, says):
    with tf.Graph().as_default():
        error, _ = train(elements(rows), loss_of)
    assert str(error) == "NaN loss during training."
    assert error.__notes__[0].startswith(f"The first tensor on its way that is not finite: {says[0]}")
    assert all(text in error.__notes__[0] for text in [*says, "test_nan_origin.py"])


def test_a_variable_that_had_become_nan_before():
    rows = iter([ROWS[:1]] * 9)
    with tf.Graph().as_default():
        error, _ = train(tf.placeholder(tf.float32, [None, 3]), by_root, rows)
    assert "cannot be computed again: the run has changed what model/w/" in error.__notes__[0]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(ROWS[:1])
        w = tf.get_variable("w", initializer=np.float32([1, np.nan, 3]), use_resource=True)
        session.run(w.initializer)
        loss = by_log(x, w)
        hook = tf.train.NanTensorHook(loss)
        context = tf.train.SessionRunContext(tf.train.SessionRunArgs(loss), session)
        with pytest.raises(tf.train.NanLossDuringTrainingError) as caught:
            hook.after_run(context, tf.train.SessionRunValues(session.run(loss), None, None))
    assert "1 NaN of 3 values, as the variable was before this run." in caught.value.__notes__[0]


def test_feeds_that_are_nan():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        error, _ = train(x, by_log, iter([ROWS[:1], ROWS[:1], ROWS[:1] * np.nan]))
    assert "x:0 (Placeholder, " in error.__notes__[0]
    assert error.__notes__[0].endswith(": 3 NaN of 3 values, as fed.")


def test_data_that_no_step_of_training_took():
    with tf.Graph().as_default():
        error, _ = train(elements(np.full([9, 3], -1, np.float32)), by_log, trains=False)
    assert "the run has changed what IteratorGetNext" in error.__notes__[0]


def test_training_stops_with_the_state_that_it_would_have(caplog):
    """The step that is made once more is made once: its data, its random numbers and its update."""

    def loss(x, w):
        return by_log(tf.maximum(x, 0) + 0 * x, tf.stop_gradient(w)) + tf.reduce_sum(w * tf.random_normal([3]))

    found = []
    for hooked in (True, False):
        with tf.Graph().as_default(), caplog.at_level(logging.WARNING):
            tf.set_random_seed(1)
            rows = np.concatenate([ROWS[:33], ROWS[33:34] * np.nan, ROWS[34:]])
            found.append(train(elements(rows), loss, fail=False, hooked=hooked, limit=34))
    assert "The first tensor on its way that is not finite: IteratorGetNext:0" in caplog.text
    (_, stopped), (_, plain) = found
    assert all(np.isfinite(v).all() for v in stopped)
    for one, other in zip(stopped, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_random_numbers_of_the_step_are_drawn_again():
    """The logarithm of a normal number: the step's own draw is the one that has none, and it is named."""

    def loss(x, w):
        return tf.reduce_sum(tf.log(tf.random_normal([]) + 2.0, name="drawn") * w * x)

    with tf.Graph().as_default():
        tf.set_random_seed(4)
        error, _ = train(elements(ROWS), loss)
    assert "drawn:0 (Log, " in error.__notes__[0]


def test_towers():
    strategy = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def model(features, labels, mode):
        w = tf.get_variable("w", initializer=[1.0, 2.0, 3.0])
        loss = tf.reduce_mean(by_log(features, w))
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
        )

    config = tf.estimator.RunConfig(train_distribute=strategy)
    with pytest.raises(tf.train.NanLossDuringTrainingError) as caught:
        tf.estimator.Estimator(model, config=config).train(
            lambda: tf.data.Dataset.from_tensor_slices((BAD, BAD[:, 0])).batch(1).repeat(), steps=60
        )
    assert "logarithm:0 (Log, " in caught.value.__notes__[0]
    assert "3 NaN of 6 values" in caught.value.__notes__[0]
