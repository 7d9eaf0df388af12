"""The values that towers have of their own go on to the bit; a checkpoint has one value for all of them."""

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from benchmarks.harness import Devices
from towerstrat.checkpoints.side_files import forget


def statistics(towers, combine):
    """(variable, what moves it by tower, what the towers have) of a program of 1.x on so many towers."""
    strategy = tf.contrib.distribute.TPUStrategy(Devices(jax.devices()[:towers]), steps_per_run=1)
    with strategy.scope():
        variable = tf.get_variable(
            "moving", [3], initializer=tf.zeros_initializer(), trainable=False, aggregation=combine,
            synchronization=tf.VariableSynchronization.ON_READ,
        )  # fmt: skip
    rows = tf.constant(np.float32([0.1, 0.2, 0.7]))

    def moved():
        tower = tf.to_float(tf.contrib.distribute.get_tower_context().tower_id)
        return variable.assign_add(rows * (tower + 0.3))

    with strategy.scope():
        move = strategy.group(strategy.call_for_each_tower(moved))
        own = strategy.unwrap(strategy.call_for_each_tower(lambda: variable + 0.0))
    return variable, move, own


def program(towers, combine=tf.VariableAggregation.MEAN):
    graph = tf.Graph()
    with graph.as_default():
        variable, move, own = statistics(towers, combine)
        saver, session = tf.train.Saver(), tf.Session()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session, saver, variable, move, own


@pytest.mark.parametrize("combine", [tf.VariableAggregation.MEAN, tf.VariableAggregation.SUM])
def test_towers_go_on_from_their_own_values(combine, tmp_path):
    session, saver, variable, move, own = program(2, combine)
    session.run(move)
    session.run(move)
    wanted, one = session.run([own, variable])
    path = saver.save(session, str(tmp_path / "model"))
    assert not np.array_equal(wanted[0], wanted[1])
    again, saver, variable, move, own = program(2, combine)
    saver.restore(again, path)
    np.testing.assert_array_equal(again.run(own), wanted)
    np.testing.assert_array_equal(again.run(variable), one)
    np.testing.assert_array_equal(tf.train.load_checkpoint(path).get_tensor("moving"), one)
    forget(path)  # A checkpoint without them is the original's: all towers get the one value, or a part of the sum.
    saver.restore(again, path)
    found = again.run(own)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], one / 2 if combine == tf.VariableAggregation.SUM else one)


def test_another_number_of_towers_gets_the_one_value(tmp_path):
    session, saver, variable, move, _ = program(2)
    session.run(move)
    path, one = saver.save(session, str(tmp_path / "model")), session.run(variable)
    again, saver, variable, _, own = program(4)
    saver.restore(again, path)
    np.testing.assert_array_equal(again.run(own), [one] * 4)


@pytest.mark.usefixtures("later_behavior")
@pytest.mark.parametrize("deferred", [False, True])
def test_replicas_of_eager_programs(deferred, tmp_path):
    strategy = tf2.distribute.MirroredStrategy(["cpu:0", "cpu:1"])

    def made():
        with strategy.scope():
            return tf2.Variable(
                [0.0, 0.0], name="moving_of_replicas", trainable=False, aggregation=tf2.VariableAggregation.MEAN,
                synchronization=tf2.VariableSynchronization.ON_READ,
            )  # fmt: skip

    def values(variable):
        return [v.numpy().tolist() for v in strategy.experimental_local_results(strategy.run(variable.read_value))]

    variable = made()

    @tf2.function
    def move():
        tower = tf2.cast(tf2.distribute.get_replica_context().replica_id_in_sync_group, tf2.float32)
        variable.assign_add([0.1, 0.7] * (tower + 0.3))

    strategy.run(move)
    strategy.run(move)
    wanted = values(variable)
    path = tf2.train.Checkpoint(v=variable).save(str(tmp_path / "model"))
    checkpoint = tf2.train.Checkpoint() if deferred else tf2.train.Checkpoint(v=made())
    status = checkpoint.restore(path)
    if deferred:
        checkpoint.v = made()
    status.assert_consumed()
    assert values(checkpoint.v) == wanted
    assert wanted[0] != wanted[1]
