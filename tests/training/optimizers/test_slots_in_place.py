"""Steps that may fail a check change slots where they are: XLA copies none of them in front of a step. (Those of FTRL
it does: two of its slots need the old value of the third.)"""

import re
from contextlib import nullcontext

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.runtime.loops.loop_bodies import called, computations
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop

MAKERS = {
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "rms": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.9),
    "centered": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.9, centered=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "ada_max": lambda: tf.contrib.opt.AdaMaxOptimizer(0.1),
}


ROWS = np.random.RandomState(0).randn(24, 7).astype(np.float32)


def loop_of(name, towers, steps, labels):
    """(a loop over steps that check their labels, its iterator)."""
    strategy = tpu(towers)
    with strategy.scope():
        data = tf.data.Dataset.from_tensor_slices((ROWS, labels)).batch(2, drop_remainder=True)
        iterator = data.make_initializable_iterator()

        def tower(x, y):
            logits = tf.matmul(x, tf.get_variable("w", [7, 11], initializer=tf.constant_initializer(0.1)))
            return MAKERS[name]().minimize(tf.losses.sparse_softmax_cross_entropy(y, logits))

        run_op = strategy.run_steps_on_dataset(
            lambda c, x, y: strategy.group(strategy.call_for_each_tower(tower, x, y)), iterator, steps
        ).run_op
    return run_op, iterator


@pytest.mark.parametrize("name", MAKERS)
def test_no_slot_is_copied(name):
    run_op, _ = loop_of(name, 1, 4, np.zeros(24, np.int32))
    (loop,) = (op for op in run_op.graph.get_operations() if op.type == "StepLoop")
    found, entry = computations(lower_loop(loop, 4).compile().as_text())
    (body,) = (name for line in found[entry] if " while(" in line for name in called(line, "body"))
    assert any("f32[7,11]" in line for line in found[body])
    assert not [line for line in found[body] if re.search(r"f32\[7,11\]\S* copy\(", line)]


def values_after(name, steps, bad):
    """All variables on two towers; where the labels of the fourth step are bad those after three."""
    labels = np.arange(24, dtype=np.int32) % 11
    labels[13] = 99 if bad else 0
    with tf.Graph().as_default(), tf.Session() as sess:
        run_op, iterator = loop_of(name, 2, steps, labels)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        with pytest.raises(tf.errors.InvalidArgumentError, match="step 3") if bad else nullcontext():
            sess.run(run_op)
        return sess.run(tf.global_variables())


@pytest.mark.parametrize("name", MAKERS)
def test_a_failed_step_and_those_behind_it_change_no_slot(name):
    for found, wanted in zip(values_after(name, 5, True), values_after(name, 3, False), strict=True):
        assert found.tobytes() == wanted.tobytes()
