"""Loops over data in tf.function that the host carries out, and what goes wrong in loops."""

import pytest

import towerstrat.compat.v2 as tf
from tests.data.common import chunks
from towerstrat.errors import UnsupportedError
from towerstrat.graph.tapes.py_function import py_function

pytestmark = pytest.mark.usefixtures("later_behavior")
Dataset = tf.data.Dataset


class BadRecordError(Exception):
    pass


# ---- loops on the host -------------------------------------------------------------------------------------------


def test_python_in_the_body_is_called_once_for_each_element(programs, turns):
    seen = []

    def note(x):
        seen.append(int(x))
        return x * 2

    @tf.function
    def total(dataset):
        found = tf.constant(0, tf.int64)
        for x in dataset:
            found += tf.ensure_shape(py_function(note, [x], tf.int64), [])
        return found

    programs.clear()
    assert int(total(Dataset.range(4))) == 12
    assert seen == [0, 1, 2, 3]
    assert chunks(programs) == 0
    assert len(turns) == 5
    traced = len(programs)
    assert int(total(Dataset.range(9))) == 72
    assert len(programs) == traced


def test_python_in_branches_and_loops_of_functions():
    seen = []

    @tf.function
    def run(n):
        total = tf.constant(0)
        for i in tf.range(n):
            if i % 2 == 0:
                total += tf.ensure_shape(tf.numpy_function(lambda x: seen.append(int(x)) or x + 1, [i], tf.int32), [])
            else:
                total -= i
        return total

    assert int(run(tf.constant(5))) == (1 - 1 + 3 - 3 + 5)
    assert seen == [0, 2, 4]
    assert int(run(tf.constant(0))) == 0


def test_text_in_the_body():
    @tf.function
    def run(dataset):
        number, last = tf.constant(0), tf.constant("")
        for word, n in dataset:
            if tf.equal(word, "b"):
                number += n
            last = word
        return number, last

    words = Dataset.from_tensor_slices((["a", "b", "c", "b"], [1, 2, 4, 8]))
    assert [x.numpy() for x in run(words)] == [10, b"b"]


def test_elements_under_a_condition():
    @tf.function
    def run(first, second, n):
        total = tf.constant(0, tf.int64)
        for i in tf.range(n):
            total = total * 10 + (next(first) if i % 3 == 0 else next(second))
        return total

    first, second = iter(Dataset.range(5)), iter(Dataset.range(5, 9))
    assert int(run(first, second, tf.constant(5))) == 5 * 1000 + 6 * 100 + 1 * 10 + 7
    assert [int(next(first)), int(next(second))] == [2, 8]


def test_a_shape_that_depends_on_an_element(turns):
    @tf.function
    def total(dataset):
        found = tf.constant(0.0)
        for n in dataset:
            found += tf.reduce_sum(tf.ones([n, 2]))
        return found

    assert float(total(Dataset.range(4))) == 12
    assert len(turns) == 5


def test_what_grows_with_every_element():
    @tf.function
    def joined(dataset):
        found = tf.zeros([0], tf.int64)
        for x in dataset:
            tf.autograph.experimental.set_loop_options(shape_invariants=[(found, tf.TensorShape([None]))])
            found = tf.concat([found, x], 0)
        return found

    assert joined(Dataset.range(7).batch(2)).numpy().tolist() == list(range(7))


# ---- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("bad", [0, 1, 5, 6])
def test_an_exception_of_the_pipeline_keeps_the_steps_before_it(bad):
    class Records:
        def __init__(self):
            self.left = [BadRecordError if i == bad else i for i in range(12)]

        def __iter__(self):
            return self

        def __next__(self):
            record = self.left.pop(0)
            if record is BadRecordError:
                raise BadRecordError(f"record {bad}")
            return record

    total = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def steps(it, n):
        for _ in tf.range(n):
            total.assign_add(next(it))

    it = iter(Dataset.from_generator(Records, output_signature=tf.TensorSpec([], tf.int64)))
    with pytest.raises(
        tf.errors.UnknownError, match=f"BadRecordError: record {bad}(.|\n)*test_loops_on_host.py"
    ) as error:
        steps(it, tf.constant(9))
    assert isinstance(error.value.__cause__, BadRecordError)
    assert total.numpy() == sum(range(bad))
    steps(it, tf.constant(3))
    assert total.numpy() == sum(range(bad + 4)) - bad


@pytest.mark.usefixtures("small_chunks")
def test_a_failed_check_keeps_the_steps_before_it_and_the_elements_behind_it():
    total = tf.Variable(0.0)

    @tf.function
    def steps(it, n):
        for _ in tf.range(n):
            x = next(it)
            tf.debugging.assert_less(x % 8.0, 7.0)
            total.assign_add(x)

    it = iter(Dataset.range(30).map(lambda x: tf.cast(x, tf.float32)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="the state is that after the turn before it"):
        steps(it, tf.constant(12))
    assert total.numpy() == sum(range(7))
    assert float(next(it)) == 8
    steps(it, tf.constant(4))
    assert total.numpy() == sum(range(7)) + 9 + 10 + 11 + 12


def test_a_gradient_through_a_loop_over_data_is_refused_by_name():
    w = tf.Variable(2.0)

    @tf.function
    def slope(dataset):
        with tf.GradientTape() as tape:
            total = tf.constant(0.0)
            for x in dataset:
                total += w * tf.cast(x, tf.float32)
        return tape.gradient(total, w)

    with pytest.raises(UnsupportedError, match=r"test_loops_on_host\.py[\s\S]*inside of the loop's body"):
        slope(Dataset.range(4))


def test_an_array_that_grows_by_a_counter():
    """The host knows the counter, at which the array gets another row."""

    @tf.function
    def rows(dataset):
        found = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        i = 0
        for x in dataset:
            found = found.write(i, tf.cast(x, tf.float32) * 2)
            i += 1  # noqa: SIM113 (autograph converts the counter)
        return found.stack()

    assert rows(Dataset.range(3)).numpy().tolist() == [0, 2, 4]


def test_a_gradient_of_a_call_is_taken_step_by_step():
    w = tf.Variable(2.0)

    @tf.function
    def total(dataset):
        found = tf.constant(0.0)
        for x in dataset:
            found += w * w * tf.cast(x, tf.float32)
        return found

    with tf.GradientTape() as tape:
        found = total(Dataset.range(4))
    assert float(found) == 24
    assert float(tape.gradient(found, w)) == 24


def test_a_python_loop_without_end_is_refused():
    @tf.function(autograph=False)
    def total(dataset):
        return sum(dataset)

    with pytest.raises(UnsupportedError, match=r"test_loops_on_host\.py.*no element is the last"):
        total(Dataset.range(4))
