"""The strategies of 1.12 where operations are executed eagerly: one device, and towers on TPUs."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.eager import mode

lib = tf.contrib.distribute
SUM, MEAN = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN


@pytest.fixture(autouse=True)
def eagerly():
    with mode.eager_mode():
        yield


def adding(strategy, elements):
    """A variable, an iterator, and a step that adds each element to the variable."""
    v = tf.Variable(1.0)
    iterator = strategy.distribute_dataset(lambda: tf.data.Dataset.range(elements)).make_one_shot_iterator()

    def step(context, x):
        total = strategy.call_for_each_tower(lambda x: v.assign_add(tf.to_float(x)), x)
        context.set_last_step_output("next", v + 1.0)
        context.set_last_step_output("mean", v * 2.0, aggregation=MEAN)
        context.set_last_step_output("number", 3)
        context.set_non_tensor_output("name", "text")
        return strategy.group(total)

    return v, iterator, step


@pytest.mark.parametrize("iterations", [3, np.int64(3), "tensor"], ids=str)
def test_steps_run_at_once(iterations):
    strategy = lib.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        v, iterator, step = adding(strategy, 5)
        iterations = tf.constant(3) if iterations == "tensor" else iterations
        context = strategy.run_steps_on_dataset(step, iterator, iterations, initial_loop_values=[tf.constant(0.0)])
        assert context.run_op is None
        assert v.numpy() == 1.0 + 0 + 1 + 2
        outputs = {k: o.numpy() for k, o in context.last_step_outputs.items()}
        assert outputs == {"next": 5.0, "mean": 8.0, "number": 3}
        assert context.non_tensor_outputs == {"name": "text"}
        with pytest.raises(tf.errors.OutOfRangeError):
            strategy.run_steps_on_dataset(step, iterator, 3)
        assert v.numpy() == 1.0 + 0 + 1 + 2 + 3 + 4


def test_a_step_may_return_nothing_and_no_step_gives_the_initial_values():
    strategy = lib.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        v, iterator, step = adding(strategy, 5)
        strategy.run_steps_on_dataset(lambda context, x: step(context, x) and None, iterator, 2)
        assert v.numpy() == 2.0
        context = strategy.run_steps_on_dataset(step, iterator, 0, initial_loop_values={"next": 7.0})
        assert context.last_step_outputs["next"].numpy() == 7.0
        with pytest.raises(ValueError, match="dictionary of initial_loop_values"):
            strategy.run_steps_on_dataset(step, iterator, 0, initial_loop_values=[7.0])


@pytest.mark.parametrize("per_call", [1, 2])
@pytest.mark.parametrize("optimizer", [tf.train.GradientDescentOptimizer, tf.train.AdamOptimizer])
def test_single_loss_steps_train_as_the_graph_does(optimizer, per_call):
    """The same values eagerly, by a monitor until the data ends, and in a graph with a session."""
    data = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)

    def trained(monitor):
        strategy = lib.OneDeviceStrategy("/cpu:0")
        with strategy.scope():
            layer = tf.layers.Dense(1, kernel_initializer=tf.constant_initializer([[0.5], [-0.25]]))
            step = lib.StandardSingleLossStep(
                lambda: tf.data.Dataset.from_tensor_slices(data).batch(1),
                lambda context, x: tf.reduce_sum((layer(x) - 1.0) ** 2),
                optimizer(0.1), strategy, per_call,
            )  # fmt: skip
            return monitor(step, layer)

    def eager(step, layer):
        assert step() is None
        lib.Monitor(step).run_steps()
        return [v.numpy() for v in layer.variables]

    def graph(step, layer):
        with tf.Session() as sess:
            monitor = lib.Monitor(step, sess)
            monitor.run_steps(1)
            monitor.run_steps()
            return sess.run(layer.variables)

    found = trained(eager)
    with tf.Graph().as_default():
        wanted = trained(graph)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_what_one_device_gives_eagerly_is_a_value():
    strategy = lib.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        v = tf.Variable(1.0)
        value = strategy.call_for_each_tower(lambda: v + 1.0)
        assert [p.numpy() for p in strategy.unwrap(value)] == [2.0]
        assert strategy.reduce(SUM, value, destinations="/cpu:0").numpy() == 2.0
        assert strategy.update(v, lambda v, x: v.assign(x), 3.0).numpy() == 3.0
        assert [p.numpy() for p in strategy.update(v, lambda v, x: v.assign(x), 4.0, grouped=False)] == [4.0]
        assert strategy.read_var(v).numpy() == 4.0
        assert strategy.group(v.assign(2.0)) is None
        assert (strategy.initialize(), strategy.finalize()) == ([], [])
        function = tf.contrib.eager.defun(lambda: strategy.call_for_each_tower(lambda: v.assign_add(1.0)))
        assert (function().numpy(), v.numpy()) == (3.0, 3.0)
        with pytest.raises(RuntimeError, match="make_initializable_iterator is not supported when eager"):
            strategy.distribute_dataset(lambda: tf.data.Dataset.range(3)).make_initializable_iterator()


def test_a_monitor_takes_no_session_eagerly():
    with pytest.raises(ValueError, match="Should not provide a `session` in Eager mode"):
        lib.Monitor(lambda: None, "a session")


@pytest.mark.parametrize("towers", [1, 2, 3])
def test_towers_on_tpus_train_as_the_graph_does(towers):
    """Three steps, a layer, a mean over the towers; then the end of the data."""
    data = np.linspace(-1, 1, 24, dtype=np.float32).reshape(12, 2)

    def trained(finish):
        strategy = tpu(towers)
        with strategy.scope():
            layer = tf.layers.Dense(1, kernel_initializer=tf.constant_initializer([[0.5], [-0.25]]))
            optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
            dataset = strategy.distribute_dataset(
                lambda: tf.data.Dataset.from_tensor_slices(data[: 3 * towers]).batch(1, drop_remainder=True)
            )
            iterator = dataset.make_one_shot_iterator()

            def tower(x):
                def loss():
                    return tf.reduce_mean((layer(x) - 1.0) ** 2)

                with tf.control_dependencies([optimizer.minimize(loss)]):
                    return loss()

            def step(context, x):
                losses = strategy.call_for_each_tower(tower, x)
                context.set_last_step_output("loss", losses, MEAN)
                return strategy.group(losses)

            return finish(strategy, step, iterator, layer)

    def eager(strategy, step, iterator, layer):
        context = strategy.run_steps_on_dataset(step, iterator, 3)
        with pytest.raises(tf.errors.OutOfRangeError):
            strategy.run_steps_on_dataset(step, iterator, 1)
        return [context.last_step_outputs["loss"].numpy(), *[v.numpy() for v in layer.variables]]

    def graph(strategy, step, iterator, layer):
        context = strategy.run_steps_on_dataset(step, iterator, 3, {"loss": 0.0})
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(context.run_op)
            return sess.run(layer.variables)

    _, *found = trained(eager)
    with tf.Graph().as_default():
        wanted = trained(graph)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_the_sample_of_the_reference_page_on_tpus():
    """A tower's number is an integer, and what towers make has values."""
    strategy, seen = tpu(8), []

    def fn(three):
        context = tf.get_tower_context()
        seen.append((context.tower_id, context.device))
        v = three + context.tower_id
        return context.merge_call(lambda distribution, value: sum(distribution.unwrap(value)), v) + v

    with strategy.scope():
        results = strategy.call_for_each_tower(fn, tf.constant(3))
        assert [int(value) for value in strategy.unwrap(results)] == list(range(55, 63))
        assert seen == list(enumerate(strategy.worker_devices))
        numbers = strategy.call_for_each_tower(lambda i: tf.constant(10 * i), strategy.worker_device_index)
        assert strategy.reduce(SUM, numbers, "/cpu:0").numpy() == 280
        assert strategy.initialize() is None
        assert strategy.finalize() is None


def test_a_graph_and_eager_code_share_a_strategy_on_tpus():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=SUM)
        strategy.call_for_each_tower(lambda: v.assign_add(tf.constant(2.0)))
        assert v.numpy() == 5.0
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        value = strategy.call_for_each_tower(lambda: tf.constant(1.0))
        assert sess.run(strategy.reduce(SUM, value, "/cpu:0")) == 2


def test_control_dependencies_call_functions_and_operations_without_results_are_none():
    calls = []
    with tf.control_dependencies([lambda: calls.append(1), tf.constant(1)]):
        assert calls == [1]
    with tf.control_dependencies(None):
        pass
    assert (tf.no_op(), tf.global_variables_initializer(), tf.group(tf.constant(1))) == (None, None, None)
