"""Branches, loops, arrays, checks and gradients of one's own, run eagerly by the original and by ours. Python 3.6 too.

``BOTH`` and ``LATER``, which 2.x alone can run, have cases by name: functions of ``tf`` that return a structure of
values.
"""

import numpy as np


def _slope(tf, function, at):
    """What a function gives, and its gradient."""
    x = tf.convert_to_tensor(at)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return y, tape.gradient(y, x)


def cond_runs_one_branch(tf):
    ran = []
    value = tf.cond(tf.constant(True), lambda: ran.append("a") or tf.constant(1.0), lambda: ran.append("b") or 2.0)
    return value, len(ran)


def case_first_true(tf):
    x = tf.constant(3.0)
    ran = []
    found = tf.case(
        [
            (x > 5.0, lambda: ran.append(1) or tf.constant(1)),
            (x > 2.0, lambda: ran.append(2) or tf.constant(2)),
            (x > 1.0, lambda: ran.append(3) or tf.constant(3)),
        ],
        default=lambda: tf.constant(4),
    )
    return found, ran


def case_exclusive(tf, first=True):
    pairs = [(tf.constant(first), lambda: tf.constant(1)), (tf.constant(True), lambda: tf.constant(2))]
    return tf.case(pairs, default=lambda: tf.constant(4), exclusive=True)


def while_list(tf):
    out = tf.while_loop(lambda i, s: i < 5, lambda i, s: [i + 1, s * 2.0], [tf.constant(0), 1.0])
    return isinstance(out, list), out


def while_nested(tf):
    out = tf.while_loop(
        lambda i, d: i < 2,
        lambda i, d: (i + 1, {"a": d["a"] + 1.0, "b": [d["b"][0] * 2.0]}),
        (tf.constant(0), {"a": tf.constant(1.0), "b": [tf.constant(3.0)]}),
    )
    return out[0], out[1]["a"], out[1]["b"][0]


def while_array(tf):
    array = tf.TensorArray(tf.float32, size=3)
    _, array = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * 2.0)), (tf.constant(0), array)
    )
    return array.stack()


def folds(tf):
    x = tf.constant([1.0, 2.0, 3.0])

    def sub(a, t):
        return a - t

    return tf.foldl(sub, x), tf.foldr(sub, x), tf.foldl(sub, x, initializer=10.0), tf.foldr(sub, x, initializer=10.0)


def array_write_read(tf):
    a = tf.TensorArray(tf.float32, size=2, clear_after_read=False)
    a = a.write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    return a.read(0), a.read(1), a.read(0), a.stack(), a.size(), a.gather([1, 0, 1]), a.concat()


def array_write_is_in_place(tf):
    a = tf.TensorArray(tf.float32, size=1)
    a.write(0, 1.0)
    return a.stack()


def array_read_twice(tf):
    a = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    a.read(0)
    return a.read(0)


def array_read_twice_allowed(tf):
    a = tf.TensorArray(tf.float32, size=1, clear_after_read=False).write(0, 1.0)
    a.read(0)
    return a.read(0)


def array_dynamic(tf):
    a = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in range(3):
        a = a.write(i, float(i))
    return a.size(), a.stack()


def array_shapes_unchecked(tf):
    a = tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0])
    return a.concat(), a.size()


def array_shapes_unchecked_read(tf):
    a = tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0])
    return a.read(0), a.read(1)


def array_unstack(tf):
    a = tf.TensorArray(tf.float32, size=2).unstack([[1.0], [2.0]])
    return a.read(1), a.stack()


def array_split(tf):
    a = tf.TensorArray(tf.float32, size=2).split([1.0, 2.0, 3.0, 4.0], [2, 2])
    return a.read(0), a.read(1)


def array_split_uneven(tf):
    a = tf.TensorArray(tf.float32, size=2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2])
    return a.read(0), a.read(1)


def array_close(tf):
    a = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    a.close()
    return a.size()


def array_element_shape(tf):
    a = tf.TensorArray(tf.float32, size=1, element_shape=[None, 2])
    return a.element_shape.as_list(), a.dtype.name


