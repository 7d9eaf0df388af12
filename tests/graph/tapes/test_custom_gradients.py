"""Gradients of one's own: custom_gradient, RegisterGradient with override maps, NotDifferentiable, hessians."""

import jax
import numpy as np
import pytest

from tests.graph.control_flow_namespace import namespace
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives.all_reduce import position, select

tf = namespace()


@tf.RegisterGradient("TestDoubled")
def doubled(op, grad):
    return grad * 2.0 * op.inputs[0]


@tf.RegisterGradient("TestPairs")
def pairs(op, grad):
    return grad * 10.0, None


tf.NotDifferentiable("TestBlocked")


@pytest.fixture
def session():
    with tf.Session() as opened:
        yield opened


def overridden(**names):
    return get_default_graph().gradient_override_map(names)


def test_overridden_types(session):
    x = tf.placeholder(tf.float32, [])
    with overridden(Sign="TestDoubled", Mul="TestPairs", Square="TestBlocked", Round="Identity"):
        sign, product, blocked, rounded = tf.sign(x), x * (x + 0.0), tf.square(x), tf.round(x)
    plain = tf.sign(x)
    found = [tf.gradients(y * 3.0, x)[0] for y in (sign, product, blocked, rounded, plain)]
    assert found[2] is None
    assert sign.op.get_attr("_gradient_op_type") == b"TestDoubled"
    values = session.run([sign, product, rounded, found[0], found[1], found[3]], {x: 2.5})
    assert values == [1.0, 6.25, 2.0, 15.0, 30.0, 3.0]


def test_an_override_that_nobody_registered():
    x = tf.placeholder(tf.float32, [])
    with overridden(Square="TestNobody", Sign="Tanh"):
        y, z = tf.square(x), tf.sign(x)
    assert tf.gradients(x * 2.0, x) != [None]
    with pytest.raises(LookupError, match=r"No gradient defined.*Square.*TestNobody"):
        tf.gradients(y, x)
    with pytest.raises(UnsupportedError, match="RegisterGradient"):
        tf.gradients(z, x)


def test_names_that_are_taken():
    for name in ("TestDoubled", "Square"):
        with pytest.raises(KeyError, match="Registering two gradient"):
            tf.RegisterGradient(name)(lambda op, grad: grad)
    with pytest.raises(TypeError, match="string"):
        tf.RegisterGradient(1)
    with pytest.raises(KeyError):
        tf.NoGradient("TestBlocked")


def test_a_rule_with_another_number_of_gradients():
    x = tf.placeholder(tf.float32, [])
    with overridden(Square="TestPairs"):
        y = tf.square(x)
    with pytest.raises(ValueError, match=r"Num gradients 2 .* do not match num inputs 1"):
        tf.gradients(y, x)


def test_overridden_inside_of_loops_and_branches(session):
    x = tf.placeholder(tf.float32, [])

    def step(a):
        with overridden(Sign="TestDoubled"):
            return tf.sign(a) + a

    _, y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, step(a)), [0, x])
    z = tf.cond(x > 0.0, lambda: step(x), lambda: x)
    found = session.run([y, z, tf.gradients(y, x)[0], tf.gradients(z, x)[0]], {x: 2.0})
    assert found == [4.0, 3.0, 5.0 * 7.0, 5.0]


def test_a_host_function_with_a_gradient(session):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(3.0)
    with overridden(PyFunc="TestDoubled"):
        y = tf.py_func(lambda a: np.float32(a * a), [x * v], tf.float32)
    grads = tf.gradients(y * 2.0, [x, v])
    session.run(v.initializer)
    assert session.run([y, *grads], {x: 2.0}) == [36.0, 72.0, 48.0]


def test_custom_gradient_of_variables(session):
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def scaled(x):
        def grad(dy, variables=None):
            assert variables == [v]
            return dy * 10.0, [dy * 20.0]

        return x * v, grad

    @tf.custom_gradient
    def forgets(x):
        return x * v, lambda dy: dy

    x = tf.placeholder(tf.float32, [])
    y = scaled(x)
    with pytest.raises(TypeError, match="'variables'"):
        forgets(x)
    with pytest.raises(ValueError, match="keywords"):
        scaled(x=x)
    session.run(v.initializer)
    assert session.run([y, *tf.gradients(y, [x, v])], {x: 2.0}) == [6.0, 10.0, 20.0]


