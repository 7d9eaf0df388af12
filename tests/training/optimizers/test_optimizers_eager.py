"""Optimizers where programs run eagerly, and in functions."""

import gc
import weakref

import numpy as np
import pytest

from tests.golden.optimizer_cases import CASES
from tests.spread import spread
from tests.training.optimizers.optimizer_model import (
    KEPT,
    STEPS,
    golden,
    inputs,
    loss_of,
    make_optimizer,
    make_variables,
)
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.eager import mode
from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.default_graph import get_collection
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.math.arithmetic import maximum, square
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.variables.variables import GraphKeys, Variable
from towerstrat.training import optimizers
from towerstrat.training.base import global_step
from towerstrat.training.optimizers import learning_rate_schedules


@pytest.fixture(autouse=True)
def eagerly():
    with mode.eager_mode():
        yield


def eager_step(name, variables, optimizer, step):
    def train(*batch):
        loss = []

        def compute():
            loss.append(loss_of(name, variables, *batch))
            return loss[0]

        assert optimizer.minimize(compute, global_step=step) is None
        return loss[0]

    return train


def function_step(name, variables, optimizer, step):
    @function
    def train(*batch):
        with GradientTape() as tape:
            loss = loss_of(name, variables, *batch)
        trained = list(variables.values())
        optimizer.apply_gradients(zip(tape.gradient(loss, trained), trained, strict=True), global_step=step)
        return loss

    return train


@pytest.mark.parametrize(("way", "dtype"), [(eager_step, "float64"), (function_step, "float32")])
@spread("name", CASES, every=15)
def test_trains_as_the_original(name, dtype, way):
    variables = make_variables(dtype)
    step = global_step.get_or_create_global_step()
    optimizer = make_optimizer(name, step)
    train = way(name, variables, optimizer, step)
    expected, tolerance = golden(name, dtype)
    data = [[constant(a[i]) for a in inputs(name, dtype)] for i in range(STEPS)]
    losses = []
    for i, batch in enumerate(data):
        losses.append(train(*batch).numpy())
        if i + 1 in KEPT:
            kept = {v.op.name: v for v in [*variables.values(), *optimizer.variables()]}
            assert {f"{i + 1}/{k}" for k in kept} == {k for k in expected if k.startswith(f"{i + 1}/")}
            for key, v in kept.items():
                np.testing.assert_allclose(
                    v.numpy(),
                    expected[f"{i + 1}/{key}"],
                    rtol=tolerance,
                    atol=tolerance,
                    err_msg=f"{key} after {i + 1}",
                )
    np.testing.assert_allclose(losses, expected["losses"], rtol=tolerance, atol=tolerance)
    assert step.numpy() == STEPS


@spread("name", CASES, every=4)
def test_slots_are_made_on_first_use_and_belong_to_the_optimizer(name):
    w, other = Variable([1.0, 2.0], name="w"), Variable([[3.0]], name="w")
    optimizer = make_optimizer(name, global_step.get_or_create_global_step())
    assert optimizer.variables() == []
    optimizer.minimize(lambda: reduce_sum(square(w)))
    assert [v.trainable for v in optimizer.variables()] == [False] * len(optimizer.variables())
    for slot in optimizer.get_slot_names():
        assert isinstance(optimizer.get_slot(w, slot), EagerVariable)
        assert optimizer.get_slot(w, slot).shape == w.shape
        assert optimizer.get_slot(other, slot) is None
    count = len(optimizer.variables())
    optimizer.minimize(lambda: reduce_sum(square(w)))
    assert len(optimizer.variables()) == count


def test_names_of_slots():
    one, two = Variable([1.0], name="w"), Variable([[1.0]], name="w")
    optimizer = optimizers.AdamOptimizer(0.1)
    optimizer.minimize(lambda: reduce_sum(one) + reduce_sum(two), var_list=[one, two])
    names = ["beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0", "w/Adam_2:0", "w/Adam_3:0"]
    assert [v.name for v in optimizer.variables()] == names
    assert optimizer.get_slot(two, "m").name == "w/Adam_2:0"


