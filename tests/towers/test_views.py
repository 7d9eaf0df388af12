"""Strategies of both surfaces are views of one engine."""

import jax

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from tests.towers.common import run

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
