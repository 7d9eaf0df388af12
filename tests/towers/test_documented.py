"""What the 1.12 reference page says of a strategy's methods, where no other test asks."""

import collections

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run, tpu

lib = tf.contrib.distribute
SUM = tf.VariableAggregation.SUM


def test_the_device_index_of_a_single_tower_is_the_integer_0():
    for strategy in (tpu(1), lib.OneDeviceStrategy("/cpu:0")):
        with strategy.scope():
            assert strategy.worker_device_index == 0
            assert strategy.call_for_each_tower(lambda i: ["a"][i], strategy.worker_device_index) == "a"


@pytest.mark.parametrize("towers", [1, 2])
def test_run_concurrently_is_not_passed_on(towers):
    strategy = tpu(towers)
    seen = []
    with strategy.scope():
        strategy.call_for_each_tower(
            lambda *args, **kwargs: seen.append((args, kwargs)), 3, run_concurrently=False, k=4
        )
    assert seen == [((3,), {"k": 4})]


def test_a_loop_has_one_iteration_by_default():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(10).make_one_shot_iterator()

        def step(context, x):
            context.set_last_step_output("x", x, SUM)
            return x

        context = strategy.run_steps_on_dataset(step, iterator)
        assert sess.run(context.last_step_outputs) == {"x": 1}
        assert sess.run(context.last_step_outputs) == {"x": 5}


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        ((1, 2), ["tensor", "tensor"]),
        (((1, 2), 3), [("tensor", "tensor"), "tensor"]),
        ({"a": 1, "b": 2}, [{"a": "tensor", "b": "tensor"}]),
        (Pair(1, 2), ["tensor", "tensor"]),
        ((Pair(1, 2), 3), [Pair("tensor", "tensor"), "tensor"]),
        (1, ["tensor"]),
    ],
)
def test_inputs_have_the_structure_of_get_next_and_tuples_are_unpacked(structure, expected):
    strategy = tpu(2)
    with strategy.scope():
        iterator = tf.data.Dataset.from_tensors(structure).repeat().make_one_shot_iterator()
        seen = []
        strategy.run_steps_on_dataset(lambda context, *inputs: seen.extend(inputs) or inputs, iterator)
    assert len(seen) == len(expected)
    for got, wanted in zip(seen, expected, strict=True):
        assert type(got) is type(wanted) or wanted == "tensor"
        assert len(tf.contrib.framework.nest.flatten(got)) == len(tf.contrib.framework.nest.flatten(wanted))


def test_every_value_is_among_the_parts_of_its_container():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        parts = strategy.call_for_each_tower(lambda: tf.constant(1.0))
        for value in [v, *strategy.unwrap(v), tf.constant(2.0), 3, *strategy.unwrap(parts)]:
            assert any(value is part for part in strategy.unwrap(strategy.value_container(value))) or value is v
        assert all(strategy.value_container(c) is v for c in strategy.unwrap(v))


def test_group_runs_all_parts():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.get_variable("v", initializer=0.0, aggregation=SUM)
        added = strategy.call_for_each_tower(lambda i: v.assign_add(tf.to_float(i) + 1.0), strategy.worker_device_index)
        operation = strategy.group(added, name="all_of_them")
    assert operation.name == "all_of_them"
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(operation) is None
        assert sess.run(v) == 3


def test_colocate_vars_with_is_for_the_scope_only():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
    with pytest.raises(RuntimeError, match="Need to be inside"):
        strategy.colocate_vars_with(v)


def test_update_of_a_single_tower_returns_what_the_function_returns():
    for strategy in (tpu(1), lib.OneDeviceStrategy("/cpu:0")):
        tf.reset_default_graph()
        with strategy.scope():
            v = tf.get_variable("v", initializer=1.0)
            assert strategy.update(v, lambda v, a: (v, a), "a")[1] == "a"
            assert strategy.update(v, lambda v: "result", grouped=False) == ["result"]
            assert np.allclose(run(strategy.update(v, lambda v: v.assign_add(2.0))), 3.0)


def test_a_region_is_named_by_the_users_line():
    strategy = tpu(2)

    def nested(context, x):
        return strategy.run_steps_on_dataset(nested, iterator, 2).run_op

    with strategy.scope():
        iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
        with pytest.raises(
            ValueError, match=r"inside the step function .*test_documented.py.*Call it at the top level"
        ):
            strategy.run_steps_on_dataset(nested, iterator, 2)
