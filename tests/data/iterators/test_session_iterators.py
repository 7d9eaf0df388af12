"""Iterators in sessions: kinds, positions, structures, errors, threads."""

import collections
import gc
import threading
import time

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.data.common import elements
from tests.locks import is_free
from towerstrat.data.iterators import collective_reads
from towerstrat.graph.ir.mesh import Axis

Dataset = tf.data.Dataset


def test_one_element_for_each_run_however_often_it_is_used():
    x = Dataset.range(10).make_one_shot_iterator().get_next()
    y, z = x + 1, x * 2
    with tf.Session() as session:
        assert session.run([x, y, z]) == [0, 1, 0]
        assert session.run([z, y]) == [2, 2]
        assert session.run(y, {x: 41}) == 42
        assert session.run(x) == 2


def test_each_get_next_takes_an_element_of_its_own():
    iterator = Dataset.range(10).make_one_shot_iterator()
    first, second = iterator.get_next(), iterator.get_next("again")
    assert second.op.name == "again"
    with tf.Session() as session:
        assert session.run([first, second]) == [0, 1]


def test_sessions_have_positions_of_their_own():
    x = Dataset.range(10).make_one_shot_iterator().get_next()
    with tf.Session() as one, tf.Session() as two:
        assert [one.run(x), one.run(x), two.run(x), one.run(x)] == [0, 1, 0, 2]


def test_the_end():
    x = Dataset.range(1).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(x) == 0
        for _ in range(2):
            with pytest.raises(
                tf.errors.OutOfRangeError, match=r"(?s)End of sequence.*IteratorGetNext.*test_session_iterators"
            ):
                session.run(x)


def test_initializable_iterator_is_fed_and_starts_again():
    values = tf.placeholder(tf.float32, [None, 2])
    size = tf.placeholder(tf.int64, [])
    iterator = Dataset.from_tensor_slices(values).map(lambda x: x * 2).batch(size).make_initializable_iterator()
    x = iterator.get_next()
    assert x.shape.as_list() == [None, 2]
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"(?s)initializer.*IteratorGetNext"):
            session.run(x)
        session.run(iterator.initializer, {values: [[1, 2], [3, 4], [5, 6]], size: 2})
        assert session.run(x).tolist() == [[2, 4], [6, 8]]
        session.run(iterator.initializer, {values: [[7, 8]], size: 1})
        assert session.run(x).tolist() == [[14, 16]]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)batch_size.*MakeIterator"):
            session.run(iterator.initializer, {values: [[7, 8]], size: 0})


def test_data_that_the_program_computes():
    values = tf.cast(tf.fill([3], 2) + tf.constant([0, 1, 2]), tf.int64)
    iterator = Dataset.from_tensor_slices(values).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(x) for _ in range(3)] == [2, 3, 4]
    assert elements(Dataset.from_tensor_slices(values)) == [2, 3, 4]


def test_captured_tensors_and_variables_have_their_values_of_the_initialization():
    offset = tf.placeholder(tf.int64, [])
    v = tf.Variable(np.int64(100), name="v")
    iterator = Dataset.range(3).map(lambda x: x + offset + v).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(iterator.initializer, {offset: 10})
        session.run(v.initializer)
        session.run(iterator.initializer, {offset: 10})
        session.run(v.assign(np.int64(500)))
        assert session.run(x) == 110
        session.run(iterator.initializer, {offset: 20})
        assert session.run(x) == 520


def test_one_shot_iterators_hold_nothing_that_is_not_known_yet():
    with pytest.raises(ValueError, match="placeholder"):
        Dataset.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator()
    v = tf.Variable(np.int64(3), name="v")
    for dataset in (Dataset.range(3).map(lambda x: x + v), Dataset.range(v.value())):
        with pytest.raises(ValueError, match="make_initializable_iterator"):
            dataset.make_one_shot_iterator()
    with pytest.raises(ValueError, match="initializer"):
        Dataset.range(3).make_one_shot_iterator().initializer  # noqa: B018


