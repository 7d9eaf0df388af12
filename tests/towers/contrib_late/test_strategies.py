"""Strategies of ``tf.contrib.distribute`` take what 1.8 to 1.12 and what 1.13 to 1.15 said, on one engine."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run, tpu

lib = tf.contrib.distribute
SUM = tf.distribute.ReduceOp.SUM
STRATEGIES = {"one": lambda: lib.OneDeviceStrategy("/cpu:0"), "two": lambda: tpu(2), "three": lambda: tpu(3)}
each = pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)


def rows(count):
    """A dataset of batches of 6 rows, 0, 1, 2, ..."""
    return tf.data.Dataset.range(6 * count).map(tf.to_float).batch(6, drop_remainder=True)


@each
def test_one_object_is_the_strategy_of_both(make):
    strategy = make()
    assert isinstance(strategy, lib.DistributionStrategy)
    assert isinstance(strategy, tf.distribute.Strategy)
    assert isinstance(strategy, lib.OneDeviceStrategy)
    assert strategy.num_replicas_in_sync == strategy.num_towers
    with strategy.scope() as entered:
        assert entered is strategy
        assert lib.get_distribution_strategy() is lib.get_cross_tower_context() is strategy
        assert lib.get_strategy() is tf.distribute.get_strategy() is lib.get_cross_replica_context() is strategy
        assert lib.has_strategy()
        assert lib.in_cross_replica_context()
        assert tf.Variable(1.0).name == "Variable:0"

        def fn():
            context = lib.get_replica_context()
            lib.require_replica_context(context)
            assert context.strategy is strategy
            assert lib.get_cross_replica_context() is None
            return context.num_replicas_in_sync

        assert strategy.experimental_run_v2(fn) == strategy.num_towers
    assert lib.get_cross_replica_context() is None


@each
def test_functions_run_and_values_combine_either_way(make):
    strategy = make()
    count = strategy.num_towers

    def fn(x):
        return x * 2.0, tf.reduce_sum(x)

    with strategy.scope(), tf.Session() as sess:
        iterator = strategy.make_dataset_iterator(rows(4))
        element = iterator.get_next()
        doubled, sums = strategy.experimental_run_v2(fn, args=(element,))
        through_towers = strategy.call_for_each_tower(lambda x: tf.reduce_sum(x), element)
        through_1_13 = strategy.call_for_each_replica(fn, args=(element,))[1]
        through_extended = strategy.extended.call_for_each_replica(fn, (element,))[1]
        fetches = [
            strategy.reduce(tf.VariableAggregation.SUM, sums, "/cpu:0"),
            strategy.reduce(SUM, sums),
            strategy.reduce("SUM", sums, axis=None),
            strategy.reduce(reduce_op=SUM, value=doubled, axis=0),
            strategy.reduce(tf.VariableAggregation.SUM, through_towers, destinations="/cpu:0"),
            strategy.reduce(SUM, through_1_13),
            strategy.extended.reduce_to(SUM, through_extended, "/cpu:0"),
        ]
        sess.run(iterator.initialize())
        totals = sess.run([strategy.unwrap(v)[0] for v in fetches])
        np.testing.assert_array_equal(totals, [15.0, 15.0, 15.0, 30.0, 15.0, 15.0, 15.0])
        parts = strategy.experimental_local_results(doubled)
        np.testing.assert_array_equal(np.concatenate(sess.run(list(parts))), 2.0 * np.arange(6, 12))
        assert len(parts) == len(strategy.unwrap(doubled)) == count
        if count > 1:
            assert len(doubled.values) == count


@each
def test_a_step_loop_gives_each_its_arguments(make):
    strategy = make()
    given = {}

    def towers(context, *inputs):
        given["towers"] = len(inputs)
        total = strategy.call_for_each_tower(lambda x, y: tf.reduce_sum(x + y), *inputs)
        context.set_last_step_output("sum", strategy.reduce(tf.VariableAggregation.SUM, total, "/cpu:0"))
        return strategy.group(total)

    def replicas(context, inputs):
        given["replicas"] = len(inputs)
        total = strategy.experimental_run_v2(lambda x, y: tf.reduce_sum(x + y), args=inputs)
        context.set_last_step_output("sum", total, SUM)
        return strategy.group(total)

    with strategy.scope(), tf.Session() as sess:
        pairs = tf.data.Dataset.zip((rows(8), rows(8)))
        one_shot = strategy.distribute_dataset(lambda: pairs).make_one_shot_iterator()
        old = strategy.run_steps_on_dataset(towers, one_shot, iterations=2)
        iterators = [strategy.make_dataset_iterator(pairs) for _ in range(2)]
        new = strategy.extended.experimental_run_steps_on_iterator(replicas, iterators[0], iterations=2)
        both = strategy.run_steps_on_dataset(replicas, iterators[1], iterations=2)
        assert given == {"towers": 2, "replicas": 2}
        sess.run([i.initialize() for i in iterators])
        for context, elements in ((old, 6 * strategy.num_towers), (new, 6), (both, 6)):
            _, found = sess.run([context.run_op, context.last_step_outputs["sum"]])
            last = (np.arange(elements) + elements).sum()  # of the second step
            assert found == 2 * last


@each
def test_losses_are_divided_for_towers_alone(make):
    strategy = make()
    count = strategy.num_towers

    def trained(call):
        tf.reset_default_graph()
        with strategy.scope():
            v = tf.get_variable("v", initializer=1.0)
            optimizer = tf.train.GradientDescentOptimizer(0.5)
            step = call(lambda: optimizer.minimize(3.0 * v))
            with tf.Session() as sess:
                sess.run(v.initializer)
                sess.run(strategy.group(step))
                return sess.run(v)

    assert trained(strategy.call_for_each_tower) == -0.5
    assert trained(strategy.experimental_run_v2) == 1.0 - 1.5 * count
    assert trained(strategy.call_for_each_tower) == -0.5


def test_variables_are_those_of_towers():
    strategy = tpu(2)
    with strategy.scope():
        outside = tf.get_variable("outside", initializer=1.0)

        def fn():
            inside = tf.get_variable("inside", initializer=1.0, aggregation=tf.VariableAggregation.SUM)
            with pytest.raises(ValueError, match="You must specify an aggregation method"):
                outside.assign_add(1.0)
            return inside.assign_add(tf.constant(2.0))

        update = strategy.experimental_run_v2(fn)
        inside = next(v for v in tf.global_variables() if v.op.name == "inside")
        assert type(inside) is type(outside)
        assert run(strategy.group(update)) is None


def test_a_reduction_names_what_it_is():
    strategy = tpu(2)
    with strategy.scope():
        value = strategy.call_for_each_tower(lambda: tf.constant(1.0))
        with pytest.raises(ValueError, match="Expected SUM, MEAN or ONLY_FIRST_TOWER"):
            strategy.reduce(None, value)
        with pytest.raises(ValueError, match="MAX"):
            strategy.reduce("MAX", value)


def test_call_for_each_replica_takes_arguments_one_way():
    strategy = tpu(1)
    with strategy.scope(), pytest.raises(ValueError, match="as they are, or as args"):
        strategy.call_for_each_replica(lambda x: x, 1.0, args=(1.0,))


def test_tpu_strategies_say_where_they_run():
    assert lib.TPUStrategy().num_towers == 8
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("")
    topology = lib.initialize_tpu_system(resolver)
    assignment = tf.contrib.tpu.device_assignment(topology, [1, 1, 1, 2], num_replicas=4)
    strategy = lib.TPUStrategy(resolver, steps_per_run=10, device_assignment=assignment)
    assert strategy.cluster_resolver is resolver
    assert (strategy.num_replicas_in_sync, strategy.steps_per_run, strategy.extended.steps_per_run) == (4, 10, 10)
    assert (strategy.extended.num_hosts, strategy.extended.num_replicas_per_host) == (1, 4)
    with pytest.raises(ValueError, match="not both"):
        lib.TPUStrategy(resolver, num_cores=2, device_assignment=assignment)
    with strategy.scope():
        sums = strategy.experimental_run_v2(lambda: tf.constant(1.0))
        assert run(strategy.reduce(SUM, sums)) == 4.0
        assert strategy.experimental_initialize() == strategy.initialize()
        assert [op.name for op in strategy.experimental_finalize()] == ["ShutdownDistributedTPU"]
    assert not strategy.require_static_shapes


@pytest.mark.parametrize("drop", [False, True])
def test_data_of_mirrored_towers_ends_before_a_step_that_is_not_whole(drop):
    """No tower gets a batch of nothing, whose mean were no number; values of 1.15.5."""
    strategy = lib.MirroredStrategy(["/cpu:0", "/cpu:1"])
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(10).batch(4, drop_remainder=drop))
    element = strategy.experimental_local_results(iterator.get_next())
    with tf.Session() as sess:
        sess.run(iterator.initialize())
        assert [value.tolist() for value in sess.run(element)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(element)
