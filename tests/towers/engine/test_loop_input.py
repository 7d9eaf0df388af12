"""The input of step loops: whatever happens, every element is used once, in order, and none is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.errors import UnsupportedError
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler

SUM = tf.VariableAggregation.SUM


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(ChunkScheduler, "fitting", lambda pace, step_bytes: 2)


def sum_of_elements(context, x):
    """A step that does nothing but give out the sum of the towers' elements."""
    context.set_last_step_output("sum", x, SUM)
    return x


def summing(strategy, iterator, iterations, name="v", step=lambda x: x, dtype=tf.int64):
    """A loop that adds its elements to a variable."""
    v = tf.get_variable(name, initializer=tf.constant(0, dtype), aggregation=SUM)
    context = strategy.run_steps_on_dataset(
        lambda c, x: strategy.group(strategy.call_for_each_tower(lambda x: v.assign_add(step(x)), x)),
        iterator,
        iterations,
    )
    return v, context.run_op


class BadRecordError(Exception):
    pass


class Model:
    """What a plain Python program would do with the same data."""

    def __init__(self, towers):
        self.towers = towers
        self.rest = []
        self.totals = [0, 0]

    def start(self, length, bad):
        self.rest = [BadRecordError if i == bad else i for i in range(length)]

    def next(self):
        if not self.rest:
            return tf.errors.OutOfRangeError
        return self.rest.pop(0)

    def loop(self, which, iterations):
        for _ in range(iterations):
            step = self.rest[: self.towers]
            if BadRecordError in step:
                self.rest.remove(BadRecordError)
                return BadRecordError
            if len(step) < self.towers:
                return tf.errors.OutOfRangeError
            del self.rest[: self.towers]
            self.totals[which] += sum(step)
        return None


class Pass:
    """One pass over numbers, one of which is an exception; goes on after it, as a file reader does."""

    def __init__(self, length, bad):
        self.left = iter([BadRecordError if i == bad else np.int64(i) for i in range(length)])

    def __iter__(self):
        return self

    def __next__(self):
        record = next(self.left)
        if record is BadRecordError:
            raise BadRecordError
        return record


class Records:
    def __init__(self):
        self.start(1, -1)

    def start(self, length, bad):
        self.length, self.bad = length, bad

    def __iter__(self):
        return Pass(self.length, self.bad)


ACTIONS = st.one_of(
    st.tuples(st.just("start"), st.integers(0, 30), st.integers(0, 40)),
    st.tuples(st.just("one"), st.integers(1, 5)),
    st.tuples(st.just("other"), st.just(3)),
    st.tuples(st.just("next")),
)


@pytest.mark.parametrize("towers", [1, 2, 3, 8])
@pytest.mark.usefixtures("small_chunks")
def test_loops_readers_and_new_beginnings_in_any_order(towers):
    strategy = tpu(towers)
    records = Records()
    with strategy.scope(), tf.Session() as sess:
        dataset = tf.data.Dataset.from_iterable(records)
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        count = tf.placeholder(tf.int32, [])
        loops = [summing(strategy, iterator, count, "one"), summing(strategy, iterator, 3, "other")]

        @given(st.integers(0, 40), st.integers(0, 60), st.lists(ACTIONS, max_size=8))
        def check(length, bad, actions):
            model = Model(towers)
            sess.run(tf.global_variables_initializer())
            for action, *numbers in [("start", length, bad), *actions]:
                if action == "start":
                    records.start(*numbers)
                    model.start(*numbers)
                    sess.run(iterator.initializer)
                    continue
                if action == "next":
                    wanted, fetch, feeds = model.next(), element, {}
                else:
                    which = 0 if action == "one" else 1
                    wanted, fetch = model.loop(which, numbers[0]), loops[which][1]
                    feeds = {count: numbers[0]} if which == 0 else {}
                if isinstance(wanted, type):
                    with pytest.raises(wanted):
                        sess.run(fetch, feeds)
                else:
                    assert sess.run(fetch, feeds) == wanted
                assert sess.run([v for v, _ in loops]) == model.totals

        check()


def test_a_run_that_could_not_start_takes_no_input():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(100).make_one_shot_iterator()
        v, run_op = summing(strategy, iterator, 2)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            sess.run(run_op)
        sess.run(v.initializer)
        sess.run(run_op)
        assert sess.run(v) == sum(range(4))


@pytest.mark.usefixtures("small_chunks")
def test_after_a_failed_step_come_the_elements_behind_it():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(100).map(tf.to_float).make_one_shot_iterator()
        element = iterator.get_next()

        def step(x):
            return x + 0.0 * tf.check_numerics(tf.log(tf.abs(x - 9.0)), "log of zero")

        v, run_op = summing(strategy, iterator, 8, step=step, dtype=tf.float32)
        sess.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="in step 4 .*after the 4 steps before it"):
            sess.run(run_op)
        assert sess.run(v) == sum(range(8))
        assert sess.run(element) == 10
        sess.run(run_op)
        assert sess.run(v) == sum(range(8)) + sum(range(11, 27))


class Interrupting:
    """Records, the fifth of which is preceded by Ctrl-C."""

    def __init__(self):
        self.records = iter([0, 1, 2, 3, 4, KeyboardInterrupt, *range(5, 40)])

    def __iter__(self):
        return self

    def __next__(self):
        record = next(self.records)
        if record is KeyboardInterrupt:
            raise KeyboardInterrupt
        return np.int64(record)


