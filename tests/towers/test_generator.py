"""``tf.random.Generator`` made by a strategy and drawn from in its towers."""

import numpy as np

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.scopes.generator import Generator
from towerstrat.towers.contrib.strategy_variables import MirroredVariable


def test_towers_draw_numbers_of_their_own_and_share_the_state():
    strategy = tpu(3)
    with strategy.scope():
        g = Generator.from_seed(3)
        assert isinstance(g.state, MirroredVariable)
        drawn = strategy.call_for_each_tower(lambda: (g.normal([2]), g.binomial([2], 1e6, 0.5)))
        fetches = [strategy.unwrap(d) for d in drawn]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        normal, binomial = session.run(fetches)
        assert len(np.unique(normal, axis=0)) == len(np.unique(binomial, axis=0)) == 3
        again = session.run(fetches)[0]
        assert len(np.unique(normal + again, axis=0)) == 6
        np.testing.assert_array_equal(session.run(g.state), [3 + 2 * 4 * 256, 0, 0])


def test_in_a_step_loop():
    strategy = tpu(2)
    with strategy.scope():
        g = Generator.from_seed(1)
        total = tf.get_variable(
            "total", [2], initializer=tf.zeros_initializer(), aggregation=tf.VariableAggregation.SUM
        )
        data = tf.data.Dataset.from_tensors([0.0]).repeat()
        iterator = data.make_initializable_iterator()

        def step(context, inputs):
            return strategy.call_for_each_tower(lambda: total.assign_add(g.uniform([2])))

        loop = strategy.run_steps_on_dataset(step, iterator, iterations=5)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initializer])
        session.run(loop.run_op)
        np.testing.assert_array_equal(session.run(g.state), [1 + 5 * 2 * 256, 0, 0])
        assert 2 < session.run(total).mean() < 8
