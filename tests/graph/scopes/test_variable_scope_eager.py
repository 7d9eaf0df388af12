"""``get_variable`` and its scopes where programs run eagerly, and in functions. Names are those of the original."""

import gc
import weakref

import numpy as np
import pytest

from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.default_graph import add_to_collection, get_collection, name_scope
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.scopes.variable_scope import get_local_variable, get_variable, get_variable_scope, variable_scope
from towerstrat.graph.scopes.variable_store import AUTO_REUSE, EagerVariableStore, VariableStore
from towerstrat.graph.variables.partitioned import fixed_size_partitioner
from towerstrat.graph.variables.variables import GraphKeys, Variable


@pytest.fixture(autouse=True)
def eagerly():
    with mode.eager_mode():
        yield


def test_each_call_makes_a_variable():
    first, second = get_variable("w", [2]), get_variable("w", [2])
    assert first is not second
    assert first.name == second.name == "w:0"
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("reuse", [True, None, AUTO_REUSE])
def test_sharing_is_not_asked_for(reuse):
    with variable_scope("scope", reuse=reuse) as scope:
        assert get_variable("w", [2]) is not get_variable("w", [2])
        assert scope.reuse is AUTO_REUSE
    assert get_variable_scope().reuse is AUTO_REUSE


def test_names_of_scopes():
    for _ in range(2):
        with variable_scope("s"), variable_scope("t") as scope:
            assert (scope.name, scope.original_name_scope) == ("s/t", "s/t/")
            assert get_variable("w", [2]).name == "s/t/w:0"
            assert Variable(1.0).name == "s/t/Variable:0"
    for name in ("d", "d_1"):
        with variable_scope(None, "d") as scope:
            assert (scope.name, scope.original_name_scope) == (name, "d/")
            assert get_variable("w", [2]).name == f"{name}/w:0"
    for _ in range(2):
        with name_scope("n") as scope:
            assert scope == "n/"
            assert Variable(1.0, name="w").name == "n/w:0"


def test_collections_hold_what_programs_put_there():
    variable = get_variable("w", [2], collections=["mine"], regularizer=lambda v: reduce_sum(v) * 0.0 + 3.0)
    assert get_collection("mine") == []
    assert get_collection(GraphKeys.GLOBAL_VARIABLES) == []
    add_to_collection("mine", variable)
    assert get_collection("mine") == [variable]
    assert [x.numpy() for x in get_collection(GraphKeys.REGULARIZATION_LOSSES)] == [3.0]


def test_variables_in_parts():
    with variable_scope("s", partitioner=fixed_size_partitioner(2)):
        for _ in range(2):
            assert [v.name for v in get_variable("w", [4])] == ["s/w/part_0:0", "s/w/part_1:0"]


def test_local_variables_are_not_trainable():
    assert not get_local_variable("w", [2]).trainable


def test_a_store_keeps_variables():
    store = EagerVariableStore()
    with store.as_default():
        first = get_variable("w", [2])
        with variable_scope("s", reuse=True):
            get_variable("w", [2], trainable=False)
    other = get_variable("w", [2])
    with store.as_default():
        assert get_variable("w", [2]) is first is not other
        with pytest.raises(ValueError, match=r"specified shape \(3,\) and found shape \(2,\)"):
            get_variable("w", [3])
        assert function(lambda: get_variable("w", [2]) * 1.0)().numpy().tolist() == first.numpy().tolist()
    assert [v.name for v in store.variables()] == ["s/w:0", "w:0"]
    assert [v.name for v in store.trainable_variables()] == ["w:0"]
    assert [v.name for v in store.non_trainable_variables()] == ["s/w:0"]


def test_a_copied_store_has_variables_of_its_own():
    store = EagerVariableStore()
    with store.as_default():
        first = get_variable("w", [2])
    copied = store.copy()
    np.testing.assert_array_equal(copied.variables()[0].numpy(), first.numpy())
    copied.variables()[0].assign([7.0, 7.0])
    assert first.numpy().tolist() != [7.0, 7.0]
    with copied.as_default():
        assert get_variable("w", [2]).numpy().tolist() == [7.0, 7.0]


def test_a_store_must_hold_eager_variables():
    with pytest.raises(ValueError, match="holds no eager variables"):
        EagerVariableStore(VariableStore())


def test_functions_make_variables_in_their_first_call():
    @function
    def scaled(x):
        return get_variable("w", [2], initializer=lambda shape, **_: constant([2.0, 3.0])) * x

    assert scaled(constant(1.0)).numpy().tolist() == [2.0, 3.0]
    assert scaled(constant(2.0)).numpy().tolist() == [4.0, 6.0]
