"""Programs with branches, loops, checks and gradients that the original and ours both run. Runs under Python 3.6 too.

Each case builds a graph and returns what to fetch and the feeds of its runs; a case or a run may end in an error.
"""

import numpy as np


def _scalar(tf, name="x"):
    return tf.placeholder(tf.float32, [], name)


def cond_nested_structure(tf):
    x = _scalar(tf)
    y = tf.cond(x > 1.0, lambda: {"a": x, "b": (x + 1.0, [x * 2.0])}, lambda: {"a": -x, "b": (x - 1.0, [x / 2.0])})
    return [y["a"], y["b"][0], y["b"][1][0]], [{x: 2.0}, {x: 0.0}]


def cond_singleton(tf):
    x = _scalar(tf)
    y = tf.cond(x > 1.0, lambda: [x], lambda: [-x])
    z = tf.cond(x > 1.0, lambda: [x], lambda: [-x], strict=True)
    return [y, z[0]], [{x: 2.0}]


def cond_outside_runs_anyway(tf):
    v = tf.Variable(1.0)
    x = _scalar(tf)
    outside = v.assign_add(10.0)
    with tf.control_dependencies([outside]):
        y = tf.cond(x > 1.0, lambda: tf.identity(x), lambda: -x)
    with tf.control_dependencies([y]):
        return [y, v.read_value()], [{x: 2.0}, {x: 0.0}]


def cond_inside_runs_with_branch(tf):
    v = tf.Variable(1.0)
    x = _scalar(tf)
    y = tf.cond(x > 1.0, lambda: v.assign_add(x), lambda: v.assign_sub(1.0))
    return [y], [{x: 2.0}, {x: 0.0}, {x: 5.0}]


def cond_operation(tf):
    v = tf.Variable(1.0)
    x = _scalar(tf)
    y = tf.cond(x > 1.0, lambda: tf.group(v.assign_add(x)), lambda: tf.no_op())
    with tf.control_dependencies([y]):
        return [y, v.read_value()], [{x: 2.0}, {x: 0.0}]


def cond_unconnected(tf):
    x, z = _scalar(tf), _scalar(tf, "z")
    a, b = tf.cond(x > 1.0, lambda: (x * 2.0, z), lambda: (x, z * z))
    return [a, b] + tf.gradients(a, x) + tf.gradients(b, z), [{x: 2.0, z: 3.0}, {x: 0.0, z: 3.0}]


def cond_none_gradients(tf):
    x, z = _scalar(tf), _scalar(tf, "z")
    a, b = tf.cond(x > 1.0, lambda: (x * 2.0, z), lambda: (x, z * z))
    return [tf.constant([g is None for g in tf.gradients(a, [x, z]) + tf.gradients(b, [x, z])])], [{}]


def cond_variable(tf):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    x = _scalar(tf)
    y = tf.cond(x > 1.0, lambda: v * x, lambda: w * w)
    return [y] + tf.gradients(y, [v, w]), [{x: 2.0}, {x: 0.0}]


def cond_gradient_of_gradient(tf):
    x = _scalar(tf)
    y = tf.cond(x > 1.0, lambda: x * x * x, lambda: x * x)
    (g,) = tf.gradients(y, x)
    return [y, g] + tf.gradients(g, x), [{x: 2.0}, {x: 0.5}]


def case_exclusive(tf):
    x = _scalar(tf)
    pairs = [(x > 2.0, lambda: tf.constant(1)), (x > 1.0, lambda: tf.constant(2))]
    return [tf.case(pairs, default=lambda: tf.constant(3), exclusive=True)], [{x: 1.5}, {x: 3.0}]


def while_power(tf):
    x = _scalar(tf)
    i, y = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * x), [tf.constant(0), tf.constant(1.0)])
    (g,) = tf.gradients(y, x)
    return [i, y, g], [{x: 2.0}]


def while_fed_count(tf):
    x, n = _scalar(tf), tf.placeholder(tf.int32, [])
    i, y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.sin(a * x)), [0, x])
    return [i, y] + tf.gradients(y, x), [{x: 2.0, n: k} for k in (0, 1, 2, 3, 7)]


def while_two_learned(tf):
    x = _scalar(tf)
    a = tf.while_loop(lambda a: a < 10.0, lambda a: a * x, [x])
    (g,) = tf.gradients(a, x)
    b = tf.while_loop(lambda b: b < 1000.0, lambda b: b * x, [g])
    return [a, g, b] + tf.gradients(b, g), [{x: 2.0}, {x: 3.0}]


