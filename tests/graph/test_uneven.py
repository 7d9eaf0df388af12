"""Values whose shape differs by position, in programs run by the tower surface."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.ops import collectives
from towerstrat.graph.plan import Plan


def carried_out(session, fetches, fed):
    """What a run of the session's graph gives, each value as it leaves the run."""
    plan = Plan(session.graph, fetches, fed)
    return session.carry_out(plan.stages, fed, lambda run: [run.values[f] for f in plan.fetches])


@pytest.mark.parametrize("towers", [1, 2])
def test_an_input_gives_each_position_its_own_value(towers):
    strategy = tpu(towers)
    x = collectives.position_input(strategy.axis, tf.float32, [2], "x")
    with strategy.scope():
        doubled = strategy.call_for_each_tower(lambda: x * 2.0)
        total = strategy.reduce(tf.VariableAggregation.SUM, doubled, "/cpu:0")
        value = np.arange(2 * towers, dtype=np.float32).reshape(towers, 2)
        with tf.Session() as session:
            (found,) = carried_out(
                session, [tf.identity(strategy.unwrap(total)[0])], {x: value if towers > 1 else value[0]}
            )
    np.testing.assert_array_equal(found, 2 * value.sum(axis=0))