def array_flow(tf):
    a = tf.TensorArray(tf.float32, size=1)
    return a.handle is None, a.dynamic_size


def array_gradient(tf):
    def products(x):
        a = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
        for i in range(3):
            a = a.write(i, x[i] * float(i + 1))
        return a.stack() * a.read(1) + a.gather([0, 0, 2])

    return _slope(tf, products, [1.0, 2.0, 3.0])


def array_gradient_unstack(tf):
    def product(x):
        a = tf.TensorArray(tf.float32, size=3).unstack(x * x)
        return a.read(0) * a.read(2)

    return _slope(tf, product, [1.0, 2.0, 3.0])[1]


def tuple_with_none(tf):
    found = tf.tuple([tf.constant(1.0), None])
    return found[0], found[1] is None


def custom_gradient_kwargs(tf):
    @tf.custom_gradient
    def scaled(x, by=1.0):
        return x * by, lambda dy: (dy * by * 10.0, None)

    return _slope(tf, lambda x: scaled(x, by=2.0), 3.0)


def custom_gradient_several(tf):
    @tf.custom_gradient
    def both(x, y):
        def grad(da, db):
            return da * 100.0 + db, db * 1000.0

        return (x * y, x + y), grad

    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        a, b = both(x, y)
        c = a * 2.0 + b
    return tape.gradient(c, [x, y]), tape.gradient(a, [x, y])


def custom_gradient_second_order(tf):
    cubed = tf.custom_gradient(lambda x: (x * x * x, lambda dy: dy * 5.0 * x * x))
    return _slope(tf, lambda x: _slope(tf, cubed, x)[1], 2.0)


def custom_gradient_nested(tf):
    @tf.custom_gradient
    def outer(x):
        @tf.custom_gradient
        def inner(z):
            return z * z, lambda dy: dy * 7.0

        return inner(x), lambda dy: dy * 3.0 * inner(x)

    x = tf.constant(2.0)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = outer(x)
        g = tape.gradient(y, x)
    return y, g, second.gradient(g, x)