def while_maximum(tf):
    x = _scalar(tf)
    y = tf.while_loop(lambda a: a < 100.0, lambda a: a * x, [x], maximum_iterations=3)
    z = tf.while_loop(lambda i, a: a < 100.0, lambda i, a: (i + 1, a * x), (0, x), maximum_iterations=3)
    return [y, z[0], z[1]] + tf.gradients(y, x) + tf.gradients(z[1], x), [{x: 2.0}, {x: 30.0}, {x: 200.0}]


def while_structures(tf):
    x = _scalar(tf)
    out = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, {"a": s["a"] * 2.0, "b": (s["b"][0] + s["a"],)}),
        [tf.constant(0), {"a": x, "b": (tf.constant(0.0),)}],
    )
    return [out[0], out[1]["a"], out[1]["b"][0]], [{x: 1.0}]


def while_returns(tf):
    x = _scalar(tf)
    one = tf.while_loop(lambda a: a < 10.0, lambda a: a * 2.0, [x])
    same = tf.while_loop(lambda a: a < 10.0, lambda a: a * 2.0, [x], return_same_structure=True)
    return [one, same[0], tf.constant(isinstance(same, list))], [{x: 1.0}]


def while_returns_as_its_body(tf):
    loops = [
        tf.while_loop(lambda i, a: i < 3, body, start)
        for start in ([0, 1.0], (0, 1.0))
        for body in (lambda i, a: (i + 1, a), lambda i, a: [i + 1, a])
    ]
    return [tf.constant([isinstance(found, tuple) for found in loops])] + [found[0] for found in loops], [{}]


def while_grows(tf):
    x = tf.placeholder(tf.float32, [None])
    _, y = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a * 2.0], 0)), [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )  # fmt: skip
    return [y] + tf.gradients(y, x), [{x: [1.0, 2.0]}]


def while_grows_by_value(tf):
    x = _scalar(tf)
    _, y = tf.while_loop(
        lambda i, a: i < x, lambda i, a: (i + 1.0, tf.concat([a, a * x], 0)), [tf.constant(0.0), tf.reshape(x, [1])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )  # fmt: skip
    return [y] + tf.gradients(y, x), [{x: 2.0}, {x: 3.0}]


def while_variable_and_capture(tf):
    v = tf.Variable([2.0, 3.0])
    x = tf.placeholder(tf.float32, [2])
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + x), [tf.constant(0), x])
    return [y] + tf.gradients(y, [v, x]), [{x: [1.0, -1.0]}]


def while_gradient_of_gradient(tf):
    x = _scalar(tf)
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [tf.constant(0), x])
    (g,) = tf.gradients(y, x)
    return [y, g], [{x: 2.0}]


def while_none_gradients(tf):
    x, z = _scalar(tf), _scalar(tf, "z")
    _, a, b = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * 2.0, b * a), [0, x, z])
    found = tf.gradients(a, [x, z]) + tf.gradients(b, [x, z])
    return [tf.constant([g is None for g in found])] + [g for g in found if g is not None], [{x: 2.0, z: 1.5}]


def while_stopped_gradients(tf):
    """Zeros for a loop variable that the result depends on by way of stopped gradients; None for what is captured."""
    x, y, z, c = (_scalar(tf, name) for name in "xyzc")
    stop = tf.stop_gradient
    a, _ = tf.while_loop(lambda a, b: a < 100.0, lambda a, b: (a * a + stop(b * b), stop(b * b)), [x, y])
    d, e, _ = tf.while_loop(
        lambda d, e, f: d < 50.0, lambda d, e, f: (d * 2.0 + tf.round(e), stop(f) + stop(c), f * 2.0), [x, y, z]
    )
    p, q = tf.while_loop(lambda p, q: p < 50.0, lambda p, q: (p * 2.0, q * x), [x, y])
    r = tf.while_loop(lambda r: r < 9.0, lambda r: [stop(r) * 3.0], [z * 1.0])
    _, m = tf.while_loop(lambda n, m: n < 3, lambda n, m: (n + 1, m * stop(tf.to_float(n))), [tf.to_int32(z), x])
    s = tf.scan(lambda s, t: t * stop(s), tf.stack([x, y]), initializer=z)
    t = tf.foldl(lambda t, u: u * stop(t), tf.stack([x, y]), initializer=z)
    u = tf.map_fn(lambda u: stop(u) + x, tf.stack([y, z]))
    feeds = {x: 2.0, y: 3.0, z: 1.0, c: 0.5}
    found = [tf.gradients(w, [x, y, z, c]) for w in (a, d, d + e, p, q, r, m, s, t, u)]
    fetches = [g if g is not None else tf.constant(-77.0) for grads in found for g in grads]
    return [a, d, e, p, q, r, m, s, t, u] + fetches, [feeds]


