"""run_steps_on_dataset: what a run does, what stays when it ends early, and what cannot be lost."""

import itertools
import os
import signal
import threading
from functools import partial

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import tpu
from towerstrat.errors import UnsupportedError

lib = tf.contrib.distribute
SUM, MEAN = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN


def adding(strategy, dataset, iterations, step=None):
    """A loop that adds each element to a variable, summed over towers."""
    v = tf.get_variable("v", initializer=tf.constant(0, dataset.output_types), aggregation=SUM)
    iterator = dataset.make_initializable_iterator()

    def fn(context, x):
        def tower(x):
            return v.assign_add(x if step is None else step(x))

        return strategy.group(strategy.call_for_each_tower(tower, x))

    return v, iterator, strategy.run_steps_on_dataset(fn, iterator, iterations)


@pytest.mark.parametrize(("towers", "expected"), [(1, [3, 15]), (2, [15, 66])])
def test_three_iterations_over_a_range(towers, expected):
    strategy = tpu(towers)
    with strategy.scope(), tf.Session() as sess:
        data = tf.data.Dataset.range(100).map(tf.to_float)
        v, iterator, context = adding(strategy, data, 3)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        got = []
        for _ in range(2):
            sess.run(context.run_op)
            got.append(sess.run(v))
        assert got == expected


def test_one_device_strategy_does_the_same():
    strategy = lib.OneDeviceStrategy("/cpu:0")
    with strategy.scope(), tf.Session() as sess:
        v, iterator, context = adding(strategy, tf.data.Dataset.range(100), 3)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(context.run_op)
        assert sess.run(v) == 3


@pytest.mark.parametrize("iterations", [1, 7, 64, 1000])
def test_any_number_of_iterations(iterations):
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        v, iterator, context = adding(strategy, tf.data.Dataset.range(10**6), iterations)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(context.run_op)
        assert sess.run(v) == sum(range(2 * iterations))
        sess.run(context.run_op)
        assert sess.run(v) == sum(range(4 * iterations))


def test_iterations_may_be_a_tensor():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        count = tf.placeholder(tf.int32, [])
        v, iterator, context = adding(strategy, tf.data.Dataset.range(1000), count)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(context.run_op, {count: 2})
        sess.run(context.run_op, {count: 3})
        assert sess.run(v) == sum(range(10))


def test_end_of_data_keeps_the_finished_steps():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        v, iterator, context = adding(strategy, tf.data.Dataset.range(15), 5)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(context.run_op)
        with pytest.raises(tf.errors.OutOfRangeError, match="2 of 5 steps"):
            sess.run(context.run_op)
        assert sess.run(v) == sum(range(14))
        with pytest.raises(tf.errors.OutOfRangeError, match="0 of 5 steps"):
            sess.run(context.run_op)
        assert sess.run(v) == sum(range(14))
        left = iterator.get_next()
        assert sess.run(left) == 14
        sess.run(iterator.initializer)
        sess.run(context.run_op)
        assert sess.run(v) == sum(range(14)) + sum(range(10))


def test_elements_read_ahead_are_not_lost_to_other_readers():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        v, iterator, context = adding(strategy, tf.data.Dataset.range(1000), 4)
        element = iterator.get_next()
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(context.run_op)
        assert [sess.run(element) for _ in range(3)] == [8, 9, 10]
        sess.run(context.run_op)
        assert sess.run(v) == sum(range(8)) + sum(range(11, 19))


class BadRecord(Exception):
    pass


def test_an_exception_in_the_input_pipeline_is_the_originals_error_and_the_steps_before_count():
    def records():
        yield from range(7)
        raise BadRecord("record 7 is bad")

    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        data = tf.data.Dataset.from_generator(records, tf.int64, [])
        v, iterator, context = adding(strategy, data, 5)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        with pytest.raises(tf.errors.UnknownError, match="BadRecord: record 7 is bad"):
            sess.run(context.run_op)
        assert sess.run(v) == sum(range(6))


