"""Functions of images that take seeds, by the names of 2.x."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly."""


def test_crops_begin_at_all_places_where_they_fit():
    rows = tf.reshape(tf.range(15), [5, 3])
    starts = set()
    for seed in range(30):
        crop = tf.image.stateless_random_crop(rows, [2, 3], seed=[seed, 1]).numpy()
        start = int(crop[0, 0]) // 3
        np.testing.assert_array_equal(crop, np.arange(15).reshape(5, 3)[start : start + 2])
        starts.add(start)
    assert starts == {0, 1, 2, 3}


def test_a_crop_that_does_not_fit_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Need value.shape >= size"):
        tf.image.stateless_random_crop(tf.zeros([2, 2]), [3, 1], seed=[1, 2])