BOTH = {
    **{name: case for name, case in dict(globals()).items() if callable(case) and name[0] != "_"},
    "cond_python_bool": lambda tf: tf.cond(True, lambda: 1.0, lambda: 2.0),
    "cond_number": lambda tf: tf.cond(3, lambda: 1.0, lambda: 2.0),
    "cond_float_tensor": lambda tf: tf.cond(tf.constant(0.0), lambda: 1.0, lambda: 2.0),
    "cond_vector": lambda tf: tf.cond(tf.constant([True, False]), lambda: 1.0, lambda: 2.0),
    "cond_structures_may_differ": lambda tf: tf.cond(tf.constant(False), lambda: (1.0, 2.0), lambda: {"a": 3}),
    "cond_none": lambda tf: tf.cond(tf.constant(False), lambda: 1.0, lambda: None) is None,
    "cond_list_of_one": lambda tf: isinstance(
        tf.cond(tf.constant(True), lambda: [tf.constant(1.0)], lambda: [tf.constant(2.0)]), list
    ),
    "cond_not_callable": lambda tf: tf.cond(tf.constant(True), 1.0, lambda: 2.0),
    "cond_missing": lambda tf: tf.cond(tf.constant(True), lambda: 1.0),
    "cond_gradient": lambda tf: _slope(tf, lambda x: tf.cond(x > 2.0, lambda: x * x, lambda: x), 3.0),
    "case_default": lambda tf: tf.case([(tf.constant(False), lambda: tf.constant(1))], default=lambda: tf.constant(4)),
    "case_none_true": lambda tf: tf.case(
        [(tf.constant(False), lambda: tf.constant(1)), (tf.constant(False), lambda: tf.constant(2))]
    ),
    "case_last_of_one": lambda tf: tf.case([(tf.constant(True), lambda: tf.constant(7))]),
    "case_exclusive_fits": lambda tf: case_exclusive(tf, first=False),
    "case_python_bools": lambda tf: tf.case(
        [(False, lambda: tf.constant(1)), (True, lambda: tf.constant(2))], default=lambda: tf.constant(3)
    ),
    "case_dict": lambda tf: tf.case({tf.constant(True): lambda: tf.constant(1)}, default=lambda: tf.constant(2)),
    "case_not_callable": lambda tf: tf.case([(tf.constant(True), 5)], default=lambda: tf.constant(3)),
    "while_counts": lambda tf: tf.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), (tf.constant(0), 0.0)
    ),
    "while_single": lambda tf: tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)]),
    "while_single_list_body": lambda tf: tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [tf.constant(0)]),
    "while_single_never": lambda tf: tf.while_loop(lambda i: i < 0, lambda i: i + 1, [tf.constant(0)]),
    "while_maximum": lambda tf: tf.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, s + 2.0), (0, 0.0), maximum_iterations=3
    ),
    "while_maximum_single": lambda tf: tf.while_loop(
        lambda i: i < 5, lambda i: i + 1, [tf.constant(0)], maximum_iterations=3
    ),
    "while_maximum_single_list_body": lambda tf: tf.while_loop(
        lambda i: i < 5, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=3
    ),
    "while_shapes_may_change": lambda tf: tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), (tf.constant(0), tf.constant([1.0]))
    ),
    "while_types_may_change": lambda tf: tf.while_loop(
        lambda i, x: i < 1, lambda i, x: (i + 1, tf.constant(2)), (tf.constant(0), tf.constant(1.0))
    ),
    "while_structure_changes": lambda tf: tf.while_loop(
        lambda i, x: i < 1, lambda i, x: (i + 1, (x, x)), (tf.constant(0), tf.constant(1.0))
    ),
    "while_too_few": lambda tf: tf.while_loop(
        lambda i, x: i < 1, lambda i, x: (i + 1,), (tf.constant(0), tf.constant(1.0))
    ),
    "while_nothing": lambda tf: tf.while_loop(lambda: True, lambda: (), ()),
    "while_cond_not_callable": lambda tf: tf.while_loop(True, lambda i: i, [0]),
    "while_parallel_zero": lambda tf: tf.while_loop(
        lambda i: i < 2, lambda i: i + 1, [tf.constant(0)], parallel_iterations=0
    ),
    "while_gradient": lambda tf: _slope(
        tf,
        lambda x: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), (tf.constant(0), tf.constant(1.0)))[1],
        2.0,
    ),
    "map_rows": lambda tf: tf.map_fn(lambda r: r * 2.0, np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)),
    "map_structure": lambda tf: tf.map_fn(
        lambda t: (t[0] + t[1], t[0] - t[1]), (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
    ),
    "map_other_type": lambda tf: tf.map_fn(lambda t: tf.cast(t, tf.int32), tf.constant([1.5, 2.5]), dtype=tf.int32),
    "map_other_type_unsaid": lambda tf: tf.map_fn(lambda t: tf.cast(t, tf.int32), tf.constant([1.5, 2.5])),
    "map_empty": lambda tf: tf.map_fn(lambda t: t, tf.zeros([0, 3])),
    "map_scalar": lambda tf: tf.map_fn(lambda t: t, tf.constant(1.0)),
    "map_gradient": lambda tf: _slope(tf, lambda x: tf.map_fn(lambda t: t * t, x), [1.0, 2.0, 3.0])[1],
    "scan_sums": lambda tf: tf.scan(lambda a, t: a + t, tf.constant([1, 2, 3, 4])),
    "scan_initializer": lambda tf: tf.scan(lambda a, t: a + t, tf.constant([1, 2, 3, 4]), initializer=10),
    "scan_reverse": lambda tf: tf.scan(lambda a, t: a - t, tf.constant([1, 2, 3, 4]), reverse=True),
    "scan_structure": lambda tf: tf.scan(
        lambda a, _: (a[1], a[0] + a[1]), tf.zeros([6]), initializer=(tf.constant(0), tf.constant(1))
    ),
    "scan_gradient": lambda tf: _slope(tf, lambda x: tf.scan(lambda a, t: a * t, x), [1.0, 2.0, 3.0])[1],
    "array_write_twice": lambda tf: tf.TensorArray(tf.float32, size=1).write(0, 1.0).write(0, 2.0).read(0),
    "array_read_unwritten": lambda tf: tf.TensorArray(tf.float32, size=2).write(0, 1.0).read(1),
    "array_read_unwritten_shaped": lambda tf: tf.TensorArray(tf.float32, size=2, element_shape=[2]).read(1),
    "array_stack_unwritten": lambda tf: tf.TensorArray(tf.float32, size=3).write(1, [1.0, 2.0]).stack(),
    "array_stack_all_unwritten": lambda tf: tf.TensorArray(tf.float32, size=2, element_shape=[3]).stack(),
    "array_stack_nothing_known": lambda tf: tf.TensorArray(tf.float32, size=2).stack(),
    "array_beyond": lambda tf: tf.TensorArray(tf.float32, size=1).write(1, 1.0).stack(),
    "array_negative": lambda tf: tf.TensorArray(tf.float32, size=1).write(-1, 1.0).stack(),
    "array_read_beyond": lambda tf: tf.TensorArray(tf.float32, size=1).write(0, 1.0).read(1),
    "array_read_negative": lambda tf: tf.TensorArray(tf.float32, size=1).write(0, 1.0).read(-1),
    "array_dynamic_gap": lambda tf: tf.TensorArray(tf.float32, size=0, dynamic_size=True).write(2, 1.0).stack(),
    "array_default_size": lambda tf: tf.TensorArray(tf.float32, dynamic_size=True).write(0, 1.0).stack(),
    "array_no_size": lambda tf: tf.TensorArray(tf.float32).size(),
    "array_tensor_size_and_index": lambda tf: (
        tf.TensorArray(tf.int32, size=tf.constant(2)).write(tf.constant(0), 5).write(tf.constant(1), 6).stack()
    ),
    "array_wrong_type": lambda tf: tf.TensorArray(tf.float32, size=1).write(0, tf.constant(1)).stack(),
    "array_shapes_differ": lambda tf: tf.TensorArray(tf.float32, size=2).write(0, [1.0]).write(1, [1.0, 2.0]).size(),
    "array_element_shape_violated": lambda tf: (
        tf.TensorArray(tf.float32, size=1, element_shape=[2]).write(0, [1.0]).stack()
    ),
    "array_unstack_grows": lambda tf: (
        tf.TensorArray(tf.float32, size=1, dynamic_size=True).unstack([1.0, 2.0, 3.0]).stack()
    ),
    "array_unstack_too_long": lambda tf: tf.TensorArray(tf.float32, size=1).unstack([1.0, 2.0, 3.0]).stack(),
    "array_scatter": lambda tf: tf.TensorArray(tf.float32, size=4).scatter([2, 0], [[1.0], [2.0]]).stack(),
    "array_identity": lambda tf: tf.TensorArray(tf.float32, size=1).write(0, 1.0).identity().read(0),
    "array_strings": lambda tf: tf.TensorArray(tf.string, size=2).write(0, "a").write(1, "bc").stack(),
    "group_is_none": lambda tf: (tf.group(tf.constant(1.0)) is None, tf.no_op() is None, tf.group() is None),
    "tuple_is_inputs": lambda tf: tf.tuple([tf.constant(1.0), tf.constant(2)]),
    "tuple_of_nothing": lambda tf: tf.tuple([]),
    "assert_passes": lambda tf: tf.Assert(tf.constant(True), ["x"]) is None,
    "assert_fails": lambda tf: tf.Assert(tf.constant(False), ["x", tf.constant([1, 2, 3, 4, 5])]),
    "assert_python_bool": lambda tf: tf.Assert(False, ["x"]),
    "assert_vector": lambda tf: tf.Assert(tf.constant([True, True]), ["x"]) is None,
    "custom_gradient_clips": lambda tf: _slope(
        tf, tf.custom_gradient(lambda x: (x * x, lambda dy: dy * 10.0)), [1.0, 2.0]
    ),
    "custom_gradient_number": lambda tf: tf.custom_gradient(lambda x: (x * 2.0, lambda dy: dy))(3.0),
    "custom_gradient_none": lambda tf: (
        _slope(tf, tf.custom_gradient(lambda x: (x * 2.0, lambda dy: None)), 2.0)[1] is None
    ),
    "custom_gradient_wrong_number": lambda tf: _slope(
        tf, tf.custom_gradient(lambda x: (x * 2.0, lambda dy: (dy, dy))), 2.0
    )[1],
    "gradients_refused": lambda tf: tf.gradients(tf.constant(1.0), tf.constant(2.0)),
    "hessians_refused": lambda tf: tf.hessians(tf.constant(1.0), tf.constant(2.0)),
    "stop_gradient_stops": lambda tf: _slope(tf, lambda x: tf.stop_gradient(x) * x, 2.0)[1],
}


