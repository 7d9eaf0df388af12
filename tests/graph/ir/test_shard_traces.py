"""Traces of the positions of an axis as one list of operations: what is matched, what differs, and right values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from towerstrat.graph.ir.shard_traces import decides_shape

FUNCTIONS = (tf.tanh, tf.sin, tf.exp, tf.abs)


def strategy(towers):
    return tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(towers)])


def context():
    return tf.contrib.distribute.get_tower_context()


def called(towers, fn, *args):
    """What a function gives in each tower, as arrays, with the graph's operations of towers."""
    d = strategy(towers)
    with d.scope():
        results = d.unwrap(d.call_for_each_tower(fn, *args))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = sess.run(results)
    return found, of_towers()


def of_towers():
    """The operations of towers, without those inside of branches and loops, and those that show their results."""
    graph = tf.get_default_graph()
    shown = ("Exit", "Merge")
    return [o for o in graph.carried_out() if o.axis is not None and o.block is graph.root and o.type not in shown]


def types(operations):
    return [op.type for op in operations if not op.definition.constant]


def alone(operations):
    return [(op.type, sorted(op.axis_indices)) for op in operations if op.axis_indices is not None]


# ---- matched -----------------------------------------------------------------------------------------------------


def test_what_towers_make_alike_is_made_once():
    x = tf.constant([1.0, 2.0])
    found, operations = called(4, lambda: tf.tanh(x * 2.0) + tf.sin(x))
    np.testing.assert_allclose(found, [np.tanh([2.0, 4.0]) + np.sin([1.0, 2.0])] * 4, rtol=1e-6)
    assert types(operations) == ["Mul", "Tanh", "Sin", "Add"]
    assert alone(operations) == []


def test_numbers_that_differ_are_one_constant_with_a_value_at_each_position():
    x = tf.constant([1.0, 2.0])
    found, operations = called(3, lambda: x * float(context().tower_id) + [0.5, 10.0 * context().tower_id])
    np.testing.assert_allclose(found, [[0.5, 0], [1.5, 12], [2.5, 24]])
    assert sorted(op.type for op in operations) == ["Add", "ConstOfPositions", "ConstOfPositions", "Mul"]
    assert alone(operations) == []


def test_tensors_from_outside_that_differ_are_one_with_a_value_at_each_position():
    parts = tf.split(tf.constant(np.arange(6, dtype=np.float32)), 3)
    found, operations = called(3, lambda: tf.square(parts[context().tower_id]))
    np.testing.assert_allclose(found, [[0, 1], [4, 9], [16, 25]])
    assert types(operations) == ["Square", "FromPositions"]
    assert alone(operations) == []


def test_tensors_from_outside_by_any_order_of_the_towers():
    """What one operation has at a position does not become another's."""
    xs = [tf.identity(tf.constant(float(i + 1))) for i in range(3)]
    orders = [(0, 0, 2), (0, 1, 0), (0, 1, 2), (2, 1, 0)]

    def tower():
        k = context().tower_id
        return [function(xs[order[k]]) for function, order in zip(FUNCTIONS, orders, strict=True)]

    d = strategy(3)
    with d.scope():
        results = [d.unwrap(r) for r in d.call_for_each_tower(tower)]
    with tf.Session() as sess:
        found = sess.run(results)
    for values, order, plain in zip(found, orders, (np.tanh, np.sin, np.exp, np.abs), strict=True):
        np.testing.assert_allclose(values, plain(np.array(order) + 1.0), rtol=1e-6)
    assert alone(of_towers()) == []


def test_one_tensor_in_two_places_stays_two_where_only_one_differs():
    a, b = tf.constant([1.0]), tf.constant([10.0])

    def tower():
        other = a if context().tower_id == 0 else b
        return tf.add(a, other), tf.multiply(other, other)

    d = strategy(2)
    with d.scope():
        sums, products = d.call_for_each_tower(tower)
    with tf.Session() as sess:
        assert sess.run([*d.unwrap(sums), *d.unwrap(products)]) == [[2.0], [11.0], [1.0], [100.0]]
    assert types(of_towers()) == ["Add", "Mul", "FromPositions"]


def test_the_same_calls_on_different_lines_match():
    x = tf.constant([1.0, 4.0])

    def tower():
        if context().tower_id:
            return tf.sqrt(x + 1.0)
        return tf.sqrt(x + 1.0)

    _, operations = called(2, tower)
    assert types(operations) == ["Add", "Sqrt"]


