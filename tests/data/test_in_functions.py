"""Datasets and iterators in tf.function: as arguments, from outside, in loops that become one program per chunk."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.bounds import close
from tests.data.common import chunks
from tests.spread import spread
from towerstrat.data.iterators.iterator_resource import IteratorResource
from towerstrat.graph.eager import mode

pytestmark = pytest.mark.usefixtures("later_behavior")
Dataset = tf.data.Dataset
ROWS = np.random.RandomState(0).randn(35, 3).astype(np.float32)
TARGETS = ROWS @ np.array([[1.0], [2.0], [3.0]], np.float32)
TERMS = 27 * (3 + 4 + 4)
"""That are added up in three epochs of nine steps: a product's, a loss's and a gradient's."""


class Model:
    """A linear model, trained step by step."""

    def __init__(self):
        self.weights = tf.Variable(tf.zeros([3, 1]))
        self.steps = tf.Variable(0)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, self.weights) - y))
        self.weights.assign_sub(0.1 * tape.gradient(loss, self.weights))
        self.steps.assign_add(1)
        return loss


def batches(size=4, **arguments):
    return Dataset.from_tensor_slices((ROWS, TARGETS)).batch(size, **arguments)


def trained(dataset):
    """The losses and weights of the same training by a Python loop."""
    model = Model()
    return [float(model.step(x, y)) for x, y in dataset], model.weights.numpy()


# ---- training --------------------------------------------------------------------------------------------------


def test_a_loop_over_an_iterator_trains_as_a_python_loop_does_in_one_program(programs, turns):
    losses, weights = trained(batches(drop_remainder=True))
    model = Model()

    @tf.function
    def steps(it, n):
        found = tf.TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            found = found.write(i, model.step(*next(it)))
        return found.stack()

    it = iter(batches(drop_remainder=True))
    programs.clear()
    found = [steps(it, tf.constant(4)).numpy(), steps(it, tf.constant(4)).numpy()]
    close(np.concatenate(found), losses, TERMS)
    close(model.weights, weights, TERMS)
    assert chunks(programs) == 1
    assert not turns
    assert model.steps.numpy() == 8


def test_a_loop_over_a_dataset_with_a_smaller_last_batch_compiles_once_for_each_size(programs):
    losses, weights = trained(batches())
    model = Model()

    @tf.function
    def epoch(dataset):
        total = tf.constant(0.0)
        for x, y in dataset:
            total += model.step(x, y)
        return total

    programs.clear()
    close(epoch(batches()).numpy(), sum(losses), TERMS)
    close(model.weights, weights, TERMS)
    assert chunks(programs) == 2
    epoch(batches())
    epoch(batches().take(5))
    assert chunks(programs) == 2
    assert model.steps.numpy() == 9 + 9 + 5


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("numbers", [[9], [1, 2, 6], [5, 4], [3, 3, 3], [4, 1, 1, 3]])
def test_however_the_steps_are_divided_the_training_is_the_same(numbers):
    losses, weights = trained(batches())
    model = Model()

    @tf.function
    def steps(it, n):
        last = tf.constant(0.0)
        for _ in tf.range(n):
            last = model.step(*next(it))
        return last

    it = iter(batches())
    for done, number in zip(itertools.accumulate(numbers), numbers, strict=True):
        close(steps(it, tf.constant(number)).numpy(), losses[done - 1], TERMS, max(losses))
    close(model.weights, weights, TERMS)


def test_a_step_that_is_a_function_itself_and_epochs_around_it():
    _, weights = trained(batches().repeat(3))
    model = Model()
    step = tf.function(model.step)

    @tf.function
    def train(dataset, epochs):
        for _ in tf.range(epochs):
            for x, y in dataset:
                step(x, y)

    train(batches(), tf.constant(3))
    close(model.weights, weights, TERMS)


def test_any_number_of_steps_is_one_trace_and_few_programs(programs):
    traced = []

    @tf.function
    def steps(it, n):
        traced.append(n)
        total = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            total += next(it)
        return total

    it, rest = iter(Dataset.range(1000)), iter(range(1000))
    programs.clear()
    for n in (40, 17, 33, 64, 25, 50):
        assert int(steps(it, tf.constant(n))) == sum(itertools.islice(rest, n))
    assert len(traced) == 1
    assert chunks(programs) == 2  # a scan of the first number, and a loop for what is shorter


