"""Strategies of 1.14 and 1.15 in graphs: iterators, sessions and step loops."""

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from tests.bounds import close
from towerstrat.errors import UnsupportedError
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


def made(replicas):
    """A strategy of some replicas; of one device for 0."""
    if not replicas:
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    return tf.distribute.experimental.TPUStrategy(Devices(jax.devices()[:replicas]))


def numbers(count, batch, drop_remainder=True):
    reals = tf.data.Dataset.range(count).map(lambda x: tf.cast(x, tf.float32))
    return reals.batch(batch, drop_remainder=drop_remainder)


def own_sums(rows, replicas):
    return [float(part.sum()) for part in np.reshape(rows, (max(replicas, 1), -1))]


@pytest.mark.parametrize("replicas", [0, 1, 2, 4])
@pytest.mark.parametrize("method", ["run", "experimental_run_v2", "experimental_run"])
def test_a_session_runs_a_function_on_every_replica(replicas, method):
    strategy = made(replicas)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(numbers(8, 4))
        if method == "experimental_run":
            sums = strategy.experimental_run(tf.reduce_sum, iterator)
        else:
            sums = getattr(strategy, method)(tf.reduce_sum, args=(iterator.get_next(),))
        total, mean = strategy.reduce(SUM, sums), strategy.reduce("mean", sums, axis=None)
        parts = strategy.experimental_local_results(sums)
    with tf.Session() as session:
        session.run(iterator.initialize())
        for rows in ([0, 1, 2, 3], [4, 5, 6, 7]):
            own = own_sums(rows, replicas)
            assert session.run([parts, total, mean]) == [tuple(own), sum(own), np.mean(own)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(total)
        session.run(iterator.initializer)
        assert session.run(total) == 6.0


@pytest.mark.parametrize("replicas", [2, 3])
def test_the_last_batch_may_be_smaller(replicas):
    strategy = made(replicas)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(numbers(5, 4, drop_remainder=False))
        sums = strategy.experimental_run(tf.reduce_sum, iterator)
        total = strategy.reduce(SUM, sums)
    with tf.Session() as session:
        session.run(iterator.initialize())
        assert [session.run(total) for _ in range(2)] == [6.0, 4.0]


def test_an_input_function_gives_each_replica_a_batch_and_leaves_out_what_remains():
    strategy = made(2)
    asked = []

    def input_fn(context):
        asked.append((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync))
        return numbers(5, 1)

    with strategy.scope():
        iterator = strategy.make_input_fn_iterator(input_fn)
        parts = strategy.experimental_local_results(iterator.get_next())
    assert asked == [(1, 0, 2)]
    with tf.Session() as session:
        session.run(iterator.initialize())
        assert [[p.tolist() for p in session.run(parts)] for _ in range(2)] == [[[0], [1]], [[2], [3]]]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(parts)


def test_sessions_of_replicas_share_no_state():
    config = tf.ConfigProto(allow_soft_placement=True)
    updated = made(2).update_config_proto(config)
    assert updated.isolate_session_state
    assert updated.allow_soft_placement
    assert updated is not config
    assert not config.isolate_session_state
    assert not made(0).update_config_proto(config).isolate_session_state


# ---- step loops ------------------------------------------------------------------------------------------------------


def looped(strategy, iterator, steps, returns=True, initial=None):
    """A loop over sums of the elements, which are added to a variable too; its context, and the variable."""
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

        def step(context, element):
            def local(element):
                own = tf.reduce_sum(element)
                context.set_last_step_output("largest", tf.reduce_max(element), MEAN)
                context.set_non_tensor_output("names", "own")
                return own, total.assign_add(own)

            own, added = strategy.experimental_run_v2(local, args=(element,))
            context.set_last_step_output("sum", own, SUM)
            context.set_last_step_output("own", own)
            return added if returns else None

        return strategy.extended.experimental_run_steps_on_iterator(step, iterator, steps, initial), total


@pytest.mark.parametrize("replicas", [0, 1, 2, 4])
@pytest.mark.parametrize("steps", [1, 3, 4])
def test_a_step_loop_runs_its_steps(replicas, steps):
    strategy = made(replicas)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(numbers(4 * 9, 4))
    context, variable = looped(strategy, iterator, steps)
    assert type(context).__name__ == "MultiStepContext"
    assert list(context.non_tensor_outputs["names"]) == ["own"]
    outputs = context.last_step_outputs
    fetched = [outputs["sum"], strategy.experimental_local_results(outputs["own"]), outputs["largest"], context.run_op]
    with tf.Session() as session:
        session.run([variable.initializer, *iterator.initialize()])
        for run in range(1, 9 // steps + 1):
            last = np.arange(4) + 4 * (run * steps - 1)
            own = own_sums(last, replicas)
            largest = np.reshape(last, (max(replicas, 1), -1)).max(1).mean()
            assert session.run(fetched) == [sum(own), tuple(own), largest, None]
            assert session.run(variable) == np.arange(4 * run * steps).sum()
        left = 9 % steps
        with pytest.raises(tf.errors.OutOfRangeError, match=f"{left} of {steps} steps"):
            session.run(context.run_op)
        assert session.run(variable) == np.arange(4 * 9).sum()


@pytest.mark.parametrize("own", [8.0, [8.0, 9.0]])
def test_before_the_first_step_outputs_have_their_initial_values(own):
    strategy = made(2)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(numbers(8, 4))
    context, variable = looped(strategy, iterator, 0, initial={"largest": 6.0, "sum": 7.0, "own": own})
    outputs = context.last_step_outputs
    with tf.Session() as session:
        session.run([variable.initializer, *iterator.initialize()])
        parts = strategy.experimental_local_results(outputs["own"])
        assert session.run([outputs["largest"], outputs["sum"], *parts]) == [6.0, 7.0, 8.0, np.max(own)]


def test_a_distributed_datasets_iterator_feeds_a_loop():
    strategy = made(2)
    with strategy.scope():
        dataset = tf.data.Dataset.from_tensor_slices((np.arange(8.0), {"a": np.arange(8)})).batch(4, True)
        iterator = strategy.experimental_distribute_dataset(dataset).make_initializable_iterator()

        def step(context, element):
            number, names = element
            both = strategy.run(lambda x, y: (tf.reduce_sum(x), tf.reduce_sum(y["a"])), args=(number, names))
            context.set_last_step_output("both", [strategy.reduce(SUM, v) for v in both])
            return both

        context = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 2)
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(context.last_step_outputs["both"]) == [22.0, 22]


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_a_step_that_returns_nothing_to_run_is_refused_when_it_is_built(replicas):
    strategy = made(replicas)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(numbers(8, 4))
        with pytest.raises(TypeError, match="the step function of experimental_run_steps_on_iterator must return what"):
            strategy.extended.experimental_run_steps_on_iterator(lambda context, x: None, iterator, 2)


def test_a_loop_trains_as_one_device_does_on_all_the_data():
    random = np.random.RandomState(0)
    inputs, targets = random.randn(24, 3).astype(np.float32), random.randn(24, 1).astype(np.float32)

    def trained(replicas):
        with tf.Graph().as_default():
            strategy = made(replicas)
            with strategy.scope():
                weights = tf.Variable(np.ones((3, 1), np.float32))
                optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
                data = tf.data.Dataset.from_tensor_slices((inputs, targets)).repeat().batch(8, True)
                iterator = strategy.make_dataset_iterator(data)

                def step(context, element):
                    def local(x, y):
                        loss = tf.reduce_sum(tf.square(tf.matmul(x, weights) - y)) / 8.0
                        return loss, optimizer.minimize(loss)

                    loss, update = strategy.run(local, args=element)
                    context.set_last_step_output("loss", loss, SUM)
                    return update

                context = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 5)
            with tf.Session() as session:
                session.run([tf.global_variables_initializer(), *iterator.initialize()])
                losses = [session.run([context.last_step_outputs["loss"], context.run_op])[0] for _ in range(3)]
                return losses, session.run(weights)

    losses, weights = trained(0)
    assert losses[2] < losses[0]
    terms = 3 * 5 * (3 + 8 + 4)
    for replicas in (1, 2, 4):
        found, own = trained(replicas)
        close(found, losses, terms)
        close(own, weights, terms)