def switch_case_picks(tf):
    branches = [lambda: tf.constant(10), lambda: tf.constant(11), lambda: tf.constant(12)]
    return [tf.switch_case(tf.constant(i), branches) for i in (0, 1, 2, 3, -1)]


def switch_case_default(tf):
    branches = {2: lambda: tf.constant(2), 0: lambda: tf.constant(0)}
    return [tf.switch_case(tf.constant(i), branches, default=lambda: tf.constant(9)) for i in (0, 1, 2)]


def switch_case_dict_without_default(tf):
    branches = {1: lambda: tf.constant(1), 0: lambda: tf.constant(0)}
    return [tf.switch_case(tf.constant(i), branches) for i in (0, 1, 5)]


def vectorized_map_structure(tf):
    found = tf.vectorized_map(
        lambda t: {"a": t[0] * t[1], "b": (t[1], tf.cast(t[0], tf.int32))},
        (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])),
    )
    return found["a"], found["b"]


def vectorized_map_gradient(tf):
    x, w = tf.constant([1.0, 2.0, 3.0]), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.vectorized_map(lambda t: t * t * w, x)
    return tape.gradient(y, [x, w])


def vectorized_map_per_example_gradients(tf):
    w = tf.constant([1.0, 2.0])

    def one(x):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.reduce_sum(w * x) ** 2.0
        return tape.gradient(loss, w)

    return tf.vectorized_map(one, tf.constant([[1.0, 0.0], [1.0, 1.0]]))


