"""Pipelines that go on in another opening: what is left after the state is what was left before it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from tests.data.test_properties import source
from towerstrat.checkpoints.resumption import decoded, encoded

MANY = 3000
"""Enough rows that functions are compiled for many of them at once."""


def rest(resource, limit=10_000):
    """The next elements, as plain lists."""
    found = []
    while len(found) < limit:
        try:
            found.append([np.asarray(x).tolist() for x in resource.next()])
        except StopIteration:
            break
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    return found


def positions(make):
    """The positions of two runs of a program with the pipeline that ``make`` makes."""
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            iterator = make().make_initializable_iterator()
            session.run(iterator.initializer)
            yield iterator.position.resource(session)


def check(make, taken, left=10_000, returned=0):
    """After ``taken`` elements (and as many ``returned`` ones) another run goes on as the first does."""
    first, second = positions(make)
    for _ in range(taken):
        rest(first, 1)
    ahead = rest(first, returned) if returned else []
    ahead = [element for element in ahead if not isinstance(element, str)]
    first.push_back([[np.asarray(x) for x in element] for element in ahead])
    state = decoded(encoded(first.state()))
    wanted = rest(first, left)
    if "place" not in state:
        assert wanted == []
        return state
    second.resume(state)
    assert rest(second, left) == wanted
    return state


def changes():
    """Transformations of datasets of int64 scalars to such datasets."""
    random = lambda x: x + tf.random_uniform([], 0, 50, tf.int64)  # noqa: E731
    return st.sampled_from(
        [
            lambda d: d.take(7),
            lambda d: d.skip(2),
            lambda d: d.shard(2, 1),
            lambda d: d.repeat(2),
            lambda d: d.shuffle(4).repeat(2),
            lambda d: d.shuffle(3, 1, reshuffle_each_iteration=False).repeat(3),
            lambda d: d.prefetch(2),
            lambda d: d.concatenate(d.take(2)),
            lambda d: d.map(random),
            lambda d: d.map(random, num_parallel_calls=2),
            lambda d: d.filter(lambda x: tf.not_equal(x % 3, 0)),
            lambda d: d.flat_map(lambda x: tf.data.Dataset.range(x % 3).map(random)),
            lambda d: d.interleave(lambda x: tf.data.Dataset.range(x % 4).shuffle(3), 3, 2),
            lambda d: d.batch(3).apply(tf.data.experimental.unbatch()),
            lambda d: d.apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))),
            lambda d: d.apply(tf.data.experimental.unique()),
            lambda d: d.apply(tf.data.experimental.ignore_errors()),
            lambda d: d.apply(
                tf.data.experimental.group_by_window(lambda x: x % 3, lambda k, w: w.shuffle(2).map(random), 3)
            ),
            lambda d: tf.data.experimental.sample_from_datasets([d, d.skip(1)]),
            lambda d: tf.data.experimental.choose_from_datasets([d, d.take(3)], tf.data.Dataset.range(2).repeat(5)),
            lambda d: tf.data.Dataset.zip((d, d.shuffle(2))).map(lambda x, y: x * 100 + y),
            lambda d: d.enumerate().map(lambda i, x: i * 1000 + x),
            lambda d: d.window(2).flat_map(lambda w: w),
            lambda d: d.cache(),
            lambda d: d.map(random).cache().repeat(2),
        ]
    )


@pytest.mark.parametrize("rows", [True, False])
@given(st.integers(0, 12), st.lists(changes(), max_size=4), st.integers(0, 12), st.integers(0, 3), st.booleans())
def test_chains_of_transformations(rows, length, chain, taken, returned, batched):
    def make():
        dataset = source(list(range(length)), rows)
        for change in chain:
            dataset = change(dataset)
        return dataset.batch(2) if batched else dataset

    check(make, taken, 60, returned)
