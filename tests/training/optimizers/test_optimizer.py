"""``Optimizer``: what subclasses may override, and what is refused."""

import numpy as np
import pytest

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.math.arithmetic import cast, floor, sign, square
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import Variable
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.training.optimizers import (
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    LARSOptimizer,
    MomentumOptimizer,
    Optimizer,
    get_filtered_grad_fn,
)


def started():
    session = Session()
    session.run(global_variables_initializer())
    return session


class OnlyDense(Optimizer):
    def __init__(self, name="Mine"):
        super().__init__(False, name)

    def _apply_dense(self, grad, var):
        return var.assign_sub(grad)


class OnlyResourceDense(Optimizer):
    def __init__(self):
        super().__init__(False, "Mine")

    def _resource_apply_dense(self, grad, handle):
        return handle.assign_sub(2.0 * grad)


class Both(OnlyDense):
    def _resource_apply_dense(self, grad, handle):
        return handle.assign_sub(3.0 * grad)

    def _apply_dense(self, grad, var):
        raise AssertionError("the resource hook comes first")


class ResourceFirst(OnlyResourceDense):
    """Overrides the other hook further down: that one is called."""

    def _apply_dense(self, grad, var):
        return var.assign_sub(4.0 * grad)


class RefusesResources(OnlyDense):
    def _resource_apply_dense(self, grad, handle):
        raise NotImplementedError("only for variables of the first kind")


class WrappedMomentum(MomentumOptimizer):
    def _apply_dense(self, grad, var):
        return super()._apply_dense(5.0 * grad, var)


class WrappedResourceMomentum(MomentumOptimizer):
    def _resource_apply_dense(self, grad, handle):
        return super()._apply_dense(6.0 * grad, handle)


@pytest.mark.parametrize(
    ("make", "factor"),
    [
        (RefusesResources, 1.0),
        (OnlyDense, 1),
        (OnlyResourceDense, 2),
        (Both, 3),
        (ResourceFirst, 4),
        (lambda: WrappedMomentum(1.0, 0.0), 5),
        (lambda: WrappedResourceMomentum(1.0, 0.0), 6),
    ],
)
def test_the_dense_hook_of_the_most_derived_class_is_called(make, factor):
    w = Variable([10.0, 20.0])
    train_op = make().minimize(reduce_sum(w))
    session = started()
    session.run(train_op)
    np.testing.assert_array_equal(session.run(w), [10.0 - factor, 20.0 - factor])


class OnlySparse(OnlyDense):
    def _apply_sparse(self, grad, var):
        assert isinstance(grad, IndexedSlices)
        return var.scatter_sub(grad)


class OnlyResourceSparse(OnlyDense):
    def _resource_apply_sparse(self, grad, handle, indices):
        return self._resource_scatter_add(handle, indices, -grad)


class SquaresRows(OnlyDense):
    """Not linear in the rows: repeated ones must have been added up."""

    def _apply_sparse(self, grad, var):
        return var.scatter_sub(IndexedSlices(square(grad.values), grad.indices))


class TakesRepeatedRows(OnlyDense):
    def _apply_sparse_duplicate_indices(self, grad, var):
        return var.scatter_sub(IndexedSlices(square(grad.values), grad.indices))


class TakesRepeatedResourceRows(OnlyDense):
    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        return handle.scatter_sub(IndexedSlices(square(grad), indices))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (OnlySparse, [-1, -3, 0]),
        (OnlyResourceSparse, [-1, -3, 0]),
        (SquaresRows, [-1, -9, 0]),
        (TakesRepeatedRows, [-1, -5, 0]),
        (TakesRepeatedResourceRows, [-1, -5, 0]),
    ],
)
def test_sparse_hooks(make, expected):
    table = Variable([[0.0], [0.0], [0.0]])
    rows = IndexedSlices(constant([[1.0], [1.0], [2.0]]), constant([1, 0, 1]))
    train_op = make().apply_gradients([(rows, table)])
    session = started()
    session.run(train_op)
    np.testing.assert_array_equal(session.run(table)[:, 0], expected)


