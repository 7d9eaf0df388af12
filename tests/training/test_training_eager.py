"""Global step, schedules, losses, metrics and averages where programs run eagerly, and in functions."""

import inspect

import numpy as np
import pytest

from tests.spread import spread
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.default_graph import get_collection
from towerstrat.graph.ir.graph import Graph, reset_default_graph
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.scopes.variable_scope import get_variable
from towerstrat.graph.variables.variables import GraphKeys, Variable
from towerstrat.models import losses, metrics
from towerstrat.models.regularizers import apply_regularization, l2_regularizer
from towerstrat.training.base import global_step
from towerstrat.training.optimizers import exponential_averages, learning_rate_schedules


@pytest.fixture(autouse=True)
def eagerly():
    with mode.eager_mode():
        yield


# ---- the global step -------------------------------------------------------------------------------------------


def test_there_is_one_global_step():
    assert global_step.get_global_step() is None
    step = global_step.get_or_create_global_step()
    assert (step.name, step.dtype.name, step.numpy(), step.trainable) == ("global_step:0", "int64", 0, False)
    assert global_step.get_or_create_global_step() is step is global_step.get_global_step()
    with pytest.raises(ValueError, match="already exists"):
        global_step.create_global_step()
    step.assign_add(3)
    assert global_step.global_step(None, step) == 3
    reset_default_graph()
    assert global_step.get_global_step() is None


def test_functions_share_the_global_step():
    @function
    def advance():
        return global_step.get_or_create_global_step().assign_add(1)

    assert advance().numpy() == 1
    assert function(lambda: global_step.get_or_create_global_step().assign_add(1))().numpy() == 2
    assert global_step.get_global_step().numpy() == 2


def test_a_graph_has_its_own_global_step():
    eager = global_step.get_or_create_global_step()
    with Graph().as_default() as graph:
        own = global_step.get_or_create_global_step()
        assert own.graph is graph
    assert global_step.get_global_step(graph) is own
    assert global_step.get_global_step() is eager


# ---- schedules -------------------------------------------------------------------------------------------------

SCHEDULES = {
    "piecewise_constant": lambda step: learning_rate_schedules.piecewise_constant(step, [2, 4], [0.1, 0.2, 0.3]),
    "exponential_decay": lambda step: learning_rate_schedules.exponential_decay(0.1, step, 2, 0.5, staircase=True),
    "natural_exp_decay": lambda step: learning_rate_schedules.natural_exp_decay(0.1, step, 10, 0.5),
    "inverse_time_decay": lambda step: learning_rate_schedules.inverse_time_decay(0.1, step, 10, 0.5),
    "polynomial_decay": lambda step: learning_rate_schedules.polynomial_decay(0.1, step, 3, cycle=True),
    "cosine_decay": lambda step: learning_rate_schedules.cosine_decay(0.1, step, 10),
    "cosine_decay_restarts": lambda step: learning_rate_schedules.cosine_decay_restarts(0.1, step, 2),
    "linear_cosine_decay": lambda step: learning_rate_schedules.linear_cosine_decay(0.1, step, 10),
    "noisy_linear_cosine_decay": lambda step: learning_rate_schedules.noisy_linear_cosine_decay(
        0.1, step, 5, initial_variance=0.0
    ),
}


@spread("name", SCHEDULES, every=4)
def test_schedules_are_functions_of_the_moment(name):
    step = Variable(np.int64(0), trainable=False)
    rate = SCHEDULES[name](step)
    inside = function(lambda: SCHEDULES[name](step))
    called = function(lambda: rate())
    for i in (0, 3, 5):
        step.assign(i)
        with Graph().as_default(), Session() as session:
            expected = session.run(SCHEDULES[name](constant(i, "int64")))
        for found in (rate(), inside(), called()):
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_schedules_check_their_arguments_at_once():
    with pytest.raises(ValueError, match="global_step is required for exponential_decay"):
        learning_rate_schedules.exponential_decay(0.1, None, 2, 0.5)
    with pytest.raises(ValueError, match="should be 1 less"):
        learning_rate_schedules.piecewise_constant(constant(1), [2, 4], [0.1, 0.2])


def test_schedules_keep_their_signatures():
    assert [*inspect.signature(learning_rate_schedules.exponential_decay).parameters] == [
        "learning_rate", "global_step", "decay_steps", "decay_rate", "staircase", "name"
    ]  # fmt: skip


# ---- losses ----------------------------------------------------------------------------------------------------


def test_losses_are_values_and_not_collected():
    assert losses.mean_squared_error([1.0, 2.0], [2.0, 4.0]).numpy() == 2.5
    np.testing.assert_allclose(losses.softmax_cross_entropy([[0.0, 1.0]], [[1.0, 2.0]]).numpy(), 0.31326166, rtol=1e-6)
    np.testing.assert_allclose(losses.sparse_softmax_cross_entropy([1], [[1.0, 2.0]]).numpy(), 0.31326166, rtol=1e-6)
    losses.add_loss(constant(1.0))
    assert losses.get_losses() == []
    assert losses.get_regularization_loss().numpy() == 0


def test_regularization_losses_of_variables_are_collected():
    get_variable("w", [2], initializer=lambda shape, **_: constant([1.0, 2.0]), regularizer=l2_regularizer(1.0))
    apply_regularization(reduce_sum, [Variable([3.0, 4.0])])
    assert [x.numpy() for x in losses.get_regularization_losses()] == [2.5, 7.0]
    assert losses.get_total_loss().numpy() == 9.5


def test_losses_of_a_function_are_collected_in_it():
    @function
    def total(scale):
        losses.mean_squared_error([1.0, 2.0], [2.0, 4.0], weights=scale)
        losses.absolute_difference(constant([1.0]), scale)
        return losses.get_total_loss()

    assert total(constant([2.0])).numpy() == 5.0 + 1.0
    assert get_collection(GraphKeys.LOSSES) == []


# ---- metrics ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", metrics.__all__)
def test_metrics_are_for_graphs(name):
    metric = getattr(metrics, name)
    required = [p for p in inspect.signature(metric).parameters.values() if p.default is p.empty]
    with pytest.raises(RuntimeError, match=rf"tf\.metrics\.{name} is not supported when eager execution is enabled"):
        metric(*[[1.0, 0.0]] * len(required))


# ---- moving averages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
def test_averages_of_variables(inside):
    v = Variable([1.0, 2.0], name="v")
    average = exponential_averages.ExponentialMovingAverage(0.9)
    update = lambda: average.apply([v])  # noqa: E731
    update = function(update) if inside else update
    update()
    v.assign([2.0, 3.0])
    update()
    kept = average.average(v)
    assert kept.name == "v/ExponentialMovingAverage:0"
    np.testing.assert_allclose(kept.numpy(), [1.1, 2.1], rtol=1e-6)
    assert average.variables_to_restore() == {"v/ExponentialMovingAverage": v}


def test_averages_of_values_need_a_variable():
    with pytest.raises(TypeError, match="does not support non-Variable tensors when eager execution is enabled"):
        exponential_averages.ExponentialMovingAverage(0.9).apply([constant(1.0)])


def test_assign_moving_average():
    v = Variable([2.0, 3.0])
    exponential_averages.assign_moving_average(v, [0.0, 0.0], 0.5, zero_debias=False)
    assert v.numpy().tolist() == [1.0, 1.5]
