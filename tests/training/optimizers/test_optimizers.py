"""Every optimizer against the original, and what all of them have in common."""

import numpy as np
import optax
import pytest

from tests.golden.optimizer_cases import CASES
from tests.spread import spread
from tests.training.optimizers.optimizer_model import (
    COMPARED,
    DATA,
    KEPT,
    STEPS,
    golden,
    inputs,
    loss_of,
    make_optimizer,
    make_variables,
)
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.math.arithmetic import cast, square
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.rows import of_lookups
from towerstrat.graph.variables.variable_ops import global_variables, global_variables_initializer
from towerstrat.graph.variables.variables import GraphKeys, Variable
from towerstrat.training import optimizers

SLOTS = {
    "GradientDescentOptimizer": [],
    "ProximalGradientDescentOptimizer": [],
    "MomentumOptimizer": ["momentum"],
    "MomentumWOptimizer": ["momentum"],
    "LARSOptimizer": ["momentum"],
    "AdamOptimizer": ["m", "v"],
    "AdamWOptimizer": ["m", "v"],
    "LazyAdamOptimizer": ["m", "v"],
    "NadamOptimizer": ["m", "v"],
    "AdaMaxOptimizer": ["m", "v"],
    "AdagradOptimizer": ["accumulator"],
    "ProximalAdagradOptimizer": ["accumulator"],
    "AdagradDAOptimizer": ["gradient_accumulator", "gradient_squared_accumulator"],
    "AdadeltaOptimizer": ["accum", "accum_update"],
    "RMSPropOptimizer": ["momentum", "rms"],
    "FtrlOptimizer": ["accum", "linear"],
    "AddSignOptimizer": ["m"],
}


def global_step():
    return Variable(np.int64(0), trainable=False, name="global_step")


def started():
    session = Session()
    session.run(global_variables_initializer())
    return session


@spread(("name", "dtype"), COMPARED)
def test_trains_as_the_original(name, dtype):
    variables, step = make_variables(dtype), global_step()
    data = inputs(name, dtype)
    feeds = [placeholder(a.dtype, a.shape[1:]) for a in data]
    loss = loss_of(name, variables, *feeds)
    train_op = make_optimizer(name, step).minimize(loss, global_step=step)
    expected, tolerance = golden(name, dtype)
    kept = {v.op.name: v for v in global_variables() if v is not step}
    assert {f"1/{k}" for k in kept} == {k for k in expected if k.startswith("1/")}
    session = started()
    losses = []
    for i in range(STEPS):
        losses.append(session.run([loss, train_op], {p: a[i] for p, a in zip(feeds, data, strict=True)})[0])
        if i + 1 in KEPT:
            for key, value in session.run(kept).items():
                np.testing.assert_allclose(
                    value, expected[f"{i + 1}/{key}"], rtol=tolerance, atol=tolerance, err_msg=f"{key} after {i + 1}"
                )
    np.testing.assert_allclose(losses, expected["losses"], rtol=tolerance, atol=tolerance)
    assert session.run(step) == STEPS


@spread("name", CASES, every=7)
def test_contract(name):
    """Names, slots, collections, the step, and one operation per variable."""
    w = Variable(np.ones((3, 2), np.float32), name="w")
    table = Variable(np.ones((4, 2), np.float32), name="table")
    step = global_step()
    optimizer = make_optimizer(name, step)
    loss = reduce_sum(square(w)) + reduce_sum(square(table.sparse_read(constant([1, 1, 3]))))
    before = len(get_default_graph().get_operations())
    pairs = optimizer.compute_gradients(loss)
    assert [v for _, v in pairs] == [w, table]
    assert isinstance(pairs[1][0], IndexedSlices)
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    made = get_default_graph().get_operations()[before:]

    assert train_op.name == optimizer.get_name()
    assert get_default_graph().get_collection(GraphKeys.TRAIN_OP) == [train_op]
    applied = [op for op in made if "Apply" in op.type]
    assert len(applied) == 2
    assert all(op.name.startswith(f"{optimizer.get_name()}/update_") for op in applied)

    kind = CASES[name][0]
    slot_names = SLOTS[kind] + (["mg"] if CASES[name][1].get("centered") else [])
    assert optimizer.get_slot_names() == sorted(slot_names)
    for v in (w, table):
        slots = [optimizer.get_slot(v, s) for s in slot_names]
        assert all(s.shape == v.shape and s.dtype == v.dtype for s in slots)
        assert all(s.op.name.startswith(f"{v.op.name}/") for s in slots)
    assert optimizer.get_slot(w, "nothing") is None
    assert optimizer.get_slot(Variable(0.0), "momentum") is None
    own = [v for v in global_variables() if v not in (w, table, step) and v.op.name != "Variable"]
    assert optimizer.variables() == sorted(own, key=lambda v: v.name)
    assert get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)[:2] == [w, table]
    assert not set(own) & set(get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES))

    session = started()
    first = session.run([w, table])
    session.run(train_op)
    second = session.run([w, table])
    assert session.run(step) == 1
    assert (first[0] != second[0]).all()
    assert (first[1][[1, 3]] != second[1][[1, 3]]).all()
    np.testing.assert_array_equal(first[1][[0, 2]], second[1][[0, 2]])


