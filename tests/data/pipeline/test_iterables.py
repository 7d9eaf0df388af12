"""Datasets of plain Python iterables."""

import collections

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.data.common import elements
from towerstrat.data.api.dataset_v1 import as_dataset

BATCHES = [(np.full((2, 3), i, np.float32), np.array([i, i + 1])) for i in range(3)]


class Loader:
    """Goes through its batches again and again, and counts how often."""

    def __init__(self):
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter([[x, y] for x, y in BATCHES])


@pytest.mark.parametrize(
    "make", [lambda: BATCHES, lambda: (lambda: iter(BATCHES)), Loader, lambda: tuple(BATCHES)],
    ids=["list", "generator function", "loader", "tuple"],
)  # fmt: skip
def test_iterables_can_be_gone_through_again(make):
    dataset = as_dataset(make())
    assert dataset.output_types == (tf.float32, tf.int64)
    assert [s.as_list() for s in dataset.output_shapes] == [[2, 3], [2]]
    for found in (elements(dataset), elements(dataset.repeat(2))[3:]):
        assert [x.tolist() for x, _ in found] == [x.tolist() for x, _ in BATCHES]
        assert [y.tolist() for _, y in found] == [y.tolist() for _, y in BATCHES]


def test_looking_at_the_first_element_costs_no_pass():
    loader = Loader()
    dataset = as_dataset(loader)
    assert loader.passes == 1
    elements(dataset)
    assert loader.passes == 1
    elements(dataset)
    assert loader.passes == 2


def test_an_iterator_is_gone_through_once():
    dataset = as_dataset(iter(BATCHES))
    assert len(elements(dataset)) == 3
    with pytest.raises(ValueError, match="once"):
        elements(dataset)


def test_structures_and_scalars():
    point = collections.namedtuple("point", ["x", "y"])
    dataset = as_dataset([{"a": 1, "p": point(1.5, "s")}, {"a": 2, "p": point(2.5, "t")}])
    assert dataset.output_types == {"a": tf.int32, "p": point(tf.float32, tf.string)}
    assert elements(dataset)[1] == {"a": 2, "p": point(2.5, b"t")}


def test_elements_unlike_the_first_are_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(1, 3\).*\(2, 3\)"):
        elements(as_dataset([np.zeros((2, 3)), np.zeros((1, 3))]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="structure"):
        elements(as_dataset([(1, 2), (1, 2, 3)]))


def test_a_dataset_is_itself_and_a_function_of_one_is_called():
    dataset = tf.data.Dataset.range(2)
    assert as_dataset(dataset) is dataset
    assert as_dataset(lambda: dataset) is dataset


def test_what_cannot_be_a_dataset():
    with pytest.raises(TypeError, match="int"):
        as_dataset(3)
    with pytest.raises(ValueError, match="nothing"):
        as_dataset([])
