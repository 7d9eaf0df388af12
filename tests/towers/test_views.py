"""Strategies of both surfaces are views of one engine."""

import jax

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from tests.towers.common import run, tpu
from towerstrat.towers.distribute.strategy import StrategyV1
from towerstrat.towers.distribute.strategy_extended import StrategyExtendedV1

lib = tf.contrib.distribute
SUM = tf.VariableAggregation.SUM


def test_the_tower_surface_shows_the_engine_of_a_tf_distribute_strategy():
    later = tf.distribute.experimental.TPUStrategy(Devices(jax.devices()[:2]))

    def fn(x):
        context = lib.get_tower_context()
        assert context.num_towers == 2
        own = x * (1.0 + context.tower_id)
        return own + context.merge_call(lambda d, v: d.reduce(SUM, v, "/cpu:0"), own)

    with later.scope():
        assert lib.has_distribution_strategy()
        seen = lib.get_distribution_strategy()
        assert seen is lib.get_distribution_strategy()
        assert seen is lib.get_cross_tower_context()
        assert isinstance(seen, lib.DistributionStrategy)
        assert (seen.num_towers, seen.worker_devices) == (2, list(later.extended.worker_devices))
        through_towers = seen.unwrap(seen.call_for_each_tower(fn, tf.constant(2.0)))
        through_replicas = later.experimental_local_results(later.run(fn, args=(tf.constant(2.0),)))
        assert run([through_towers, through_replicas]) == [[8.0, 10.0], (8.0, 10.0)]
        v = tf.get_variable("v", initializer=1.0)
        assert run(seen.group(seen.update(v, lambda a, b: a.assign_add(b), 2.0))) is None
    assert not lib.has_distribution_strategy()


class LaterView(StrategyV1):
    """The members of 1.14 and 1.15 over the engine of another strategy."""

    def __init__(self, engine):
        self._engine = engine
        super().__init__(StrategyExtendedV1(self))


def test_a_strategy_of_1x_can_have_the_members_of_tf_distribute_over_the_same_engine():
    strategy = tpu(2)
    view = LaterView(strategy.engine)

    def fn(x):
        context = tf.distribute.get_replica_context()
        assert context.num_replicas_in_sync == lib.get_tower_context().num_towers == 2
        return tf.reduce_sum(x) + context.all_reduce("SUM", tf.reduce_sum(x))

    with strategy.scope(), tf.Session() as sess:
        assert lib.get_distribution_strategy() is strategy
        assert tf.distribute.get_strategy() is view
        v = tf.get_variable("v", initializer=1.0)
        iterator = view.make_dataset_iterator(tf.data.Dataset.range(4).map(tf.to_float).batch(4, drop_remainder=True))
        parts = view.experimental_run_v2(fn, args=(iterator.get_next(),))
        total = strategy.reduce(SUM, parts, "/cpu:0")
        update = view.extended.update(v, lambda a, b: a.assign_add(b), args=(total,))
        sess.run([v.initializer, iterator.initialize()])
        assert sess.run([view.experimental_local_results(parts), view.group(update)])[0] == (7.0, 11.0)
        assert sess.run(v) == 1.0 + 7.0 + 11.0


class Doubling(lib.OneDeviceStrategy):
    """A program's strategy: reduced values count twice."""

    def _reduce(self, aggregation, value, destinations):
        return 2.0 * super()._reduce(aggregation, value, destinations)


def test_optimizers_reduce_by_the_method_that_a_program_overrides():
    doubling = Doubling("/cpu:0")
    with doubling.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=1.0)
        step = doubling.call_for_each_tower(lambda: tf.train.GradientDescentOptimizer(0.125).minimize(3.0 * v))
        sess.run(v.initializer)
        sess.run(step)
        assert sess.run(v) == 1.0 - 0.125 * 2 * 3
