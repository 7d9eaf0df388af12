"""One training loop through the tower surface, ``experimental_run_v2`` and ``run``."""

import re

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from benchmarks.harness import Devices
from tests.bounds import close
from tests.spread import spread
from towerstrat.graph.eager import mode
from towerstrat.graph.runtime.loops.data_loop_stage import lower_data_loop
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop

STEPS, BATCH, FEATURES = 10, 8, 32
RANDOM = np.random.RandomState(0)
WEIGHTS = RANDOM.randn(FEATURES, 16).astype(np.float32)


def data(api, replicas, batch):
    random = np.random.RandomState(1)
    count = STEPS * replicas * BATCH
    arrays = (random.randn(count, FEATURES).astype(np.float32), random.randint(0, 16, count).astype(np.int32))
    return api.data.Dataset.from_tensor_slices(arrays).repeat().batch(batch, True)


def loss_of(weights, inputs, labels, replicas):
    logits = tf1.tanh(tf1.matmul(inputs, weights))
    losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf1.reduce_sum(losses) / (replicas * BATCH)


def through_towers(replicas, runs):
    """The losses after each run of all steps, and the program."""
    with tf1.Graph().as_default():
        strategy = tf1.contrib.distribute.TPUStrategy(Devices(jax.devices()[:replicas]), STEPS)
        total = tf1.VariableAggregation.SUM
        with strategy.scope():
            weights = tf1.Variable(WEIGHTS)
            iterator = strategy.distribute_dataset(lambda: data(tf1, replicas, BATCH)).make_one_shot_iterator()

            def merge(distribution, loss, gradient):
                reduced = distribution.reduce(total, gradient, destinations=weights)
                with tf1.control_dependencies([weights.assign_sub(0.1 * reduced)]):
                    return tf1.identity(distribution.reduce(total, loss, destinations="/cpu:0"))

            def tower(inputs, labels):
                loss = loss_of(weights, inputs, labels, replicas)
                (gradient,) = tf1.gradients(loss, [weights])
                return tf1.contrib.distribute.get_tower_context().merge_call(merge, loss, gradient)

            def step(context, *inputs):
                loss = strategy.unwrap(strategy.call_for_each_tower(tower, *inputs))[0]
                context.set_last_step_output("loss", loss)
                return loss

            context = strategy.run_steps_on_dataset(step, iterator, STEPS)
        loss = context.last_step_outputs["loss"]
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            losses = [session.run(loss) for _ in range(runs)]
        return losses, lower_loop(loss.op, STEPS).compile()


def through_replicas(method, replicas, runs):
    """Likewise, by a method of the later surface."""
    with mode.eager_mode():
        strategy = tf.distribute.TPUStrategy(Devices(jax.devices()[:replicas]))
        with strategy.scope():
            weights = tf.Variable(WEIGHTS)
        iterator = iter(strategy.experimental_distribute_dataset(data(tf, replicas, replicas * BATCH)))

        def step(inputs, labels):
            with tf.GradientTape() as tape:
                loss = loss_of(weights, inputs, labels, replicas)
            gradient = tape.gradient(loss, weights)
            weights.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce("SUM", gradient))
            return loss

        @tf.function
        def steps(iterator, count):
            loss = 0.0
            for _ in tf.range(count):
                losses = getattr(strategy, method)(step, args=next(iterator))
                loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
            return loss

        losses = [steps(iterator, tf.constant(STEPS)).numpy() for _ in range(runs)]
        assert steps.experimental_get_tracing_count() == 1
        graph = steps.get_concrete_function(iterator, tf.constant(STEPS)).graph
        (loop,) = [op for op in graph.get_operations() if op.type == "While"]
        return losses, lower_data_loop(loop, STEPS).compile()


def collectives(program):
    return sorted(re.findall(r"(all-reduce|all-gather|collective-permute|reduce-scatter)\(", program.as_text()))


@spread("replicas", [2, 1, 4], every=3)
def test_losses_and_programs_are_the_same(replicas):
    losses, program = through_towers(replicas, 3)
    assert losses[2] < losses[1] < losses[0]
    cost = program.cost_analysis()
    for method in ("experimental_run_v2", "run"):
        found, loop = through_replicas(method, replicas, 3)
        close(found, losses, 3 * STEPS * (FEATURES + BATCH * replicas + 16))
        assert collectives(loop) == collectives(program)
        # The loop of a function counts its iterations, and selects the record of the checks (80 bytes) in fewer places.
        for figure in ("flops", "bytes accessed"):
            assert loop.cost_analysis()[figure] == pytest.approx(cost[figure], rel=0.01, abs=8 * 80)