def test_nan_is_raised_after_the_run_naming_the_step_and_the_state_is_that_of_the_last_good_one():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        data = tf.data.Dataset.range(100).map(lambda x: tf.to_float(x))
        check = lambda x: tf.check_numerics(tf.log(6.5 - x), "log of a negative number") * 0.0 + x  # noqa: E731
        v, iterator, context = adding(strategy, data, 10, check)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        with pytest.raises(tf.errors.InvalidArgumentError, match="log of a negative number") as error:
            sess.run(context.run_op)
        assert "in step 3" in str(error.value)
        assert "test_step_tracing.py" in str(error.value)
        assert sess.run(v) == sum(range(6))


def outputs_of(towers, build):
    strategy = tpu(towers)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(100).map(tf.to_float).make_initializable_iterator()
        context = strategy.run_steps_on_dataset(lambda c, x: build(strategy, c, x), iterator, 3)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        return context, sess.run([context.last_step_outputs, context.run_op])[0]


def test_last_step_outputs():
    def build(strategy, context, x):
        def tower(x):
            context.set_last_step_output("in_tower", x, MEAN)
            context.set_non_tensor_output("text", "s")
            return x * 10.0

        result = strategy.call_for_each_tower(tower, x)
        context.set_last_step_output("sum", result, SUM)
        context.set_last_step_output("first", result, tf.VariableAggregation.ONLY_FIRST_TOWER)
        context.set_last_step_output("each", result)
        context.set_non_tensor_output("number", 5)
        return strategy.group(result)

    context, got = outputs_of(2, build)
    assert got == {"in_tower": 4.5, "sum": 90.0, "first": 40.0, "each": [40.0, 50.0]}
    assert context.non_tensor_outputs == {"text": ["s"], "number": 5}


METRICS = {
    "mean": lambda x: tf.metrics.mean(x),
    "accuracy": lambda x: tf.metrics.accuracy(x > 2, x > 3),
    "auc": lambda x: tf.metrics.auc(x > 2, tf.sigmoid(x)),
    "mean_iou": lambda x: tf.metrics.mean_iou(tf.to_int32(x > 2), tf.to_int32(x > 3), 2),
    "rmse": lambda x: tf.metrics.root_mean_squared_error(x, x * 2),
    "recall": lambda x: tf.metrics.recall_at_thresholds(x > 2, tf.sigmoid(x), [0.2, 0.9]),
    "percentage": lambda x: tf.metrics.percentage_below(x, 3.0),
}


