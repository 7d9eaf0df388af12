"""Steps that may fail a check change slots where they are: XLA copies none of them in front of a step. (Those of FTRL
it does: two of its slots need the old value of the third.)"""

import re

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


@pytest.mark.parametrize("name", MAKERS)
def test_no_slot_is_copied(name):
    rows = np.ones((8, 7), np.float32)
    strategy = tpu(1)
    with strategy.scope():
        data = tf.data.Dataset.from_tensor_slices((rows, np.zeros(8, np.int32))).repeat().batch(4, drop_remainder=True)

        def tower(x, y):
            logits = tf.matmul(x, tf.get_variable("w", [7, 11]))
            return MAKERS[name]().minimize(tf.losses.sparse_softmax_cross_entropy(y, logits))  # checks its labels

        run_op = strategy.run_steps_on_dataset(
            lambda c, x, y: strategy.group(strategy.call_for_each_tower(tower, x, y)), data.make_one_shot_iterator(), 4
        ).run_op
    (loop,) = (op for op in run_op.graph.get_operations() if op.type == "StepLoop")
    found, entry = computations(lower_loop(loop, 4).compile().as_text())
    (body,) = (name for line in found[entry] if " while(" in line for name in called(line, "body"))
    assert any("f32[7,11]" in line for line in found[body])
    assert not [line for line in found[body] if re.search(r"f32\[7,11\]\S* copy\(", line)]