def test_one_tower_more_is_compared_with_what_all_others_made():
    x = tf.constant([1.0, 4.0])
    table = [tf.sqrt, tf.square, tf.square, tf.sqrt]
    found, operations = called(4, lambda: table[context().tower_id](x))
    np.testing.assert_allclose(found, [[1, 2], [1, 16], [1, 16], [1, 2]])
    assert alone(operations) == [("Sqrt", [0, 3]), ("Square", [1, 2])]


def test_equal_operations_of_one_tower_stay_two():
    x = tf.constant([1.0])

    def tower():
        return tf.random_uniform([3]), tf.random_uniform([3]), x + 1.0, x + 1.0

    d = strategy(2)
    with d.scope():
        first, second, *_ = d.call_for_each_tower(tower)
    with tf.Session() as sess:
        draws = sess.run([*d.unwrap(first), *d.unwrap(second)])
    assert len({tuple(draw) for draw in draws}) == 4
    assert sorted(types(of_towers())) == ["Add", "Add", "RandomUniform", "RandomUniform"]


def test_draws_with_a_seed_of_the_operation_are_the_same_on_all_towers():
    found, operations = called(3, lambda: tf.random_uniform([4], seed=5))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert alone(operations) == []


# ---- different ---------------------------------------------------------------------------------------------------


def test_constants_that_decide_shapes_are_not_joined():
    x = tf.constant(2.0)
    found, operations = called(3, lambda: tf.reduce_sum(tf.fill([context().tower_id + 1], x)))
    assert found == [2.0, 4.0, 6.0]
    assert [op for op in operations if op.type == "ConstOfPositions"] == []


def test_constants_of_different_shapes_are_not_joined():
    found, operations = called(2, lambda: tf.reduce_sum(tf.constant([1.0] * (context().tower_id + 1)) * 3.0))
    assert found == [3.0, 6.0]
    assert ("Mul", [0]) in alone(operations)


def test_attributes_that_differ_are_not_joined():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    found, operations = called(2, lambda: tf.reduce_sum(tf.matmul(x, x, transpose_a=context().tower_id == 1)))
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert found == [(a @ a).sum(), (a.T @ a).sum()]
    assert {(type, *at) for type, at in alone(operations)} >= {("MatMul", 0), ("MatMul", 1)}


def test_after_a_meeting_towers_match_again():
    x = tf.constant([2.0])

    def tower():
        y = tf.square(x) if context().tower_id else x
        total = context().merge_call(lambda d, v: tf.add_n(d.unwrap(v)), y)
        return tf.tanh(total)

    found, operations = called(3, tower)
    np.testing.assert_allclose(found, [np.tanh([10.0])] * 3, rtol=1e-6)
    assert alone(operations) == [("Square", [1, 2])]
    assert types(operations).count("Tanh") == 1


def test_branches_and_loops_are_compared_by_what_is_in_them():
    x = tf.constant(3.0)

    def tower(differ):
        one = 1.0 + differ * context().tower_id
        more = tf.square if differ and context().tower_id else tf.tanh
        loop = tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, more(v) + one), [0, x])[1]
        return tf.cond(x > 2, lambda: loop + one, lambda: loop - one)

    _, operations = called(2, tower, 0)
    assert sorted(types(operations)) == ["Greater", "If", "While"]
    tf.reset_default_graph()
    x = tf.constant(3.0)
    found, operations = called(2, tower, 1)
    assert ("While", [0]) in alone(operations)
    first = np.tanh(np.tanh(3.0) + 1) + 1
    np.testing.assert_allclose(found, [first + 1, (9 + 2) ** 2 + 2 + 2], rtol=1e-6)


def test_control_inputs_are_compared():
    v = tf.get_variable("v", initializer=1.0)
    x = tf.constant(1.0)

    def tower():
        first = tf.tanh(x)
        with tf.control_dependencies([first] if context().tower_id else []):
            return tf.sin(x)

    _, operations = called(2, tower)
    assert alone(operations) == [("Sin", [0]), ("Sin", [1])]
    del v


@pytest.mark.parametrize(
    ("make", "decides"),
    [
        (lambda c: tf.fill(c, 1.0), True),
        (lambda c: tf.fill(c + 1, 1.0), True),
        (lambda c: tf.reshape(tf.constant([1.0]), tf.stack([c[0], c[0]])), True),
        (lambda c: tf.one_hot(c, 3), False),
        (lambda c: tf.cast(c, tf.float32), False),
        (lambda c: tf.gather(tf.constant([1.0, 2.0, 3.0]), c), False),
    ],
)
def test_which_integers_decide_shapes(make, decides):
    constant = tf.constant([1])
    make(constant)
    assert decides_shape(constant) is decides