@spread(("metric", "towers"), itertools.product(METRICS, (2, 1)), every=3)
def test_the_value_of_a_metric_of_the_step_is_fetched_after_the_run(metric, towers):
    """It depends on variables alone, so it stands outside of the step: what it is over all steps and towers."""
    strategy = tpu(towers)
    data = np.arange(1.0, 9.0, dtype=np.float32).reshape(8, 1)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.from_tensor_slices(data).make_initializable_iterator()

        def fn(context, x):
            value, update = strategy.call_for_each_tower(METRICS[metric], x)
            context.set_non_tensor_output("metric", value)
            return strategy.group(update)

        context = strategy.run_steps_on_dataset(fn, iterator, 4 // towers)
        value = strategy.unwrap(context.non_tensor_outputs["metric"])[0]
        doubled = value * 2
        sess.run([tf.local_variables_initializer(), iterator.initializer])
        sess.run(context.run_op)
        found, twice = sess.run([value, doubled])
    with tf.Graph().as_default(), tf.Session() as sess:
        value, update = METRICS[metric](tf.constant(data[:4]))
        sess.run(tf.local_variables_initializer())
        sess.run(update)
        wanted = sess.run(value)
    assert np.allclose(found, wanted, rtol=1e-6)
    assert np.allclose(twice, 2 * wanted, rtol=1e-6)


@pytest.mark.parametrize("towers", [1, 2])
def test_a_step_that_uses_the_value_of_a_metric_has_the_one_of_before_the_run(towers):
    """As in the original, whose value stands outside of the loop: 3.5 and 40.5 are what it gives on one device."""
    strategy = tpu(towers)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(1, 20).map(tf.to_float).make_initializable_iterator()

        def fn(context, x):
            def tower(x):
                value, update = tf.metrics.mean(x)
                return value, update, x * (value + 1.0)

            value, update, used = strategy.call_for_each_tower(tower, x)
            context.set_last_step_output("value", value)
            context.set_last_step_output("used", used)
            context.set_non_tensor_output("metric", value)
            return strategy.group(update)

        context = strategy.run_steps_on_dataset(fn, iterator, 3)
        outputs = [strategy.unwrap(context.last_step_outputs[name]) for name in ("value", "used")]
        sess.run([tf.local_variables_initializer(), iterator.initializer])
        for _ in range(2):
            sess.run(context.run_op)
        value, used = sess.run(outputs)
        rows, before = 9 * towers, np.arange(1.0, 6 * towers + 1).mean()
        assert value == [before]
        assert used == [x * (before + 1) for x in range(rows - towers + 1, rows + 1)]
        metric = strategy.unwrap(context.non_tensor_outputs["metric"])[0]
        assert sess.run(metric) == np.arange(1.0, rows + 1).mean()


def test_what_depends_on_the_steps_input_or_writes_stays_inside():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=1.0, aggregation=SUM)
        iterator = tf.data.Dataset.range(8).make_one_shot_iterator()
        made = {}

        def fn(context, x):
            made["input"], made["write"] = x.local + 1, v.assign(3.0)
            with tf.control_dependencies([made["input"]]):
                made["after"] = v.read_value()
            made["random"] = tf.random_uniform([])
            made["alone"] = v + 5.0
            return v.assign_add(1.0)

        context = strategy.run_steps_on_dataset(fn, iterator, 2)
        sess.run(tf.global_variables_initializer())
        sess.run(context.run_op)
        assert sess.run(made["alone"]) == 8.0
        for name in ("input", "write", "after", "random"):
            with pytest.raises(ValueError, match="was made inside the step function"):
                sess.run(made[name])


@pytest.mark.parametrize("towers", [1, 2, 3])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3)], ids=str)
def test_an_output_without_aggregation_has_a_part_on_every_tower_equal_or_not(shape, towers):
    """A constant, a variable, a sum over towers and what is made of them leave the loop as each tower's."""
    strategy = tpu(towers)
    data = np.arange(np.prod((towers, *shape)), dtype=np.float32).reshape((towers, *shape))
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=np.full(shape, 5, np.float32))
        iterator = tf.data.Dataset.from_tensor_slices(data).make_one_shot_iterator()

        def fn(context, x):
            def tower(x):
                total = lib.get_tower_context().merge_call(lambda d, z: d.reduce(SUM, z, destinations=v), x)
                return {
                    "own": x, "constant": tf.ones(shape) * 3, "read": v.read_value(), "total": tf.identity(total),
                    "branch": tf.cond(tf.constant(True), lambda: v + 1.0, lambda: v - 1.0),
                }  # fmt: skip

            outputs = strategy.call_for_each_tower(tower, x)
            for name, output in outputs.items():
                context.set_last_step_output(name, output)
            return strategy.group(outputs["own"])

        context = strategy.run_steps_on_dataset(fn, iterator, 1)
        parts = {name: strategy.unwrap(output) for name, output in context.last_step_outputs.items()}
        later = {name: [tf.identity(p) for p in found] for name, found in parts.items()}
        sess.run(tf.global_variables_initializer())
        _, found, again = sess.run([context.run_op, parts, later])
        wanted = {
            "own": list(data), "constant": [np.full(shape, 3)] * towers, "read": [np.full(shape, 5)] * towers,
            "total": [data.sum(0)] * towers, "branch": [np.full(shape, 6)] * towers,
        }  # fmt: skip
        for name, each in wanted.items():
            assert [p.shape for p in parts[name]] == [shape] * towers
            assert np.array_equal(found[name], each), name
            assert np.array_equal(again[name], each), name


