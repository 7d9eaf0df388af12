"""Tests over combinations of strategies, modes and optimizers run as they did."""

import pytest

from towerstrat.compat.bundled import combinations as lib

PROGRAM = """
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
from tensorflow.contrib.distribute.python import combinations
from tensorflow.contrib.distribute.python.single_loss_example import (
    batchnorm_example, minimize_loss_example, single_loss_example)

class Minimize(tf.test.TestCase, parameterized.TestCase):
    @combinations.generate(combinations.times(
        combinations.distributions_and_v1_optimizers(),
        combinations.combine(mode=["graph"], use_callable_loss=[True, False])))
    def testTrain(self, distribution, optimizer_fn, use_callable_loss):
        with distribution.scope():
            model_fn, dataset_fn, layer = minimize_loss_example(
                optimizer_fn(), use_bias=True, use_callable_loss=use_callable_loss)
            iterator = distribution.distribute_dataset(dataset_fn).make_one_shot_iterator()
            step = distribution.group(distribution.call_for_each_tower(model_fn, iterator.get_next()))
            with self.cached_session() as sess:
                sess.run(tf.global_variables_initializer())
                errors = []
                for _ in range(10):
                    sess.run(step)
                    errors.append(abs(sess.run(layer.kernel)[0, 0] + sess.run(layer.bias)[0] - 1))
            self.assertLess(errors[-1], errors[0])

    @combinations.generate(combinations.combine(
        distribution=[combinations.tpu_strategy, combinations.one_device_strategy],
        optimizer_fn=[combinations.gradient_descent_optimizer_v1_fn, combinations.gradient_descent_optimizer_v2_fn]))
    def testSteps(self, distribution, optimizer_fn):
        step, layer = single_loss_example(optimizer_fn, distribution, iterations_per_step=2)
        with self.cached_session() as sess:
            run = sess.make_callable(step())
            sess.run(tf.global_variables_initializer())
            for _ in range(10):
                run()
            self.assertNear(sess.run(layer.kernel)[0, 0], 1.0, 0.05)

    @combinations.generate(combinations.combine(
        distribution=combinations.tpu_strategy_single_iteration, waits=[True, False]))
    def testBatchNormalization(self, distribution, waits):
        model_fn, dataset_fn, layer = batchnorm_example(
            combinations.gradient_descent_optimizer_v1_fn, update_ops_in_replica_mode=waits)
        with distribution.scope(), self.cached_session() as sess:
            def step_fn(context, inputs):
                fetches = distribution.unwrap(distribution.call_for_each_tower(model_fn, inputs))
                if not waits:
                    fetches += tf.get_collection(tf.GraphKeys.UPDATE_OPS)
                return tf.group(fetches)
            iterator = distribution.distribute_dataset(dataset_fn).make_one_shot_iterator()
            run = distribution.run_steps_on_dataset(step_fn, iterator).run_op
            sess.run(tf.global_variables_initializer())
            sess.run(run)
            rows = np.arange(128.0).reshape(16, 8)
            self.assertAllClose(sess.run(layer.moving_mean), 0.1 * rows.mean(0), rtol=1e-4)

    @combinations.generate(combinations.combine(mode=combinations.graph_and_eager_modes))
    def testModes(self, mode):
        self.assertEqual(tf.executing_eagerly(), mode == "eager")

tf.test.main()
"""


def test_a_program_of_the_original(program):
    code, _, error = program(PROGRAM, options=["--towers", "2"])
    assert code == 0, error
    assert "Ran 20 tests" in error
    assert "OK (skipped=8)" in error, error  # those that need GPUs


def test_combinations():
    assert [str(c["optimizer_fn"]) for c in lib.distributions_and_v2_optimizers()[:2]] == [
        "AdamV2",
        "GradientDescentV2",
    ]
    assert lib.combine(b=[1, 2], a="x") == [{"a": "x", "b": 1}, {"a": "x", "b": 2}]
    assert lib.times(lib.combine(a=[1, 2]), lib.combine(b=3)) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    with pytest.raises(ValueError, match=r"not overlap: \['a', 'a'\]"):
        lib.times(lib.combine(a=1), lib.combine(a=2))
    named = lib.NamedObject("half", 0.5)
    assert (repr(named), named.is_integer()) == ("half", False)
    assert [
        lib.mirrored_strategy_with_two_gpus.strategy.num_towers,
        lib.mirrored_strategy_with_gpu_and_cpu.strategy.num_towers,
    ] == [2, 2]
