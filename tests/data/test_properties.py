"""Datasets against models of them in plain Python, for many lengths and arguments.

Every pipeline is tried twice: over the rows of a table, and over elements that come one by one.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from tests.data.common import pulled

lengths = st.integers(0, 12)
counts = st.integers(0, 5)


def source(values, rows):
    values = np.asarray(list(values), np.int64)
    if rows:
        return tf.data.Dataset.from_tensor_slices(values)
    return tf.data.Dataset.from_generator(lambda: iter(values), tf.int64, [])


def steps():
    """(how to change a dataset, how to change the list of its elements)."""
    return st.one_of(
        counts.map(lambda n: (lambda d: d.take(n), lambda x: x[:n])),
        counts.map(lambda n: (lambda d: d.skip(n), lambda x: x[n:])),
        st.integers(0, 3).map(lambda n: (lambda d: d.repeat(n), lambda x: x * n)),
        st.integers(1, 4).flatmap(
            lambda n: st.integers(0, n - 1).map(lambda i: (lambda d: d.shard(n, i), lambda x: x[i::n]))
        ),
        st.just((lambda d: d.cache(), lambda x: x)),
        st.just((lambda d: d.prefetch(2), lambda x: x)),
        st.just((lambda d: d.shuffle(1), lambda x: x)),
        st.just((lambda d: d.concatenate(d.take(2)), lambda x: x + x[:2])),
        st.just((lambda d: d.map(lambda x: x + 7), lambda x: [v + 7 for v in x])),
        st.just((lambda d: d.filter(lambda x: tf.not_equal(x % 3, 0)), lambda x: [v for v in x if v % 3])),
        st.just(
            (
                lambda d: d.flat_map(lambda x: tf.data.Dataset.range(x % 3)),
                lambda x: [w for v in x for w in range(v % 3)],
            )
        ),
    )


@pytest.mark.parametrize("rows", [True, False])
@given(lengths, st.lists(steps(), max_size=4))
def test_chains(rows, length, chain):
    dataset, model = source(range(length), rows), list(range(length))
    for change, change_model in chain:
        dataset, model = change(dataset), change_model(model)
    assert pulled(dataset) == model


@pytest.mark.parametrize("rows", [True, False])
@given(lengths, st.integers(1, 5), st.booleans(), st.integers(1, 3))
def test_batch(rows, length, size, drop, passes):
    dataset = source(range(length), rows).repeat(passes).batch(size, drop)
    model = list(range(length)) * passes
    wanted = [model[i : i + size] for i in range(0, len(model), size)]
    if drop:
        wanted = [b for b in wanted if len(b) == size]
    assert pulled(dataset) == wanted


@pytest.mark.parametrize("rows", [True, False])
def test_endless_repetition(rows):
    assert pulled(source(range(2), rows).repeat(), limit=5) == [0, 1, 0, 1, 0]
    assert pulled(source([], rows).repeat()) == []


@given(st.lists(st.tuples(lengths, st.booleans()), min_size=1, max_size=3))
def test_zip(parts):
    made = tuple(source(range(10 * i, 10 * i + n), rows) for i, (n, rows) in enumerate(parts))
    wanted = list(zip(*[range(10 * i, 10 * i + n) for i, (n, _) in enumerate(parts)], strict=False))
    found = pulled(tf.data.Dataset.zip(made))
    assert found == (wanted if len(parts) > 1 else [w[0] for w in wanted])


def interleaved(lists, cycle, block):
    """The original's order: an ended list is replaced when its turn comes again."""
    waiting, slots, found = iter(lists), [None] * cycle, []
    for place in itertools.cycle(range(cycle)):
        if slots[place] is None:
            following = next(waiting, None)
            slots[place] = None if following is None else iter(following)
        if slots[place] is None:
            if all(s is None for s in slots):
                return found
            continue
        taken = list(itertools.islice(slots[place], block))
        found += taken
        if len(taken) < block:
            slots[place] = None
    return found


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(1, 4), st.integers(1, 3))
def test_interleave(sizes, cycle, block):
    starts = [100 * i + n for i, n in enumerate(sizes)]
    dataset = source(starts, True).interleave(lambda x: tf.data.Dataset.range(x, x + x % 100), cycle, block)
    assert pulled(dataset) == interleaved([range(s, s + s % 100) for s in starts], cycle, block)


@pytest.mark.parametrize("rows", [True, False])
@given(st.integers(0, 30), st.integers(1, 12), st.integers(0, 1000), st.integers(1, 3))
def test_shuffle_draws_from_its_buffer(rows, length, size, seed, passes):
    found = pulled(source(range(length), rows).shuffle(size, seed).repeat(passes))
    assert len(found) == passes * length
    for start in range(0, len(found), max(length, 1)):
        one = found[start : start + length]
        assert sorted(one) == list(range(length))
        assert all(place > element - size for place, element in enumerate(one))


@given(st.integers(0, 30), st.integers(1, 12), st.integers(0, 1000))
def test_shuffle_is_the_same_by_rows_and_by_elements(length, size, seed):
    tf.set_random_seed(7)
    pipelines = [source(range(length), rows).shuffle(size, seed).repeat(2) for rows in (True, False)]
    batched = [x for batch in pulled(pipelines[0].batch(3)) for x in batch]
    assert pulled(pipelines[0]) == pulled(pipelines[1]) == batched


def test_every_element_is_drawn_about_equally_often():
    dataset = tf.data.Dataset.range(4).shuffle(4, seed=3).repeat(2000)
    firsts = np.array(pulled(dataset)).reshape(2000, 4)
    for place in range(4):
        assert np.all(np.abs(np.bincount(firsts[:, place], minlength=4) - 500) < 100)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.integers(1, 4))
def test_padded_batch(sizes, size):
    generator = lambda: (np.full(n, i + 1) for i, n in enumerate(sizes))  # noqa: E731
    dataset = tf.data.Dataset.from_generator(generator, tf.int64, [None]).padded_batch(size, [None])
    wanted = []
    for start in range(0, len(sizes), size):
        group = sizes[start : start + size]
        wanted.append([[start + i + 1] * n + [0] * (max(group) - n) for i, n in enumerate(group)])
    assert pulled(dataset) == wanted


def test_a_padded_batch_of_single_strings_holds_strings():
    words = tf.data.Dataset.from_tensor_slices([b"a", b"bc", b"d"])
    batch = words.padded_batch(2, []).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [type(word) for word in session.run(batch)] == [bytes, bytes]


@given(lengths, st.integers(1, 4), st.integers(0, 8), st.integers(1, 8), st.booleans())
def test_filling_buffers_is_taking_elements(length, size, ahead, count, mapped):
    rows = source(range(length), True).shuffle(5, 1)
    dataset = (rows.map(lambda x: x) if mapped else rows).batch(size)
    wanted = pulled(dataset)
    position = dataset.make_one_shot_iterator().get_next().op.attrs["iterator"]
    with tf.Session() as session:
        resource = position.resource(session)
        taken = [resource.next() for _ in range(min(ahead, len(wanted)))]
        resource.push_back(taken)
        buffer = np.full((count + 1, size), -1, np.int64)
        written = resource.fill([buffer], 1, count)
        full = len([b for b in wanted if len(b) == size])
        assert written == min(count, full)
        assert buffer[1 : 1 + written].tolist() == wanted[:written]
        assert (buffer[1 + written :] == -1).all()
        assert (buffer[0] == -1).all()
        rest = []
        while True:
            try:
                rest.append(resource.next()[0].tolist())
            except StopIteration:
                break
        assert rest == wanted[written:]
