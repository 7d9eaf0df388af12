"""Evaluations of towers whose data ends within a step: all that is there counts, in values of the originals.

1.12.3, 1.15.5 and 2.15.1 raise the end of the data in the towers that get nothing, while the others may have counted
their batches by then: these are the values that all three give where the others have.
"""

import tempfile

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread

X = np.random.RandomState(0).rand(60, 3).astype(np.float32)
Y = (X.sum(1, keepdims=True) > 1.5).astype(np.float32)
STRATEGIES = {
    "contrib": tf.contrib.distribute.MirroredStrategy,
    "later": tf.distribute.MirroredStrategy,
    "central": tf.distribute.experimental.CentralStorageStrategy,
}
COUNTED = {
    8: {"acc": 1.0, "auc": 1.0, "count": 8, "loss": 0.13030, "mean": 0.61771, "per_class": 1.0},
    16: {"acc": 0.625, "auc": 0.69841, "count": 16, "loss": 0.22469, "mean": 0.62775, "per_class": 0.57143},
    17: {"acc": 0.58824, "auc": 0.73611, "count": 17, "loss": 0.23953, "mean": 0.62298, "per_class": 0.56250},
    20: {"acc": 0.6, "auc": 0.8, "count": 20, "loss": 0.22767, "mean": 0.61815, "per_class": 0.6},
}
"""Rows -> what is evaluated of them, in batches of 4."""


def model_fn(features, labels, mode):
    training = mode == tf.estimator.ModeKeys.TRAIN
    kernel = tf.constant_initializer(np.cos(np.arange(12)).reshape(3, 4))
    hidden = tf.layers.dense(features["x"], 4, kernel_initializer=kernel, name="d")
    hidden = tf.layers.batch_normalization(hidden, training=training, momentum=0.5, name="bn")
    last = tf.constant_initializer([1.0, -0.5, 0.3, 0.7])
    score = tf.sigmoid(tf.layers.dense(hidden, 1, kernel_initializer=last, name="l"))
    loss = tf.reduce_mean(tf.square(score - labels))
    train = None
    if training:
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, tf.train.get_global_step())
    hit, wanted = tf.cast(tf.round(score), tf.int64), tf.cast(labels, tf.int64)
    metrics = {
        "acc": tf.metrics.accuracy(labels, tf.round(score)),
        "auc": tf.metrics.auc(labels, score),
        "count": tf.metrics.true_positives(labels > -1, labels > -1),
        "mean": tf.metrics.mean(score),
        "per_class": tf.metrics.mean_per_class_accuracy(wanted, hit, 2),
    }
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)


def rows(count, drop=False):
    data = tf.data.Dataset.from_tensor_slices(({"x": X[:count]}, Y[:count]))
    return lambda: data.batch(4, drop_remainder=drop)


@pytest.fixture(scope="module")
def folder():
    """Of a model that one device has trained."""
    found = tempfile.mkdtemp()
    tf.estimator.Estimator(model_fn, found).train(rows(40), steps=3)
    return found


def evaluated(folder, towers, kind, count, drop=False):
    strategy = STRATEGIES[kind]([f"/device:CPU:{i}" for i in range(towers)])
    estimator = tf.estimator.Estimator(model_fn, folder, tf.estimator.RunConfig(eval_distribute=strategy))
    found = estimator.evaluate(rows(count, drop))
    assert found.pop("global_step") == 3
    return found


def close(found, count):
    assert found.keys() == COUNTED[count].keys()
    for name, wanted in COUNTED[count].items():
        np.testing.assert_allclose(found[name], wanted, atol=2e-5, err_msg=name)


TABLE = [(kind, towers, count) for kind in ("contrib", "later") for towers in (3, 2) for count in (17, 8, 16, 20)]


@spread(("kind", "towers", "count"), TABLE, every=10)
def test_all_that_is_there_counts(kind, towers, count, folder):
    """One batch left, two left, a short one; towers without one count nothing: neither as 0 nor as no number."""
    close(evaluated(folder, towers, kind, count), count)


@pytest.mark.parametrize("count", [17, pytest.param(21, marks=pytest.mark.long)])
def test_batches_of_static_shape(count, folder):
    close(evaluated(folder, 3, "later", count, drop=True), count // 4 * 4)


def test_towers_that_share_their_counts_have_whole_steps(folder, caplog):
    """The batches that are left are named."""
    with caplog.at_level("WARNING", "tensorflow"):
        close(evaluated(folder, 2, "central", 20), 16)
    assert "1 of the 2 replicas would have a batch" in caplog.text


@pytest.mark.parametrize("kind", ["contrib", pytest.param("later", marks=pytest.mark.long)])
def test_what_all_towers_count_together_has_whole_steps(kind, tmp_path):
    """A variable that is added up over towers is written by all of them or not at all: 16 of 20 rows, as in 1.12.3."""

    def counting(features, labels, mode):
        loss = tf.reduce_mean(tf.layers.dense(features["x"], 1))
        count = tf.get_variable(
            "count", [], initializer=tf.zeros_initializer(), trainable=False, collections=["local_variables"],
            aggregation=tf.VariableAggregation.SUM,
        )  # fmt: skip
        added = count.assign_add(tf.cast(tf.shape(labels)[0], tf.float32))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train, eval_metric_ops={"count": (count, added)} if mode == "eval" else None
        )

    tf.estimator.Estimator(counting, str(tmp_path)).train(rows(8), steps=1)
    strategy = STRATEGIES[kind](["/device:CPU:0", "/device:CPU:1"])
    estimator = tf.estimator.Estimator(counting, str(tmp_path), tf.estimator.RunConfig(eval_distribute=strategy))
    assert estimator.evaluate(rows(20))["count"] == 16


@pytest.mark.parametrize("kind", ["contrib", "later"])
def test_training_ends_before_a_step_that_is_not_whole(kind):
    """Five batches for two towers are two steps, as they are in the originals: a gradient needs all towers."""
    strategy = STRATEGIES[kind](["/device:CPU:0", "/device:CPU:1"])
    config = tf.estimator.RunConfig(train_distribute=strategy)
    estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), config)
    estimator.train(rows(20))
    assert estimator.get_variable_value("global_step") == 2
