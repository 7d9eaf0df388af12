"""Windows: datasets as elements, against lists in Python."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat import v2
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function

Dataset = tf.data.Dataset
ARGUMENTS = [
    (3, None, 1, False), (3, 1, 1, False), (3, 2, 1, True), (3, 1, 2, False), (2, 5, 1, False), (3, 1, 1, True),
    (3, 2, 2, True), (20, None, 1, False), (20, 1, 1, True), (3, 4, 2, False), (1, 1, 1, False),
]  # fmt: skip


def windows(values, size, shift, stride, drop):
    """What ``window`` makes of a list."""
    found = [values[start : start + (size - 1) * stride + 1 : stride] for start in range(0, len(values), shift or size)]
    return [w for w in found if len(w) == size or not drop]


def elements(dataset):
    """All elements, by a session."""
    following, found = dataset.make_one_shot_iterator().get_next(), []
    with tf.Session() as session:
        while True:
            try:
                value = session.run(following)
            except tf.errors.OutOfRangeError:
                return found
            found.append(tf.contrib.framework.nest.map_structure(lambda a: np.asarray(a).tolist(), value))


@pytest.mark.parametrize("length", [0, 1, 8])
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_windows_are_slices(arguments, length):
    expected = windows(list(range(length)), *arguments)
    dataset = Dataset.range(length).window(*arguments)
    assert dataset.output_classes is Dataset or issubclass(dataset.output_classes, v2.data.Dataset)
    assert elements(dataset.flat_map(lambda window: window.batch(99))) == expected
    with mode.eager_mode():
        dataset = v2.data.Dataset.range(length).window(*arguments)
        assert [[int(x) for x in window] for window in dataset] == expected
        assert int(dataset.cardinality()) == len(expected)


def test_components_are_datasets_of_their_own():
    pairs = Dataset.range(6).map(lambda x: (x, {"twice": 2 * x, "row": tf.stack([x, x])}))

    def joined(x, others):
        return Dataset.zip((x.batch(2), others["twice"].map(lambda v: v + 1).batch(2), others["row"].batch(2)))

    assert elements(pairs.window(2).flat_map(joined))[1] == ([2, 3], [5, 7], [[2, 2], [3, 3]])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda d: d.interleave(lambda w: w.map(lambda x: x + 1), 3, 1), [1, 4, 2, 5, 3, 6]),
        (lambda d: d.map(lambda w: w.reduce(np.int64(0), lambda a, b: a + b)), [3, 12]),
        (lambda d: d.map(lambda w: tf.data.experimental.get_single_element(w.batch(9))), [[0, 1, 2], [3, 4, 5]]),
        (lambda d: d.flat_map(lambda w: w.window(2).flat_map(lambda v: v.batch(2))), [[0, 1], [2], [3, 4], [5]]),
        (lambda d: d.skip(1).repeat(2).flat_map(lambda w: w), [3, 4, 5, 3, 4, 5]),
        (lambda d: d.prefetch(1).flat_map(lambda w: w.shuffle(3).filter(lambda x: x < 1)), [0]),
        (lambda d: Dataset.zip((d, d)).flat_map(lambda a, b: a.concatenate(b.take(1))), [0, 1, 2, 0, 3, 4, 5, 3]),
    ],
)
def test_what_is_made_of_windows(made, expected):
    assert elements(made(Dataset.range(6).window(3))) == expected


def test_strings_and_sizes_that_are_fed():
    words = Dataset.from_tensor_slices(["a", "b", "c"]).window(2).flat_map(lambda w: w.batch(2))
    assert elements(words) == [[b"a", b"b"], [b"c"]]
    size = tf.placeholder(tf.int64, [])
    iterator = Dataset.range(6).window(size).flat_map(lambda w: w.batch(9)).make_initializable_iterator()
    with tf.Session() as session:
        session.run(iterator.initializer, {size: 4})
        following = iterator.get_next()
        assert [session.run(following).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5]]
        with pytest.raises(ValueError, match="size must be greater than zero"):
            session.run(iterator.initializer, {size: 0})


def test_in_functions():
    with mode.eager_mode():
        dataset = v2.data.Dataset.range(7).window(3, drop_remainder=True)
        assert isinstance(dataset.element_spec, v2.data.DatasetSpec)

        @function
        def total(windows):
            result = tf.constant(0, tf.int64)
            for x in windows.flat_map(lambda w: w.batch(3)):
                result = result * 10 + tf.reduce_sum(x)
            return result

        assert int(total(dataset)) == 42


@pytest.mark.parametrize("argument", [{"size": 0}, {"size": 1, "shift": -1}, {"size": 1, "stride": 0}])
def test_what_is_refused(argument):
    with pytest.raises(ValueError, match="must be greater than zero"):
        Dataset.range(3).window(**argument)
    with pytest.raises(TypeError, match="have datasets in them"):
        Dataset.range(3).window(2).batch(2)
    with pytest.raises(TypeError, match="expected the function to return tensors"):
        Dataset.range(3).window(2).map(lambda w: w)
