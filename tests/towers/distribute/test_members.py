"""Members of the strategies of 1.13 to 1.15, and functions of contexts: values as 1.15 printed them."""

import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run
from towerstrat.towers.distribute.current_strategy import get_replica_context, require_replica_context
from towerstrat.towers.distribute.input_distribution import ValueContext
from towerstrat.towers.distribute.multi_worker_strategy import MultiWorkerMirroredStrategyV1
from towerstrat.towers.distribute.reduce_op import ReduceOp, get_loss_reduction
from towerstrat.towers.distribute.tpu_strategy import TPUStrategyV1

PAIR = ["/cpu:0", "/cpu:1"]


def test_names_that_are_deprecated():
    strategy = tf.distribute.MirroredStrategy(PAIR)
    with strategy.scope():
        v = tf.get_variable("v", [], initializer=tf.constant_initializer(2.5))
        with strategy.colocate_vars_with(v):
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(1.5))
        assert run(list(strategy.unwrap(w))) == [1.5, 1.5]
        assert strategy.unwrap(3) == (3,)
    config = tf.ConfigProto()
    strategy.configure(config)
    assert config.isolate_session_state


def test_a_replica_context_is_required():
    strategy, outside = tf.distribute.MirroredStrategy(PAIR), get_replica_context()
    require_replica_context(outside)
    with strategy.scope():
        strategy.experimental_run_v2(lambda: require_replica_context(get_replica_context()))
        with pytest.raises(RuntimeError, match="call_for_each_replica"):
            require_replica_context(outside)


def test_losses_of_replicas_are_added_up():
    assert get_loss_reduction() is ReduceOp.SUM
    strategy = tf.distribute.MirroredStrategy(PAIR)
    with strategy.scope():
        assert get_loss_reduction() is ReduceOp.SUM
    with strategy._scale_loss_for_estimator_enabled(), strategy.scope():
        assert get_loss_reduction() is ReduceOp.MEAN


def test_what_strategies_and_contexts_say_of_themselves():
    assert tf.distribute.experimental.CentralStorageStrategy(PAIR, "/cpu:0").extended.experimental_between_graph
    assert MultiWorkerMirroredStrategyV1().extended.experimental_between_graph
    assert (TPUStrategyV1().steps_per_run, TPUStrategyV1(steps_per_run=5).steps_per_run) == (1, 5)
    context = ValueContext(1, 3)
    assert (context.replica_id_in_sync_group, context.num_replicas_in_sync) == (1, 3)


def test_what_the_last_of_several_steps_gave():
    strategy = tf.distribute.MirroredStrategy(PAIR)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(12).batch(4, drop_remainder=True))

        def step(context, x):
            def replica(x):
                context.set_last_step_output("sum", tf.reduce_sum(x), ReduceOp.SUM)

            strategy.experimental_run_v2(replica, args=(x,))
            context.set_non_tensor_output("words", "text")
            return tf.no_op()

        before = {"sum": tf.constant(0, tf.int64)}
        context = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 3, before)
    with tf.Session() as session:
        session.run(iterator.initialize())
        assert session.run(context.last_step_outputs) == {"sum": 8 + 9 + 10 + 11}
    assert context.non_tensor_outputs == {"words": "text"}


def test_the_strategy_outside_of_any_passes_on():
    outside, data = tf.distribute.get_strategy(), tf.data.Dataset.range(7, 9)
    given = outside.experimental_distribute_dataset(data)
    made = outside.experimental_distribute_datasets_from_function(lambda context: data)
    assert run([d.make_one_shot_iterator().get_next() for d in (given, made)]) == [7, 7]
    with outside.extended.colocate_vars_with(tf.get_variable("v", [])):
        assert tf.get_variable("w", []).name == "w:0"
    with pytest.raises(RuntimeError, match="unsupported by default"):
        _ = outside.extended.worker_devices