def test_a_worker_whose_session_meets_no_others_applies_its_own_gradients(monkeypatch):
    monkeypatch.setattr(PROCESSES, "count", 2)
    dense, table = Variable([1.0, 2.0]), Variable([[1.0], [2.0], [3.0]])
    pairs = [(constant([0.5, 4.0]), dense), (IndexedSlices(constant([[1.0], [2.0]]), constant([2, 0])), table)]
    train_op = GradientDescentOptimizer(0.5).apply_gradients(pairs)
    session = started()
    session.run(train_op)
    assert [value.tolist() for value in session.run([dense, table])] == [[0.75, 0.0], [[0.0], [2.0], [2.5]]]


def test_no_rows_at_all():
    table = Variable([[1.0], [2.0]])
    ids = placeholder("int32", [None])
    train_op = MomentumOptimizer(0.1, 0.9).minimize(reduce_sum(table.sparse_read(ids)))
    session = started()
    session.run(train_op, {ids: np.zeros([0], np.int32)})
    np.testing.assert_array_equal(session.run(table), [[1.0], [2.0]])


def test_hooks_are_called_in_order():
    calls = []

    class Recording(OnlyDense):
        def _create_slots(self, var_list):
            calls.append(("slots", [v.op.name for v in var_list]))

        def _prepare(self):
            calls.append(("prepare", get_default_graph().get_name_scope()))

        def _apply_dense(self, grad, var):
            calls.append(("apply", get_default_graph().get_name_scope()))
            return super()._apply_dense(grad, var)

        def _finish(self, update_ops, name_scope):
            calls.append(("finish", len(update_ops), name_scope))
            return super()._finish(update_ops, name_scope)

    a, b = Variable([1.0], name="a"), Variable([1.0], name="b")
    train_op = Recording().minimize(reduce_sum(a) + reduce_sum(b), name="train")
    assert calls == [
        ("slots", ["a", "b"]),
        ("prepare", "train"),
        ("apply", "train/update_a"),
        ("apply", "train/update_b"),
        ("finish", 2, "train/"),
    ]
    assert train_op.name == "train"


def test_slots_of_a_subclass():
    class Slotted(OnlyDense):
        def _create_slots(self, var_list):
            for v in var_list:
                self._get_or_make_slot(v, constant([7.0, 8.0]), "given", "Given")
                self._zeros_slot(v, "zeros", "Zeros")
                self._create_non_slot_variable(3.0, "extra", colocate_with=v)

        def _apply_dense(self, grad, var):
            extra = self._get_non_slot_variable("extra", graph=get_default_graph())
            return var.assign(self.get_slot(var, "given") + self.get_slot(var, "zeros") + extra)

    w = Variable([0.0, 0.0], name="w")
    optimizer = Slotted()
    train_op = optimizer.minimize(reduce_sum(w))
    session = started()
    session.run(train_op)
    np.testing.assert_array_equal(session.run(w), [10.0, 11.0])
    assert [v.op.name for v in optimizer.variables()] == ["extra", "w/Given", "w/Zeros"]
    assert optimizer.get_slot_names() == ["given", "zeros"]


def test_constraints_are_applied_after_the_update():
    w = Variable([1.0, -1.0], constraint=lambda v: sign(v) * 0.5)
    train_op = GradientDescentOptimizer(0.1).minimize(reduce_sum(w))
    session = started()
    session.run(train_op)
    np.testing.assert_array_equal(session.run(w), [0.5, -0.5])
    table = Variable([[1.0]], constraint=lambda v: v)
    with pytest.raises(RuntimeError, match="Cannot use a constraint function on a sparse variable"):
        GradientDescentOptimizer(0.1).minimize(reduce_sum(table.sparse_read(constant([0]))), var_list=[table])


def test_a_loss_given_as_a_function():
    a, b = Variable([2.0], name="a"), Variable([3.0], name="b")
    before = a * 10.0
    pairs = GradientDescentOptimizer(1.0).compute_gradients(lambda: reduce_sum(square(a) + before))
    assert [v for _, v in pairs] == [a]
    session = started()
    # What was made before the function is not on its tape.
    np.testing.assert_array_equal(session.run(pairs[0][0]), [4.0])
    pairs = GradientDescentOptimizer(1.0).compute_gradients(lambda: reduce_sum(a), var_list=[a, b])
    assert pairs[1][0] is None


def test_grad_loss_gate_and_lists():
    w = Variable([1.0, 2.0])
    loss = square(w)
    session = started()
    for gate in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
        pairs = GradientDescentOptimizer(1.0).compute_gradients(
            loss, [(w,)], gate_gradients=gate, grad_loss=constant([1.0, 10.0])
        )
        np.testing.assert_array_equal(session.run(pairs[0][0]), [2.0, 40.0])