ROUNDED_TO_ONE = ("AdamOptimizer", "AdamWOptimizer", "LazyAdamOptimizer", "NadamOptimizer")
"""Their beta2, 0.999, is 1 in bfloat16, and all arithmetic is in the variable's type, as in the original."""


@spread("name", CASES, every=13)
def test_half_precision(name):
    step = global_step()
    optimizer = make_optimizer(name, step)
    start = np.array([[1.0, -2.0], [0.5, 0.25]])
    variables = [Variable(cast(constant(start), dtype)) for dtype in ("float16", "bfloat16")]
    pairs = [(cast(constant([[0.5, 1.0], [2.0, -1.0]]), v.dtype), v) for v in variables]
    tables = [Variable(cast(constant(start), dtype)) for dtype in ("float16", "bfloat16")]
    pairs += [(IndexedSlices(cast(constant([[1.0, -1.0]] * 2), v.dtype), constant([1, 1])), v) for v in tables]
    train_op = optimizer.apply_gradients(pairs, step)
    variables += tables
    assert all(optimizer.get_slot(v, s).dtype is v.dtype for s in optimizer.get_slot_names() for v in variables)
    session = started()
    for _ in range(3):
        session.run(train_op)
    half, brain, half_rows, brain_rows = session.run([cast(v, "float32") for v in variables])
    assert (half != start).all()
    assert (half_rows[1] != start[1]).all()
    if CASES[name][0] not in ROUNDED_TO_ONE:
        np.testing.assert_allclose(half, brain, atol=0.05)
        np.testing.assert_allclose(half_rows, brain_rows, atol=0.05)


NOT_USED_ROW = [n for n in CASES if n not in ("adam", "adam_w", "nadam", "add_sign", "add_sign_decayed")]


@spread("name", NOT_USED_ROW, every=5)
def test_rows_that_a_step_does_not_use_stay_with_their_slots(name):
    table = Variable(np.arange(8.0, dtype=np.float32).reshape(4, 2) + 1, name="table")
    step = global_step()
    ids = placeholder("int32", [2])
    optimizer = make_optimizer(name, step)
    train_op = optimizer.minimize(reduce_sum(square(table.sparse_read(ids))), step)
    kept = [table, *(optimizer.get_slot(table, s) for s in optimizer.get_slot_names())]
    session = started()
    session.run(train_op, {ids: [0, 2]})
    before = session.run(kept)
    session.run(train_op, {ids: [2, 2]})
    for old, new in zip(before, session.run(kept), strict=True):
        np.testing.assert_array_equal(old[[0, 1, 3]], new[[0, 1, 3]])
        assert (old[2] != new[2]).all()


@spread("name", CASES, every=7)
def test_repeated_rows_count_once_with_their_sum(name):
    """Rows given twice act as one row with the sum: ids [1, 1, 0] equal merged rows."""
    step = global_step()
    optimizer = make_optimizer(name, step)
    pairs = []
    for values, indices in (
        ([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]], [1, 1, 0]),
        ([[4.0, 1.0], [0.5, 0.5]], [1, 0]),
    ):
        slices = IndexedSlices(constant(values), constant(indices, "int64"))
        pairs.append((slices, Variable(np.ones((3, 2), np.float32))))
    train_op = optimizer.apply_gradients(pairs, step)
    session = started()
    for _ in range(2):
        session.run(train_op)
    kept = [[v, *(optimizer.get_slot(v, s) for s in optimizer.get_slot_names())] for _, v in pairs]
    for one, two in zip(*session.run(kept), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)


