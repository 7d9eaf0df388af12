"""Run-time checks, the assertion family, host functions and printing."""

import sys

import jax
import numpy as np
import pytest

from tests.graph.control_flow_namespace import namespace
from tests.spread import spread
from towerstrat import errors
from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives.all_reduce import all_reduce, position, select

tf = namespace()


@pytest.fixture
def session():
    with tf.Session() as opened:
        yield opened


@pytest.fixture(scope="module")
def axis():
    return Axis("tower", jax.devices()[:4])


def start(session):
    session.run(tf.global_variables_initializer())


# ---- checks ----------------------------------------------------------------------------------------------------


def test_a_failed_check_names_itself_and_leaves_the_state(session):
    x = tf.placeholder(tf.float32, [], "x")
    v = tf.Variable(1.0)
    up = v.assign_add(1.0)
    with tf.control_dependencies([up]):
        check = tf.Assert(x > 0.0, ["x is", x, np.arange(5), "and", 2.5])
    with tf.control_dependencies([check]):
        late = v.assign_add(10.0)
    start(session)
    assert session.run(late, {x: 1.0}) == 12.0
    with pytest.raises(InvalidArgumentError) as caught:
        session.run(late, {x: -1.0})
    text = str(caught.value)
    assert "assertion failed: [x is] [-1] [0 1 2...] [and] [2.5]" in text
    assert "Assert/Assert" in text
    assert "test_runtime_checks.py" in text
    assert caught.value.op is check
    assert session.run(v) == 12.0
    assert session.run(late, {x: 1.0}) == 23.0


def test_the_first_failed_check_is_raised(session):
    x = tf.placeholder(tf.float32, [])
    y = tf.check_numerics(tf.check_numerics(tf.log(x), "first") + 1.0, "second")
    with pytest.raises(InvalidArgumentError, match="first : Tensor had NaN or Inf"):
        session.run(y, {x: -1.0})


@pytest.mark.parametrize(
    ("condition", "error"), [(1, TypeError), ([True, False], ValueError)], ids=["number", "vector"]
)
def test_conditions_that_are_none(condition, error):
    with pytest.raises(error, match="condition"):
        tf.Assert(condition, [])


def test_checks_in_loops(session):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(0.0)

    def body(i, a):
        with tf.control_dependencies([tf.assert_less(a, 10.0, message="too large"), v.assign_add(1.0)]):
            return i + 1, a * x

    _, y = tf.while_loop(lambda i, a: i < 4, body, [0, tf.constant(1.0)])
    (g,) = tf.gradients(y, x)
    start(session)
    assert session.run([y, g], {x: 2.0}) == [16.0, 32.0]
    for fetch in (y, g):
        with pytest.raises(InvalidArgumentError, match=r"too large.*x < y"):
            session.run(fetch, {x: 3.0})
    assert session.run(v) == 4.0


def test_checks_on_some_towers_only(session, axis):
    graph = get_default_graph()
    with graph.under(axis):
        i = tf.cast(position(axis), tf.float32)
        fine = tf.cond(i > 1.0, lambda: tf.check_numerics(tf.log(i), "in a branch"), lambda: i)
        bad = tf.cond(i > 1.0, lambda: tf.check_numerics(tf.log(2.0 - i), "in a branch"), lambda: i)
        total = all_reduce(i, axis, "sum")
        check = tf.Assert(total > 100.0, ["total", total])
    with graph.control_dependencies([tf.Assert(total < 100.0, ["total"])]):
        outside = tf.identity(total)
    np.testing.assert_allclose(session.run([select(fine, axis, k) for k in (0, 3)]), [0.0, np.log(3.0)], rtol=1e-6)
    assert session.run(outside) == 6.0
    for fetch in (select(bad, axis, 0), check):
        with pytest.raises(InvalidArgumentError):
            session.run(fetch)