def test_functions_do_not_write_variables():
    v = tf.Variable(np.int64(3), name="v")
    with pytest.raises(NotImplementedError, match="writes variable v"):
        Dataset.range(3).map(lambda x: v.assign_add(x))


def test_reinitializable_iterator():
    train, test = Dataset.range(3), Dataset.range(100, 102)
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    x = iterator.get_next()
    to_train, to_test = iterator.make_initializer(train), iterator.make_initializer(test, name="to_test")
    assert (to_train.name, to_test.name) == ("make_initializer", "to_test")
    with tf.Session() as session:
        session.run(to_train)
        assert session.run(x) == 0
        session.run(to_test)
        assert session.run(x) == 100
        session.run(to_train)
        assert session.run(x) == 0
    with pytest.raises(TypeError, match="int64"):
        iterator.make_initializer(Dataset.from_tensors(1.0))
    with pytest.raises(TypeError, match="shapes"):
        iterator.make_initializer(Dataset.from_tensors(np.zeros(2, np.int64)))
    with pytest.raises(ValueError, match="make_initializer"):
        iterator.initializer  # noqa: B018


def test_feedable_iterator():
    train = Dataset.range(10).make_one_shot_iterator()
    test = Dataset.range(100, 110).make_initializable_iterator()
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
    x = iterator.get_next()
    wrong = Dataset.from_tensors(1.0).make_one_shot_iterator().string_handle()
    with tf.Session() as session:
        to_train, to_test, to_wrong = session.run([train.string_handle(), test.string_handle(), wrong])
        session.run(test.initializer)
        found = [session.run(x, {handle: h}) for h in (to_train, to_train, to_test, to_train, to_test)]
        assert found == [0, 1, 100, 2, 101]
        assert session.run(iterator.string_handle(), {handle: to_test}) == to_test
        with pytest.raises(tf.errors.InvalidArgumentError, match="handle"):
            session.run(x, {handle: b"nothing"})
        with pytest.raises(tf.errors.InvalidArgumentError, match="float32"):
            session.run(x, {handle: to_wrong})


def test_shared_names_share_a_position():
    one = Dataset.range(10).make_initializable_iterator(shared_name="p")
    two = Dataset.range(10).make_initializable_iterator(shared_name="p")
    x, y = one.get_next(), two.get_next()
    with tf.Session() as session:
        session.run(one.initializer)
        assert [session.run(x), session.run(y), session.run(x)] == [0, 1, 2]


def test_structures():
    pair = collections.namedtuple("pair", ["image", "label"])
    dataset = Dataset.from_tensors((pair(np.zeros((2, 3), np.float32), [1, 2]), {"b": "x", "a": (1.5,)}))
    (p, d) = dataset.make_one_shot_iterator().get_next()
    assert isinstance(p, pair)
    assert p.image.shape.as_list() == [2, 3]
    assert dataset.output_types == (pair(tf.float32, tf.int32), {"b": tf.string, "a": (tf.float32,)})
    with tf.Session() as session:
        found = session.run((p, d))
    assert found[0].label.tolist() == [1, 2]
    assert found[1] == {"a": (1.5,), "b": b"x"}


def test_shuffle_seeds():
    def orders(seed, graph_seed, reshuffle=None):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(graph_seed) if graph_seed is not None else None
            dataset = Dataset.range(20).shuffle(20, seed, reshuffle).repeat(2).batch(20)
            iterator = dataset.make_initializable_iterator()
            x = iterator.get_next()
            found = []
            for _ in range(2):
                session.run(iterator.initializer)
                found += [session.run(x).tolist(), session.run(x).tolist()]
            return found

    seeded = orders(5, None)
    assert seeded == orders(5, None)
    assert seeded[0] == seeded[2] != seeded[1] == seeded[3]
    assert orders(6, None)[0] != seeded[0] != orders(5, 1)[0]
    by_graph = orders(None, 3)
    assert by_graph == orders(None, 3) != orders(None, 4)
    fixed = orders(5, None, False)
    assert all(order == fixed[0] for order in fixed)
    free = orders(None, None)
    assert free == orders(None, None)
    assert len({tuple(order) for order in free}) == 4


