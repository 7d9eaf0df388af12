"""Members of the strategies of 1.8 to 1.12, and the functions that say what is current: values as 1.12 printed them."""

import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run, tpu
from towerstrat.towers.contrib import current_strategy
from towerstrat.towers.contrib.mirrored_strategy import reduce_non_distributed_value
from towerstrat.towers.engine import tower_contexts

lib = tf.contrib.distribute
SUM, MEAN = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN
PAIR = ["/cpu:0", "/cpu:1"]


def test_the_strategy_that_is_current():
    strategy = lib.OneDeviceStrategy("/cpu:0")
    outside = current_strategy.get_distribution_strategy()
    assert (outside is strategy, outside.num_towers) == (False, 1)
    with strategy.scope():
        assert current_strategy.get_distribution_strategy() is strategy
        assert strategy.call_for_each_tower(lambda: current_strategy.get_distribution_strategy() is strategy)


def test_nothing_has_to_be_run_before_and_after():
    for strategy in (lib.OneDeviceStrategy("/cpu:0"), lib.MirroredStrategy(PAIR)):
        assert (strategy.initialize(), strategy.finalize()) == ([], [])


def test_the_device_of_an_update():
    strategy = lib.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        seen = [tower_contexts.get_update_device()]
        strategy.update(v, lambda _: seen.append(tower_contexts.get_update_device()))
        seen.append(tower_contexts.get_update_device())
    assert seen == [None, "/cpu:0", None]


def test_a_tower_context_is_required():
    outside = tower_contexts.get_tower_context()
    tower_contexts.require_tower_context(outside)
    with lib.OneDeviceStrategy("/cpu:0").scope(), pytest.raises(RuntimeError, match="call_for_each_tower"):
        tower_contexts.require_tower_context(outside)


def test_reductions_of_a_value_that_towers_share():
    one, two = lib.OneDeviceStrategy("/cpu:0"), lib.MirroredStrategy(PAIR)
    assert reduce_non_distributed_value(one, SUM, 3.0, "/cpu:0") == 3.0
    assert reduce_non_distributed_value(two, MEAN, 4.0, "/cpu:0") == 4.0
    assert reduce_non_distributed_value(two, SUM, 0, "/cpu:0") == 0
    with pytest.raises(ValueError, match="cannot be reduced"):
        reduce_non_distributed_value(two, SUM, 3.0, "/cpu:0")


STRATEGIES = {
    "mirrored": lambda: lib.MirroredStrategy(PAIR),
    "parameter_server": lib.ParameterServerStrategy,
    "tpu": lambda: tpu(2),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_variable_is_read_and_is_its_own_container(name):
    strategy = STRATEGIES[name]()
    with strategy.scope():
        v = tf.get_variable("v", [], initializer=tf.constant_initializer(2.5))
        assert strategy.value_container(v) is v
        assert run(strategy.read_var(v)) == 2.5


@pytest.mark.parametrize("name", ["one", "tpu"])
def test_what_towers_combine_and_what_each_gets(name):
    """Of 2 + number and 10 together; each tower takes its own number away again."""
    strategy = {"one": lambda: lib.OneDeviceStrategy("/cpu:0"), "tpu": lambda: tpu(2)}[name]()
    towers = strategy.num_towers

    def tower():
        context = current_strategy.get_tower_context()
        own = tf.to_float(tf.convert_to_tensor(context.tower_id))
        merged = context.merge_call(lambda d, x: d.reduce(SUM, x, "/cpu:0") + 10.0, own + 2.0)
        return merged - own

    with strategy.scope():
        found = run(strategy.unwrap(strategy.call_for_each_tower(tower)))
    assert found == [sum(2.0 + i for i in range(towers)) + 10.0 - i for i in range(towers)]


def test_steps_on_a_dataset_and_what_the_last_one_gave():
    strategy = lib.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        iterator = strategy.distribute_dataset(lambda: tf.data.Dataset.range(6)).make_one_shot_iterator()

        def step(context, x):
            context.set_last_step_output("twice", x * 2)
            return v.assign_add(tf.to_float(x))

        context = strategy.run_steps_on_dataset(step, iterator, 3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(context.run_op)
        assert session.run(v) == 0 + 1 + 2
        assert session.run(context.last_step_outputs["twice"]) == 2 * 5


def test_the_strategy_outside_of_any_passes_on():
    outside = current_strategy.get_distribution_strategy()
    with outside.scope() as entered:
        assert entered is outside is current_strategy.get_cross_tower_context()
    with outside.colocate_vars_with(tf.get_variable("v", [])):
        assert tf.get_variable("w", []).op.colocation_groups() == [b"loc:@v"]
    data = outside.distribute_dataset(lambda: tf.data.Dataset.range(7, 9))
    assert run(data.make_one_shot_iterator().get_next()) == 7
