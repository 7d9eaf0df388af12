"""Branches and loops: what the original cannot show, along an axis of four positions, and by numpy."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.control_flow_namespace import namespace
from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives.all_reduce import all_reduce, position, select
from towerstrat.graph.ops.control.regions import region_is_uniform
from towerstrat.graph.ops.random import stateful

tf = namespace()


@pytest.fixture
def session():
    with tf.Session() as opened:
        yield opened


@pytest.fixture(scope="module")
def axis():
    return Axis("tower", jax.devices()[:4])


def everywhere(tensor, axis):
    return [select(tensor, axis, k) for k in range(axis.size)]


def place(axis):
    return tf.cast(position(axis), tf.float32)


def start(session):
    session.run(tf.global_variables_initializer())


# ---- building --------------------------------------------------------------------------------------------------


def test_names_are_the_originals():
    x = tf.placeholder(tf.float32, [], "x")
    assert tf.cond(x > 0.0, lambda: x, lambda: -x).name == "cond/Merge:0"
    out = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])
    assert [t.name for t in out] == ["while/Exit:0", "while/Exit_1:0"]
    assert tf.group(out[0]).name == "group_deps"
    assert tf.no_op().name == "NoOp"
    assert tf.cond(x > 0.0, lambda: x, lambda: -x, name="pick").name == "pick/Merge:0"


def test_old_argument_names():
    p = tf.constant(True)
    assert tf.cond(p, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2)).dtype is tf.int32
    with pytest.raises(TypeError, match="fn1"):
        tf.cond(p, lambda: 1, lambda: 2, fn1=lambda: 1)


@pytest.mark.parametrize(
    ("pred", "error"), [(1, TypeError), ([True, False], ValueError), (np.float32(1), TypeError), (True, TypeError)]
)
def test_predicates_that_are_none(pred, error):
    with pytest.raises(error, match="pred"):
        tf.cond(pred, lambda: 1.0, lambda: 2.0)


def test_static_shapes_of_results():
    x = tf.placeholder(tf.float32, [2, None])
    y = tf.cond(x[0, 0] > 0.0, lambda: (x, x), lambda: (tf.zeros([2, 3]), tf.zeros([4])))
    assert y[0].shape.as_list() == [2, None]
    assert y[1].shape.ndims is None
    z = tf.while_loop(lambda i, a: i < 1, lambda i, a: (i + 1, a), [0, x])
    assert z[1].shape.as_list() == [2, None]


def test_a_tensor_of_a_branch_does_not_exist_outside():
    made = []
    x = tf.placeholder(tf.float32, [])
    tf.cond(x > 0.0, lambda: made.append(x * 2.0) or made[0], lambda: x)
    with pytest.raises(ValueError, match="Return it from there"):
        made[0] + 1.0
    with tf.Session() as session, pytest.raises(ValueError, match="was made inside the true_fn"):
        session.run(made[0])


def test_a_loop_variable_keeps_its_type():
    with pytest.raises(TypeError, match=r"dtype int32.*dtype float32 after one iteration"):
        tf.while_loop(lambda a: a < 3, lambda a: tf.cast(a, tf.float32), [tf.constant(0)])


def test_invariants_that_the_start_does_not_fit():
    x = tf.zeros([2])
    with pytest.raises(ValueError, match="shape invariant"):
        tf.while_loop(lambda a: True, lambda a: a, [x], shape_invariants=[tf.TensorShape([3])])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"cond": 1}, TypeError, "cond must be callable"),
        ({"body": 1}, TypeError, "body must be callable"),
        ({"parallel_iterations": 0}, TypeError, "parallel_iterations"),
        ({"maximum_iterations": [1, 2]}, ValueError, "maximum_iterations"),
        ({"cond": lambda a: a}, TypeError, "bool"),
    ],
)
def test_arguments_of_while_loop(change, error, words):
    arguments = {"cond": lambda a: a < 3, "body": lambda a: a + 1, "loop_vars": [tf.constant(0)], **change}
    with pytest.raises(error, match=words):
        tf.while_loop(**arguments)


def test_structures_that_cases_cannot_be():
    x = tf.constant(True)
    for pairs, words in (
        ("x", "list, tuple, or dict"),
        ([(x,)], "2-tuple"),
        ([(1, lambda: 1)], "Tensor"),
        ([(x, 1)], "callable"),
    ):
        with pytest.raises(TypeError, match=words):
            tf.case(pairs)


def test_tuple_and_group_refuse_what_is_none():
    with pytest.raises(ValueError, match="at least one"):
        tf.tuple([None])
    assert [t.name for t in tf.tuple([tf.constant(1), tf.constant(2)], name="both")] == [
        "both/control_dependency:0", "both/control_dependency_1:0"]  # fmt: skip
    with pytest.raises(TypeError, match="Control input"):
        tf.tuple([tf.constant(1)], control_inputs=[1])
    with pytest.raises(TypeError, match="Tensor arguments"):
        tf.group(1)
    with pytest.raises(ValueError, match="Unknown keyword"):
        tf.group(tf.constant(1), nme="x")


# ---- evaluation ------------------------------------------------------------------------------------------------


def test_a_known_predicate_runs_one_branch_only(session):
    uninitialized = tf.Variable(1.0)
    y = tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: uninitialized + 1.0)
    z = tf.cond(uninitialized.is_initialized(), lambda: uninitialized.value(), lambda: tf.constant(7.0))
    assert session.run([y, z]) == [1.0, 7.0]
    start(session)
    assert session.run(z) == 1.0


def test_a_branch_that_reads_what_was_never_written(session):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    y = tf.cond(x > 0.0, lambda: v + x, lambda: x)
    with pytest.raises(FailedPreconditionError, match="uninitialized value Variable"):
        session.run(y, {x: -1.0})


def test_fed_tensors_inside_of_captures(session):
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    z = tf.cond(y > 0.0, lambda: y * 10.0, lambda: y)
    assert session.run(z, {y: 3.0}) == 30.0
    out = tf.while_loop(lambda a: a < y, lambda a: a + y, [tf.constant(0.0)])
    assert session.run(out, {y: 4.0}) == 4.0


def test_branches_of_other_shapes(session):
    x = tf.placeholder(tf.float32, [])
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.zeros([2]), lambda: tf.ones([3]))
    z = tf.cond(x > 0.0, lambda: tf.zeros([2]), lambda: tf.ones([3]))
    for pred in (True, False):
        assert session.run(y, {p: pred}).shape == session.run(z, {x: float(pred)}).shape == ((2,) if pred else (3,))


def test_strings_from_branches(session):
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.constant("yes"), lambda: tf.constant("no"))
    assert [session.run(y, {p: v}) for v in (True, False)] == [b"yes", b"no"]


def test_random_numbers_in_loops_go_on(session):
    array = tf.TensorArray(tf.float32, size=4)
    _, array = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, stateful.random_uniform([], seed=1))), [0, array]
    )
    drawn = array.stack()
    runs = [session.run(drawn) for _ in range(2)]
    assert len({float(v) for run in runs for v in run}) == 8
    with tf.Session() as again:
        np.testing.assert_array_equal(again.run(drawn), runs[0])


def test_random_numbers_of_a_differentiated_loop_are_the_same_in_its_gradient(session, axis):
    x = tf.placeholder(tf.float32, [])

    def draw(i, a, b):
        factor = stateful.random_uniform([], 1.0, 2.0)
        return i + 1, a * x * factor, b * factor

    with get_default_graph().under(axis):
        _, y, factors = tf.while_loop(lambda i, a, b: i < 3, draw, [0, tf.constant(1.0), tf.constant(1.0)])
        (g,) = tf.gradients(y, x)
        (gg,) = tf.gradients(g, x)
    for _ in range(2):
        values = session.run([everywhere(t, axis) for t in (factors, y, g, gg)], {x: 2.0})
        product = np.array(values[0])
        assert len(set(values[0])) == 4
        np.testing.assert_allclose(values[1:], [8 * product, 12 * product, 12 * product], rtol=1e-5)


def test_conditions_with_effects(session):
    v = tf.Variable(0.0)
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda a: v.assign_add(1.0) < x, lambda a: a * 2.0, [x])
    g = tf.gradients(y, x)[0]
    bounded = tf.while_loop(lambda a: v.assign_add(1.0) < x, lambda a: a * 2.0, [x], maximum_iterations=10)
    start(session)
    assert session.run([y], {x: 4.0}) == [32.0]
    assert session.run(v) == 4.0
    session.run(v.initializer)
    assert session.run([y, g], {x: 4.0}) == [32.0, 8.0]
    session.run(v.initializer)
    assert session.run([bounded, tf.gradients(bounded, x)[0], v], {x: 4.0}) == [32.0, 8.0, 4.0]


def test_assigned_once_though_differentiated(session):
    v = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [])

    def body(a):
        with get_default_graph().control_dependencies([v.assign_add(1.0)]):
            return a * x

    y = tf.while_loop(lambda a: a < 50.0, body, [x])
    (g,) = tf.gradients(y, x)
    (gg,) = tf.gradients(g, x)
    start(session)
    assert session.run([y, g, gg, v], {x: 2.0}) == [64.0, 192.0, 480.0, 6.0]


def test_gradients_inside_of_a_loop(session):
    x = tf.placeholder(tf.float32, [])

    def newton(i, a):
        f = a * a - x
        (slope,) = tf.gradients(f, a)
        return i + 1, a - f / slope

    _, root = tf.while_loop(lambda i, a: i < 20, newton, [0, tf.constant(1.0)])
    np.testing.assert_allclose(session.run([root, tf.gradients(root, x)[0]], {x: 9.0}), [3.0, 1 / 6], rtol=1e-5)


def test_gradients_inside_of_a_branch_of_what_is_outside(session):
    x = tf.placeholder(tf.float32, [])
    y = x * x * x
    g = tf.cond(x > 0.0, lambda: tf.gradients(y * 2.0, x)[0], lambda: tf.zeros([]))
    assert [session.run(g, {x: v}) for v in (2.0, -2.0)] == [24.0, 0.0]


def test_gradient_of_gradient_of_loops(session):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.5)
    _, known = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * x * v), [0, tf.constant(1.0)])
    learned = tf.while_loop(lambda a: a < 50.0, lambda a: a * x, [x])
    bounded = tf.while_loop(lambda a: a < 50.0, lambda a: a * x, [x], maximum_iterations=20)
    start(session)
    (by_x,) = tf.gradients(known, x)
    mixed = tf.gradients(by_x, [x, v])
    np.testing.assert_allclose(
        session.run([known, by_x, *mixed], {x: 2.0}),
        [16 * 1.5**4, 32 * 1.5**4, 48 * 1.5**4, 4 * 32 * 1.5**3],
        rtol=1e-5,
    )
    for y in (learned, bounded):
        (g,) = tf.gradients(y, x)
        (gg,) = tf.gradients(g, x)
        np.testing.assert_allclose(session.run([y, g, gg], {x: 2.0}), [64.0, 192.0, 480.0], rtol=1e-5)


def test_a_loop_counted_once_per_power_of_two(session):
    x = tf.placeholder(tf.float32, [])
    n = tf.placeholder(tf.int32, [])
    _, y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * x), [0, tf.constant(1.0)])
    (g,) = tf.gradients(y, x)
    for count in range(1, 9):
        np.testing.assert_allclose(session.run(g, {x: 1.5, n: count}), count * 1.5 ** (count - 1), rtol=1e-5)
    ((_, _, plan, _),) = session._plans.values()
    assert [len(stage.compiled.programs) for stage in plan.stages] == [4]


def test_a_condition_that_asks_for_a_shape_tells_the_number_of_iterations(session):
    x = tf.placeholder(tf.float32, [None])

    def body(i, a, made):
        a = a * x[i]
        return i + 1, a, made.write(i, a)

    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    _, y, made = tf.while_loop(lambda i, *_: i < tf.shape(x)[0], body, [0, tf.constant(1.0), array])
    fetches = [y, made.stack(), *tf.gradients(y, x)]
    for values in ([3.0, 4.0], [2.0, 3.0, 5.0]):
        product, products, slopes = session.run(fetches, {x: values})
        np.testing.assert_allclose(products, np.cumprod(values))
        np.testing.assert_allclose(slopes, product / values)
    ((_, _, plan, _),) = session._plans.values()
    assert [(stage.eager, stage.loops) for stage in plan.stages if hasattr(stage, "eager")] == [(False, [])]


def test_a_loop_without_iterations_over_nothing(session):
    x = tf.placeholder(tf.float32, [None])
    y = tf.while_loop(lambda i, a: i < tf.size(x), lambda i, a: (i + 1, a + x[i]), [0, tf.constant(1.0)])[1]
    assert [session.run(y, {x: values}) for values in ([], [2.0], [2.0, 3.0])] == [1.0, 3.0, 6.0]


def test_without_back_prop():
    x = tf.placeholder(tf.float32, [])
    _, y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, x], back_prop=False)
    assert tf.gradients(y, x) == [None]


def test_indexed_slices_through_branches(session):
    v = tf.Variable(np.ones((3, 2), np.float32))
    p = tf.placeholder(tf.bool, [])
    (g,) = tf.gradients(v.sparse_read([2, 0]) * 3.0, v)
    picked = tf.cond(p, lambda: g, lambda: g)
    start(session)
    found = session.run(picked, {p: True})
    np.testing.assert_array_equal(found.indices, [2, 0])
    np.testing.assert_array_equal(found.values, np.full((2, 2), 3.0))


def test_an_array_written_in_one_branch_only(session):
    x = tf.placeholder(tf.float32, [None])
    array = tf.TensorArray(tf.float32, size=2)
    made = tf.cond(x[0] > 0.0, lambda: array.write(1, x), lambda: array)
    assert session.run(made.stack(), {x: [1.0, 2.0]}).tolist() == [[0.0, 0.0], [1.0, 2.0]]
    assert session.run(made.stack(), {x: [-1.0, 2.0]}).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_arrays_refuse_by_name():
    with pytest.raises(UnsupportedError, match="several lengths"):
        tf.TensorArray(tf.float32, size=2).split(tf.zeros([3]), [1, 2])
    with pytest.raises(UnsupportedError, match="string"):
        tf.TensorArray(tf.string, size=2)
    with pytest.raises(ValueError, match="Size must be provided"):
        tf.TensorArray(tf.float32)
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        tf.TensorArray(tf.float32, size=2).write(0, tf.zeros([2])).write(1, tf.zeros([3]))
    with pytest.raises(TypeError, match="float32 value"):
        tf.TensorArray(tf.float32, size=2).write(0, tf.constant(1))


def test_reading_what_was_never_written(session):
    with pytest.raises(InvalidArgumentError, match="was ever written"):
        session.run(tf.TensorArray(tf.float32, size=2).read(0))
    filled = tf.TensorArray(tf.float32, size=2, element_shape=[3]).stack()
    np.testing.assert_array_equal(session.run(filled), np.zeros((2, 3)))


@given(rows=st.integers(0, 5), first=st.integers(0, 2), back=st.booleans(), extra=st.integers(0, 2))
def test_walking_through_arrays(rows, first, back, extra):
    """Arrays read and written element by element, forwards and backwards, whole and in part, and their gradients."""
    data = np.arange(1.0, (rows + first + extra) * 2 + 1, dtype=np.float32).reshape(-1, 2)
    with Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        source = tf.TensorArray(tf.float32, size=tf.shape(x)[0]).unstack(x)
        made = tf.TensorArray(tf.float32, size=tf.shape(x)[0], element_shape=[2])
        begin, end = (first + rows - 1, first - 1) if back else (first, first + rows)

        def body(i, total, made):
            total = total + source.read(i)
            return i + (-1 if back else 1), total, made.write(i, total * total)

        _, _, made = tf.while_loop(lambda i, t, m: tf.not_equal(i, end), body, [begin, tf.zeros([2]), made])
        y = made.stack()
        found, gradient = session.run([y, tf.gradients(y, x)[0]], {x: data})
    wanted, slope, total = np.zeros_like(data), np.zeros_like(data), np.zeros(2)
    order = list(range(begin, end, -1 if back else 1))
    for k, i in enumerate(order):
        total = total + data[i]
        wanted[i] = total**2
        for j in order[: k + 1]:
            slope[j] += 2 * total
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5)


# ---- along an axis ---------------------------------------------------------------------------------------------


def test_a_predicate_that_varies(session, axis):
    v = tf.Variable(3.0)
    with get_default_graph().under(axis):
        i = place(axis)
        y = tf.cond(i > 1.0, lambda: i * v, lambda: tf.constant(-1.0))
        by_i, by_v = tf.gradients(y, [i, v])
    start(session)
    found = session.run([everywhere(t, axis) for t in (y, by_i, by_v)])
    assert found == [[-1.0, -1.0, 6.0, 9.0], [0.0, 0.0, 3.0, 3.0], [0.0, 0.0, 2.0, 3.0]]


def test_a_loop_variable_that_becomes_varying(session, axis):
    v = tf.Variable(3.0)
    with get_default_graph().under(axis):
        i = place(axis)
        n, y, z = tf.while_loop(
            lambda n, a, b: n < 3, lambda n, a, b: (n + 1, a * i * v, b + a), [0, tf.constant(1.0), tf.constant(0.0)]
        )
        grads = tf.gradients(z, [i, v])
    assert [t.varies for t in (n, y, z)] == [False, True, True]
    start(session)
    found = session.run([n, *(everywhere(t, axis) for t in (y, z, *grads))])
    k = np.arange(4.0)
    assert found[0] == 3
    np.testing.assert_allclose(found[1:], [(3 * k) ** 3, 1 + 3 * k + 9 * k**2, 3 + 18 * k, k + 6 * k**2], rtol=1e-6)


def test_loops_that_turn_differently_by_position(session, axis):
    v = tf.Variable(3.0)
    with get_default_graph().under(axis):

        def loop(**options):
            return tf.while_loop(
                lambda n, a: n < position(axis) + 1, lambda n, a: (n + 1, a * v), [0, tf.constant(1.0)], **options
            )

        n, y = loop()
        _, bounded = loop(maximum_iterations=3)
        (g,) = tf.gradients(bounded, v)
        (unbounded,) = tf.gradients(y, v)
    start(session)
    assert n.varies
    found = session.run([everywhere(t, axis) for t in (n, y, bounded, g)])
    assert found == [[1, 2, 3, 4], [3.0, 9.0, 27.0, 81.0], [3.0, 9.0, 27.0, 27.0], [1.0, 6.0, 27.0, 27.0]]
    assert session.run(everywhere(unbounded, axis)) == [1.0, 6.0, 27.0, 108.0]


def test_collectives_under_an_equal_predicate(session, axis):
    v = tf.Variable(3.0)
    p = tf.placeholder(tf.bool, [])
    with get_default_graph().under(axis):
        i = place(axis)
        y = tf.cond(p, lambda: all_reduce(i * v, axis, "sum"), lambda: i)
        by_i, by_v = tf.gradients(y, [i, v])
        _, z = tf.while_loop(lambda n, a: n < 2, lambda n, a: (n + 1, a + all_reduce(a, axis, "sum")), [0, i])
        (by_start,) = tf.gradients(z, i)
    start(session)
    fetches = [everywhere(t, axis) for t in (y, by_i, by_v, z, by_start)]
    assert session.run(fetches, {p: True}) == [
        [18.0] * 4, [12.0] * 4, [0.0, 4.0, 8.0, 12.0], [36.0, 37.0, 38.0, 39.0], [25.0] * 4
    ]  # fmt: skip
    assert session.run(fetches[:3], {p: False}) == [[0.0, 1.0, 2.0, 3.0], [1.0] * 4, [0.0] * 4]


def test_collectives_under_a_varying_predicate_are_refused(axis):
    with get_default_graph().under(axis):
        i = place(axis)
        with pytest.raises(UnsupportedError, match=r"(?s)combines values.*test_control_flow.*differs by tower"):
            tf.cond(i > 1.0, lambda: all_reduce(i, axis, "sum"), lambda: tf.constant(0.0))
        with pytest.raises(UnsupportedError, match="combines values"):
            tf.while_loop(lambda n, a: n < position(axis), lambda n, a: (n + 1, all_reduce(a, axis, "sum")), [0, i])
        with pytest.raises(UnsupportedError, match="combines values"):
            tf.cond(
                i > 1.0, lambda: tf.cond(tf.constant(True), lambda: all_reduce(i, axis, "sum"), lambda: i), lambda: i
            )
        with pytest.raises(UnsupportedError, match="combines values"):
            tf.while_loop(
                lambda a: a < 9.0, lambda a: a + tf.cond(a > 1.0, lambda: all_reduce(i, axis, "sum"), lambda: a), [i]
            )


def test_shared_variables_under_a_varying_predicate_are_refused(axis):
    v = tf.Variable(0.0)
    with get_default_graph().under(axis), pytest.raises(UnsupportedError, match="assigns to variable Variable"):
        tf.cond(place(axis) > 1.0, lambda: v.assign_add(1.0), lambda: tf.constant(0.0))


def test_regions_know_whether_they_are_uniform(axis):
    graph = get_default_graph()
    seen = []
    with graph.under(axis):
        for pred in (place(axis) > 1.0, tf.placeholder(tf.bool, [])):
            tf.cond(pred, lambda: seen.append(region_is_uniform(graph.root, graph.block)) or 1.0, lambda: 2.0)
    assert seen == [False, True]


def test_effects_of_differentiated_loops_stay_equal_everywhere(session, axis):
    v, count = tf.Variable(3.0), tf.Variable(0)
    graph = get_default_graph()
    with graph.under(axis):
        i = place(axis)

        def body(n, a):
            with graph.control_dependencies([count.assign_add(1)]):
                return n + 1, a * v

        n, y = tf.while_loop(lambda n, a: n < 3, body, [0, i])
        (g,) = tf.gradients(y, v)
    start(session)
    assert session.run([n, everywhere(y, axis), everywhere(g, axis), count]) == [
        3, [0.0, 27.0, 54.0, 81.0], [0.0, 27.0, 54.0, 81.0], 3
    ]  # fmt: skip


def test_a_differentiated_value_that_all_share_can_be_stored(session, axis):
    v, kept = tf.Variable(3.0), tf.Variable(0.0)
    p = tf.placeholder(tf.bool, [])
    with get_default_graph().under(axis):
        total = all_reduce(place(axis), axis, "sum") * v
        (g,) = tf.gradients(total, v)
        stored = tf.cond(p, lambda: kept.assign_add(total), lambda: kept - total)
    start(session)
    assert not stored.varies
    assert session.run([everywhere(g, axis), stored, kept], {p: True}) == [[6.0] * 4, 18.0, 18.0]


def test_branches_of_other_shapes_are_refused_along_an_axis(session, axis):
    x = tf.placeholder(tf.float32, [])
    with get_default_graph().under(axis):
        i = place(axis)
        y = tf.reduce_sum(tf.cond(x > 0.0, lambda: tf.zeros([2]) + i, lambda: tf.ones([3])))
    with pytest.raises(UnsupportedError, match="needs the value"):
        session.run(everywhere(y, axis), {x: 1.0})
