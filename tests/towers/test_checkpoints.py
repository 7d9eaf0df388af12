"""Checkpoints of objects under strategies: variables are saved as they are seen together, restored on any number."""

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from benchmarks.harness import Devices


class Model:
    """A mirrored variable, one for each aggregation of replicas' own, an optimizer."""

    def __init__(self, replicas):
        self.strategy = (
            tf.distribute.TPUStrategy(Devices(jax.devices()[:replicas])) if replicas else tf.distribute.get_strategy()
        )
        with self.strategy.scope():
            self.w = tf.Variable([1.0, 2.0])
            self.total, self.mean = (
                tf.Variable(0.0, trainable=False, synchronization=tf.VariableSynchronization.ON_READ, aggregation=how)
                for how in (tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN)
            )
            self.optimizer = tf1.train.AdamOptimizer(0.1)

    def track(self, checkpoint):
        for name in ("w", "total", "mean", "optimizer"):
            setattr(checkpoint, name, getattr(self, name))

    def train(self):
        @tf.function
        def step():
            def replica():
                self.total.assign_add(2.0)
                self.mean.assign(3.0)
                self.optimizer.apply_gradients(
                    [(tf.constant([1.0, -1.0]) / self.strategy.num_replicas_in_sync, self.w)]
                )

            self.strategy.run(replica)

        step()

    def values(self):
        slot = self.optimizer.get_slot(self.w, "m")
        return [np.asarray(v.read_value()).tolist() for v in (self.w, self.total, self.mean, slot)]


@pytest.mark.usefixtures("later_behavior")
@pytest.mark.parametrize("late", [False, True])
def test_replicas_of_another_number(tmp_path, late):
    first = Model(4)
    first.train()
    checkpoint = tf.train.Checkpoint()
    first.track(checkpoint)
    path = checkpoint.save(tmp_path / "ck")
    assert tf.train.load_variable(path, "total/.ATTRIBUTES/VARIABLE_VALUE") == 8.0
    kept = first.values()
    first.train()
    for replicas in (0, 2):
        model, again = Model(replicas), tf.train.Checkpoint()
        if not late:
            model.track(again)
        status = again.restore(path)
        if late:
            model.track(again)
            model.train()
            np.testing.assert_allclose(model.w.numpy(), first.w.numpy(), rtol=1e-5)
        else:
            assert model.values() == kept
            model.train()
        status.assert_consumed()


def test_towers_of_a_graph(tmp_path):
    def build(towers):
        distribution = tf1.contrib.distribute.TPUStrategy(Devices(jax.devices()[:towers]))
        with distribution.scope():
            mirrored = tf1.get_variable("m", initializer=[1.0, 2.0], aggregation=tf1.VariableAggregation.MEAN)
            local = tf1.get_variable(
                "t", initializer=0.0, trainable=False, aggregation=tf1.VariableAggregation.SUM,
                synchronization=tf1.VariableSynchronization.ON_READ,
            )  # fmt: skip
            adds = distribution.unwrap(distribution.call_for_each_tower(lambda: local.assign_add(2.0)))
        return tf1.train.Checkpoint(mirrored=mirrored, local=local), mirrored, local, adds

    with tf1.Graph().as_default(), tf1.Session() as session:
        checkpoint, mirrored, local, adds = build(4)
        session.run(tf1.global_variables_initializer())
        session.run([adds, mirrored.assign([3.0, 4.0])])
        path = checkpoint.save(str(tmp_path / "ck"))
    assert tf1.train.load_variable(path, "local/.ATTRIBUTES/VARIABLE_VALUE") == 8.0
    with tf1.Graph().as_default(), tf1.Session() as session:
        checkpoint, mirrored, local, adds = build(2)
        checkpoint.restore(path).assert_consumed().initialize_or_restore(session)
        assert session.run(mirrored).tolist() == [3.0, 4.0]
        assert session.run(local) == 8.0
        session.run(adds)
        assert session.run(local) == 12.0
