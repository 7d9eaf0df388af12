"""What computations do on the host: Python, text, printing, summaries, inside and outside of loops."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import run
from tests.towers.common import tpu as towers_of
from towerstrat.errors import InvalidArgumentError

tpu = tf.contrib.tpu


def looped(times, body, value):
    return tpu.repeat(times, body, [value])[0] if times else body(value)


@spread(("shards", "times"), [(2, 3), (2, 0), (1, 3), (1, 0)], every=2)
def test_python_gets_each_shards_values(shards, times):
    calls = []

    def twice(value):
        calls.append(value.tolist())
        return value * 2

    def body(x):
        y = tpu.outside_compilation(tf.py_func, twice, [x + 1], tf.float32)
        y.set_shape(x.shape)
        return y

    start = [np.float32([1, 2]), np.float32([10, 20])][:shards]
    outputs = run(tpu.replicate(lambda x: looped(times, body, x), [[x] for x in start]))
    for x, (found,) in zip(start, outputs, strict=True):
        for _ in range(max(times, 1)):
            x = (x + 1) * 2
        np.testing.assert_array_equal(found, x)
    assert len(calls) == shards * max(times, 1)


def test_what_python_raises_leaves_the_state_as_it_was():
    w = tf.get_variable("w", initializer=0.0)

    def picky(value):
        if value > 1:
            raise ZeroDivisionError("too much")
        return np.zeros([2] if value == 1 else [], np.float32)

    def computation(x):
        y = tpu.outside_compilation(lambda: tf.py_func(picky, [x], tf.float32))
        y.set_shape([2])
        with tf.control_dependencies([w.assign_add(1.0)]):
            return tpu.cross_replica_sum(y)

    for other, message in ((3.0, "ZeroDivisionError: too much"), (0.0, r"shape \[\], expected \[2\]")):
        outputs = tpu.replicate(computation, [[1.0], [other]])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(InvalidArgumentError, match=message):
                session.run(outputs)
            assert session.run(w) == 0.0


@spread("shards", [2, 1], every=2)
def test_printing_and_text(shards, capfd):
    def computation():
        printed = tpu.repeat(2, lambda: tpu.outside_compilation(tf.print, "round"))
        return tf.constant(7), printed

    assert run(tpu.replicate(lambda: tpu.outside_compilation(tf.as_string, 7), [[]] * shards)) == [[b"7"]] * shards
    assert run(tpu.replicate(computation, [[]] * shards)) == [[7]] * shards
    assert capfd.readouterr().err.count("round") == 2 * shards


@spread("shards", [2, 1], every=2)
def test_a_loop_that_is_run_for_its_effect_alone(shards, capfd):
    """What was printed in a loop of which nothing is fetched, in graphs without shards too."""
    alone = tf.while_loop(lambda i: i < 2, lambda i: tf.Print(i, [i], "alone") + 1, [0]).op
    loop = tpu.shard(lambda: tpu.repeat(2, lambda: tf.print("looped")), num_shards=shards)
    for fetched, text, times in ((alone, "alone", 2), (loop, "looped", 2 * shards)):
        run(fetched)
        assert capfd.readouterr().err.count(text) == times


@spread("shards", [2, 1], every=2)
def test_summaries_of_each_step(shards, tmp_path):
    step = tf.train.get_or_create_global_step()
    writer = tf.contrib.summary.create_file_writer(str(tmp_path), flush_millis=1)

    def body():
        with tf.control_dependencies([step.assign_add(1)]):
            scalar = tpu.outside_compilation(lambda: tf.contrib.summary.scalar("double", 2 * step, step=step))
        return tf.group(scalar)

    with writer.as_default(), tf.contrib.summary.always_record_summaries():
        loop = tpu.shard(lambda: tpu.repeat(3, body), num_shards=shards)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.contrib.summary.summary_writer_initializer_op()])
            session.run(loop)
            session.run(writer.flush())
    events = [event for path in tmp_path.iterdir() for event in tf.train.summary_iterator(str(path))]
    found = [(e.step, v.tag, v.simple_value) for e in events for v in e.summary.value]
    assert found == [(1, "double", 2.0), (2, "double", 4.0), (3, "double", 6.0)]


@pytest.mark.long
def test_python_in_functions_branches_and_beside_gradients():
    def twice(x):
        y = tf.py_func(lambda value: value * 2, [x], tf.float32)
        y.set_shape(x.shape)
        return y

    seen = []

    def computation(x):
        function = tf.contrib.eager.defun(twice)
        branch = tf.cond(x > 1.5, lambda: twice(x), lambda: x)
        gradient = tf.gradients(twice(x) * x, x)[0]
        return function(x), branch, gradient, tf.py_func(lambda value: seen.append(float(value)), [x], [])

    assert run(tpu.replicate(computation, [[1.0], [2.0]])) == [[2.0, 1.0, 2.0], [4.0, 4.0, 4.0]]
    assert sorted(seen) == [1.0, 2.0]


@pytest.mark.long
@pytest.mark.parametrize("towers", [1, 2])
def test_python_in_the_steps_of_a_strategy(towers):
    strategy, calls = towers_of(towers), []

    def noted(value):
        calls.append(float(value))
        return value * 2

    def tower(x):
        y = tf.py_func(noted, [x], tf.float32)
        y.set_shape([])
        return total.assign_add(y)

    numbers = tf.data.Dataset.range(100).map(tf.to_float)
    with strategy.scope(), tf.Session() as session:
        total = tf.get_variable("total", initializer=0.0, aggregation=tf.VariableAggregation.SUM)
        iterator = strategy.distribute_dataset(lambda: numbers).make_one_shot_iterator()
        steps = strategy.run_steps_on_dataset(
            lambda context, x: strategy.group(strategy.call_for_each_tower(tower, x)), iterator, 5
        )
        session.run(tf.global_variables_initializer())
        for run_of in (1, 2):
            session.run(steps.run_op)
            count = run_of * 5 * towers
            assert sorted(calls) == list(range(count))
            assert session.run(total) == count * (count - 1)
