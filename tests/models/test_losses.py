"""Losses of sequences, of replicas' shares and of regularized variables, against numpy."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.models import replica_losses

LOGITS = np.array([[[0.5, -1.0, 2.0], [1.0, 0.0, 0.5]], [[-0.5, 1.5, 0.0], [2.0, -2.0, 1.0]]], np.float32)
TARGETS = np.array([[2, 0], [0, 1]], np.int32)
WEIGHTS = np.array([[1.0, 0.5], [2.0, 0.0]], np.float32)


def entropies():
    shifted = LOGITS.astype(np.float64) - np.log(np.sum(np.exp(LOGITS.astype(np.float64)), -1, keepdims=True))
    return -np.take_along_axis(shifted, TARGETS[..., None], -1)[..., 0] * WEIGHTS


SEQUENCES = {
    "mean": ({}, lambda x: x.sum() / WEIGHTS.sum()),
    "steps": ({"average_across_batch": False}, lambda x: x.sum(1) / WEIGHTS.sum(1)),
    "rows": ({"average_across_timesteps": False}, lambda x: x.sum(0) / WEIGHTS.sum(0)),
    "each": ({"average_across_timesteps": False, "average_across_batch": False}, lambda x: x),
}


@pytest.mark.parametrize("how", SEQUENCES)
def test_losses_of_sequences(how):
    arguments, reduced = SEQUENCES[how]
    given = [tf.constant(value) for value in (LOGITS, TARGETS, WEIGHTS)]
    with tf.Session() as session:
        found = session.run(tf.contrib.seq2seq.sequence_loss(*given, **arguments))
    np.testing.assert_allclose(found, reduced(entropies()), rtol=2e-6)


def test_shares_of_losses():
    """The sum over the examples of all replicas; outside of any strategy there is one."""
    with tf.Session() as session:
        found = session.run([
            replica_losses.compute_average_loss([2.0, 4.0, 9.0]),
            replica_losses.compute_average_loss([2.0, 4.0, 9.0], sample_weight=[1.0, 0.5, 0.0], global_batch_size=8),
            replica_losses.scale_regularization_loss([2.0, 0.5]),
        ])  # fmt: skip
    assert found == [5.0, 0.5, 2.5]


def test_a_regularizer_of_several_variables():
    """A tenth of 1 + 2 and of 4, in the collection too."""
    weights = [tf.constant([1.0, -2.0]), tf.constant([[4.0]])]
    total = tf.contrib.layers.apply_regularization(tf.contrib.layers.l1_regularizer(0.1), weights)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(total), 0.7, rtol=1e-6)
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == [total]