def test_custom_gradient_says_what_is_not_connected(session):
    @tf.custom_gradient
    def first_only(a, b):
        return a * b, lambda dy: (dy * b, None)

    x, z = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    y = first_only(x * 2.0, z)
    by_x, by_z = tf.gradients(y, [x, z])
    assert by_z is None
    assert session.run(by_x, {x: 1.0, z: 5.0}) == 10.0
    assert tf.gradients(tf.stop_gradient(y), x) == [None]


def test_the_same_argument_twice_and_a_structure(session):
    @tf.custom_gradient
    def both(a, b):
        return {"sum": a + b, "product": a * b}, lambda dp, ds: (dp * 10.0 + ds, dp * 100.0 + ds)

    x = tf.placeholder(tf.float32, [])
    out = both(x, x)
    (g,) = tf.gradients(out["sum"] + out["product"] * 2.0, x)
    assert session.run([out["sum"], out["product"], g], {x: 3.0}) == [6.0, 9.0, 222.0]


def test_second_derivatives_go_through_what_the_gradient_uses(session):
    @tf.custom_gradient
    def cube(a):
        square = a * a
        return square * a, lambda dy: dy * 3.0 * square

    x = tf.placeholder(tf.float32, [])
    (g,) = tf.gradients(cube(x), x)
    (gg,) = tf.gradients(g, x)
    assert session.run([g, gg, tf.gradients(gg, x)[0]], {x: 2.0}) == [12.0, 12.0, 6.0]


def test_custom_gradients_along_an_axis(session):
    axis = Axis("tower", jax.devices()[:4])
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def f(a):
        return a * a, lambda dy: dy * 10.0 * a

    with get_default_graph().under(axis):
        i = tf.cast(position(axis), tf.float32)
        y = f(i * v)
        z = tf.while_loop(lambda n, a: n < 2, lambda n, a: (n + 1, f(a)), [0, i * v])[1]
        grads = [tf.gradients(y, v)[0], tf.gradients(z, v)[0]]
    session.run(v.initializer)
    found = session.run([[select(g, axis, k) for k in range(4)] for g in grads])
    k = np.arange(4.0)
    np.testing.assert_allclose(found, [10 * 2 * k * k, 100 * (2 * k) ** 3 * k])


def test_hessians(session):
    x, z = tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.float32, [])
    v = tf.Variable([1.0, 2.0])
    y = tf.reduce_sum(x * x * z) + tf.reduce_prod(v) * z
    by_x, by_v = tf.hessians(y, [x, v])
    assert by_x.shape.as_list() == [2, 2, 2, 2]
    session.run(v.initializer)
    found = session.run([by_x, by_v], {x: np.ones((2, 2)), z: 3.0})
    np.testing.assert_allclose(found[0], (6.0 * np.eye(4)).reshape(2, 2, 2, 2))
    np.testing.assert_allclose(found[1], [[0, 3], [3, 0]])
    with pytest.raises(ValueError, match="no second derivative"):
        tf.hessians(y, tf.constant(1.0))
    with pytest.raises(ValueError, match="no second derivative"):
        tf.hessians(x, x)


def test_second_derivatives_of_own_gradients_inside_of_branches_and_loops(session):
    @tf.custom_gradient
    def cube(a):
        return a * a * a, lambda dy: dy * 3.0 * a * a

    x = tf.placeholder(tf.float32, [])
    branch = tf.cond(x > 0.0, lambda: cube(x) * cube(x), lambda: x)
    _, loop = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, cube(a)), [0, x], maximum_iterations=5)
    for y, power in ((branch, 6), (loop, 9)):
        slope = tf.gradients(y, x)[0]
        found = session.run([y, slope, tf.gradients(slope, x)[0]], {x: 1.1})
        wanted = [1.1**power, power * 1.1 ** (power - 1), power * (power - 1) * 1.1 ** (power - 2)]
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("structure", ["branch", "loop"])
def test_a_second_gradient_of_one_that_is_not_linear_inside_of_a_region_is_refused(structure):
    """The originals call it once with the sum: 75.35 in the branch, where each summand alone would give 62.08."""

    def squared(a):
        sine = tf.custom_gradient(lambda a: (tf.sin(a), lambda d: d * d * tf.cos(a)))(a)
        return sine * sine

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        if structure == "branch":
            y = tf.cond(x > 0.0, lambda: squared(x), lambda: x) * x
        else:
            y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, squared(a)), [0, x])[1] * x
        first = tf.gradients(y, x)[0]
        with pytest.raises(UnsupportedError, match="is not linear"):
            tf.gradients(first * first + y, x)