def custom_gradient_variables(tf):
    w = tf.Variable(3.0)

    @tf.custom_gradient
    def times(x):
        def grad(dy, variables=None):
            return dy * 10.0, [dy * 100.0 for _ in variables]

        return x * w, grad

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = times(x)
    return y, tape.gradient(y, [x, w])


def custom_gradient_variables_not_taken(tf):
    w = tf.Variable(3.0)

    @tf.custom_gradient
    def times(x):
        return x * w, lambda dy: dy

    return times(tf.constant(2.0))


def custom_gradient_variable_argument(tf):
    @tf.custom_gradient
    def doubled(x):
        return x * 2.0, lambda dy: dy * 50.0

    w = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = doubled(w)
    return y, tape.gradient(y, w)


def custom_gradient_in_function(tf):
    w = tf.Variable(3.0)

    @tf.custom_gradient
    def times(x):
        def grad(dy, variables=None):
            return dy * 10.0, [dy * 100.0 for _ in variables]

        return x * w, grad

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = times(x) * 2.0
        return y, tape.gradient(y, [x, w])

    outside = tf.function(lambda x: times(x) * 2.0)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outside(x)
    return run(x), tape.gradient(y, [x, w])


def custom_gradient_second_order_in_function(tf):
    cubed = tf.custom_gradient(lambda x: (x * x * x, lambda dy: dy * 5.0 * x * x))
    run = tf.function(lambda x: cubed(x) * 2.0)
    return _slope(tf, lambda x: _slope(tf, run, x)[1], 2.0)