def test_slots_go_with_their_variable():
    pair = [Variable([1.0]), Variable([1.0])]
    optimizer = optimizers.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(lambda: reduce_sum(pair[0]) + reduce_sum(pair[1]))
    gone = [weakref.ref(pair[0]), weakref.ref(optimizer.get_slot(pair[0], "momentum"))]
    kept = pair.pop()
    pair.clear()
    gc.collect()
    assert [r() for r in gone] == [None, None]
    assert optimizer.variables() == [optimizer.get_slot(kept, "momentum")]
    gone = [weakref.ref(optimizer), weakref.ref(optimizer.get_slot(kept, "momentum"))]
    del optimizer
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_variables_are_those_that_the_loss_reads():
    w, unread, fixed = Variable(2.0), Variable(3.0), Variable(5.0, trainable=False)
    optimizer = optimizers.GradientDescentOptimizer(0.5)
    ((gradient, variable),) = optimizer.compute_gradients(lambda: w * fixed)
    assert variable is w
    assert gradient.numpy() == 5.0
    pairs = optimizer.compute_gradients(lambda: w * fixed, [fixed, unread], grad_loss=2.0)
    assert [None if g is None else g.numpy() for g, _ in pairs] == [4.0, None]
    assert [v for _, v in pairs] == [fixed, unread]


def test_what_eager_losses_must_be():
    w = Variable(2.0)
    optimizer = optimizers.GradientDescentOptimizer(0.5)
    for call in (optimizer.minimize, optimizer.compute_gradients):
        with pytest.raises(RuntimeError, match="should be a function when eager execution is enabled"):
            call(square(w), var_list=[w])
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizer.minimize(lambda: constant(1.0), var_list=[w])
    with pytest.raises(ValueError, match="Invalid type"):
        optimizer.minimize(lambda: constant(1), var_list=[w])
    with pytest.raises(ValueError, match="No variables provided"):
        optimizer.apply_gradients([])


def test_nothing_is_collected():
    w = Variable([1.0])
    optimizers.AdamOptimizer(0.1).minimize(lambda: reduce_sum(w))
    for key in (GraphKeys.TRAINABLE_VARIABLES, GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAIN_OP):
        assert get_collection(key) == []


def test_constraints_hold_after_the_update():
    w = Variable([1.0, -1.0], constraint=lambda x: maximum(x, 0.0))
    optimizer = optimizers.GradientDescentOptimizer(0.5)
    optimizer.minimize(lambda: reduce_sum(w))
    assert w.numpy().tolist() == [0.5, 0.0]
    function(lambda: optimizer.minimize(lambda: reduce_sum(w)))()
    assert w.numpy().tolist() == [0.0, 0.0]


def test_rows_repeated_count_once_with_their_sum():
    table = Variable(np.ones((3, 2), np.float32))
    gradient = IndexedSlices(constant([[1.0, 2.0], [3.0, -1.0]]), constant([1, 1]))
    optimizers.AdagradOptimizer(1.0, initial_accumulator_value=9.0).apply_gradients([(gradient, table)])
    np.testing.assert_allclose(table.numpy()[1], [1 - 4 / 5, 1 - 1 / np.sqrt(10)], rtol=1e-6)
    assert (table.numpy()[[0, 2]] == 1).all()


@pytest.mark.parametrize("inside", [False, True])
def test_rows_outside_of_the_variable_are_refused(inside):
    table = Variable(np.ones((3, 2), np.float32))
    optimizer = optimizers.AdagradOptimizer(1.0)
    apply = lambda i: optimizer.apply_gradients([(IndexedSlices(constant([[1.0, 2.0]]), i), table)])  # noqa: E731
    apply = function(apply) if inside else apply
    with pytest.raises(InvalidArgumentError, match=r"= 3 is not in \[0, 3\)"):
        apply(constant([3]))
    assert (table.numpy() == 1).all()
    apply(constant([2]))
    assert (table.numpy()[2] != 1).all()


