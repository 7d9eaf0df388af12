"""``create_partitioned_variables``: shapes with and without dimensions to slice."""

import pytest

import towerstrat.compat.v1 as tf


def test_a_vector_in_parts():
    parts = tf.create_partitioned_variables([5], [2], tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [part.tolist() for part in session.run(parts)] == [[1.0, 2.0, 3.0], [4.0, 5.0]]


def test_a_scalar_has_no_parts():
    with pytest.raises(ValueError, match="must have rank at least 1"):
        tf.create_partitioned_variables([], [], tf.constant(1.0))
