"""Metrics of ``tf.contrib.metrics`` that use the original's insides: values of TensorFlow 1.12.3 after two updates."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat import errors
from towerstrat.compat.names import tf_slim
from towerstrat.models.metrics.confusion_counts import counts_at_thresholds

pytestmark = pytest.mark.skipif(not tf_slim.available(), reason="tf-slim is not installed: pip install '.[contrib]'")

LABELS = [[0, 1, 1, 0], [1, 0, 1, 1]]
SCORES = [[0.125, 0.75, 0.5, 0.625], [0.375, 0.25, 0.875, 0.5]]
WEIGHTS = [[1.0, 0.5, 2.0, 1.0], [0.25, 1.0, 1.0, 3.0]]
CLASSES = [[0, 1, 2, 0], [1, 1, 1, 2]]
BEST = [[[3, 1, 0], [0, 2, 4]], [[5, 4, 1], [2, 0, 3]]]
RELEVANT = [[[1, 3], [4, 5]], [[1, 2], [0, 3]]]


def cases(labels, scores, weights, classes, best, relevant):
    metrics = tf.contrib.metrics
    truth = tf.cast(labels, tf.bool)
    return {
        "streaming_concat": lambda: metrics.streaming_concat(scores),
        "streaming_concat of 6": lambda: metrics.streaming_concat(scores, max_size=6),
        "streaming_concat of columns": lambda: metrics.streaming_concat(best, axis=1),
        "count": lambda: metrics.count(scores),
        "count of weights": lambda: metrics.count(scores, weights),
        "f1_score": lambda: metrics.f1_score(labels, scores, weights, num_thresholds=5),
        "auc_using_histogram": lambda: metrics.auc_using_histogram(truth, scores, [0.0, 1.0], nbins=4),
        "cohen_kappa": lambda: metrics.cohen_kappa(labels, classes, 3),
        "cohen_kappa of weights": lambda: metrics.cohen_kappa(labels, classes, 3, weights=weights),
        "average_precision_at_top_k": lambda: metrics.streaming_sparse_average_precision_at_top_k(best, relevant),
        "streaming_dynamic_auc": lambda: metrics.streaming_dynamic_auc(labels, scores, weights=weights),
        "auc_with_confidence_intervals": lambda: metrics.auc_with_confidence_intervals(labels, scores, weights),
    }


VALUES = {
    "streaming_concat": [[0.125, 0.75, 0.5, 0.625], [0.125, 0.75, 0.5, 0.625, 0.375, 0.25, 0.875, 0.5]],
    "streaming_concat of 6": [[0.125, 0.75, 0.5, 0.625], [0.125, 0.75, 0.5, 0.625, 0.375, 0.25]],
    "streaming_concat of columns": [
        [[3.0, 1.0, 0.0], [0.0, 2.0, 4.0]],
        [[3.0, 1.0, 0.0, 5.0, 4.0, 1.0], [0.0, 2.0, 4.0, 2.0, 0.0, 3.0]],
    ],
    "count": [4.0, 8.0],
    "count of weights": [4.5, 9.75],
    "f1_score": [0.833333, 0.931034],
    "auc_using_histogram": [0.875, 0.833333],
    "cohen_kappa": [0.6, 0.368421],
    "cohen_kappa of weights": [0.4, 0.170213],
    "average_precision_at_top_k": [0.583333, 0.479167],
    "streaming_dynamic_auc": [0.6, 0.740741],
    "auc_with_confidence_intervals": [[0.6, 0.042174, 0.980806], [0.740741, 0.159618, 0.977262]],
}
"""After the first update, and after the second."""


@pytest.mark.parametrize("name", VALUES)
def test_values_after_each_update(name):
    given = [
        np.array(LABELS), np.array(SCORES, np.float32), np.array(WEIGHTS, np.float32), np.array(CLASSES),
        np.array(BEST), np.array(RELEVANT),
    ]  # fmt: skip
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.as_dtype(x.dtype), x.shape[1:]) for x in given]
        value, update = cases(*fed)[name]()
        session.run(tf.local_variables_initializer())
        for i, wanted in enumerate(VALUES[name]):
            feeds = {tensor: x[i] for tensor, x in zip(fed, given, strict=True)}
            session.run(update, feeds)
            np.testing.assert_allclose(session.run(value, feeds), wanted, rtol=1e-5, atol=1e-6)


# 1.12.3 has the same sums; its second tower refuses the last one, whose variables have other names there.
@pytest.mark.parametrize("name", ["count", "count of weights", "f1_score", "average_precision_at_top_k"])
def test_values_over_two_towers_are_those_of_one_device(name):
    given = (LABELS, np.array(SCORES, np.float32), np.array(WEIGHTS, np.float32), CLASSES, BEST, RELEVANT)
    with tf.Graph().as_default():
        strategy = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with strategy.scope():
            data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(given))
            iterator = data.make_initializable_iterator()
            value, update = strategy.call_for_each_tower(lambda batch: cases(*batch)[name](), iterator.get_next())
        with tf.Session() as session:
            session.run([iterator.initializer, tf.local_variables_initializer()])
            session.run(strategy.unwrap(update))
            found = session.run(strategy.unwrap(value))
    np.testing.assert_allclose(found, [VALUES[name][-1]], rtol=1e-5)


def test_an_array_that_grows_on_a_tower_is_refused_by_name():
    with tf.Graph().as_default():
        strategy = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with strategy.scope():
            _, update = strategy.call_for_each_tower(lambda: tf.contrib.metrics.streaming_concat(tf.ones([2])))
        with tf.Session() as session, pytest.raises(errors.UnsupportedError, match="streaming_concat/cond/zeros"):
            session.run(tf.local_variables_initializer())
            session.run(strategy.unwrap(update))


def test_kinds_of_counts_are_checked():
    with tf.Graph().as_default():
        assert set(counts_at_thresholds(tf.constant([1]), tf.constant([0.5]), [0.1])[0]) == {"tp", "fn", "tn", "fp"}
        with pytest.raises(ValueError, match="Invalid key: tpr"):
            counts_at_thresholds(tf.constant([1]), tf.constant([0.5]), [0.1], includes=("tp", "tpr"))
