"""Gradient functions of the program, and reads around writes: y from scalars x and w, a variable. Python 3.6 too.

Values come with first, second and third gradients (``derived``); those of programs that write w with first ones.
"""

_registered = []


def _register(tf):
    """Gradient functions for gradient_override_map, once per process; none is the true derivative."""
    if _registered:
        return
    _registered.append(True)

    @tf.RegisterGradient("OwnSine")
    def _sine(op, grad):
        return grad * 2.0 * op.outputs[0] * op.inputs[0]

    @tf.RegisterGradient("OwnProduct")
    def _product(op, grad):
        return grad * op.inputs[1] * op.inputs[1], grad * op.inputs[0] * 3.0


def _skewed(tf):
    """Not the true derivative, which tells apart which one a gradient goes through."""

    @tf.custom_gradient
    def skewed(y):
        made = tf.exp(y)
        return made, lambda d: d * made * y

    return skewed


def _of_variable(tf, w):
    @tf.custom_gradient
    def scaled(y):
        def grad(d, variables=None):
            (v,) = variables
            return d * v * v, [d * y * tf.sin(v)]

        return y * w, grad

    return scaled


def square(tf, x, w):
    return tf.custom_gradient(lambda y: (y * y, lambda d: 2.0 * y * d))(tf.sin(x) * w) * x


def skewed(tf, x, w):
    return _skewed(tf)(tf.sin(x) * w) * x


def skewed_twice(tf, x, w):
    f = _skewed(tf)
    return f(f(x * w) * x) * w


def two_arguments(tf, x, w):
    f = tf.custom_gradient(lambda a, b: (a * b, lambda d: (d * b * b, d * a * tf.sin(b))))
    return f(tf.sin(x), x * w) * x


def two_results(tf, x, w):
    f = tf.custom_gradient(lambda a: ((a * a, tf.sin(a)), lambda d, e: d * e * a + d * tf.cos(a)))
    one, two = f(x * w)
    return one * two * x


def of_variable(tf, x, w):
    return _of_variable(tf, w)(tf.sin(x)) * x


def captured(tf, x, w):
    scale = tf.exp(x * w)

    f = tf.custom_gradient(lambda a: (a * a, lambda d: d * a * scale))
    return f(tf.sin(x)) * x


def straight_through(tf, x, w):
    f = tf.custom_gradient(lambda a: (tf.round(a), lambda d: d))
    return f(x * w * 7.0) * tf.sin(x * w)


def nested(tf, x, w):
    inner = _skewed(tf)

    @tf.custom_gradient
    def outer(a):
        return inner(a) * a, lambda d: d * inner(a * a)

    return outer(tf.sin(x) * w) * x


def override(tf, x, w):
    _register(tf)
    with x.graph.gradient_override_map({"Sin": "OwnSine"}):
        s = tf.sin(x * w)
    return s * s * x


def override_product(tf, x, w):
    _register(tf)
    a, b = tf.sin(x), x * w
    with x.graph.gradient_override_map({"Mul": "OwnProduct"}):
        s = tf.multiply(a, b)
    return s * s * x


def in_branch(tf, x, w):
    f = _skewed(tf)
    return tf.cond(x < 1.0, lambda: f(x * w) * x, lambda: x * w)


def in_loop(tf, x, w):
    f = _skewed(tf)
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, f(a * w) * x), [tf.constant(0), x])[1]


def in_loop_of_data(tf, x, w):
    f = _skewed(tf)
    return tf.while_loop(lambda i, a: (i < 2) & (a > -1e9), lambda i, a: (i + 1, f(a * w) * x), [tf.constant(0), x])[1]


def of_variable_in_branch(tf, x, w):
    return tf.cond(x < 1.0, lambda: _of_variable(tf, w)(tf.sin(x)) * x, lambda: x * w)


def of_variable_in_loop(tf, x, w):
    def body(i, a):
        return i + 1, _of_variable(tf, w)(tf.sin(a)) * x

    return tf.while_loop(lambda i, a: i < 2, body, [tf.constant(0), x])[1]


def override_in_loop(tf, x, w):
    _register(tf)

    def body(i, a):
        with a.graph.gradient_override_map({"Sin": "OwnSine"}):
            s = tf.sin(a * w)
        return i + 1, s * x

    return tf.while_loop(lambda i, a: i < 2, body, [tf.constant(0), x])[1]


def override_in_branch(tf, x, w):
    _register(tf)

    def branch():
        with tf.identity(x).graph.gradient_override_map({"Sin": "OwnSine"}):
            return tf.sin(x * w) * x

    return tf.cond(x < 1.0, branch, lambda: x * w)


def captured_in_loop(tf, x, w):
    scale = tf.exp(x * w)

    f = tf.custom_gradient(lambda a: (a * a, lambda d: d * a * scale))
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, f(a * w)), [tf.constant(0), x])[1]


def loop_in_gradient(tf, x, w):
    @tf.custom_gradient
    def f(a):
        def grad(d):
            return tf.while_loop(lambda i, e: i < 2, lambda i, e: (i + 1, e * tf.sin(a)), [tf.constant(0), d])[1]

        return a * a, grad

    return f(x * w) * x


def branch_in_gradient(tf, x, w):
    f = tf.custom_gradient(lambda a: (a * a, lambda d: tf.cond(a < 1.0, lambda: d * tf.sin(a), lambda: d)))
    return f(x * w) * x