def test_gradients_with_respect_to_tensors():
    x = identity(constant([1.0, 2.0]))
    pairs = GradientDescentOptimizer(1.0).compute_gradients(reduce_sum(square(x)), var_list=[x])
    np.testing.assert_array_equal(Session().run(pairs[0][0]), [2.0, 4.0])
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        GradientDescentOptimizer(1.0).apply_gradients(pairs)


def test_arrays_and_lists_as_gradients():
    w = Variable([1.0, 2.0])
    train_op = GradientDescentOptimizer(1.0).apply_gradients([(np.array([1.0, 1.0], np.float32), w)])
    session = started()
    session.run(train_op)
    np.testing.assert_array_equal(session.run(w), [0.0, 1.0])


def test_filtered_pairs():
    assert get_filtered_grad_fn(lambda pairs: pairs)([(None, 1), (2, 3)]) == [(2, 3)]


REFUSED = {
    "no gradient": (
        lambda o, w: o.minimize(reduce_sum(floor(w))),
        ValueError,
        "No gradients provided for any variable.*ops that do not support gradients",
    ),
    "no pair": (lambda o, w: o.apply_gradients([]), ValueError, "No variables provided"),
    "only None": (lambda o, w: o.apply_gradients([(None, w)]), ValueError, "No gradients provided for any variable: "),
    "no variable": (lambda o, w: o.minimize(reduce_sum(w), var_list=[]), ValueError, "No variables to optimize"),
    "a string": (
        lambda o, w: o.compute_gradients(reduce_sum(w), var_list=["w"]),
        NotImplementedError,
        "Trying to optimize unsupported type",
    ),
    "a gate": (
        lambda o, w: o.minimize(reduce_sum(w), gate_gradients=7),
        ValueError,
        "gate_gradients must be one of.*7",
    ),
    "an integer loss": (lambda o, w: o.minimize(cast(reduce_sum(w), "int32")), ValueError, "Invalid type"),
    "a gradient's type": (
        lambda o, w: o.apply_gradients([(object(), w)]),
        TypeError,
        "Gradient must be convertible to a Tensor",
    ),
    "a gradient's shape": (
        lambda o, w: o.apply_gradients([(constant([1.0, 2.0, 3.0]), w)]),
        ValueError,
        r"(?s)gradient of shape \(2,\) for variable w, got \(3,\).*created at: .*test_optimizer.py",
    ),
    "a gradient's element type": (
        lambda o, w: o.apply_gradients([(constant([1.0, 2.0], "float64"), w)]),
        TypeError,
        "float32 gradient for variable w, got float64",
    ),
    "a rate's shape": (
        lambda o, w: GradientDescentOptimizer([1.0, 2.0]).minimize(reduce_sum(w)),
        ValueError,
        "alpha to be a scalar",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    call, error, message = REFUSED[what]
    w = Variable([1.0, 2.0], name="w")
    with pytest.raises(error, match=message):
        call(GradientDescentOptimizer(0.1), w)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Optimizer(False, ""), "Must specify the optimizer name"),
        (lambda: AdagradOptimizer(0.1, initial_accumulator_value=0.0), "initial_accumulator_value must be positive: 0"),
        (lambda: FtrlOptimizer(0.1, learning_rate_power=0.5), "learning_rate_power 0.5.* needs to be negative or zero"),
        (
            lambda: FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
            "l1_regularization_strength -1.* positive or zero",
        ),
        (lambda: LARSOptimizer(0.1, momentum=-1.0), "momentum should be positive"),
    ],
)
def test_arguments_out_of_range(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_subclass_without_a_rule():
    w = Variable([1.0])
    with pytest.raises(NotImplementedError, match="Bare has no rule for dense gradients"):
        type("Bare", (Optimizer,), {})(False, "Bare").minimize(reduce_sum(w))


def test_building_an_update_is_cheap():
    """Adam adds two reads of its powers and one operation for each further variable, and its two slots."""
    counts = []
    for number in (1, 2):
        variables = [Variable([1.0]) for _ in range(number)]
        pairs = [(constant([1.0]), v) for v in variables]
        before = len(get_default_graph().get_operations())
        AdamOptimizer().apply_gradients(pairs)
        slots = 2 * number * 4
        counts.append(len(get_default_graph().get_operations()) - before - slots)
    assert counts[1] - counts[0] <= 5