def stopped_in_bodies(tf):
    """What has no gradient outside of branches and loops has none inside."""
    x = _scalar(tf)
    stop = tf.stop_gradient

    def inner(a):
        return tf.cond(a > 5.0, lambda: a * stop(a), lambda: stop(a * x))

    found = [
        tf.cond(x > 0.0, lambda: x * stop(x), lambda: stop(x)),
        tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * stop(a)), [0, x])[1],
        tf.while_loop(lambda a: a < 100.0, lambda a: a * stop(a), [x]),
        tf.while_loop(lambda a: a < 100.0, lambda a: inner(a) + a, [x]),
        tf.scan(lambda s, t: t * stop(s) + s * stop(t), tf.stack([x, 2.0 * x, x]))[2],
        tf.cond(x > 0.0, lambda: x * tf.floor(7.0 * x) + x * tf.sign(stop(x)), lambda: x),
        tf.cond(x > 0.0, lambda: x * tf.zeros_like(x) + x * stop(x * x), lambda: x),
    ]
    return found + [tf.gradients(y, x)[0] for y in found], [{x: 2.0}, {x: 3.0}]


def while_nested(tf):
    x = _scalar(tf)

    def body(i, a):
        return i + 1, tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * x), [tf.constant(0), a])[1]

    _, y = tf.while_loop(lambda i, a: i < 4, body, [tf.constant(0), tf.constant(1.0)])
    return [y], [{x: 2.0}]


def while_assigns(tf):
    v = tf.Variable(0.0)
    x = _scalar(tf)

    def body(i, a):
        with tf.control_dependencies([v.assign_add(x)]):
            return i + 1, a + x

    _, y = tf.while_loop(lambda i, a: i < 3, body, [tf.constant(0), tf.constant(0.0)])
    with tf.control_dependencies([y]):
        return [y, v.read_value()], [{x: 2.0}, {x: 1.0}]


def while_cond_inside(tf):
    x = _scalar(tf)

    def body(i, a):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x, lambda: a + x)

    _, y = tf.while_loop(lambda i, a: i < 5, body, [tf.constant(0), tf.constant(1.0)])
    return [y] + tf.gradients(y, x), [{x: 2.0}]


def while_shape_changes(tf):
    x = tf.placeholder(tf.float32, [2])
    return [tf.while_loop(lambda a: True, lambda a: tf.concat([a, a], 0), [x])], [{}]


def array_written_in_loop(tf):
    x = _scalar(tf)
    array = tf.TensorArray(tf.float32, size=4, clear_after_read=False)
    _, array = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))), [tf.constant(0), array]
    )
    y = array.stack()
    return [y, array.size(), array.read(2), array.gather([3, 1])] + tf.gradients(y, x), [{x: 3.0}]


def array_parts(tf):
    x = tf.placeholder(tf.float32, [4, 2])
    array = tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(x)
    split = tf.TensorArray(tf.float32, size=2, clear_after_read=False).split(x, [2, 2])
    scattered = tf.TensorArray(tf.float32, size=4, clear_after_read=False).scatter([3, 1, 0, 2], x)
    y = split.read(1) * scattered.read(3)
    outputs = [array.stack(), split.stack(), split.concat(), scattered.stack(), y]
    return outputs + tf.gradients(y, x), [{x: np.arange(8.0).reshape(4, 2)}]


def array_unknown_shape(tf):
    x = tf.placeholder(tf.float32, [None, None])
    array = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    _, array = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x * 2.0)), [tf.constant(0), array])
    return [array.stack()] + tf.gradients(array.stack(), x), [{x: [[1.0, 2.0]]}, {x: [[1.0], [2.0]]}]