def test_a_loop_can_be_compiled_without_a_run():
    strategy = made(4)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(numbers(8, 4))
    context, _ = looped(strategy, iterator, 2)
    program = lower_loop(context.last_step_outputs["sum"].op, 2).compile()
    assert "all-reduce" in program.as_text()


def test_what_a_loop_cannot_have_is_refused():
    strategy = made(2)
    with strategy.scope():
        uneven = strategy.make_dataset_iterator(numbers(5, 4, drop_remainder=False))
        with pytest.raises(ValueError, match="TPU currently requires fully defined shapes"):
            looped(strategy, uneven, 1)
        texts = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices(["a", "b"]).batch(2, True))
        with pytest.raises(UnsupportedError, match="experimental_run_steps_on_iterator got elements of types"):
            looped(strategy, texts, 1)
        with pytest.raises(TypeError, match="Expected an iterator of strategy.make_dataset_iterator"):
            looped(strategy, iter([1]), 1)
        iterator = strategy.make_dataset_iterator(numbers(8, 4))

        def without_op(context, element):
            strategy.run(lambda x: context.set_last_step_output("x", x), args=(element,))

        with pytest.raises(ValueError, match=r"set_last_step_output\('x'\) in a replica's context needs a reduce_op"):
            strategy.extended.experimental_run_steps_on_iterator(without_op, iterator, 1)
    with pytest.raises(RuntimeError, match="Method requires being in cross-replica context"):
        strategy.run(lambda: strategy.extended.experimental_run_steps_on_iterator(without_op, iterator, 1))


