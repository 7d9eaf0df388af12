"""Programs in which the last process differs from the others; prints what each process says of it."""

import json

import numpy as np

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.errors import FailedPreconditionError
from towerstrat.hosts.process_index import PROCESSES

KINDS = ["none", "seed", "initial value", "operation", "feed", "name", "shape"]


def refusal(kind, odd):
    """What is raised where the process that is odd differs in this."""
    tf.reset_default_graph()
    tf.set_random_seed(2 if kind == "seed" and odd else 1)
    strategy = tpu(PROCESSES.count)
    with strategy.scope(), tf.Session() as sess:
        first = np.ones(3) * (2 if kind == "initial value" and odd else 1)
        variable = tf.get_variable("weights", [3], initializer=tf.constant_initializer(first))
        x = tf.placeholder(tf.float32, [None], name="x")

        def fn(x):
            y = x + tf.random_uniform([], name="other" if kind == "name" and odd else None)
            y = tf.nn.relu(y) if kind == "operation" and odd else y
            return tf.reduce_sum(y) + tf.reduce_sum(variable)

        total = strategy.reduce(tf.VariableAggregation.SUM, strategy.call_for_each_tower(fn, x), "/cpu:0")
        sess.run(tf.global_variables_initializer())
        fed = np.ones(4 if kind == "shape" and odd else 3) * (2 if kind == "feed" and odd else 1)
        try:
            sess.run(total, {x: fed})
        except FailedPreconditionError as error:
            return str(error)
        return ""


if __name__ == "__main__":
    print(json.dumps({kind: refusal(kind, PROCESSES.index == PROCESSES.count - 1) for kind in KINDS}))
