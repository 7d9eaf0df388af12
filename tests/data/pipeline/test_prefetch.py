"""Sizes of ``Dataset.prefetch``."""

import pytest

import towerstrat.compat.v1 as tf
from tests.data.common import elements


@pytest.mark.parametrize("size", [-1, 0, 1, 5])
def test_elements_are_the_same_whatever_the_size(size):
    assert elements(tf.data.Dataset.range(4).prefetch(size)) == [0, 1, 2, 3]


def test_a_size_below_all_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="buffer_size must be >= 0 or -1, got -2"):
        elements(tf.data.Dataset.range(4).prefetch(-2))