# ---- SEMANTICS_LATER 23: what a function is cached by ------------------------------------------------------------


def test_rule_23_an_iterator_counts_by_its_specification():
    traced = []

    @tf.function
    def take(it):
        traced.append(it.element_spec)
        return next(it)

    one, other = iter(Dataset.range(9)), iter(Dataset.range(5, 9).map(lambda x: x * 2))
    assert [int(take(it)) for it in (one, other, one, other)] == [0, 10, 1, 12]
    assert len(traced) == 1
    batch = iter(Dataset.range(9).batch(3))
    assert take(batch).numpy().tolist() == [0, 1, 2]
    take(iter(Dataset.range(9).batch(3, drop_remainder=True)))
    assert traced[1:] == [tf.TensorSpec([None], tf.int64), tf.TensorSpec([3], tf.int64)]
    take(iter(Dataset.zip((Dataset.range(3), Dataset.range(3)))))
    take(iter(Dataset.zip((Dataset.range(3), Dataset.range(3)))))
    assert len(traced) == 4


def test_a_dataset_counts_by_its_specification_too():
    traced = []

    @tf.function
    def last(dataset, start):
        traced.append(dataset)
        for x in dataset.map(lambda x: x + 1):
            start = x
        return start

    zero = tf.constant(0, tf.int64)
    assert [int(last(d, zero)) for d in (Dataset.range(3), Dataset.range(9), Dataset.range(0))] == [3, 9, 0]
    assert len(traced) == 1


# ---- SEMANTICS_LATER 25: the end of the data ---------------------------------------------------------------------


@pytest.mark.usefixtures("small_chunks")
def test_rule_25_at_the_end_of_the_data_the_finished_steps_count():
    model = Model()

    @tf.function
    def steps(it, n):
        for _ in tf.range(n):
            model.step(*next(it))

    it = iter(batches())
    steps(it, tf.constant(2))
    with pytest.raises(tf.errors.OutOfRangeError, match=r"End of sequence: 7 of 20 turns .* their state is kept"):
        steps(it, tf.constant(20))
    assert model.steps.numpy() == 9
    close(model.weights, trained(batches())[1], TERMS)
    with pytest.raises(tf.errors.OutOfRangeError, match="0 of 1 turns"):
        steps(it, tf.constant(1))
    assert model.steps.numpy() == 9


def test_the_end_within_a_step_that_takes_two_elements():
    total = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def pairs(it):
        for x in it:
            total.assign_add(x * next(it))

    pairs(iter(Dataset.range(6)))
    assert total.numpy() == 0 * 1 + 2 * 3 + 4 * 5
    with pytest.raises(tf.errors.OutOfRangeError):
        pairs(iter(Dataset.range(5)))
    assert total.numpy() == 26 + 0 * 1 + 2 * 3


def test_the_end_outside_of_loops():
    @tf.function
    def two(it):
        return next(it) + it.get_next()

    it = iter(Dataset.range(3))
    assert int(two(it)) == 1
    with pytest.raises(tf.errors.OutOfRangeError, match=r"test_in_functions\.py"):
        two(it)


# ---- what the loops may hold -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_chunks")
def test_break_continue_and_return():
    @tf.function
    def odd_below(it, limit):
        total = tf.constant(0, tf.int64)
        for x in it:
            if x % 2 == 0:
                continue
            if x > limit:
                break
            total += x
        return total

    it = iter(Dataset.range(40))
    assert int(odd_below(it, tf.constant(9, tf.int64))) == 1 + 3 + 5 + 7 + 9
    assert int(next(it)) == 12
    assert int(odd_below(it, tf.constant(15, tf.int64))) == 13 + 15
    assert int(next(it)) == 18

    @tf.function
    def first_above(dataset, limit):
        for x in dataset:
            if x > limit:
                return x
        return tf.constant(-1, tf.int64)

    assert [int(first_above(Dataset.range(20), tf.constant(n, tf.int64))) for n in (7, 30)] == [8, -1]


