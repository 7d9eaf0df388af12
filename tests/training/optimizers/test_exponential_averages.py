"""Moving averages against the original."""

import json
import pathlib

import numpy as np
import pytest

from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ops.math.arithmetic import abs, multiply
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.scopes.variable_scope import get_variable, variable_scope
from towerstrat.graph.variables.variable_ops import global_variables, global_variables_initializer
from towerstrat.graph.variables.variables import GraphKeys, Variable
from towerstrat.training.optimizers.exponential_averages import (
    ExponentialMovingAverage,
    assign_moving_average,
    weighted_moving_average,
)

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "golden" / "averages.json").read_text())


def of_variable(num_updates):
    def build(value):
        w = get_variable("w", initializer=[1.0, 2.0])
        count = get_variable("count", initializer=0, trainable=False) if num_updates else None
        ema = ExponentialMovingAverage(0.9, num_updates=count)
        with control_dependencies([w.assign(value)] + ([count.assign_add(1)] if num_updates else [])):
            return ema.apply([w]), None

    return build


def of_tensor(zero_debias):
    def build(value):
        ema = ExponentialMovingAverage(0.8, zero_debias=zero_debias, name="avg")
        return ema.apply([multiply(value, 2.0, name="doubled")]), None

    return build


def assigned(zero_debias):
    def build(value):
        with variable_scope("scope"):
            v = get_variable("v", initializer=[0.0, 0.0], trainable=False)
            op = assign_moving_average(v, value, 0.7, zero_debias=zero_debias)
        return op, op

    return build


def weighted(value):
    op = weighted_moving_average(value, 0.6, reduce_sum(abs(value)))
    return op, op


BUILD = {
    "variable": of_variable(False),
    "variable_num_updates": of_variable(True),
    "tensor": of_tensor(False),
    "tensor_debiased": of_tensor(True),
    "assigned": assigned(False),
    "assigned_debiased": assigned(True),
    "weighted": weighted,
}


@pytest.mark.parametrize("name", BUILD)
def test_the_original_agrees(name):
    value = placeholder("float32", [2], name="value")
    op, result = BUILD[name](value)
    variables = {v.op.name: v for v in global_variables()}
    session = Session()
    session.run(global_variables_initializer())
    for given, expected in zip(GOLDEN["values"], GOLDEN["averages"][name], strict=True):
        got = session.run([op] + ([] if result is None else [result]), {value: given})
        if result is not None:
            np.testing.assert_allclose(got[1], expected["result"], rtol=1e-5)
        assert set(variables) == set(expected["variables"])
        for key, stored in session.run(variables).items():
            np.testing.assert_allclose(stored, expected["variables"][key], rtol=1e-5, err_msg=key)


def test_what_is_known_of_averages():
    w, b = Variable([1.0], name="w"), Variable([1.0], name="b", trainable=False)
    step = Variable(np.int64(0), name="step", trainable=False)
    ema = ExponentialMovingAverage(0.5)
    assert ema.name == "ExponentialMovingAverage"
    assert ema.average(w) is None
    assert ema.average_name(w) == "w/ExponentialMovingAverage"
    op = ema.apply()
    assert op.name == "ExponentialMovingAverage"
    average = ema.average(w)
    assert average.op.name == ema.average_name(w) == "w/ExponentialMovingAverage"
    assert not average.trainable
    assert get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES) == [w]
    assert ema.average(b) is None
    assert ema.variables_to_restore() == {
        "w/ExponentialMovingAverage": w, "b": b, "step": step,
    }  # fmt: skip
    assert ema.variables_to_restore([b])["b/ExponentialMovingAverage"] is b
    assert ema.apply([w]).name == "ExponentialMovingAverage_1"
    assert ema.average(w) is average
    with pytest.raises(TypeError, match="must be half, float, or double: step"):
        ema.apply([step])


def test_averages_start_from_initial_values():
    w = Variable([4.0], name="w")
    ema = ExponentialMovingAverage(0.75)
    op = ema.apply([w])
    session = Session()
    session.run(global_variables_initializer())
    assert session.run(ema.average(w)) == [4.0]
    session.run(w.assign([8.0]))
    session.run(op)
    assert session.run(ema.average(w)) == [5.0]


def test_float64_averages():
    v = Variable(np.zeros(1), trainable=False)
    update = assign_moving_average(v, np.ones(1), 0.9, zero_debias=False)
    session = Session()
    session.run(global_variables_initializer())
    # The original rounds the rate to float32 first.
    assert session.run(update) == np.float64(np.float32(1.0 - 0.9))