def test_an_output_in_tower_context_needs_an_aggregation():
    def build(strategy, context, x):
        return strategy.call_for_each_tower(lambda x: context.set_last_step_output("a", x), x)

    with pytest.raises(ValueError, match=r"set_last_step_output\('a'\) in tower context needs an aggregation"):
        outputs_of(2, build)


def test_initial_loop_values_are_what_zero_iterations_give():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(10).map(tf.to_float).make_one_shot_iterator()

        def fn(context, x):
            context.set_last_step_output("loss", x, SUM)
            return x

        count = tf.placeholder(tf.int32, [])
        context = strategy.run_steps_on_dataset(fn, iterator, count, initial_loop_values={"loss": tf.constant(1e7)})
        assert sess.run(context.last_step_outputs["loss"], {count: 0}) == 1e7
        assert sess.run(context.last_step_outputs["loss"], {count: 1}) == 1.0


def test_shapes_must_be_known_for_tpu_strategy():
    strategy = tpu(2)
    with strategy.scope():
        iterator = tf.data.Dataset.range(10).batch(4).make_one_shot_iterator()
        with pytest.raises(ValueError, match=r"TPU currently requires fully defined shapes.*drop_remainder=True"):
            strategy.run_steps_on_dataset(lambda c, x: None, iterator, 2)


@pytest.mark.parametrize("towers", [1, 2])
@pytest.mark.parametrize("returned", [None, (), {}, [None], 3.0, object()])
def test_a_step_that_returns_nothing_to_run_is_refused_when_it_is_built(towers, returned):
    for strategy in (tpu(towers), tf.contrib.distribute.OneDeviceStrategy("/cpu:0")):
        with tf.Graph().as_default(), strategy.scope():
            v = tf.get_variable("v", initializer=0.0, aggregation=tf.VariableAggregation.SUM)
            iterator = tf.data.Dataset.range(10).map(tf.to_float).make_one_shot_iterator()

            def step(context, x, strategy=strategy, v=v):
                strategy.call_for_each_tower(v.assign_add, x)
                return returned

            with pytest.raises(TypeError, match=r"Can not convert .* into a Tensor or Operation: .*must return what"):
                strategy.run_steps_on_dataset(step, iterator, 2)


@pytest.mark.parametrize("form", [lambda op: op.name, lambda op: op.outputs[0].name, lambda op: {"train": (None, op)}])
def test_a_step_may_return_its_operation_by_name_or_in_a_structure(form):
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=0.0)
        iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
        context = strategy.run_steps_on_dataset(lambda context, x: form(v.assign_add(1.0).op), iterator, 3)
        sess.run(v.initializer)
        sess.run(context.run_op)
        assert sess.run(v) == 3.0


def test_results_of_unknown_size_are_refused_by_name():
    strategy = tpu(2)
    parts = (
        lambda x: tf.boolean_mask(x, x > 0.0),
        lambda x: tf.unique(x).y,
        lambda x: tf.dynamic_partition(x, tf.to_int32(x), 2)[0],
    )
    for part, kind in zip(parts, ("Where", "Unique", "DynamicPartition"), strict=True):
        with strategy.scope():
            iterator = strategy.distribute_dataset(lambda: [np.ones(3, np.float32)] * 4).make_one_shot_iterator()
            step = partial(strategy.call_for_each_tower, lambda _, x, part=part: tf.reduce_sum(part(x)))
            context = strategy.run_steps_on_dataset(step, iterator, 2)
        message = rf"type {kind}, created at .*shape depends on values"
        with tf.Session() as sess, pytest.raises(UnsupportedError, match=message):
            sess.run(context.run_op)


