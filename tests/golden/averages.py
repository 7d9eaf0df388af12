"""Writes averages.json: the original's learning-rate schedules, and its moving averages step by step."""

import tensorflow as tf
from goldens import make
from schedule_cases import CASES, STEPS
from tensorflow.python.training import moving_averages

RUNS = ["1.12"]
VALUES = [[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0], [2.0, 2.0]]


def schedule(function, arguments):
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        if function == "piecewise_constant":
            rate = tf.train.piecewise_constant(step, **arguments)
        else:
            rate = getattr(tf.train, function)(global_step=step, **arguments)
        return [float(session.run(rate, {step: s})) for s in STEPS]


def stored(session):
    return {v.op.name: session.run(v).tolist() for v in sorted(tf.global_variables(), key=lambda v: v.name)}


def followed(build):
    """The variables after each step of an operation that takes the next of VALUES."""
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.placeholder(tf.float32, [2], name="value")
        op, result = build(value)
        session.run(tf.global_variables_initializer())
        steps = []
        for given in VALUES:
            got = session.run([op] + ([result] if result is not None else []), {value: given})
            steps.append({"variables": stored(session), "result": got[1].tolist() if result is not None else None})
        return steps


def of_variable(num_updates):
    def build(value):
        w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        count = tf.get_variable("count", initializer=0, trainable=False, use_resource=True) if num_updates else None
        ema = tf.train.ExponentialMovingAverage(0.9, num_updates=count)
        with tf.control_dependencies([w.assign(value)] + ([count.assign_add(1)] if num_updates else [])):
            return ema.apply([w]), None

    return build


def of_tensor(zero_debias):
    def build(value):
        doubled = tf.multiply(value, 2.0, name="doubled")
        ema = tf.train.ExponentialMovingAverage(0.8, zero_debias=zero_debias, name="avg")
        return ema.apply([doubled]), None

    return build


def assigned(zero_debias):
    def build(value):
        with tf.variable_scope("scope"):
            v = tf.get_variable("v", initializer=[0.0, 0.0], trainable=False, use_resource=True)
            op = moving_averages.assign_moving_average(v, value, 0.7, zero_debias=zero_debias)
        return op, op

    return build


def weighted(value):
    weight = tf.reduce_sum(tf.abs(value))
    op = moving_averages.weighted_moving_average(value, 0.6, weight)
    return op, op


AVERAGES = {
    "variable": of_variable(False),
    "variable_num_updates": of_variable(True),
    "tensor": of_tensor(False),
    "tensor_debiased": of_tensor(True),
    "assigned": assigned(False),
    "assigned_debiased": assigned(True),
    "weighted": weighted,
}
areas = {
    "schedules": {name: lambda c=case: schedule(*c) for name, case in CASES.items()},
    "averages": {name: lambda b=build: followed(b) for name, build in AVERAGES.items()},
    "values": VALUES,
}
make("averages", areas)