def test_checks_where_the_program_runs_operation_by_operation(session):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(0.0)
    up = v.assign_add(1.0)
    _, y = tf.while_loop(
        lambda i, a: i < x, lambda i, a: (i + 1.0, tf.concat([a, a], 0)), [tf.constant(0.0), tf.ones([1])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )  # fmt: skip
    with tf.control_dependencies([tf.assert_less(tf.size(y), 3), up]):
        z = tf.identity(y)
    start(session)
    assert session.run(z, {x: 1.0}).tolist() == [1.0, 1.0]
    with pytest.raises(InvalidArgumentError, match="x < y"):
        session.run(z, {x: 2.0})
    assert session.run(v) == 1.0


def test_every_tensor_checked(session):
    x = tf.placeholder(tf.float32, [], "x")
    y = tf.log(x) * 0.0
    check = tf.add_check_numerics_ops()
    session.run(check, {x: 1.0})
    with pytest.raises(InvalidArgumentError, match="Log:0"):
        session.run([y, check], {x: -1.0})
    tf.cond(x > 0.0, lambda: x * 2.0, lambda: x)
    with pytest.raises(ValueError, match="not compatible"):
        tf.add_check_numerics_ops()


def test_finite_or_raised(session):
    x = tf.placeholder(tf.float32, [2])
    y = tf.verify_tensor_all_finite(x, "not finite")
    assert session.run(y, {x: [1.0, 2.0]}).tolist() == [1.0, 2.0]
    for bad in (np.inf, np.nan, -np.inf):
        with pytest.raises(InvalidArgumentError, match="not finite"):
            session.run(y, {x: [1.0, bad]})
    with pytest.raises(TypeError, match="floating"):
        tf.check_numerics(tf.constant(1), "x")


# ---- the assertion family --------------------------------------------------------------------------------------

FAILING = [
    ("assert_equal", (1.0, 2.0)), ("assert_none_equal", (2.0, 2.0)), ("assert_less", (2.0, 2.0)),
    ("assert_less_equal", (3.0, 2.0)), ("assert_greater", (2.0, 2.0)), ("assert_greater_equal", (1.0, 2.0)),
    ("assert_near", (1.0, 1.1)), ("assert_positive", (0.0,)), ("assert_negative", (0.0,)),
    ("assert_non_negative", (-1.0,)), ("assert_non_positive", (1.0,)),
]  # fmt: skip


def test_each_assertion_fails_when_it_should(session):
    for name, values in FAILING:
        fed = [tf.placeholder(tf.float32, []) for _ in values]
        check = getattr(tf, name)(*fed, message="the reason")
        with pytest.raises(InvalidArgumentError, match="the reason"):
            session.run(check, dict(zip(fed, values, strict=True)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.Assert(tf.placeholder(tf.bool, []), [None]), ValueError),
        (lambda: tf.assert_equal(1, 2), InvalidArgumentError),
        (lambda: tf.assert_rank(tf.zeros([2]), [1]), ValueError),
        (lambda: tf.assert_rank_at_least(tf.zeros([2]), 2), ValueError),
        (lambda: tf.assert_rank_in(tf.zeros([2]), (0, 2)), ValueError),
        (lambda: tf.assert_rank(tf.zeros([2]), 1.0), TypeError),
        (lambda: tf.assert_scalar(tf.zeros([2])), ValueError),
        (lambda: tf.assert_proper_iterable("ab"), TypeError),
        (lambda: tf.assert_proper_iterable(1), TypeError),
        (lambda: tf.assert_same_float_dtype([tf.constant(1)]), ValueError),
        (lambda: tf.assert_same_float_dtype([tf.constant(1.0), tf.constant(1.0, tf.float64)]), ValueError),
        (lambda: tf.is_non_decreasing(tf.constant("a")), TypeError),
    ],
)
def test_decided_while_the_graph_is_built(call, error):
    with pytest.raises(error):
        call()


def test_what_passes_while_the_graph_is_built(session):
    assert tf.assert_rank(tf.zeros([2]), 1).type == "NoOp"
    assert tf.assert_same_float_dtype([tf.constant(1.0), None]) is tf.float32
    assert tf.assert_same_float_dtype(None, tf.float64) is tf.float64
    assert tf.assert_scalar(1.0).shape.as_list() == []
    tf.assert_proper_iterable([1])
    assert tf.is_numeric_tensor(tf.constant(1))
    assert not tf.is_numeric_tensor(1)
    x = tf.placeholder(tf.int32, [None])
    tests = [tf.is_non_decreasing(x), tf.is_strictly_increasing(x)]
    found = {tuple(v): session.run(tests, {x: v}) for v in ([], [1], [1, 1, 2], [1, 2, 3], [2, 1])}
    assert found == {
        (): [True] * 2,
        (1,): [True] * 2,
        (1, 1, 2): [True, False],
        (1, 2, 3): [True] * 2,
        (2, 1): [False] * 2,
    }