def test_random_numbers_differ_from_element_to_element():
    tf.set_random_seed(1)
    dataset = Dataset.range(4).map(lambda x: tf.random_uniform([2])).repeat(2)
    found = [tuple(e.tolist()) for e in elements(dataset)]
    assert len(set(found)) == 8
    assert found == [tuple(e.tolist()) for e in elements(dataset)]


def test_random_numbers_without_a_seed_differ_after_each_initialization():
    def twice(graph_seed):
        with tf.Graph().as_default(), tf.Session() as session:
            if graph_seed is not None:
                tf.set_random_seed(graph_seed)
            iterator = Dataset.range(4).map(lambda x: tf.random_uniform([])).batch(4).make_initializable_iterator()
            x = iterator.get_next()
            found = []
            for _ in range(2):
                session.run(iterator.initializer)
                found.append(session.run(x).tolist())
            return found

    free, seeded = twice(None), twice(5)
    assert free[0] != free[1]
    assert seeded[0] == seeded[1]
    assert free == twice(None)


def test_what_a_generator_raises_comes_out_as_the_originals_error_after_what_came_before():
    def generator():
        yield 1
        yield 2
        raise KeyError("mine")

    for change in (lambda d: d, lambda d: d.prefetch(4), lambda d: d.map(lambda x: x).prefetch(1)):
        failing = change(Dataset.from_generator(generator, tf.int64, [])).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            assert [session.run(failing), session.run(failing)] == [1, 2]
            with pytest.raises(tf.errors.UnknownError, match="KeyError: 'mine'") as caught:
                session.run(failing)
            assert isinstance(caught.value.__cause__, KeyError)
            assert caught.value.op is failing.op
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(failing)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("v"), tf.errors.InvalidArgumentError),
        (TypeError("t"), tf.errors.InvalidArgumentError),
        (MemoryError("m"), tf.errors.ResourceExhaustedError),
        (NotImplementedError("n"), tf.errors.UnimplementedError),
        (OSError("o"), tf.errors.UnknownError),
        (tf.errors.NotFoundError(None, None, "f"), tf.errors.NotFoundError),
    ],
)
def test_errors_of_generators_have_the_classes_of_the_original(error, kind):
    def generator():
        raise error
        yield 1

    failing = Dataset.from_generator(generator, tf.int64, []).make_one_shot_iterator().get_next()
    with tf.Session() as session, pytest.raises(kind, match=str(error)):
        session.run(failing)


def test_filling_delivers_what_came_before_an_error():
    def generator():
        yield from range(3)
        raise KeyError("mine")

    dataset = Dataset.from_generator(generator, tf.int64, []).prefetch(2)
    position = dataset.make_one_shot_iterator().get_next().op.attrs["iterator"]
    with tf.Session() as session:
        resource = position.resource(session)
        buffer = np.full(5, -1, np.int64)
        assert resource.fill([buffer], 0, 5) == 3
        assert buffer.tolist() == [0, 1, 2, -1, -1]
        assert resource.fill([buffer], 3, 2) == 0
        with pytest.raises(tf.errors.UnknownError, match="mine"):
            resource.next()


def test_initialization_drops_what_was_given_back():
    iterator = Dataset.range(5).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        resource = x.op.attrs["iterator"].resource(session)
        taken = [resource.next(), resource.next()]
        resource.push_back(taken)
        assert session.run(x) == 0
        session.run(iterator.initializer)
        assert [session.run(x), session.run(x)] == [0, 1]