def test_ctrl_c_while_input_is_read_loses_no_element():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = strategy.distribute_dataset(Interrupting).make_one_shot_iterator()
        v, run_op = summing(strategy, iterator, 5)
        sess.run(v.initializer)
        with pytest.raises(KeyboardInterrupt):
            sess.run(run_op)
        done = {sum(range(2 * steps)): steps for steps in range(3)}[int(sess.run(v))]
        sess.run(run_op)
        assert sess.run(v) == sum(range(2 * (done + 5)))


def test_an_element_of_another_shape_stays_where_it_is():
    strategy = tpu(1)
    records = [np.full([3 if i == 3 else 2], i) for i in range(7)]

    with strategy.scope(), tf.Session() as sess:
        dataset = tf.data.Dataset.from_generator(lambda: iter(records), tf.int64, [None])

        def with_shape(x):
            x.set_shape([2])
            return x

        iterator = dataset.map(with_shape).make_one_shot_iterator()
        v, run_op = summing(strategy, iterator, 2, step=tf.reduce_sum)
        sess.run(v.initializer)
        sess.run(run_op)
        element = iterator.get_next()
        assert [sess.run(element).tolist() for _ in range(3)] == [[2, 2], [3, 3, 3], [4, 4]]
        sess.run(run_op)
        assert sess.run(v) == 2 * (0 + 1 + 5 + 6)


def test_a_feedable_iterator_switches_between_two():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterators = [tf.data.Dataset.range(a, a + 50).make_initializable_iterator() for a in (0, 100)]
        handle = tf.placeholder(tf.string, [])
        v, run_op = summing(strategy, tf.data.Iterator.from_string_handle(handle, tf.int64, []), 2)
        sess.run([v.initializer, *(i.initializer for i in iterators)])
        names = sess.run([i.string_handle() for i in iterators])
        for which in (0, 1, 1, 0, 0, 1):
            sess.run(run_op, {handle: names[which]})
        assert sess.run(v) == sum(range(12)) + sum(range(100, 112))
        assert [sess.run(i.get_next()) for i in iterators] == [12, 112]


def test_fewer_than_no_iterations_are_none():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
        count = tf.placeholder(tf.int64, [])
        context = strategy.run_steps_on_dataset(sum_of_elements, iterator, count)
        assert sess.run(context.last_step_outputs, {count: -1}) == {"sum": 0}


def test_a_fed_integer_may_reach_a_shape_inside_the_step():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(100).make_one_shot_iterator()
        size = tf.placeholder(tf.int32, [])
        v, run_op = summing(strategy, iterator, 1, step=lambda x: x + tf.size(tf.zeros([size, 2]), out_type=tf.int64))
        sess.run(v.initializer)
        sess.run(run_op, {size: 3})
        sess.run(run_op, {size: 4})
        assert sess.run(v) == sum(range(4)) + 2 * 6 + 2 * 8


def test_a_shape_that_depends_on_the_element_is_refused_by_name():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(100).make_one_shot_iterator()
        v, run_op = summing(strategy, iterator, 1, step=lambda x: tf.size(tf.zeros([x]), out_type=tf.int64))
        sess.run(v.initializer)
        with pytest.raises(UnsupportedError, match="needs the value of") as error:
            sess.run(run_op)
        assert "test_loop_input.py" in str(error.value)


def test_strings_cannot_enter_a_step():
    strategy = tpu(2)
    with strategy.scope():
        iterator = tf.data.Dataset.from_tensor_slices(["a", "b"]).make_one_shot_iterator()
        with pytest.raises(UnsupportedError, match="strings cannot enter a compiled step"):
            strategy.run_steps_on_dataset(lambda c, x: None, iterator, 1)


@pytest.mark.usefixtures("small_chunks")
def test_checked_steps_of_batches_of_unknown_size():
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(20).batch(4).make_one_shot_iterator()

        def step(context, x):
            with tf.control_dependencies([tf.assert_less(x, tf.constant(100, tf.int64))]):
                context.set_last_step_output("doubled", x * 2)
            return x

        context = strategy.run_steps_on_dataset(step, iterator, 5)
        assert sess.run(context.last_step_outputs)["doubled"].tolist() == [32, 34, 36, 38]


def test_what_else_is_fetched_compiles_no_loop_again():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(100).make_one_shot_iterator()
        context = strategy.run_steps_on_dataset(sum_of_elements, iterator, 2)
        sess.run(context.run_op)
        programs = sess.resource(("step loop", context.last_step_outputs["sum"].op), None).programs
        assert len(programs) == 1
        assert sess.run([context.run_op, context.last_step_outputs])[1] == {"sum": 6 + 7}
        assert len(programs) == 1


def test_towers_take_elements_of_one_shape():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = strategy.distribute_dataset(lambda: tf.data.Dataset.range(7).batch(2)).make_one_shot_iterator()
        sums = strategy.unwrap(strategy.call_for_each_tower(tf.reduce_sum, iterator.get_next()))
        assert sess.run(sums) == [1, 5]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(2,\).*\(1,\).*drop_remainder=True"):
            sess.run(sums)
        assert sess.run(iterator.iterator.get_next()).tolist() == [4, 5]


def test_ctrl_c_between_the_towers_elements_loses_none():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = strategy.distribute_dataset(Interrupting).make_one_shot_iterator()
        parts = strategy.unwrap(strategy.call_for_each_tower(lambda x: x + 0, iterator.get_next()))
        got = [sess.run(parts), sess.run(parts)]
        with pytest.raises(KeyboardInterrupt):
            sess.run(parts)
        assert [*got, sess.run(parts)] == [[0, 1], [2, 3], [4, 5]]
