"""Maps with random operations over tables: many elements at once draw what they draw one by one."""

import itertools

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.spread import spread
from towerstrat.data.pipeline import mapping
from towerstrat.graph.eager.mode import eager_mode

SIZE = 300
TABLE = np.arange(SIZE, dtype=np.int64)


def noise(x):
    return x, tf.random_uniform([3]), tf.random_uniform([], 0, 1000, tf.int32)


def more(x, u, i):
    return x, u, i, tf.random_normal([2], seed=5)


def crop(x, *rest):
    image = tf.reshape(tf.range(36), [6, 6])
    return (x, tf.random_crop(image, [4, 4]), tf.slice(image, tf.random_uniform([2], 0, 3, tf.int32), [3, 3]))


def flipped(x, *rest):
    row = tf.range(5)
    return (x, tf.cond(tf.random_uniform([]) < 0.5, lambda: tf.reverse(row, [0]), lambda: row), *rest)


PIPELINES = {
    "batch": lambda d: d.map(noise).batch(64),
    "shuffled after": lambda d: d.map(noise).shuffle(50, seed=1).batch(64),
    "shuffled before": lambda d: d.shuffle(50, seed=1).map(noise).batch(64),
    "repeated": lambda d: d.map(noise).repeat(2).batch(64),
    "repeated before": lambda d: d.repeat(2).map(noise).batch(64),
    "some": lambda d: d.map(noise).skip(10).take(100).batch(32),
    "some before": lambda d: d.skip(10).take(100).map(noise).batch(32),
    "some again": lambda d: d.map(noise).take(70).repeat(2).batch(32),
    "shard": lambda d: d.map(noise).shard(3, 1).batch(32),
    "two maps": lambda d: d.map(noise).map(more).batch(64),
    "a plain map between": lambda d: d.map(noise).map(lambda x, u, i: (x + 1, u, i)).map(more).shuffle(9, 2).batch(64),
    "shuffled between": lambda d: d.map(noise).shuffle(20, seed=3).map(more).batch(64),
    "cached": lambda d: d.map(noise).cache().repeat(2).batch(64),
    "zipped": lambda d: tf.data.Dataset.zip((d.map(noise), d)).batch(64),
    "filtered": lambda d: d.map(noise).filter(lambda x, u, i: i < 500).batch(16),
    "crops": lambda d: d.map(crop).batch(64),
    "flips": lambda d: d.map(flipped).batch(64),
    "prefetched": lambda d: d.map(noise, num_parallel_calls=4).batch(64).prefetch(2),
}


def elements(pipeline, seed):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(seed)
        iterator = pipeline(tf.data.Dataset.from_tensor_slices(TABLE)).make_initializable_iterator()
        following = iterator.get_next()
        found = []
        for _ in range(2):
            session.run(iterator.initializer)
            while True:
                try:
                    found.append(session.run(following))
                except tf.errors.OutOfRangeError:
                    break
        return [tf2.nest.flatten(element) for element in found]


@spread(("name", "seed"), itertools.product(PIPELINES, (None, 7)), every=27)
def test_many_at_once_are_those_one_by_one(name, seed, monkeypatch):
    one_by_one = elements(PIPELINES[name], seed)
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    at_once = elements(PIPELINES[name], seed)
    assert len(at_once) == len(one_by_one)
    for found, wanted in zip(at_once, one_by_one, strict=True):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_no_draw_is_used_twice(monkeypatch):
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    found = elements(lambda d: d.map(noise).shuffle(50).repeat(2).batch(64), None)
    draws = np.concatenate([element[1] for element in found])
    assert len(np.unique(draws, axis=0)) == 4 * SIZE


@pytest.mark.long
def test_every_element_is_drawn_at_once(monkeypatch):
    """The function of one element is not called where batches of rows are made."""
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    monkeypatch.setattr(mapping.MapIterator, "__next__", None)
    assert len(elements(lambda d: d.map(noise).map(crop).shuffle(9).repeat(2).batch(100), None)) == 12


def test_eager_passes_differ_and_their_rows_do_not_repeat(monkeypatch):
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    with eager_mode():
        tf2.random.set_seed(None)  # with a seed every pass draws the same
        dataset = tf2.data.Dataset.from_tensor_slices(TABLE).map(lambda x: tf2.random.uniform([4])).batch(100)
        first, second = (np.concatenate([x.numpy() for x in dataset]) for _ in range(2))
    # Four numbers a row: among 300 single ones of 23 bits two are equal in one run of two hundred.
    assert len(np.unique(first, axis=0)) == SIZE
    assert not np.array_equal(first, second)


def of_generator(count, wide=()):
    def generate():
        for i in range(count):
            yield [i] * (2 if i in wide else 1)

    return tf.data.Dataset.from_generator(generate, tf.int64, [None])


STREAMS = {
    "batch": lambda d: d.map(noise).padded_batch(16, ([2], [3], [])),
    "ahead": lambda d: d.map(noise, num_parallel_calls=4).padded_batch(16, ([2], [3], [])),
    "two maps": lambda d: d.map(noise).map(more).map(lambda x, *rest: rest).batch(16),
    "two maps ahead": lambda d: d.map(noise, 3).map(more, tf.contrib.data.AUTOTUNE).map(lambda x, *r: r).batch(16),
    "left early": lambda d: d.map(noise, 8).map(lambda x, *rest: rest).take(13).repeat(3).batch(8),
    "errors": lambda d: d.map(lambda x: tf.reshape(x, [1]), 4).apply(tf.data.experimental.ignore_errors()).batch(8),
}


@spread(("name", "wide"), itertools.product(STREAMS, ((), (20, 50, 51))), every=11)
def test_streams_together_are_those_one_by_one(name, wide, monkeypatch):
    def pipeline(_):
        return STREAMS[name](of_generator(70, wide))

    one_by_one = elements(pipeline, 7)
    monkeypatch.setattr(mapping, "MANY_ROWS", 1)
    together = elements(pipeline, 7)
    assert len(together) == len(one_by_one) > 0
    for found, wanted in zip(together, one_by_one, strict=True):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_error_of_the_source_comes_after_the_elements_before_it(monkeypatch):
    monkeypatch.setattr(mapping, "MANY_ROWS", 0)

    def generate():
        yield from (1, 2, 3)
        raise ValueError("the source failed")

    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.from_generator(generate, tf.int64, []).map(lambda x: x * 2, num_parallel_calls=8)
        following = dataset.make_one_shot_iterator().get_next()
        assert [session.run(following) for _ in range(3)] == [2, 4, 6]
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="the source failed"):
            session.run(following)


@pytest.mark.parametrize("number", [0, -2])
def test_numbers_of_parallel_calls_that_make_no_sense(number):
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(3).map(lambda x: x, num_parallel_calls=number)
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls must be greater than zero"):
            session.run(dataset.make_one_shot_iterator().get_next())


def test_random_elements_are_those_of_their_seed():
    with eager_mode():
        makers = (tf2.data.Dataset.random, tf.data.experimental.RandomDataset)
        found, others = ([int(x) for x in make(3).take(20)] for make in makers)
    assert found == others
    assert len(set(found)) == 20
    assert 0 <= min(found) < 2**31 < max(found) < 2**32
