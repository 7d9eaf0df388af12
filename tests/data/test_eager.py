"""Datasets in Python loops, where operations are executed when they are called."""

import gc
import threading
import weakref

import numpy as np
import pytest

import towerstrat.compat.v1
import towerstrat.compat.v2 as tf
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.tensor import EagerTensor

pytestmark = pytest.mark.usefixtures("later_behavior")
Dataset = tf.data.Dataset
EVERY = {
    "batch": lambda ds: ds.batch(2),
    "cache": lambda ds: ds.cache(),
    "map": lambda ds: ds.map(lambda x: x),
    "prefetch": lambda ds: ds.prefetch(1),
    "repeat": lambda ds: ds.repeat(2),
    "shuffle": lambda ds: ds.shuffle(2),
    "options": lambda ds: ds.with_options(tf.data.Options()),
}


def values(dataset):
    return [x.numpy().tolist() for x in dataset]


def test_elements_are_structures_of_tensors_with_values():
    rows = np.arange(6.0).reshape(3, 2)
    for number, (x, rest) in enumerate(Dataset.from_tensor_slices((rows, {"n": ["a", "b", "c"]}))):
        assert isinstance(x, EagerTensor)
        assert isinstance(rest["n"], tf.Tensor)
        np.testing.assert_array_equal(x, rows[number])
        assert rest["n"].numpy() == b"abc"[number : number + 1]


def test_a_dataset_is_gone_through_as_often_as_asked_and_by_several_at_once():
    dataset = Dataset.range(4)
    assert values(dataset) == values(dataset) == [0, 1, 2, 3]
    assert [(int(x), int(y)) for x, y in zip(dataset, dataset, strict=True)] == [(i, i) for i in range(4)]
    assert [(int(x), int(y)) for x in dataset for y in dataset] == [(i, j) for i in range(4) for j in range(4)]


def test_an_iterator_is_its_own_iterator_and_of_a_public_type():
    it = iter(Dataset.range(4))
    assert iter(it) is it
    assert isinstance(it, tf.data.Iterator)
    assert int(next(it)) == 0
    assert [int(x) for x in it] == [1, 2, 3]


def test_the_next_element_comes_after_an_exception_of_the_pipeline():
    class BadRecordError(Exception):
        pass

    class Records:
        def __init__(self):
            self.left = [1, 2, BadRecordError, 4]

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            record = self.left.pop(0)
            if record is BadRecordError:
                raise BadRecordError("third")
            return record

    it = iter(Dataset.from_generator(Records, output_signature=tf.TensorSpec([], tf.int32)))
    assert [int(next(it)), int(next(it))] == [1, 2]
    with pytest.raises(tf.errors.UnknownError, match="BadRecordError: third"):
        next(it)
    assert int(next(it)) == 4
    with pytest.raises(StopIteration):
        next(it)


def test_what_a_generator_yields_may_be_written_into_again():
    def same_buffer():
        buffer = np.zeros(2, np.int64)
        for i in range(3):
            buffer[:] = i
            yield buffer

    dataset = Dataset.from_generator(same_buffer, output_signature=tf.TensorSpec([2], tf.int64))
    assert [x.numpy().tolist() for x in list(dataset)] == [[0, 0], [1, 1], [2, 2]]
    assert [x.numpy().tolist() for x in list(dataset.prefetch(2))] == [[0, 0], [1, 1], [2, 2]]


def test_a_loop_that_is_left_leaves_nothing_behind():
    class Source:
        def __iter__(self):
            return self

        def __next__(self):
            return 1

    alive = []

    def make():
        source = Source()
        alive.append(weakref.ref(source))
        return source

    threads = threading.active_count()
    dataset = Dataset.from_generator(make, output_signature=tf.TensorSpec([], tf.int32)).prefetch(3)
    for _ in dataset:
        break
    it = iter(dataset)
    next(it)
    assert alive[1]() is not None
    del it
    gc.collect()
    assert [ref() for ref in alive] == [None, None]
    assert threading.active_count() == threads


def test_functions_of_a_dataset_see_a_variable_as_it_is_when_an_element_is_made():
    v = tf.Variable(0, dtype=tf.int64)
    found = []
    for x in Dataset.range(5000).map(lambda x: x + v).take(4):
        found.append(int(x))
        v.assign_add(10)
    assert found == [0, 11, 22, 33]