def custom_gradient_with_a_function_inside(tf):
    @tf.custom_gradient
    @tf.function
    def inner(x):
        return x * x, lambda dy: dy * 9.0

    return inner(tf.constant(2.0))


def recompute_gradient(tf):
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    calls = []

    @tf.recompute_grad
    def block(x):
        calls.append(1)
        return tf.tanh(tf.matmul(x, w))

    x = tf.constant([[0.1, 0.2]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = block(x)
    return y, tape.gradient(y, [x, w]), len(calls)


def recompute_gradient_in_function(tf):
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.recompute_grad
    def block(x):
        return tf.tanh(tf.matmul(x, w))

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = block(block(x))
        return y, tape.gradient(y, [x, w])

    x = tf.constant([[0.1, 0.2]])
    outside = tf.function(lambda x: block(block(x)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outside(x)
    return run(x), tape.gradient(y, [x, w])


def recompute_gradient_several(tf):
    @tf.recompute_grad
    def block(a, b):
        return a * b, a + b

    a, b = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        p, q = block(a, b)
        y = p * q
    return tape.gradient(y, [a, b])


def recompute_gradient_keywords(tf):
    @tf.recompute_grad
    def block(a, times=1.0):
        return a * a * times

    return _slope(tf, lambda a: block(a, times=3.0), 2.0)[1]


def grad_pass_through_variables(tf):
    w = tf.Variable(4.0)
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(lambda v: v * w)(x)
    found = tape.gradient(y, [x, w])
    return y, found[0], found[1] is None


def eager_array_in_function(tf):
    a = tf.TensorArray(tf.float32, size=2, clear_after_read=False).write(0, 1.0).write(1, 2.0)
    return tf.function(lambda: a.read(0) + a.read(1))()


def eager_array_as_argument(tf):
    a = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(1, 2.0)
    return tf.function(lambda a: a.stack())(a)


LATER = {
    **{name: case for name, case in dict(globals()).items() if callable(case) and name[0] != "_" and name not in BOTH},
    "switch_case_python_index": lambda tf: tf.switch_case(1, [lambda: tf.constant(10), lambda: tf.constant(11)]),
    "switch_case_gap": lambda tf: tf.switch_case(
        tf.constant(0), {0: lambda: tf.constant(0), 2: lambda: tf.constant(2)}
    ),
    "switch_case_float_index": lambda tf: tf.switch_case(
        tf.constant(1.0), [lambda: tf.constant(10), lambda: tf.constant(11)]
    ),
    "switch_case_long_index": lambda tf: tf.switch_case(
        tf.constant(1, tf.int64), [lambda: tf.constant(10), lambda: tf.constant(11)]
    ),
    "switch_case_not_callable": lambda tf: tf.switch_case(tf.constant(0), [1, 2]),
    "map_signature": lambda tf: tf.map_fn(
        lambda t: tf.cast(t, tf.int32), tf.constant([1.5, 2.5]), fn_output_signature=tf.int32
    ),
    "vectorized_map_rows": lambda tf: tf.vectorized_map(
        lambda r: tf.reduce_sum(r * r), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    ),
    "vectorized_map_matmul": lambda tf: tf.vectorized_map(
        lambda r: tf.linalg.matvec(tf.constant([[1.0, 2.0], [3.0, 4.0]]), r),
        tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    ),
    "vectorized_map_broadcasts_one": lambda tf: tf.vectorized_map(
        lambda t: t[0] + t[1], (tf.constant([[1.0], [2.0]]), tf.constant([[10.0]]))
    ),
    "vectorized_map_sizes_differ": lambda tf: tf.vectorized_map(
        lambda t: t[0] + t[1], (tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0]))
    ),
    "vectorized_map_cond": lambda tf: tf.vectorized_map(
        lambda x: tf.cond(x > 1.5, lambda: x * 10.0, lambda: -x), tf.constant([1.0, 2.0])
    ),
    "vectorized_map_constant": lambda tf: tf.vectorized_map(lambda x: tf.constant(7.0), tf.constant([1.0, 2.0])),
    "vectorized_map_empty": lambda tf: tf.vectorized_map(lambda x: x * 2.0, tf.zeros([0, 3])),
    "assert_equal_passes": lambda tf: (
        tf.debugging.assert_equal(tf.constant(1), 1) is None,
        tf.debugging.assert_less([1, 2], 3) is None,
    ),
    "assert_equal_fails": lambda tf: tf.debugging.assert_equal([1, 2], [1, 3]),
    "assert_equal_shapes": lambda tf: tf.debugging.assert_equal([1, 2], [1, 2, 3]),
    "assert_less_fails": lambda tf: tf.debugging.assert_less([1, 5], 3, message="too large"),
    "assert_near_fails": lambda tf: tf.debugging.assert_near(1.0, 1.1),
    "assert_near_passes": lambda tf: tf.debugging.assert_near(1.0, 1.1, atol=0.2) is None,
    "assert_positive_fails": lambda tf: tf.debugging.assert_positive([1.0, 0.0]),
    "assert_positive_empty": lambda tf: tf.debugging.assert_positive(tf.zeros([0])) is None,
    "assert_non_negative_fails": lambda tf: tf.debugging.assert_non_negative([1.0, -1.0]),
    "assert_none_equal_fails": lambda tf: tf.debugging.assert_none_equal([1, 2], [3, 2]),
    "assert_rank_fails": lambda tf: tf.debugging.assert_rank(tf.zeros([2, 2]), 1),
    "assert_rank_passes": lambda tf: (
        tf.debugging.assert_rank(tf.zeros([2, 2]), 2) is None,
        tf.debugging.assert_rank_in(1.0, (0, 1)) is None,
    ),
    "assert_rank_at_least_fails": lambda tf: tf.debugging.assert_rank_at_least(tf.zeros([2]), 2),
    "assert_type_fails": lambda tf: tf.debugging.assert_type(tf.zeros([2]), tf.int32),
    "assert_integer_fails": lambda tf: tf.debugging.assert_integer(tf.zeros([2])),
    "assert_scalar_fails": lambda tf: tf.debugging.assert_scalar(tf.zeros([2])),
    "assert_all_finite_fails": lambda tf: tf.debugging.assert_all_finite([1.0, float("nan")], "broken"),
    "assert_all_finite_passes": lambda tf: tf.debugging.assert_all_finite([1.0], "broken") is None,
    "check_numerics_fails": lambda tf: tf.debugging.check_numerics(tf.constant([1.0, float("inf")]), "broken"),
    "check_numerics_passes": lambda tf: tf.debugging.check_numerics(tf.constant([1.0]), "broken"),
    "assert_proper_iterable_fails": lambda tf: tf.debugging.assert_proper_iterable(tf.constant([1])),
    "assert_same_float_dtype": lambda tf: tf.debugging.assert_same_float_dtype([tf.constant(1.0)]).name,
    "assert_shapes_fails": lambda tf: tf.debugging.assert_shapes(
        [(tf.zeros([2, 3]), ("N", "Q")), (tf.zeros([4]), ("N",))]
    ),
    "assert_shapes_passes": lambda tf: (
        tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", 3)), (tf.zeros([2]), ("N",))]) is None
    ),
    "is_non_decreasing": lambda tf: (tf.math.is_non_decreasing([1, 1, 2]), tf.math.is_strictly_increasing([1, 1, 2])),
    "grad_pass_through_passes": lambda tf: _slope(tf, lambda x: tf.grad_pass_through(tf.round)(x) * 3.0, 2.5),
    "array_out_of_function": lambda tf: tf.function(
        lambda: tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(1, 2.0)
    )().stack(),
    "hessian_in_function": lambda tf: tf.function(lambda x: tf.hessians(tf.reduce_sum(x * x * x), x)[0])(
        tf.constant([1.0, 2.0])
    ),
    "gradients_in_function": lambda tf: tf.function(lambda x: tf.gradients(x * x, x)[0])(tf.constant(3.0)),
}