@pytest.mark.usefixtures("small_chunks")
def test_a_while_loop_stops_before_it_takes_an_element():
    @tf.function
    def until(it, limit):
        total, count = tf.constant(0, tf.int64), tf.constant(0)
        while total < limit:
            total += next(it)
            count += 1
        return total, count

    it = iter(Dataset.range(10))
    assert [int(x) for x in until(it, tf.constant(15, tf.int64))] == [15, 6]
    assert [int(x) for x in until(it, tf.constant(0, tf.int64))] == [0, 0]
    assert [int(x) for x in until(it, tf.constant(30, tf.int64))] == [30, 4]
    with pytest.raises(tf.errors.OutOfRangeError):
        until(it, tf.constant(1, tf.int64))


@spread("length", [3, 1, 7], every=3)
def test_a_check_in_the_condition_ends_the_loop(length):
    """After the iterations before it; no element is taken for the one that it was to allow."""
    total = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def until(it, x):
        count = tf.constant(0)
        while tf.gather(x, count) > 0:
            total.assign_add(next(it))
            count += 1
        return count

    it = iter(Dataset.range(20))
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"= {length} is not in \[0, {length}\)"):
        until(it, tf.ones([length]))
    assert int(total) == sum(range(length))
    assert int(next(it)) == length
    assert int(until(it, tf.constant([1, 1, 0]))) == 2
    assert int(total) == sum(range(length)) + 2 * length + 3


@pytest.mark.usefixtures("small_chunks")
def test_several_iterators_and_several_elements_of_each(programs):
    @tf.function
    def mixed(first, second, n):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            x, y, z = next(first), next(second), next(first)
            total = total * 3 + x * y + z
        return total

    def plain(first, second, n):
        total = 0
        for _ in range(n):
            x, y, z = next(first), next(second), next(first)
            total = total * 3 + x * y + z
        return total

    ours, theirs = [iter(Dataset.range(50)), iter(Dataset.range(9, 50))], [iter(range(50)), iter(range(9, 50))]
    programs.clear()
    for n in (4, 7):
        assert int(mixed(*ours, tf.constant(n))) == plain(*theirs, n)
    assert chunks(programs) == 2
    assert [int(next(it)) for it in ours] == [next(it) for it in theirs]


def test_one_iterator_given_twice_gives_its_elements_in_turn(turns):
    @tf.function
    def twice(first, second, n):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            total = total * 10 + next(first) - 2 * next(second)
        return total

    it = iter(Dataset.range(9))
    assert int(twice(it, it, tf.constant(3))) == (0 - 2) * 100 + (2 - 6) * 10 + (4 - 10)
    assert len(turns) == 3


def test_an_iterator_and_a_dataset_from_outside():
    it, dataset = iter(Dataset.range(100)), Dataset.range(4)

    @tf.function
    def use(n):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            total += next(it)
        for x in dataset:
            total += 1000 * x
        return total

    assert [int(use(tf.constant(3))), int(use(tf.constant(3)))] == [6003, 6012]
    assert int(next(it)) == 6


def test_datasets_made_inside_hold_the_functions_tensors():
    @tf.function
    def total(n, by):
        found = tf.constant(0, tf.int64)
        for i, x in enumerate(Dataset.range(n).map(lambda x: x * by).batch(2)):
            found += i * tf.reduce_sum(x)
        return found

    for n, by in ((5, 3), (6, 2)):
        rows = np.arange(n) * by
        wanted = sum(i * rows[2 * i : 2 * i + 2].sum() for i in range(3))
        assert int(total(tf.constant(n, tf.int64), tf.constant(by, tf.int64))) == wanted


def test_datasets_and_iterators_are_results():
    doubled = tf.function(lambda ds: ds.map(lambda x: x * 2))
    assert [int(x) for x in doubled(doubled(Dataset.range(3)))] == [0, 4, 8]
    it = tf.function(lambda ds: iter(ds))(Dataset.range(3))
    assert [int(next(it)), int(next(it))] == [0, 1]


@pytest.mark.usefixtures("small_chunks")
def test_optionals_ask_first():
    @tf.function
    def steps(it, n):
        total, empty = tf.constant(0, tf.int64), tf.constant(0)
        for _ in tf.range(n):
            optional = it.get_next_as_optional()
            if optional.has_value():
                total += tf.reduce_sum(optional.get_value())
            else:
                empty += 1
        return total, empty

    it = iter(Dataset.range(11).batch(2))
    assert [int(x) for x in steps(it, tf.constant(2))] == [0 + 1 + 2 + 3, 0]
    assert [int(x) for x in steps(it, tf.constant(8))] == [sum(range(4, 11)), 4]

    @tf.function
    def whole(it):
        total = tf.constant(0, tf.int64)
        optional = it.get_next_as_optional()
        while optional.has_value():
            total += optional.get_value()
            optional = it.get_next_as_optional()
        return total

    assert int(whole(iter(Dataset.range(8)))) == 28


