"""What the optimizers of tf.contrib.optimizer_v2 do beyond what the original can show."""

import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from tests.training.optimizers.test_optimizers_towers import MEAN
from towerstrat.graph.eager import mode
from towerstrat.training.optimizers import v2


def quadratic(w):
    return tf.reduce_sum(w * w) / 2


def test_a_step_loop_on_towers():
    """Functions among the hyperparameters are computed at each step; the global step counts, as in no original."""
    strategy = tpu(2, 4)
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        step = tf.train.get_or_create_global_step()
        rate = lambda: 0.5 / tf.cast(step + 1, tf.float32)  # noqa: E731
        optimizer = v2.MomentumOptimizer(rate, 0.0)
        data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensors(1.0).repeat())

        def tower(context, x):
            loss = quadratic(w) * x
            context.set_last_step_output("loss", loss, MEAN)
            return optimizer.minimize(loss, global_step=step)

        def step_fn(context, x):
            return strategy.group(strategy.call_for_each_tower(tower, context, x))

        iterator = data.make_initializable_iterator()
        context = strategy.run_steps_on_dataset(step_fn, iterator, 4)
        session.run([iterator.initializer, tf.global_variables_initializer()])
        session.run(context.run_op)
        expected = 1.0
        for i in range(4):
            expected *= 1 - 0.5 / (i + 1)
        assert session.run(step) == 4
        assert session.run(w).tolist() == pytest.approx([expected, 2 * expected])
        assert optimizer.get_slot(w, "momentum") is optimizer.get_slot(strategy.unwrap(w)[1], "momentum")


def test_an_optimizer_of_each_tower_is_one():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0])
        train = strategy.group(strategy.call_for_each_tower(lambda: v2.AdamOptimizer(0.1).minimize(quadratic(w))))
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(w).tolist() == pytest.approx([0.9])
        assert [v.op.name for v in tf.global_variables()] == ["w", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]


def test_cross_tower_context_is_refused_and_distributed_apply_serves_it():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0])
        optimizer = v2.GradientDescentOptimizer(0.5)
        with pytest.raises(RuntimeError, match="Use `_distributed_apply"):
            optimizer.apply_gradients([(tf.constant([1.0]), w)])
        gradients = strategy.call_for_each_tower(lambda: optimizer.compute_gradients(quadratic(w))[0][0])
        train = optimizer._distributed_apply(strategy, [(gradients, w)], None, None)
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(w).tolist() == [0.5]


def test_a_function_trains_eagerly():
    with mode.eager_mode():
        w = tf.contrib.eager.Variable([1.0, 2.0])
        optimizer = v2.MomentumOptimizer(lambda: 0.5, 0.5)

        @tf.contrib.eager.defun
        def step(x):
            optimizer.minimize(lambda: tf.reduce_sum(w * x), var_list=[w])
            return w.read_value()

        assert step(tf.constant(1.0)).numpy().tolist() == [0.5, 1.5]
        assert step(tf.constant(1.0)).numpy().tolist() == [-0.25, 0.75]
        assert len(optimizer.variables()) == 1


def test_slots_go_with_their_eager_variable():
    with mode.eager_mode():
        optimizer = v2.MomentumOptimizer(0.1, 0.9)
        for _ in range(3):
            w = tf.contrib.eager.Variable([1.0])
            optimizer.minimize(lambda w=w: quadratic(w))
            del w
        assert len(optimizer.variables()) <= 1


def test_the_name_of_later_versions_scales_too():
    strategy = tpu(2)
    with strategy.scope():
        w = tf.get_variable("w", initializer=1.0)
        optimizer = v2.GradientDescentOptimizer(0.5)

        def tower(scale):
            loss = w * 3.0
            return [optimizer.compute_gradients(loss, **{name: scale})[0][0] for name in (
                "scale_loss_by_num_towers", "scale_loss_by_num_replicas")]  # fmt: skip

        found = [strategy.unwrap(g)[0] for s in (True, False) for g in strategy.call_for_each_tower(tower, s)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(found) == [1.5, 1.5, 3.0, 3.0]