def test_source_arrays_are_copied():
    values = np.arange(3)
    x = Dataset.from_tensor_slices(values).make_one_shot_iterator().get_next()
    values[:] = 9
    with tf.Session() as session:
        assert session.run(x) == 0


def prefetching():
    return [t for t in threading.enumerate() if t.name == "towerstrat prefetch"]


def wait_for_threads(number):
    gc.collect()
    deadline = time.monotonic() + 60
    while len(prefetching()) != number and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(prefetching()) == number


def test_prefetching_threads_end_with_their_session():
    def generator():
        while True:
            yield 1

    assert wait_for_threads(0)
    x = Dataset.from_generator(generator, tf.int64, []).prefetch(3).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(x) == 1
        assert len(prefetching()) == 1
    assert wait_for_threads(0)


def test_elements_of_different_shapes_are_named():
    dataset = Dataset.range(3).map(lambda x: (x, {"ids": tf.fill([x], x)})).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[1\]\['ids'\].*\[0\].*\[1\]"):
        elements(dataset)


def test_reduce_and_the_only_element():
    total = Dataset.range(5).reduce(np.int64(0), lambda s, x: s + x)
    both = Dataset.range(5).reduce((np.int64(0), np.int64(1)), lambda s, x: (s[0] + x, s[1] * 2))
    only = tf.data.experimental.get_single_element(Dataset.range(5).batch(10))
    none, many = (tf.data.experimental.get_single_element(Dataset.range(n)) for n in (0, 2))
    with tf.Session() as session:
        assert session.run([total, both]) == [10, (10, 32)]
        assert session.run(total) == 10
        assert session.run(only).tolist() == [0, 1, 2, 3, 4]
        for tensor in (none, many):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Dataset"):
                session.run(tensor)


def test_what_is_not_supported_is_said_by_name():
    with pytest.raises(RuntimeError, match="make_one_shot_iterator"):
        iter(Dataset.range(2))


def test_options_change_nothing():
    options = tf.data.Options()
    options.experimental_autotune = True
    options.experimental_threading.private_threadpool_size = 4
    assert elements(Dataset.range(2).with_options(options)) == [0, 1]
    with pytest.raises(AttributeError):
        options.speed = True


def test_loops_and_branches_of_graphs_take_elements():
    with tf.Session() as s:
        iterator = Dataset.range(20).make_one_shot_iterator()
        count = tf.placeholder(tf.int32, [])
        loop = tf.while_loop(
            lambda i, total: i < count,
            lambda i, total: (i + 1, total * 10 + iterator.get_next()),
            [0, tf.constant(0, tf.int64)],
        )
        assert [int(x) for x in s.run(loop, {count: 3})] == [3, 12]
        taken = tf.cond(count > 0, iterator.get_next, lambda: tf.constant(-1, tf.int64))
        assert [s.run(taken, {count: n}) for n in (1, 0, 1)] == [3, -1, 4]
        with pytest.raises(tf.errors.OutOfRangeError, match="15 of 30 turns"):
            s.run(loop, {count: 30})


def test_threads_wait_while_elements_are_written():
    free = []

    def generator():
        for i in range(3):
            free.append(is_free(resource._lock))
            yield i

    position = Dataset.from_generator(generator, tf.int64, []).make_one_shot_iterator().get_next().op.attrs["iterator"]
    with tf.Session() as session:
        resource = position.resource(session)
        assert resource.fill([np.zeros(3, np.int64)], 0, 3) == 3
    assert free == [False] * 3


def test_parts_of_several_shapes_have_room_for_the_largest_of_each_dimension():
    axis = Axis("processes", jax.devices()[:2])
    parts = [np.ones([1, 3], np.float32), np.full([2, 2], 2, np.float32)]
    found = collective_reads._joined(axis, parts, [(1, 3), (2, 2)], tf.float32)
    assert np.shape(found.padded) == (2, 2, 3)
    assert [np.asarray(found.part(i)).tolist() for i in range(2)] == [part.tolist() for part in parts]