def test_functions_of_a_dataset_hold_tensors_from_outside():
    factor, offset = tf.constant([2.0, 3.0]), tf.constant(1)
    dataset = Dataset.range(3).map(lambda x: (tf.cast(x, tf.float32) * factor, tf.cast(x, tf.int32) + offset))
    assert [(a.numpy().tolist(), int(b)) for a, b in dataset] == [([0, 0], 1), ([2, 3], 2), ([4, 6], 3)]


def test_eager_tensors_and_variables_are_sources_and_numbers():
    rows = tf.constant([[1, 2], [3, 4], [5, 6]])
    dataset = Dataset.from_tensor_slices(rows).take(tf.constant(2, tf.int64)).repeat(tf.constant(2, tf.int64))
    assert dataset.element_spec == tf.TensorSpec([2], tf.int32)
    assert values(dataset) == [[1, 2], [3, 4]] * 2
    v = tf.Variable([1.0, 2.0])
    dataset = Dataset.from_tensor_slices(v)
    v.assign([5.0, 6.0])
    assert values(dataset) == [1.0, 2.0]


def test_orders_of_shuffles_follow_the_seeds():
    def orders(**arguments):
        dataset = Dataset.range(40).shuffle(40, **arguments)
        return [values(dataset), values(dataset)]

    one, two = orders(seed=3), orders(seed=3)
    assert one == two
    assert one[0] != one[1]
    assert sorted(one[0]) == list(range(40))
    assert orders(seed=4)[0] != one[0]
    fixed = orders(seed=3, reshuffle_each_iteration=False)
    assert fixed[0] == fixed[1]
    tf.random.set_seed(7)
    again = Dataset.range(40).shuffle(40)
    assert values(again) != values(again)


def test_numpy_iterators_give_copies():
    table = np.arange(4.0)
    found = list(Dataset.from_tensor_slices(table).batch(2).as_numpy_iterator())
    found[0][:] = 9
    assert table.tolist() == [0, 1, 2, 3]
    assert found[1].tolist() == [2, 3]
    assert list(Dataset.from_tensor_slices({"a": [1, 2]}).as_numpy_iterator()) == [{"a": 1}, {"a": 2}]


def test_options_are_kept_and_later_ones_count():
    first, second = tf.data.Options(), tf.data.Options()
    first.deterministic = True
    first.threading.private_threadpool_size = 3
    second.experimental_deterministic = False
    second.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = Dataset.range(3).with_options(first).map(lambda x: x).with_options(second).batch(2)
    found = dataset.options()
    assert found.deterministic is False
    assert found.experimental_deterministic is False
    assert found.experimental_threading.private_threadpool_size == 3
    assert found.experimental_distribute.auto_shard_policy is tf.data.experimental.AutoShardPolicy.DATA
    assert values(dataset) == [[0, 1], [2]]
    with pytest.raises(AttributeError, match="no option 'speed'"):
        first.speed = 1


def test_the_two_surfaces_share_their_datasets():
    first, second = towerstrat.compat.v1.data.Dataset.range(2), Dataset.range(2)
    assert isinstance(first, Dataset)
    assert not isinstance(second, towerstrat.compat.v1.data.Dataset)
    for made in (first.map(lambda x: x + 1), first.apply(lambda ds: ds.batch(1)), first.enumerate()):
        assert hasattr(made, "make_one_shot_iterator")
    assert not hasattr(second.map(lambda x: x), "make_one_shot_iterator")
    assert values(second.concatenate(first)) == values(first.concatenate(second)) == [0, 1, 0, 1]
    assert values(first.flat_map(lambda x: second)) == [0, 1, 0, 1]


@pytest.mark.parametrize("change", EVERY.values(), ids=EVERY)
def test_what_makes_datasets_makes_them_of_its_own_surface(change):
    for surface in (towerstrat.compat.v1, tf):
        assert type(change(surface.data.Dataset.range(4))) is surface.data.Dataset


def test_what_is_not_supported_is_said_by_name():
    dataset = Dataset.range(2)
    for call in (
        lambda: dataset.save("folder", compression="SNAPPY"),
        lambda: Dataset.load("folder", compression="SNAPPY"),
        lambda: dataset.snapshot("folder", reader_func=lambda shards: shards),
    ):
        with pytest.raises(UnsupportedError, match=r"Dataset\.\w+"):
            call()


def test_iterating_while_a_graph_is_built_is_refused():
    dataset = Dataset.range(2)
    with tf.Graph().as_default():
        for call in (lambda: iter(dataset), lambda: dataset.as_numpy_iterator()):
            with pytest.raises(RuntimeError, match="iterat"):
                call()
        with pytest.raises(TypeError, match="cardinality"):
            len(dataset)