def array_grows(tf):
    x = _scalar(tf)
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    _, array = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))), [tf.constant(0), array]
    )
    return [array.stack(), array.size()] + tf.gradients(array.stack(), x), [{x: 3.0}]


def array_grows_by_value(tf):
    x = _scalar(tf)
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    _, _, array = tf.while_loop(
        lambda i, b, a: b < 20.0, lambda i, b, a: (i + 1, b * 2.0, a.write(i, b)), [tf.constant(0), x, array]
    )
    return [array.stack(), array.size()], [{x: 3.0}, {x: 1.0}]


def map_to_other_types(tf):
    x = tf.constant([1, 2, 3])
    a, b = tf.map_fn(lambda e: (tf.cast(e, tf.float32) / 2.0, e * e), x, dtype=(tf.float32, tf.int32))
    return [a, b], [{}]


def scan_products(tf):
    x = tf.placeholder(tf.float32, [4])
    y = tf.scan(lambda a, e: a * e, x)
    z = tf.scan(lambda a, e: a * e, x, reverse=True)
    return [y, z] + tf.gradients(y, x) + tf.gradients(z, x), [{x: [1.0, 2.0, 3.0, 4.0]}]


def scan_structures(tf):
    x = tf.placeholder(tf.float32, [3])
    a, b = tf.scan(
        lambda s, e: (s[0] + e[0], s[1] * e[1]), (x, x + 1.0), initializer=(tf.constant(0.0), tf.constant(1.0))
    )
    c = tf.scan(lambda s, e: s * e + 1.0, x, initializer=tf.constant(2.0), reverse=True)
    return [a, b, c] + tf.gradients(b, x) + tf.gradients(c, x), [{x: [1.0, 2.0, 3.0]}]


def folds(tf):
    x = tf.placeholder(tf.float32, [3])
    outputs = []
    for fold in (tf.foldl, tf.foldr):
        y = fold(lambda a, e: a * 2.0 + e, x)
        z = fold(lambda a, e: a * e + 1.0, x, initializer=tf.constant(5.0))
        outputs += [y, z] + tf.gradients(y, x) + tf.gradients(z, x)
    return outputs, [{x: [1.0, 2.0, 3.0]}]


def assert_holds(tf):
    x = _scalar(tf)
    with tf.control_dependencies([tf.Assert(x > 0.0, ["x must be positive", x])]):
        return [tf.identity(x)], [{x: 1.0}, {x: -1.0}, {x: 2.0}]


def assert_family(tf):
    x = tf.placeholder(tf.float32, [2])
    checks = [
        tf.assert_equal(x, x), tf.assert_none_equal(x, x + 1.0), tf.assert_less(x, x + 1.0), tf.assert_less_equal(x, x),
        tf.assert_greater(x, x - 1.0), tf.assert_greater_equal(x, x), tf.assert_positive(x), tf.assert_non_negative(x),
        tf.assert_negative(-x), tf.assert_non_positive(-x), tf.assert_rank(x, 1), tf.assert_rank_at_least(x, 1),
        tf.assert_rank_in(x, (0, 1)), tf.assert_type(x, tf.float32), tf.assert_integer(tf.constant(1)),
    ]  # fmt: skip
    with tf.control_dependencies(checks):
        return [tf.identity(x)], [{x: [1.0, 2.0]}, {x: [0.0, 1.0]}]


def assert_less_fails(tf):
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.assert_less(x, 2.0)]):
        return [tf.identity(x)], [{x: [1.0, 1.5]}, {x: [1.0, 2.0]}]


def assert_rank_run(tf):
    x = tf.placeholder(tf.float32)
    with tf.control_dependencies([tf.assert_rank(x, 1)]):
        return [tf.identity(x)], [{x: [1.0]}, {x: [[1.0]]}]


def check_numerics_gradient(tf):
    x = _scalar(tf)
    y = tf.check_numerics(x, "bad")
    return tf.gradients(tf.sqrt(y), x), [{x: 4.0}, {x: 0.0}]


def gradient_through_fed(tf):
    x = _scalar(tf)
    y = x * x
    z = y * y
    return [z] + tf.gradients(z, [x, y]), [{x: 2.0}, {x: 2.0, y: 10.0}]


def gradient_with_stops(tf):
    x = _scalar(tf)
    a = x * x
    b = a * x
    return tf.gradients(b, [x, a]) + tf.gradients(b, [x, a], stop_gradients=[x, a]), [{x: 3.0}]