# ---- the host --------------------------------------------------------------------------------------------------


def test_python_functions(session):
    x = tf.placeholder(tf.float32, [None])
    calls = []

    def function(a, b):
        calls.append((type(a), a.dtype, b))
        return a * 2.0, np.int64(a.size), "text"

    doubled, size, text = tf.py_func(function, [x * 1.0, 3], [tf.float32, tf.int64, tf.string])
    found = session.run([doubled + 1.0, size, text], {x: [1.0, 2.0]})
    assert found[0].tolist() == [3.0, 5.0]
    assert found[1:] == [2, b"text"]
    assert [c[:2] for c in calls] == [(np.ndarray, np.float32)]
    assert doubled.shape.ndims is None
    done = tf.py_func(lambda a: calls.append(a), [x], [])
    session.run(done, {x: [7.0]})
    assert calls[-1].tolist() == [7.0]
    assert tf.gradients(doubled, x) == [None]


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError, errors.InvalidArgumentError), (TypeError, errors.InvalidArgumentError),
        (StopIteration, errors.OutOfRangeError), (NotImplementedError, errors.UnimplementedError),
        (MemoryError, errors.ResourceExhaustedError), (KeyError, errors.UnknownError),
    ],
)  # fmt: skip
def test_errors_of_python_functions(session, raised, kind):
    def function():
        raise raised("from inside")

    with pytest.raises(kind, match="from inside") as caught:
        session.run(tf.py_func(function, [], tf.float32))
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("value", "words"), [(np.float64(1), "float64, but expects float32"), ((1.0, 2.0), "2 values")]
)
def test_results_of_python_functions_that_do_not_fit(session, value, words):
    with pytest.raises(InvalidArgumentError, match=words):
        session.run(tf.py_func(lambda: value, [], tf.float32))


def doubled(x):
    y = tf.py_func(lambda v: 2 * v, [x], x.dtype)
    y.set_shape(x.shape)
    return y


PLACES = {
    "while": (lambda x: tf.while_loop(lambda a: a < 40.0, doubled, [x]), [48.0, 64.0]),
    "condition": (
        lambda x: tf.while_loop(lambda a: tf.py_func(lambda v: v < 40.0, [a], tf.bool), lambda a: a + x, [x]),
        [42.0, 40.0],
    ),
    "loop in loop": (
        lambda x: tf.while_loop(
            lambda i, a: i < 2, lambda i, a: (i + 1, tf.while_loop(lambda b: b < a + 3, doubled, [a])), [0, x]
        )[1],
        [12.0, 16.0],
    ),
    "one branch": (lambda x: tf.cond(x < 5.0, lambda: doubled(x), lambda: x + 1.0), [6.0, 8.0]),
    "other branch": (lambda x: tf.cond(x > 3.5, lambda: x + 1.0, lambda: doubled(x)), [6.0, 5.0]),
    "branch in loop": (
        lambda x: tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.cond(tf.equal(i, 1), lambda: doubled(a), lambda: a + x)),
            [0, x],
        )[1],
        [15.0, 20.0],
    ),
    "map_fn": (lambda x: tf.reduce_sum(tf.map_fn(doubled, tf.stack([x, 1.0]))), [8.0, 10.0]),
    "scan": (lambda x: tf.scan(lambda a, b: doubled(a + b), tf.stack([x, 1.0]), initializer=0.0)[1], [14.0, 18.0]),
    "foldl": (lambda x: tf.foldl(lambda a, b: doubled(a + b), tf.stack([x, 1.0]), initializer=0.0), [14.0, 18.0]),
    "TensorArray": (
        lambda x: tf.reduce_sum(
            tf.while_loop(
                lambda i, a: i < 2,
                lambda i, a: (i + 1, a.write(i, doubled(x))),
                [0, tf.TensorArray(tf.float32, 2, element_shape=[])],
            )[1].stack()
        ),
        [12.0, 16.0],
    ),
}
"""Where Python functions are called: the program, and what it gives for 3 and 4."""