# ---- properties --------------------------------------------------------------------------------------------------

NUMBERS = st.lists(st.floats(-2, 2, width=16), min_size=4, max_size=4)
ALIKE = st.one_of(
    st.tuples(st.just("apply"), st.sampled_from(["tanh", "sin", "square"])),
    st.tuples(st.just("add"), NUMBERS),
    st.tuples(st.just("outside"), st.permutations(range(4))),
    st.tuples(st.just("id"), st.just(None)),
    st.tuples(st.just("sum"), st.just(None)),
    st.tuples(st.just("cond"), st.sampled_from(["tanh", "sin", "square"])),
)
DIFFERENT = st.one_of(
    ALIKE,
    st.tuples(st.just("if"), st.sets(st.integers(0, 3))),
    st.tuples(st.just("often"), st.lists(st.integers(0, 2), min_size=4, max_size=4)),
    st.tuples(st.just("one of"), st.lists(st.sampled_from(["tanh", "sin", "square"]), min_size=4, max_size=4)),
    st.tuples(st.just("shape"), st.lists(st.integers(1, 3), min_size=4, max_size=4)),
)
OUTSIDE = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def model(steps, towers):
    """The values of all towers in numpy."""
    values = [np.array([0.5, -1.0, 0.25]) for _ in range(towers)]
    for what, given_ in steps:
        if what == "sum":
            values = [np.tanh(sum(values)) for _ in values]
            continue
        for k in range(towers):
            v = values[k]
            if what == "apply":
                v = getattr(np, given_)(v)
            elif what == "add":
                v = v + given_[k]
            elif what == "outside":
                v = v * OUTSIDE[given_[k]]
            elif what == "id":
                v = v - k
            elif what == "cond":
                v = getattr(np, given_)(v) if v.sum() > 0.001 else v + 1
            elif what == "if":
                v = np.sin(v) * 2 if k in given_ else v
            elif what == "often":
                for _ in range(given_[k]):
                    v = np.tanh(v + 0.125)
            elif what == "one of":
                v = getattr(np, given_[k])(v)
            elif what == "shape":
                v = v + np.zeros([given_[k]]).size
            values[k] = np.tanh(v)
    return values


def traced(steps, outside):
    """The same as a function that is called for each tower."""

    def tower():
        k = context().tower_id
        v = tf.constant([0.5, -1.0, 0.25])
        for what, given_ in steps:
            if what == "apply":
                v = getattr(tf, given_)(v)
            elif what == "add":
                v = v + given_[k]
            elif what == "outside":
                v = v * outside[given_[k]]
            elif what == "id":
                v = v - float(k)
            elif what == "sum":
                v = context().merge_call(lambda d, value: tf.add_n(d.unwrap(value)), v)
            elif what == "cond":
                v = tf.cond(tf.reduce_sum(v) > 0.001, lambda v=v: getattr(tf, given_)(v), lambda v=v: v + 1)  # noqa: B023
            elif what == "if":
                v = tf.sin(v) * 2.0 if k in given_ else v
            elif what == "often":
                for _ in range(given_[k]):
                    v = tf.tanh(v + 0.125)
            elif what == "one of":
                v = getattr(tf, given_[k])(v)
            elif what == "shape":
                v = v + tf.to_float(tf.size(tf.zeros([given_[k]])))
            v = tf.tanh(v)
        return v

    return tower


def agree(steps, towers):
    with tf.Graph().as_default():
        outside = tf.unstack(tf.constant(OUTSIDE))
        found, operations = called(towers, traced(steps, outside))
    np.testing.assert_allclose(found, model(steps, towers), rtol=1e-3, atol=1e-4)
    return operations


@given(st.lists(ALIKE, min_size=1, max_size=6), st.integers(2, 4))
def test_towers_that_differ_in_values_alone_leave_no_operation_of_some(steps, towers):
    operations = agree(steps, towers)
    assert alone(operations) == []
    assert types(operations).count("Tanh") >= len(steps)


@given(st.lists(DIFFERENT, min_size=1, max_size=6), st.integers(2, 4))
def test_towers_that_differ_have_their_own_values(steps, towers):
    agree(steps, towers)
