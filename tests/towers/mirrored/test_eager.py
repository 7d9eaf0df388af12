"""MirroredStrategy where operations are executed eagerly: each tower's Python runs, with values of its own."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode

DEVICES = ["CPU:0", "CPU:1", "CPU:2"]
AFTER = {"NONE": [2.0, 3.0, 4.0], "SUM": [7.0] * 3, "MEAN": [3.0] * 3}
"""Copies of a variable of 1 to which replica k adds 1 + k, by its aggregation."""


@pytest.fixture
def strategy(later_behavior):
    return tf.distribute.MirroredStrategy(DEVICES)


def k():
    return int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))


def parts(strategy, value):
    found = strategy.experimental_local_results(value)
    return [np.asarray(p.numpy() if hasattr(p, "numpy") else p).tolist() for p in found]


def test_python_sees_each_replicas_values(strategy):
    seen = []

    def fn(x):
        seen.append((k(), float(x)))
        return tf.constant(np.tanh(x.numpy())) if float(x) > 0.5 else x

    given = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant(float(c.replica_id_in_sync_group))
    )
    found = strategy.run(fn, (given,))
    assert seen == [(0, 0.0), (1, 1.0), (2, 2.0)]
    np.testing.assert_allclose(parts(strategy, found), np.tanh([0.0, 1.0, 2.0]), rtol=1e-6)
    np.testing.assert_allclose(strategy.reduce("SUM", found, axis=None), np.tanh([1.0, 2.0]).sum(), rtol=1e-6)


def test_a_tf_function_is_traced_once_for_all(strategy):
    calls = []

    @tf.function(autograph=False)
    def fn(x):
        calls.append(k())
        return x * 2.0

    for _ in range(2):
        assert parts(strategy, strategy.run(fn, (tf.constant(1.0),))) == [2.0] * 3
    assert calls == [0, 1, 2]


@pytest.mark.parametrize(("aggregation", "after"), AFTER.items())
def test_variables_that_are_equal_after_each_write(strategy, aggregation, after):
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=getattr(tf.VariableAggregation, aggregation))

    def fn():
        v.assign_add(1.0 + k())
        return v.read_value()

    assert parts(strategy, strategy.run(fn)) == after
    assert parts(strategy, v) == after


def test_copies_of_a_variable_go_from_mode_to_mode(strategy):
    with strategy.scope():
        on_read = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )

    def fn():
        on_read.assign_add(1.0 + k())

    inner = tf.function(fn, autograph=False)
    together = tf.function(lambda: strategy.run(fn), autograph=False)
    strategy.run(fn)
    assert parts(strategy, on_read) == [1.0, 2.0, 3.0]
    together()
    strategy.run(lambda: inner())
    assert parts(strategy, on_read) == [3.0, 6.0, 9.0]
    assert float(on_read.numpy()) == 18.0
    assert parts(strategy, strategy.run(lambda: float(on_read.numpy()))) == [3.0, 6.0, 9.0]


def test_gradients_of_what_all_replicas_add_up(strategy):
    def fn():
        x = tf.constant(1.0 + k())
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.distribute.get_replica_context().all_reduce("SUM", x * x) * (1.0 + k())
        return tape.gradient(loss, x)

    assert parts(strategy, strategy.run(fn)) == [12.0, 24.0, 36.0]


def test_copies_of_one_value_update_a_variable_once(strategy):
    with strategy.scope():
        v = tf.Variable(1.0)
    calls = []

    def change(v, x):
        calls.append(x)
        v.assign_add(x)

    def fn():
        total = tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0 + k()))
        tf.distribute.get_replica_context().merge_call(lambda s, x: s.extended.update(v, change, (x,)), (total,))

    strategy.run(fn)
    assert (len(calls), parts(strategy, v), v.cell.is_varying) == (1, [7.0] * 3, False)


def test_an_error_reaches_the_caller_and_frees_the_others(strategy):
    def fn():
        if k() == 1:
            raise KeyError("replica 1")
        tf.distribute.get_replica_context().merge_call(lambda s: None)

    with pytest.raises(KeyError, match="replica 1"):
        strategy.run(fn)
    with pytest.raises(RuntimeError, match="different number"):
        strategy.run(lambda: k() or tf.distribute.get_replica_context().merge_call(lambda s: None))
    assert parts(strategy, strategy.run(k)) == [0, 1, 2]


def test_keras_optimizers_and_metrics_eagerly_as_in_a_function(strategy):
    x = np.sin(np.arange(24, dtype=np.float32)).reshape([12, 2])
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(6))

    def trained(wrap):
        with strategy.scope():
            kernel = tf.Variable([[0.5], [-0.5]])
            optimizer, mean = tf.keras.optimizers.Adam(0.1), tf.keras.metrics.Mean()

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ kernel - 1.0) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, kernel), kernel)])
            mean.update_state(loss)

        run = wrap(lambda x: strategy.run(step, (x,)))
        for batch in data:
            run(batch)
        return [*parts(strategy, kernel), float(mean.result())]

    eagerly = trained(lambda run: run)
    traced = trained(lambda run: tf.function(run, autograph=False))
    np.testing.assert_allclose(
        np.hstack([np.ravel(v) for v in eagerly]), np.hstack([np.ravel(v) for v in traced]), 1e-5
    )


def test_python_values_of_replicas_leave_a_function(strategy):
    found = tf.function(lambda: strategy.run(lambda: (k() * 10, f"text {k()}")), autograph=False)()
    assert parts(strategy, found[0]) == [0, 10, 20]
    assert [bytes(t.numpy()) for t in found[1].values] == [b"text 0", b"text 1", b"text 2"]


def test_steps_of_contrib_eagerly():
    with mode.eager_mode():
        strategy = tf1.contrib.distribute.MirroredStrategy(["/device:CPU:0", "/device:CPU:1"])
        with strategy.scope():
            v = tf1.get_variable("v", initializer=0.0, aggregation=tf1.VariableAggregation.SUM)
            own = tf1.get_variable(
                "own", initializer=0.0, synchronization=tf1.VariableSynchronization.ON_READ, trainable=False,
                aggregation=tf1.VariableAggregation.SUM,
            )  # fmt: skip
            data = strategy.distribute_dataset(lambda: tf1.data.Dataset.range(8).map(tf1.to_float))
            iterator = data.make_one_shot_iterator()

            def tower(x):
                v.assign_add(x)
                own.assign_add(x)
                return x * 2.0

            def step(context, x):
                found = strategy.call_for_each_tower(tower, x)
                context.set_last_step_output("sum", found, tf1.VariableAggregation.SUM)

            context = strategy.run_steps_on_dataset(step, iterator, 3)
            assert [c.numpy() for c in strategy.unwrap(v)] == [15.0, 15.0]
            assert [c.numpy() for c in strategy.unwrap(own)] == [6.0, 9.0]
            assert own.numpy() == 15.0
            assert context.last_step_outputs["sum"].numpy() == 18.0
            assert [p.numpy() for p in strategy.unwrap(iterator.get_next())] == [6.0, 7.0]