def gradient_with_seeds(tf):
    x = tf.placeholder(tf.float32, [2])
    return tf.gradients([x * x, 3.0 * x], x, grad_ys=[tf.constant([1.0, 10.0]), None]), [{x: [1.0, 2.0]}]


def gradient_unconnected(tf):
    x, z = _scalar(tf), _scalar(tf, "z")
    y = x * tf.stop_gradient(z) + tf.cast(tf.cast(z, tf.int32), tf.float32) + tf.round(z)
    return [tf.constant([g is None for g in tf.gradients(y, [x, z])])] + tf.gradients(y, x), [{x: 1.0, z: 2.0}]


def gradient_of_gradient(tf):
    v = tf.Variable(2.0)
    x = _scalar(tf)
    y = tf.exp(v * x) * v
    (g,) = tf.gradients(y, v)
    (gg,) = tf.gradients(g, v)
    return [y, g, gg] + tf.gradients(gg, v) + tf.gradients(g, x), [{x: 0.5}]


def gradient_of_intermediate(tf):
    x = _scalar(tf)
    a = tf.sin(x)
    b = a * a
    c = b * a
    return tf.gradients(c, [x, a, b]), [{x: 0.5}]


def gradient_between_assigns(tf):
    v = tf.Variable(2.0, use_resource=True)
    a = v * v
    with tf.control_dependencies([a]):
        up = v.assign(5.0)
    with tf.control_dependencies([up]):
        b = v.read_value() * 3.0
    y = a + b
    return [y] + tf.gradients(y, v), [{}]


def gradient_several_share(tf):
    x = _scalar(tf)
    a = tf.tanh(x)
    b, c = a * 2.0, a * a
    return tf.gradients(b, x) + tf.gradients(c, x) + tf.gradients([b, c], x) + tf.gradients(b, a), [{x: 0.3}]


def gradient_of_lookup(tf):
    v = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2), use_resource=True)
    rows = tf.gather(v, [2, 0, 2])
    (slices,) = tf.gradients(rows * rows, v)
    (both,) = tf.gradients(tf.reduce_sum(rows * rows) + tf.reduce_sum(v * v), v)
    return [slices.values, slices.indices, tf.convert_to_tensor(both)], [{}]


def custom_stable(tf):
    x = _scalar(tf)

    @tf.custom_gradient
    def softplus(x):
        e = tf.exp(x)
        return tf.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))

    y = softplus(x)
    (g,) = tf.gradients(y * 2.0, x)
    return [g] + tf.gradients(g, x), [{x: 1.0}, {x: 0.0}]


def custom_several(tf):
    x, z = _scalar(tf), _scalar(tf, "z")

    @tf.custom_gradient
    def f(a, b):
        return (a * b, a + b), lambda da, db: (da * 10.0 + db, db * 100.0)

    p, q = f(x, z)
    return [p, q] + tf.gradients(p * q, [x, z]) + tf.gradients(p, [x, z]), [{x: 2.0, z: 3.0}]


def custom_in_branch_and_loop(tf):
    x = _scalar(tf)

    @tf.custom_gradient
    def f(a):
        e = tf.exp(a)
        return a * a, lambda dy: dy * e

    y = tf.cond(x > 0.0, lambda: f(x), lambda: x)
    _, z = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, f(a)), [tf.constant(0), x])
    return [y, z] + tf.gradients(y, x), [{x: 0.5}, {x: -1.0}]


def hessian(tf):
    x = tf.placeholder(tf.float32, [3])
    return tf.hessians(tf.reduce_prod(x) + tf.reduce_sum(x * x * x), x), [{x: [1.0, 2.0, 3.0]}]


def ordering(tf):
    v = tf.Variable(1.0)
    x = _scalar(tf)
    a, b = tf.tuple([x * 2.0, x * 3.0], control_inputs=[v.assign_add(1.0)])
    done = tf.group(v.assign_add(x), [v.assign_add(x)])
    with tf.control_dependencies([a, b, done]):
        return [a, b, v.read_value()], [{x: 2.0}]