def test_next_with_a_default():
    @tf.function
    def take(it):
        return next(it, tf.constant(-1, tf.int64))

    it = iter(Dataset.range(1))
    assert [int(take(it)), int(take(it))] == [0, -1]


# ---- what is taken ahead -----------------------------------------------------------------------------------------


def test_elements_taken_ahead_are_given_back():
    @tf.function
    def steps(it, n):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            total += next(it)
        return total

    @tf.function
    def other(it):
        return next(it) * 2

    it, rest = iter(Dataset.range(100)), iter(range(100))
    for n in (3, 5, 3):
        assert int(steps(it, tf.constant(n))) == sum(itertools.islice(rest, n))
        assert int(next(it)) == next(rest)
        assert int(other(it)) == 2 * next(rest)


def test_a_variable_that_a_pipeline_reads_is_as_the_steps_left_it():
    v = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def steps(it, n):
        found = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            found = found * 100 + next(it)
            v.assign_add(10)
        return found

    it = iter(Dataset.range(5).map(lambda x: x + v))
    assert int(steps(it, tf.constant(3))) == 0 * 10000 + 11 * 100 + 22
    v.assign(50)
    assert int(next(it)) == 53


def test_a_generator_in_a_thread_may_call_functions():
    double = tf.function(lambda x: x * 2)

    def generator():
        for i in range(6):
            with mode.eager_mode():
                value = double(tf.constant(i, tf.int64)).numpy()
            yield value

    @tf.function
    def total(dataset):
        found = tf.constant(0, tf.int64)
        for x in dataset:
            found += tf.reduce_sum(x)
        return found

    source = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int64))
    assert int(total(source.prefetch(1).batch(4))) == 30


def test_an_iterator_frees_what_it_holds_when_it_is_gone(monkeypatch):
    alive = []
    init = IteratorResource.__init__

    def noted(resource, *arguments):
        init(resource, *arguments)
        alive.append(weakref.ref(resource))

    monkeypatch.setattr(IteratorResource, "__init__", noted)

    @tf.function
    def steps(it, n):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            total += next(it)
        for x in Dataset.range(3):
            total += x
        return total

    it = iter(Dataset.range(100).prefetch(2))
    steps(it, tf.constant(3))
    assert [ref() is not None for ref in alive] == [True, False]
    del it
    assert alive[0]() is None


def test_a_function_goes_with_the_loops_it_ran():
    def make():
        @tf.function
        def steps(it, n):
            total = tf.constant(0, tf.int64)
            for _ in tf.range(n):
                total += next(it)
            return total

        steps(iter(Dataset.range(9)), tf.constant(3))
        return weakref.ref(steps.get_concrete_function(iter(Dataset.range(9)), tf.constant(3)).graph)

    graph = make()
    v = tf.Variable(0)
    tf.function(lambda: v.assign_add(1))()
    gc.collect()
    assert graph() is None


def test_a_check_that_fails_gives_back_what_was_taken_ahead_in_the_order_it_came():
    steps = tf.Variable(4)

    @tf.function
    def summed(it):
        total = tf.constant(0, tf.int64)
        for _ in tf.range(steps):
            x = next(it)
            tf.debugging.assert_none_equal(x, tf.constant(9, tf.int64))
            total += x
        return total

    it = iter(Dataset.range(40))
    assert [int(summed(it)) for _ in range(2)] == [6, 22]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in a turn of the loop"):
        summed(it)
    steps.assign(3)
    assert [int(next(it)), int(summed(it)), int(next(it))] == [10, 36, 14]


def test_what_is_beside_a_loop_over_data_and_hands_values_on_is_no_program(programs):
    steps, last = tf.Variable(3), tf.Variable(0, dtype=tf.int64)

    @tf.function
    def run(it):
        for _ in tf.range(steps):
            x = next(it)
            last.assign(x)
        return x

    it = iter(Dataset.range(40))
    programs.clear()
    assert [int(run(it)) for _ in range(3)] == [2, 5, 8]
    assert set(programs) == {"_DataLoopProgram"}
    steps.assign(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="x"):
        run(it)