def gradient_in_gradient(tf, x, w):
    @tf.custom_gradient
    def f(a):
        def grad(d):
            b = tf.sin(a)
            return d * tf.gradients(b * b * b, a)[0]

        return a * a, grad

    return f(x * w) * x


def none_for_one(tf, x, w):
    f = tf.custom_gradient(lambda a, b: (a * b, lambda d: (d * tf.sin(a) * b, None)))
    return f(x * w, tf.exp(x)) * x


def clipped(tf, x, w):
    f = tf.custom_gradient(lambda a: (tf.identity(a), lambda d: tf.maximum(tf.minimum(d, 0.1), -0.1) * a))
    return f(x * w) * x


def called_twice(tf, x, w):
    f = _skewed(tf)
    g = tf.function(lambda a: f(a * w) * a) if hasattr(tf, "function") else lambda a: f(a * w) * a
    return g(g(x)) * x


CASES = [
    square, skewed, skewed_twice, two_arguments, two_results, of_variable, captured, straight_through, nested,
    override, override_product, in_branch, in_loop, in_loop_of_data, of_variable_in_branch, of_variable_in_loop,
    override_in_loop, override_in_branch, captured_in_loop, loop_in_gradient, branch_in_gradient, gradient_in_gradient,
    none_for_one, clipped, called_twice,
]  # fmt: skip


def derived(tf, y, x, w):
    """y, its gradients, those of a penalty made of these, and those of a penalty made of those."""

    def pair(t):
        return [None] * 2 if t is None else tf.gradients(t, [x, w])

    def penalty(found, one, two):
        found = [g for g in found if g is not None]
        return found[0] * found[0] * one + found[-1] * two if found else None

    first = pair(y)
    second = pair(penalty(first, 1.0, 0.7))
    return [y] + first + second + pair(penalty(second, 0.3, 1.0))


def _after(tf, op, make):
    with tf.control_dependencies([op]):
        return make()


def _branch(tf, x, w, make):
    return tf.cond(x > 1.0, lambda: tf.identity(w), make) * x


def _loop(tf, x, make):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, make(a)), [0, x], parallel_iterations=1)[1]


def _read_write_read(tf, w, first):
    value = _after(tf, first, w.read_value)
    written = _after(tf, value, lambda: tf.group(w.assign_add(1.5)))
    return value * value * _after(tf, written, w.read_value)


def branch_write_read(tf, x, w):
    return _branch(tf, x, w, lambda: _after(tf, w.assign(3.0), lambda: w.read_value() * w.read_value()))


def branch_read_write_read(tf, x, w):
    return _branch(tf, x, w, lambda: _read_write_read(tf, w, x))


def branch_two_writes(tf, x, w):
    return _branch(tf, x, w, lambda: _read_write_read(tf, w, w.assign(3.0)))


def branch_of_the_variable(tf, x, w):
    return _branch(tf, x, w, lambda: _after(tf, w.assign(w.read_value() * x), lambda: w.read_value() * w.read_value()))


def loop_write_read(tf, x, w):
    return _loop(tf, x, lambda a: _after(tf, w.assign_add(1.0), lambda: a * w.read_value()))


def loop_read_write_read(tf, x, w):
    return _loop(tf, x, lambda a: a * _read_write_read(tf, w, a))


def loop_of_data_write_read(tf, x, w):
    def body(i, a):
        return i + 1, _after(tf, w.assign_add(1.0), lambda: a * w.read_value())

    return tf.while_loop(lambda i, a: a < 30.0, body, [0, x], parallel_iterations=1)[1]


def write_read(tf, x, w):
    return _after(tf, w.assign(3.0), lambda: w.read_value() * w.read_value()) * x


def branch_then_read(tf, x, w):
    y = branch_write_read(tf, x, w)
    return _after(tf, y, lambda: w.read_value() * w.read_value() * y)


def branch_write_branch(tf, x, w):
    def square():
        return tf.cond(x > 1.0, lambda: tf.identity(x), lambda: w.read_value() * w.read_value())

    y = square()
    return y * _after(tf, _after(tf, y, lambda: tf.group(w.assign(5.0))), square)


def condition_writes(tf, x, w):
    def test(i, a):
        return _after(tf, tf.group(w.assign_add(1.0)), lambda: (tf.identity(i) < 2) & (a > -1e9))

    return tf.while_loop(test, lambda i, a: (i + 1, a * 0.5), [0, x], parallel_iterations=1)[1]


def condition_writes_at_the_maximum(tf, x, w):
    def test(i, a):
        return _after(tf, tf.group(w.assign_add(1.0)), lambda: tf.identity(a) > -1e9)

    return tf.while_loop(test, lambda i, a: (i + 1, a * 0.5), [0, x], parallel_iterations=1, maximum_iterations=2)[1]


WRITES = [
    branch_write_read, branch_read_write_read, branch_two_writes, branch_of_the_variable, loop_write_read,
    loop_read_write_read, loop_of_data_write_read, write_read, branch_then_read, branch_write_branch, condition_writes,
    condition_writes_at_the_maximum,
]  # fmt: skip


def slopes(tf, y, x, w):
    """y and its gradients."""
    return [y] + tf.gradients(y, [x, w])