@spread("name", CASES, every=7)
def test_rows_outside_of_the_variable_are_refused(name):
    """Those that a program made itself; nothing changes then, neither the variable nor slots or the step."""
    step, table = global_step(), Variable(np.ones((3, 2), np.float32))
    optimizer, indices = make_optimizer(name, step), placeholder("int64", [2])
    train_op = optimizer.apply_gradients([(IndexedSlices(constant(np.ones((2, 2), np.float32)), indices), table)], step)
    session = started()
    kept = [step, table, *(optimizer.get_slot(table, s) for s in optimizer.get_slot_names())]
    before = session.run(kept)
    for wrong, given in ((5, [1, 5]), (-1, [-1, 0]), (2**40, [2**40, 2**40])):
        with pytest.raises(InvalidArgumentError, match=rf"= {wrong} is not in \[0, 3\)"):
            session.run(train_op, {indices: given})
        for old, new in zip(before, session.run(kept), strict=True):
            np.testing.assert_array_equal(old, new)
    session.run(train_op, {indices: [0, 2]})


def test_rows_of_lookups_are_checked_by_the_lookup_alone():
    table, ids = Variable(np.ones((3, 2), np.float32)), placeholder("int32", [2])
    train_op = optimizers.AdagradOptimizer(1.0).minimize(reduce_sum(table.sparse_read(ids)))
    session = started()
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = 3 is not in \[0, 3\)") as error:
        session.run(train_op, {ids: [0, 3]})
    assert error.value.op.type == "ResourceGather"
    (update,) = [o for o in get_default_graph().get_operations() if o.type == "ResourceSparseApplyAdagrad"]
    assert of_lookups(update.inputs[-1])


@pytest.mark.parametrize("kind", ["tensor", "variable", "callable", "fed"])
def test_learning_rates_of_every_kind(kind):
    rate = {
        "tensor": lambda: constant(0.5),
        "variable": lambda: Variable(0.5, trainable=False),
        "callable": lambda: lambda: constant(0.5),
        "fed": lambda: placeholder("float32", []),
    }[kind]()
    feeds = {rate: 0.5} if kind == "fed" else None
    for optimizer in (
        optimizers.GradientDescentOptimizer(rate),
        optimizers.MomentumOptimizer(rate, 0.0),
        optimizers.ProximalGradientDescentOptimizer(rate),
    ):
        w = Variable([2.0, 4.0])
        table = Variable([[1.0], [2.0]])
        train_op = optimizer.minimize(reduce_sum(w) + reduce_sum(table.sparse_read(constant([1]))), var_list=[w, table])
        session = started()
        session.run(train_op, feeds)
        np.testing.assert_array_equal(session.run(w), [1.5, 3.5])
        np.testing.assert_array_equal(session.run(table), [[1.0], [1.5]])


def test_a_schedule_follows_the_step():
    w, step = Variable(0.0), global_step()
    rate = 1.0 / (1.0 + cast(step, "float32"))
    train_op = optimizers.GradientDescentOptimizer(rate).minimize(-w.value(), step)
    session = started()
    for _ in range(3):
        session.run(train_op)
    assert session.run(w) == np.float32(1 + 1 / 2) + np.float32(1 / 3)


OPTAX = {
    "gradient_descent": (optimizers.GradientDescentOptimizer(0.1), optax.sgd(0.1)),
    "momentum": (optimizers.MomentumOptimizer(0.1, 0.9), optax.sgd(0.1, momentum=0.9)),
    "nesterov": (
        optimizers.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        optax.sgd(0.1, momentum=0.9, nesterov=True),
    ),
    "adam": (optimizers.AdamOptimizer(0.1, epsilon=0.0), optax.adam(0.1, eps=0.0)),
    "adamax": (optimizers.AdaMaxOptimizer(0.1, epsilon=0.0), optax.adamax(0.1, eps=0.0)),
    "adagrad": (optimizers.AdagradOptimizer(0.1), optax.adagrad(0.1, initial_accumulator_value=0.1, eps=0.0)),
    "adadelta": (optimizers.AdadeltaOptimizer(1.0, 0.9, 1e-4), optax.adadelta(1.0, rho=0.9, eps=1e-4)),
    "rmsprop": (optimizers.RMSPropOptimizer(0.1), optax.rmsprop(0.1, decay=0.9, eps=1e-10, initial_scale=1.0)),
    "rmsprop_centered": (
        optimizers.RMSPropOptimizer(0.1, centered=True, epsilon=1e-3),
        optax.rmsprop(0.1, decay=0.9, eps=1e-3, initial_scale=1.0, centered=True),
    ),
}