def test_a_dataset_is_no_dataset_fn_and_steps_are_a_number():
    with pytest.raises(TypeError, match="must be a function that returns a dataset"):
        tpu(2).distribute_dataset(tf.data.Dataset.range(3))
    with pytest.raises(TypeError, match="steps_per_run must be an integer, got 'x'"):
        tpu(2, "x")


def test_the_function_is_traced_once_and_its_variables_live_outside():
    strategy = tpu(2)
    calls = []
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(1000).map(tf.to_float).make_one_shot_iterator()

        def fn(context, x):
            calls.append(1)
            w = tf.get_variable("w", initializer=1.0, aggregation=MEAN)
            return strategy.group(strategy.call_for_each_tower(lambda x: w.assign_add(x), x))

        context = strategy.run_steps_on_dataset(fn, iterator, 5)
        (w,) = tf.global_variables()
        sess.run(w.initializer)
        sess.run(context.run_op)
        sess.run(context.run_op)
        assert calls == [1]
        assert sess.run(w) == 1.0 + sum(range(20)) / 2


def test_reading_an_uninitialized_variable_names_it():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        _, iterator, context = adding(strategy, tf.data.Dataset.range(100), 2)
        sess.run(iterator.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            sess.run(context.run_op)


def random_sum(iterations, runs):
    tf.reset_default_graph()
    tf.set_random_seed(3)
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        v, iterator, context = adding(
            strategy, tf.data.Dataset.range(1000).map(tf.to_float), iterations, lambda x: tf.random_uniform([])
        )
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        for _ in range(runs):
            sess.run(context.run_op)
        return sess.run(v)


def test_ten_runs_of_one_step_equal_one_run_of_ten():
    once = random_sum(10, 1)
    assert once == random_sum(1, 10) == random_sum(5, 2)
    assert 0 < once < 20


def test_any_python_iterable_is_a_dataset():
    strategy = tpu(2)
    rows = [np.full(3, i, np.float32) for i in range(4)]
    with strategy.scope(), tf.Session() as sess:
        iterator = strategy.distribute_dataset(lambda: rows).make_one_shot_iterator()
        parts = strategy.unwrap(iterator.get_next())
        assert [p.tolist() for p in sess.run(parts)] == [[0, 0, 0], [1, 1, 1]]


@pytest.fixture
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_the_middle_of_a_run_loses_nothing():
    strategy = tpu(2)
    finished, reading = threading.Event(), threading.Event()

    def numbers():
        for i in itertools.count():
            reading.set()
            yield i

    with strategy.scope(), tf.Session() as sess:
        data = tf.data.Dataset.from_generator(numbers, tf.int64, [])
        v, iterator, context = adding(strategy, data, 50)
        sess.run([tf.global_variables_initializer(), iterator.initializer])

        def interrupt():
            """While a run after the first ones reads its input."""
            finished.wait(60)
            reading.clear()
            reading.wait(60)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            for runs in itertools.count(1):
                sess.run(context.run_op)
                if runs > 3:  # All programs are there: in the middle of tracing, interrupts are lost in C.
                    finished.set()
        thread.join()
        total = int(sess.run(v))
        n = round((1 + np.sqrt(1 + 8 * total)) / 2)
        assert total == n * (n - 1) // 2
        assert n % 2 == 0
        assert n > 0
        sess.run(v.assign_add(tf.constant(1, tf.int64)))
        assert sess.run(v) == total + 1


def test_a_fetched_value_is_untouched_by_later_runs():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=np.zeros(1000, np.float32), aggregation=SUM)
        iterator = tf.data.Dataset.range(10000).map(tf.to_float).make_one_shot_iterator()
        context = strategy.run_steps_on_dataset(
            lambda c, x: strategy.call_for_each_tower(lambda x: v.assign_add(x + tf.zeros([1000])), x), iterator, 3
        )
        sess.run(tf.global_variables_initializer())
        sess.run(context.run_op)
        before = sess.run(v)
        kept = before.copy()
        for _ in range(5):
            sess.run(context.run_op)
        assert np.array_equal(before, kept)
        assert sess.run(v)[0] > kept[0]
