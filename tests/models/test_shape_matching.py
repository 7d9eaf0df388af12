"""Labels, predictions and weights of unknown rank are fitted to each other when the program runs."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run

LOGITS = 10 * np.eye(3, dtype=np.float32)
CLASSES = np.array([2, 0, 1], np.int32)
WEIGHTS = np.array([1.2, 3.4, 5.6], np.float32)


def loss(labels_shape, logits_shape, weights_shape, labels, weights):
    places = [tf.placeholder(t, s) for t, s in (("int32", labels_shape), ("float32", logits_shape))]
    weight = tf.placeholder("float32", weights_shape)
    found = tf.losses.sparse_softmax_cross_entropy(*places, weight)
    return run(found, {places[0]: labels, places[1]: LOGITS, weight: weights})


@pytest.mark.parametrize("labels", [CLASSES, CLASSES[:, None]], ids=["vector", "column"])
@pytest.mark.parametrize("weights", [np.float32(2), WEIGHTS, WEIGHTS[:, None]], ids=["scalar", "vector", "column"])
def test_a_loss_of_unknown_ranks_is_that_of_known_ones(labels, weights):
    wanted = loss(labels.shape, [3, 3], weights.shape, labels, weights)
    np.testing.assert_allclose(wanted, 10.0 * np.mean(np.broadcast_to(weights.ravel(), [3])), rtol=1e-4)
    for shapes in ((None, None, None), (None, [None, 3], None), (labels.shape, None, weights.shape)):
        assert loss(*shapes, labels, weights) == wanted


@pytest.mark.parametrize("shape", [[3], [3, 1]])
@pytest.mark.parametrize("weights", [np.float32(2), WEIGHTS, WEIGHTS[:, None]], ids=["scalar", "vector", "column"])
def test_a_metric_of_unknown_ranks_is_that_of_known_ones(shape, weights):
    labels, predictions = np.array([1, 0, 1], np.float32).reshape(shape), np.ones([3, 1], np.float32)

    def accuracy(*shapes):
        places = [tf.placeholder(tf.float32, s) for s in shapes]
        update = tf.metrics.accuracy(*places)[1]
        return run(update, dict(zip(places, (labels, predictions, weights), strict=True)))

    full = np.broadcast_to(weights.ravel(), [3])
    known = accuracy(shape, [3, 1], weights.shape)
    np.testing.assert_allclose(known, (full[0] + full[2]) / full.sum(), rtol=1e-6)
    assert accuracy(None, None, None) == known


def test_gradients_pass_a_fitted_rank():
    logits, labels = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    (gradient,) = tf.gradients(tf.losses.sparse_softmax_cross_entropy(labels, logits), [logits])
    found = run(gradient, {logits: LOGITS, labels: CLASSES[:, None]})
    powers = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, (powers - np.eye(3)[CLASSES]) / 3, rtol=1e-5, atol=1e-7)


def test_gradients_pass_weights_of_an_unknown_shape():
    losses, weights = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    total = tf.losses.compute_weighted_loss(losses, weights, reduction="weighted_sum")
    found = run(tf.gradients(total, weights)[0], {losses: WEIGHTS, weights: np.ones(3)})
    np.testing.assert_allclose(found, WEIGHTS, rtol=1e-6)