# ---- eagerly ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_iterators_and_loops_where_operations_are_executed_eagerly(replicas, later_behavior):
    strategy = made(replicas)
    iterator = strategy.make_dataset_iterator(numbers(8, 4))
    add = tf.function(lambda x: tf.reduce_sum(x))
    assert strategy.reduce(SUM, strategy.experimental_run(add, iterator)).numpy() == 6.0
    assert strategy.reduce(SUM, strategy.experimental_run(add, iterator)).numpy() == 22.0
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()
    iterator.initialize()

    def step(context, element):
        context.set_last_step_output("sum", strategy.run(add, args=(element,)), SUM)

    context = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 2)
    assert context.last_step_outputs["sum"].numpy() == 22.0


def test_an_element_is_taken_outside_of_the_replicas_function(later_behavior):
    strategy = made(2)
    iterator = iter(strategy.experimental_distribute_dataset(numbers(8, 4)))
    with pytest.raises(ValueError, match=r"next\(iterator\) should be called from outside of replica_fn"):
        strategy.run(tf.function(lambda: next(iterator)))


@pytest.mark.parametrize("way", ["a call", "a loop"])
def test_a_function_in_a_graph_makes_the_slots_of_an_optimizer(way):
    """They belong to the graph, whose strategy is the one that the function's replicas are of; values of 1.15.5."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope(), tf.Session() as session:
        weight, rule = tf.Variable(1.0), tf.train.MomentumOptimizer(0.5, 0.5)

        def replica(x):
            loss = weight * weight * x / 2.0
            train = rule.apply_gradients([(tf.gradients(loss, weight)[0], weight)])
            with tf.control_dependencies([train]):
                return tf.identity(loss)

        @tf.function
        def step(x):
            return sum(strategy.experimental_local_results(strategy.experimental_run_v2(replica, (x,))))

        if way == "a call":
            loss = step(tf.constant(1.0))
            session.run(tf.global_variables_initializer())
            losses = [session.run(loss) for _ in range(2)]
        else:
            loop = tf.while_loop(lambda i, _: i < 2, lambda i, _: (i + 1, step(tf.constant(1.0))), [0, 0.0])
            session.run(tf.global_variables_initializer())
            losses = [1.0, session.run(loop)[1]]
        assert (losses, session.run(weight)) == ([1.0, 0.0], -0.5)