@spread("name", OPTAX, every=4)
def test_optax_agrees_where_the_rules_do(name):
    ours, theirs = OPTAX[name]
    grads = np.random.RandomState(3).randn(6, 4).astype(np.float32)
    w = Variable(np.zeros(4, np.float32))
    g = placeholder("float32", [4])
    train_op = ours.apply_gradients([(g, w)])
    session = started()
    params = np.zeros(4, np.float32)
    state = theirs.init(params)
    for grad in grads:
        session.run(train_op, {g: grad})
        updates, state = theirs.update(grad, state, params)
        params = optax.apply_updates(params, updates)
        np.testing.assert_allclose(session.run(w), params, rtol=2e-5, atol=1e-6)


def test_two_optimizers_of_one_variable_have_slots_of_their_own():
    w = Variable([1.0], name="w")
    first, second = optimizers.AdamOptimizer(0.1), optimizers.AdamOptimizer(0.1)
    loss = reduce_sum(w)
    first.minimize(loss)
    second.minimize(loss)
    assert [first.get_slot(w, s).op.name for s in ("m", "v")] == ["w/Adam", "w/Adam_1"]
    assert [second.get_slot(w, s).op.name for s in ("m", "v")] == ["w/Adam_2", "w/Adam_3"]
    assert [v.op.name for v in first.variables()] == ["beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]
    assert [v.op.name for v in second.variables()] == ["beta1_power_1", "beta2_power_1", "w/Adam_2", "w/Adam_3"]


def test_minimizing_twice_shares_slots():
    w = Variable([1.0], name="w")
    optimizer = optimizers.MomentumOptimizer(0.1, 0.9)
    one, two = optimizer.minimize(reduce_sum(w)), optimizer.minimize(reduce_sum(w))
    assert (one.name, two.name) == ("Momentum", "Momentum_1")
    assert [v.op.name for v in optimizer.variables()] == ["w/Momentum"]


def test_weight_decay_only_of_the_listed_variables():
    a, b = Variable([1.0]), Variable([1.0])
    optimizer = optimizers.MomentumWOptimizer(0.5, 0.0, 0.0)
    train_op = optimizer.minimize(reduce_sum(a) + reduce_sum(b), decay_var_list=[a])
    session = started()
    session.run(train_op)
    assert session.run([a, b]) == [[0.5], [1.0]]


def test_weight_decay_added_to_any_optimizer():
    decayed = optimizers.extend_with_decoupled_weight_decay(optimizers.GradientDescentOptimizer)
    w = Variable([1.0])
    train_op = decayed(0.25, learning_rate=0.5).minimize(reduce_sum(w))
    session = started()
    session.run(train_op)
    assert session.run(w) == [1.0 - 0.25 - 0.5]


def test_moving_average_optimizer_averages_after_the_update():
    w = Variable([1.0], name="w")
    inner = optimizers.GradientDescentOptimizer(1.0)
    optimizer = optimizers.MovingAverageOptimizer(inner, average_decay=0.5)
    train_op = optimizer.minimize(reduce_sum(w))
    session = started()
    session.run(train_op)
    average = next(v for v in global_variables() if v.op.name == "w/ExponentialMovingAverage")
    assert session.run([w, average]) == [[0.0], [0.5]]
    with pytest.raises(NotImplementedError, match="variables_to_restore"):
        optimizer.swapping_saver()


def test_trained_rows_of_the_model_leave_unused_ones_alone():
    """Ids of the golden data never reach the last two rows; only what decays all rows touches their moments."""
    assert DATA["ids"].max() < 10
    expected, _ = golden("momentum", "float64")
    np.testing.assert_array_equal(expected[f"{STEPS}/table/Momentum"][10:], 0)