@spread("place", PLACES, every=3)
def test_python_functions_in_branches_and_loops(session, place):
    program, expected = PLACES[place]
    x = tf.placeholder(tf.float32, [])
    y = program(x)
    assert [session.run([y, y + 1.0], {x: v}) for v in (3.0, 4.0)] == [[e, e + 1.0] for e in expected]
    traced = function(program)
    assert [session.run(traced(tf.constant(v))) for v in (3.0, 4.0)] == expected


def test_effects_around_python_functions_in_a_loop_keep_their_order(session):
    v, seen = tf.Variable(1.0), []

    def body(i):
        called = tf.py_func(lambda value: seen.append(float(value)), [v.read_value()], [])
        with tf.control_dependencies([called]), tf.control_dependencies([v.assign(2.0 * v)]):
            return i + 1

    def unused(i):
        tf.py_func(lambda: seen.append("never"), [], [])
        return i + 1

    session.run(v.initializer)
    assert session.run(tf.while_loop(lambda i: i < 3, body, [0])) == 3
    assert session.run(tf.while_loop(lambda i: i < 3, unused, [0])) == 3
    assert (seen, session.run(v)) == ([1.0, 2.0, 4.0], 8.0)


def test_an_exception_of_a_python_function_in_a_loop_names_its_line(session):
    y = tf.while_loop(lambda a: a < 3.0, lambda a: doubled(a) + wrong(a), [tf.constant(1.0)])
    with pytest.raises(InvalidArgumentError, match=r"(?s)ValueError: no number.*test_runtime_checks.py"):
        session.run(y)


def wrong(x):
    def function(value):
        raise ValueError("no number")

    y = tf.py_func(function, [x], tf.float32)
    y.set_shape(x.shape)
    return y


def test_python_functions_in_one_piece_programs_need_numbers(axis, session):
    calls = []
    with get_default_graph().under(axis):
        unknown = tf.py_func(lambda: calls.append(1) or np.int32(1), [], tf.int32)
        text = tf.py_func(lambda: b"one", [], tf.string)
    text.set_shape([])
    session.run(unknown.op)
    assert len(calls) == axis.size
    with pytest.raises(UnsupportedError, match=r"PyFunc.*numbers of known shapes[\s\S]*set_shape"):
        session.run(text.op)


def test_printing(session, capsys):
    x = tf.placeholder(tf.float32, [None])
    y = tf.Print(x, [x, tf.shape(x), "text", True], message="here: ", first_n=2)
    nested = tf.Print(x, [tf.reshape(x, [2, -1])], summarize=5)
    for _ in range(3):
        assert session.run(y, {x: [1.0, 2.5, 3.0, 4.0]}).tolist() == [1.0, 2.5, 3.0, 4.0]
    assert capsys.readouterr().err == "here: [1 2.5 3...][4][text][1]\n" * 2
    session.run(nested, {x: np.arange(6.0)})
    assert capsys.readouterr().err == "[[0 1 2][3 4...]]\n"


def test_printed_once_in_differentiated_loops(session, capsys, axis):
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda a: a < 10.0, lambda a: tf.Print(a, [a], "a: ") * x, [x])
    (g,) = tf.gradients(y, x)
    (gg,) = tf.gradients(g, x)
    assert session.run([y, gg], {x: 3.0}) == [27.0, 18.0]
    assert sorted(capsys.readouterr().err.splitlines()) == ["a: [3]", "a: [9]"]
    with get_default_graph().under(axis):
        z = tf.Print(position(axis), [position(axis)], "tower ")
    session.run(select(z, axis, 0))
    assert sorted(capsys.readouterr().err.splitlines()) == [f"tower [{k}]" for k in range(4)]


def test_print_as_an_operation(session, capsys):
    x = tf.placeholder(tf.float32, [None])
    done = tf.print("x:", x, {"a": x[0], "b": [1, "two"]}, output_stream=sys.stdout)
    all_of_it = tf.print(x, summarize=-1)
    session.run([done, all_of_it], {x: np.arange(8.0)})
    out = capsys.readouterr()
    assert out.out == "x: [0 1 2 ... 5 6 7] {'a': 0, 'b': [1, 'two']}\n"
    assert out.err == "[0 1 2 3 4 5 6 7]\n"
    with pytest.raises(ValueError, match="output stream"):
        tf.print("x", output_stream=3)
    with pytest.raises(ValueError, match="Unrecognized keyword"):
        tf.print("x", ends="")
