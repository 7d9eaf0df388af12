"""Mirrored and tower-local variables."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import run, tpu
from towerstrat.towers.contrib.strategy_variables import MirroredVariable, TowerLocalVariable

lib = tf.contrib.distribute
NONE, SUM, MEAN, FIRST = tuple(tf.VariableAggregation)


def local_variable(name, aggregation, value=0.0):
    return tf.get_variable(
        name, initializer=value, synchronization=tf.VariableSynchronization.ON_READ, aggregation=aggregation
    )


def test_names_collections_and_containers():
    strategy = tpu(3)
    with strategy.scope():
        v = tf.get_variable("scope/v", [2])
        assert isinstance(v, MirroredVariable)
        assert [c.name for c in strategy.unwrap(v)] == ["scope/v:0", "scope/v/replica_1:0", "scope/v/replica_2:0"]
        assert tf.global_variables() == [v]
        assert tf.trainable_variables() == [v]
        assert v.name == "scope/v:0"
        assert v.devices == strategy.worker_devices
        for component in strategy.unwrap(v):
            assert strategy.value_container(component) is v
        assert strategy.value_container(v) is v
        other = tf.constant(1)
        assert strategy.value_container(other) is other


def test_get_variable_with_reuse_gives_the_same_object():
    strategy = tpu(2)

    def fn():
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            return tf.get_variable("w", [1])

    with strategy.scope():
        assert strategy.call_for_each_tower(fn) is strategy.call_for_each_tower(fn)
    assert len(tf.global_variables()) == 1


@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 1.0 + 2 + 3), (MEAN, 2.0), (FIRST, 1.0)])
def test_assign_in_tower_context_aggregates(aggregation, expected):
    strategy = tpu(3)
    with strategy.scope():
        v = tf.get_variable("v", initializer=10.0, aggregation=aggregation)
        add = strategy.call_for_each_tower(lambda: v.assign_add(lib.get_tower_context().tower_id + 1.0))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(strategy.group(add))
            assert sess.run(v) == 10.0 + expected
            assert sess.run(strategy.unwrap(v)) == [10.0 + expected] * 3


def test_python_values_under_mean_first_and_sum():
    strategy = tpu(2)
    with strategy.scope():
        mean = tf.get_variable("m", initializer=1.0, aggregation=MEAN)
        first = tf.get_variable("f", initializer=1.0, aggregation=FIRST)
        total = tf.get_variable("s", initializer=1.0, aggregation=SUM)
        ops = strategy.call_for_each_tower(lambda: [mean.assign_add(5.0), first.assign_sub(2.0)])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run([strategy.group(o) for o in ops])
            assert sess.run([mean, first]) == [6.0, -1.0]
        with pytest.raises(ValueError, match=r"A non-DistributedValues value 5.0 cannot be reduced .*SUM"):
            strategy.call_for_each_tower(lambda: total.assign(5.0))


def test_assign_without_aggregation_is_refused_with_the_line_of_the_variable():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        with pytest.raises(
            ValueError, match="You must specify an aggregation method to update a MirroredVariable"
        ) as e:
            strategy.call_for_each_tower(lambda: v.assign(tf.constant(2.0)))
        assert "test_strategy_variables.py" in str(e.value)


def test_cross_tower_assign_updates_all_copies():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        assign = v.assign(7.0)
        with tf.Session() as sess:
            sess.run(v.initializer)
            assert sess.run(assign) == 7.0
            assert sess.run(strategy.unwrap(v)) == [7.0, 7.0]
        with pytest.raises(ValueError, match="one copy of"):
            strategy.unwrap(v)[1].assign(3.0)


@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 6.0), (MEAN, 2.0)])
def test_tower_local_variables(aggregation, expected):
    strategy = tpu(3)
    with strategy.scope():
        v = local_variable("v", aggregation)
        assert isinstance(v, TowerLocalVariable)
        assert v not in tf.trainable_variables()
        set_own = strategy.call_for_each_tower(lambda: v.assign_add(lib.get_tower_context().tower_id + 1.0))
        own = strategy.call_for_each_tower(lambda: v + 0.0)
        with pytest.raises(RuntimeError, match="Tower-local variables may only be assigned in a tower context"):
            v.assign_add(1.0)
        read = strategy.read_var(v)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(strategy.group(set_own))
            assert sess.run(strategy.unwrap(own)) == [1.0, 2.0, 3.0]
            assert sess.run([read, v, v + 1.0]) == [expected, expected, expected + 1.0]
            assert sess.run(strategy.unwrap(v)) == [1.0, 2.0, 3.0]
            sess.run(v.assign(12.0))
            assert sess.run(v) == 12.0
            assert sess.run(strategy.unwrap(v)) == [4.0] * 3 if aggregation == SUM else [12.0] * 3


def test_bad_modes_are_named():
    strategy = tpu(2)
    with strategy.scope():
        for where, message in (
            ("synchronization", "Invalid variable synchronization mode: Invalid for variable: v"),
            ("aggregation", "Invalid variable aggregation mode: Invalid for variable: v"),
        ):
            with pytest.raises(ValueError, match=message):
                tf.get_variable("v", [1], **{where: "Invalid"})
        with pytest.raises(ValueError, match="`NONE` variable synchronization mode is not supported"):
            tf.get_variable("v", [1], synchronization=tf.VariableSynchronization.NONE)


def test_initial_values_are_equal_everywhere_also_when_made_in_tower_context():
    strategy = tpu(4)
    with strategy.scope():
        v = strategy.call_for_each_tower(lambda: tf.get_variable("v", [3], initializer=tf.random_normal_initializer()))
        got = run(strategy.unwrap(v))
    assert all(np.array_equal(got[0], g) for g in got)
    assert np.std(got[0]) > 0


def test_two_strategies_in_one_run_are_refused():
    first, second = tpu(2), tpu(3)
    with first.scope():
        a = first.unwrap(first.call_for_each_tower(lambda: lib.get_tower_context().tower_id + 0))[0]
    with second.scope():
        b = second.unwrap(second.call_for_each_tower(lambda: lib.get_tower_context().tower_id + 0))[0]
    with tf.Session() as sess:
        assert sess.run(a) == sess.run(b) == 0
        with pytest.raises(ValueError, match="cannot mix two strategies"):
            sess.run([a, b])


@spread("dtype", [tf.int32, tf.int64, tf.uint8, tf.bfloat16, tf.float64, tf.complex64], every=3)
@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 5), (MEAN, 2.5)])
def test_tower_local_variables_of_every_type(dtype, aggregation, expected):
    strategy = tpu(2)
    with strategy.scope():
        v = local_variable("v", aggregation, tf.cast(7, dtype))
        assigned = strategy.call_for_each_tower(lambda i: v.assign(tf.cast(i + 2, dtype)), strategy.worker_device_index)
        read = strategy.read_var(v)
    expected = int(expected) if dtype.is_integer else expected
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(strategy.group(assigned))
        assert sess.run([v, read]) == [expected, expected]
        v.load(8, sess)
        assert sess.run([v, read]) == [8, 8]


@pytest.mark.parametrize("towers", [1, 2, 3])
@pytest.mark.parametrize("aggregation", [SUM, MEAN, FIRST])
def test_update_of_a_tower_local_variable_changes_each_towers_own(aggregation, towers):
    strategy = tpu(towers)
    with strategy.scope(), tf.Session() as sess:
        v = strategy.call_for_each_tower(lambda: local_variable("v", aggregation))
        number = strategy.call_for_each_tower(lambda: tf.to_float(lib.get_tower_context().tower_id))
        own = strategy.call_for_each_tower(lambda i: v.assign(i), strategy.worker_device_index)
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        copies, each = strategy.unwrap(v), np.arange(towers)
        sess.run(strategy.unwrap(own))
        parts = strategy.update(v, lambda copy, x: copy.assign_add(x * copy), 3.0, grouped=False)
        parts = parts if isinstance(parts, list) else [parts]
        assert np.array_equal(sess.run(parts), 4 * each)
        assert np.array_equal(sess.run(copies), 4 * each)
        sess.run(strategy.update(v, lambda copy: tf.group(copy.assign(5.0))))
        assert sess.run(copies) == [5.0] * towers
        wanted = {SUM: 5.0 * towers, MEAN: 5.0, FIRST: 5.0}[aggregation]
        assert sess.run([v, strategy.read_var(v)]) == [wanted] * 2
        if towers > 1:
            for different in (number, v):
                with pytest.raises(TypeError, match="Expected value to be mirrored across towers"):
                    strategy.update(v, lambda copy, x: copy.assign(x), different)
