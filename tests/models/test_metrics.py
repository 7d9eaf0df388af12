"""Metrics on answers that one can count, and what a second batch adds."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

LABELS = np.array([1, 1, 0, 0, 1, 0, 0])
SCORES = np.array([0.9, 0.4, 0.1, 0.6, 0.8, 0.3, 0.8], np.float32)
WEIGHTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], np.float32)


def after_two_updates(made):
    """The value, what the second update gave, and the value before any."""
    value, update = made
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        before = session.run(value)
        session.run(update)
        second = session.run(update)
        return session.run(value), second, before


COUNTS = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}


def counted(name, threshold, weights):
    label, prediction = COUNTS[name]
    is_one = np.equal(LABELS, label) & np.equal(threshold < SCORES, prediction)
    return np.sum(weights[is_one])


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_counts(name, weights):
    each = np.ones(7) if weights is None else weights
    found, update, before = after_two_updates(getattr(tf.metrics, name)(LABELS, SCORES > 0.5, weights))
    assert found == update == 2 * counted(name, 0.5, each)
    assert before == 0


@pytest.mark.parametrize("name", COUNTS)
def test_counts_at_thresholds(name):
    thresholds = [0.2, 0.5, 0.7]
    made = getattr(tf.metrics, f"{name}_at_thresholds")(LABELS, SCORES, thresholds, WEIGHTS)
    found, update, before = after_two_updates(made)
    wanted = [2 * counted(name, t, WEIGHTS) for t in thresholds]
    assert found.tolist() == update.tolist() == wanted
    assert before.tolist() == [0, 0, 0]


def test_mean_of_intersections_over_unions():
    """Of class 0 there are 2 right of 3 in either, of class 1 one of 3, class 2 is one of 2, 3 never occurs."""
    labels, predictions = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2]
    found, matrix, before = after_two_updates(tf.metrics.mean_iou(labels, predictions, 4))
    np.testing.assert_allclose(found, (2 / 3 + 1 / 3 + 1 / 2) / 3, rtol=1e-6)
    assert matrix.tolist() == [[4, 2, 0, 0], [0, 2, 2, 0], [0, 0, 2, 0], [0, 0, 0, 0]]
    assert before == 0


def test_average_precision_by_both_of_its_names():
    """Of two labels one is among the first three: third in one row, 1 / 3 / 2, and first in the other one, 1 / 2."""
    labels = np.array([[2, 0], [1, 0]], np.int64)
    scores = np.array([[0.1, 0.3, 0.2, 0.4], [0.0, 0.7, 0.2, 0.1]], np.float32)
    for metric in (tf.metrics.average_precision_at_k, tf.metrics.sparse_average_precision_at_k):
        found, update, _ = after_two_updates(metric(labels, scores, 3))
        np.testing.assert_allclose([found, update], (1 / 3 / 2 + 1 / 2) / 2, rtol=1e-6)