SLOPES = {
    "cond_of_tensors": (lambda tf, x: tf.cond(x > 1.0, lambda: x * x, lambda: 3.0 * x), [], [2.0, 0.5]),
    "cond_zero_gradient_where_nan": (
        lambda tf, x: tf.cond(x > 0.0, lambda: tf.sqrt(x), lambda: x * 0.0), [], [0.0, 4.0],
    ),
    "cond_nested": (
        lambda tf, x: tf.cond(x > 1.0, lambda: tf.cond(x > 2.0, lambda: x * x, lambda: x), lambda: -x), [],
        [3.0, 1.5, 0.0],
    ),
    "while_no_iteration": (lambda tf, x: tf.while_loop(lambda a: a < 0.0, lambda a: a * x, [x]), [], [2.0]),
    "while_until_large": (
        lambda tf, x: tf.while_loop(lambda a: a < 100.0, lambda a: a * x, [x]), [], [2.0, 3.0, 7.0, 200.0],
    ),
    "map_of_rows": (
        lambda tf, x: tf.map_fn(lambda row: tf.reduce_sum(row) * row, x), [None, 2], [[[1.0, 2.0], [3.0, 4.0]]],
    ),
}  # fmt: skip
"""Values with their gradients by x: of what, the shape of x, and what it is fed in each run."""
VALUES = {
    "case_ordered": (
        lambda tf, x: tf.case(
            [(x > 2.0, lambda: tf.constant(1)), (x > 1.0, lambda: tf.constant(2))], default=lambda: tf.constant(3),
        ),
        [], [3.0, 1.5, 0.0],
    ),
    "case_without_default": (
        lambda tf, x: tf.case([(x > 2.0, lambda: tf.constant(1)), (x > 1.0, lambda: tf.constant(2))]), [], [1.5, 0.0],
    ),
    "array_beyond_end": (lambda tf, x: tf.TensorArray(tf.float32, size=2).write(2, x).stack(), [], [1.0]),
    "check_numerics": (lambda tf, x: tf.check_numerics(tf.log(x), "bad log"), [], [1.0, 0.0, -1.0]),
    "check_numerics_in_cond": (
        lambda tf, x: tf.cond(x > -2.0, lambda: tf.check_numerics(tf.log(x), "bad"), lambda: x), [], [1.0, -3.0, -1.0],
    ),
}  # fmt: skip
"""Likewise without gradients."""
CONSTANTS = {
    "cond_bool_pred": lambda tf: tf.cond(True, lambda: 1.0, lambda: 2.0),
    "cond_missing_function": lambda tf: tf.cond(tf.constant(True), lambda: 1.0),
    "cond_none_result": lambda tf: tf.cond(tf.constant(True), lambda: None, lambda: 2.0),
    "cond_types_differ": lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2.0),
    "cond_structures_differ": lambda tf: tf.cond(tf.constant(True), lambda: (1.0, 2.0), lambda: 2.0),
    "cond_lengths_differ": lambda tf: tf.cond(tf.constant(True), lambda: (1.0, 2.0), lambda: (2.0, 3.0, 4.0)),
    "while_structure_changes": lambda tf: tf.while_loop(lambda i, a: i < 3, lambda i, a: i + 1, [0, 1.0]),
    "while_no_variables": lambda tf: tf.while_loop(lambda: True, lambda: None, []),
    "map_of_scalars": lambda tf: tf.map_fn(lambda e: e, tf.constant(1.0)),
    "assert_equal_static": lambda tf: tf.assert_equal(tf.constant([1, 2]), tf.constant([1, 3])),
    "assert_rank_static": lambda tf: tf.assert_rank(tf.constant([1, 2]), 2),
    "assert_type_fails": lambda tf: tf.assert_type(tf.constant(1), tf.float32),
    "assert_integer_fails": lambda tf: tf.assert_integer(tf.constant(1.0)),
}
"""Without x."""


def _of_x(function, shape, runs, differentiated):
    def case(tf):
        x = tf.placeholder(tf.float32, shape, "x")
        y = function(tf, x)
        return [y] + (tf.gradients(y, x) if differentiated else []), [{x: value} for value in runs]

    return case


CASES = {name: case for name, case in globals().items() if callable(case) and name[0] != "_"}
CASES.update((name, _of_x(*row, differentiated=True)) for name, row in SLOPES.items())
CASES.update((name, _of_x(*row, differentiated=False)) for name, row in VALUES.items())
CASES.update((name, lambda tf, c=constant: ([c(tf)], [{}])) for name, constant in CONSTANTS.items())