@pytest.mark.parametrize("inside", [False, True])
def test_a_schedule_is_computed_at_each_step(inside):
    w, step = Variable(0.0), global_step.get_or_create_global_step()
    rate = learning_rate_schedules.exponential_decay(1.0, step, 1, 0.5)
    optimizer = optimizers.GradientDescentOptimizer(rate)
    train = lambda: optimizer.minimize(lambda: -w.value(), global_step=step)  # noqa: E731
    train = function(train) if inside else train
    for _ in range(3):
        train()
    assert w.numpy() == 1 + 0.5 + 0.25
    assert rate().numpy() == 0.125


def test_a_rate_that_is_a_variable_can_be_changed():
    w, rate = Variable(0.0), Variable(1.0, trainable=False)
    optimizer = optimizers.MomentumOptimizer(rate, 0.0)
    train = function(lambda: optimizer.minimize(lambda: -w.value()))
    train()
    rate.assign(0.25)
    train()
    assert w.numpy() == 1.25


def test_slots_made_in_the_first_call_of_a_function_are_used_eagerly_and_by_other_functions():
    w = Variable([4.0])
    optimizer = optimizers.MomentumOptimizer(1.0, 0.5)
    train = function(lambda scale: optimizer.minimize(lambda: reduce_sum(w) * scale))
    train(constant(1.0))
    slot = optimizer.get_slot(w, "momentum")
    optimizer.minimize(lambda: reduce_sum(w))
    train(constant(1.0))
    function(lambda: optimizer.minimize(lambda: reduce_sum(w)))()
    assert optimizer.variables() == [slot]
    np.testing.assert_allclose(slot.numpy(), [1 + 0.5 + 0.25 + 0.125])
    np.testing.assert_allclose(w.numpy(), [4 - 1 - 1.5 - 1.75 - 1.875])


def test_a_function_takes_gradients_of_a_tensor_for_variables_that_are_given():
    w = Variable([1.0, 2.0])
    optimizer = optimizers.GradientDescentOptimizer(0.5)
    function(lambda: optimizer.minimize(reduce_sum(square(w)), var_list=[w]))()
    assert w.numpy().tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="No variables to optimize"):
        function(lambda: optimizer.minimize(reduce_sum(square(w))))()


def test_one_optimizer_in_a_graph_and_eagerly():
    optimizer = optimizers.AdamOptimizer(0.1)
    with Graph().as_default():
        inner = Variable([1.0], name="w")
        optimizer.minimize(reduce_sum(inner))
        assert [v.name for v in optimizer.variables()] == ["beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0"]
    assert optimizer.variables() == []
    w = Variable([1.0], name="w")
    optimizer.minimize(lambda: reduce_sum(w))
    assert len(optimizer.variables()) == 4


def test_moving_averages_follow_the_update():
    w = Variable([1.0])
    optimizer = optimizers.MovingAverageOptimizer(optimizers.GradientDescentOptimizer(1.0), average_decay=0.5)
    optimizer.minimize(lambda: reduce_sum(w))
    optimizer.minimize(lambda: reduce_sum(w))
    assert w.numpy().tolist() == [-1.0]
    assert optimizer._ema.average(w).numpy().tolist() == [-0.5]


def test_weight_decay_only_of_the_listed_variables():
    a, b = Variable([1.0]), Variable([1.0])
    optimizer = optimizers.MomentumWOptimizer(0.5, 0.0, 0.0)
    optimizer.minimize(lambda: reduce_sum(a) + reduce_sum(b), decay_var_list=[a])
    assert [a.numpy(), b.numpy()] == [[0.5], [1.0]]
