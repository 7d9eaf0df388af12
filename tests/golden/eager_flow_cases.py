"""Branches, loops, arrays, checks and gradients of one's own, run eagerly by the original and by ours. Python 3.6 too.

Each case returns a structure of values; ``LATER`` are programs that 2.x alone can run.
"""

import numpy as np


def cond_runs_one_branch(tf):
    ran = []
    value = tf.cond(tf.constant(True), lambda: ran.append("a") or tf.constant(1.0), lambda: ran.append("b") or 2.0)
    return value, len(ran)


def cond_python_bool(tf):
    return tf.cond(True, lambda: 1.0, lambda: 2.0)


def cond_number(tf):
    return tf.cond(3, lambda: 1.0, lambda: 2.0)


def cond_float_tensor(tf):
    return tf.cond(tf.constant(0.0), lambda: 1.0, lambda: 2.0)


def cond_vector(tf):
    return tf.cond(tf.constant([True, False]), lambda: 1.0, lambda: 2.0)


def cond_structures_may_differ(tf):
    return tf.cond(tf.constant(False), lambda: (1.0, 2.0), lambda: {"a": 3})


def cond_none(tf):
    return tf.cond(tf.constant(False), lambda: 1.0, lambda: None) is None


def cond_list_of_one(tf):
    return isinstance(tf.cond(tf.constant(True), lambda: [tf.constant(1.0)], lambda: [tf.constant(2.0)]), list)


def cond_not_callable(tf):
    return tf.cond(tf.constant(True), 1.0, lambda: 2.0)


def cond_missing(tf):
    return tf.cond(tf.constant(True), lambda: 1.0)


def cond_gradient(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(x > 2.0, lambda: x * x, lambda: x)
    return y, tape.gradient(y, x)


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


def case_default(tf):
    return tf.case([(tf.constant(False), lambda: tf.constant(1))], default=lambda: tf.constant(4))


def case_none_true(tf):
    return tf.case([(tf.constant(False), lambda: tf.constant(1)), (tf.constant(False), lambda: tf.constant(2))])


def case_last_of_one(tf):
    return tf.case([(tf.constant(True), lambda: tf.constant(7))])


def case_exclusive(tf):
    pairs = [(tf.constant(True), lambda: tf.constant(1)), (tf.constant(True), lambda: tf.constant(2))]
    return tf.case(pairs, default=lambda: tf.constant(4), exclusive=True)


def case_exclusive_fits(tf):
    pairs = [(tf.constant(False), lambda: tf.constant(1)), (tf.constant(True), lambda: tf.constant(2))]
    return tf.case(pairs, default=lambda: tf.constant(4), exclusive=True)


def case_python_bools(tf):
    return tf.case([(False, lambda: tf.constant(1)), (True, lambda: tf.constant(2))], default=lambda: tf.constant(3))


def case_dict(tf):
    return tf.case({tf.constant(True): lambda: tf.constant(1)}, default=lambda: tf.constant(2))


def case_not_callable(tf):
    return tf.case([(tf.constant(True), 5)], default=lambda: tf.constant(3))


def while_counts(tf):
    return tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), (tf.constant(0), 0.0))


def while_list(tf):
    out = tf.while_loop(lambda i, s: i < 5, lambda i, s: [i + 1, s * 2.0], [tf.constant(0), 1.0])
    return isinstance(out, list), out


def while_single(tf):
    return tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)])


def while_single_list_body(tf):
    return tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [tf.constant(0)])


def while_single_never(tf):
    return tf.while_loop(lambda i: i < 0, lambda i: i + 1, [tf.constant(0)])


def while_maximum(tf):
    return tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + 2.0), (0, 0.0), maximum_iterations=3)


def while_maximum_single(tf):
    return tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)], maximum_iterations=3)


def while_maximum_single_list_body(tf):
    return tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=3)


def while_shapes_may_change(tf):
    return tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), (tf.constant(0), tf.constant([1.0]))
    )


def while_types_may_change(tf):
    return tf.while_loop(lambda i, x: i < 1, lambda i, x: (i + 1, tf.constant(2)), (tf.constant(0), tf.constant(1.0)))


def while_structure_changes(tf):
    return tf.while_loop(lambda i, x: i < 1, lambda i, x: (i + 1, (x, x)), (tf.constant(0), tf.constant(1.0)))


def while_too_few(tf):
    return tf.while_loop(lambda i, x: i < 1, lambda i, x: (i + 1,), (tf.constant(0), tf.constant(1.0)))


def while_nothing(tf):
    return tf.while_loop(lambda: True, lambda: (), ())


def while_cond_not_callable(tf):
    return tf.while_loop(True, lambda i: i, [0])


def while_parallel_zero(tf):
    return tf.while_loop(lambda i: i < 2, lambda i: i + 1, [tf.constant(0)], parallel_iterations=0)


def while_nested(tf):
    out = tf.while_loop(
        lambda i, d: i < 2,
        lambda i, d: (i + 1, {"a": d["a"] + 1.0, "b": [d["b"][0] * 2.0]}),
        (tf.constant(0), {"a": tf.constant(1.0), "b": [tf.constant(3.0)]}),
    )
    return out[0], out[1]["a"], out[1]["b"][0]


def while_gradient(tf):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), (tf.constant(0), tf.constant(1.0)))
    return y, tape.gradient(y, x)


def while_array(tf):
    array = tf.TensorArray(tf.float32, size=3)
    _, array = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * 2.0)), (tf.constant(0), array)
    )
    return array.stack()


def map_rows(tf):
    return tf.map_fn(lambda r: r * 2.0, np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))


def map_structure(tf):
    return tf.map_fn(lambda t: (t[0] + t[1], t[0] - t[1]), (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])))


def map_other_type(tf):
    return tf.map_fn(lambda t: tf.cast(t, tf.int32), tf.constant([1.5, 2.5]), dtype=tf.int32)


def map_other_type_unsaid(tf):
    return tf.map_fn(lambda t: tf.cast(t, tf.int32), tf.constant([1.5, 2.5]))


def map_empty(tf):
    return tf.map_fn(lambda t: t, tf.zeros([0, 3]))


def map_scalar(tf):
    return tf.map_fn(lambda t: t, tf.constant(1.0))


def map_gradient(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.map_fn(lambda t: t * t, x)
    return tape.gradient(y, x)


def scan_sums(tf):
    return tf.scan(lambda a, t: a + t, tf.constant([1, 2, 3, 4]))


def scan_initializer(tf):
    return tf.scan(lambda a, t: a + t, tf.constant([1, 2, 3, 4]), initializer=10)


def scan_reverse(tf):
    return tf.scan(lambda a, t: a - t, tf.constant([1, 2, 3, 4]), reverse=True)


def scan_structure(tf):
    start = (tf.constant(0), tf.constant(1))
    return tf.scan(lambda a, _: (a[1], a[0] + a[1]), tf.zeros([6]), initializer=start)


def scan_gradient(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.scan(lambda a, t: a * t, x)
    return tape.gradient(y, x)


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


def array_write_twice(tf):
    a = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    return a.write(0, 2.0).read(0)


def array_read_unwritten(tf):
    return tf.TensorArray(tf.float32, size=2).write(0, 1.0).read(1)


def array_read_unwritten_shaped(tf):
    return tf.TensorArray(tf.float32, size=2, element_shape=[2]).read(1)


def array_stack_unwritten(tf):
    return tf.TensorArray(tf.float32, size=3).write(1, [1.0, 2.0]).stack()


def array_stack_all_unwritten(tf):
    return tf.TensorArray(tf.float32, size=2, element_shape=[3]).stack()


def array_stack_nothing_known(tf):
    return tf.TensorArray(tf.float32, size=2).stack()


def array_beyond(tf):
    return tf.TensorArray(tf.float32, size=1).write(1, 1.0).stack()


def array_negative(tf):
    return tf.TensorArray(tf.float32, size=1).write(-1, 1.0).stack()


def array_read_beyond(tf):
    return tf.TensorArray(tf.float32, size=1).write(0, 1.0).read(1)


def array_read_negative(tf):
    return tf.TensorArray(tf.float32, size=1).write(0, 1.0).read(-1)


def array_dynamic(tf):
    a = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in range(3):
        a = a.write(i, float(i))
    return a.size(), a.stack()


def array_dynamic_gap(tf):
    return tf.TensorArray(tf.float32, size=0, dynamic_size=True).write(2, 1.0).stack()


def array_default_size(tf):
    a = tf.TensorArray(tf.float32, dynamic_size=True)
    return a.write(0, 1.0).stack()


def array_no_size(tf):
    return tf.TensorArray(tf.float32).size()


def array_tensor_size_and_index(tf):
    a = tf.TensorArray(tf.int32, size=tf.constant(2))
    return a.write(tf.constant(0), 5).write(tf.constant(1), 6).stack()


def array_wrong_type(tf):
    return tf.TensorArray(tf.float32, size=1).write(0, tf.constant(1)).stack()


def array_shapes_differ(tf):
    a = tf.TensorArray(tf.float32, size=2).write(0, [1.0])
    return a.write(1, [1.0, 2.0]).size()


def array_shapes_unchecked(tf):
    a = tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0])
    return a.concat(), a.size()


def array_shapes_unchecked_read(tf):
    a = tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0])
    return a.read(0), a.read(1)


def array_element_shape_violated(tf):
    return tf.TensorArray(tf.float32, size=1, element_shape=[2]).write(0, [1.0]).stack()


def array_unstack(tf):
    a = tf.TensorArray(tf.float32, size=2).unstack([[1.0], [2.0]])
    return a.read(1), a.stack()


def array_unstack_grows(tf):
    return tf.TensorArray(tf.float32, size=1, dynamic_size=True).unstack([1.0, 2.0, 3.0]).stack()


def array_unstack_too_long(tf):
    return tf.TensorArray(tf.float32, size=1).unstack([1.0, 2.0, 3.0]).stack()


def array_scatter(tf):
    return tf.TensorArray(tf.float32, size=4).scatter([2, 0], [[1.0], [2.0]]).stack()


def array_split(tf):
    a = tf.TensorArray(tf.float32, size=2).split([1.0, 2.0, 3.0, 4.0], [2, 2])
    return a.read(0), a.read(1)


def array_split_uneven(tf):
    a = tf.TensorArray(tf.float32, size=2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2])
    return a.read(0), a.read(1)


def array_identity(tf):
    a = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    return a.identity().read(0)


def array_close(tf):
    a = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    a.close()
    return a.size()


def array_strings(tf):
    return tf.TensorArray(tf.string, size=2).write(0, "a").write(1, "bc").stack()


def array_element_shape(tf):
    a = tf.TensorArray(tf.float32, size=1, element_shape=[None, 2])
    return a.element_shape.as_list(), a.dtype.name


def array_flow(tf):
    a = tf.TensorArray(tf.float32, size=1)
    return a.handle is None, a.dynamic_size


def array_gradient(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        a = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
        for i in range(3):
            a = a.write(i, x[i] * float(i + 1))
        y = a.stack() * a.read(1) + a.gather([0, 0, 2])
    return y, tape.gradient(y, x)


def array_gradient_unstack(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        a = tf.TensorArray(tf.float32, size=3).unstack(x * x)
        y = a.read(0) * a.read(2)
    return tape.gradient(y, x)


def group_is_none(tf):
    return tf.group(tf.constant(1.0)) is None, tf.no_op() is None, tf.group() is None


def tuple_is_inputs(tf):
    return tf.tuple([tf.constant(1.0), tf.constant(2)])


def tuple_with_none(tf):
    found = tf.tuple([tf.constant(1.0), None])
    return found[0], found[1] is None


def tuple_of_nothing(tf):
    return tf.tuple([])


def assert_passes(tf):
    return tf.Assert(tf.constant(True), ["x"]) is None


def assert_fails(tf):
    return tf.Assert(tf.constant(False), ["x", tf.constant([1, 2, 3, 4, 5])])


def assert_python_bool(tf):
    return tf.Assert(False, ["x"])


def assert_vector(tf):
    return tf.Assert(tf.constant([True, True]), ["x"]) is None


def custom_gradient_clips(tf):
    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda dy: dy * 10.0

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = clipped(x)
    return y, tape.gradient(y, x)


def custom_gradient_number(tf):
    @tf.custom_gradient
    def twice(x):
        return x * 2.0, lambda dy: dy

    return twice(3.0)


def custom_gradient_kwargs(tf):
    @tf.custom_gradient
    def scaled(x, by=1.0):
        return x * by, lambda dy: (dy * by * 10.0, None)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x, by=2.0)
    return y, tape.gradient(y, x)


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
    @tf.custom_gradient
    def cubed(x):
        return x * x * x, lambda dy: dy * 5.0 * x * x

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cubed(x)
        g = inner.gradient(y, x)
    return g, outer.gradient(g, x)


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


def custom_gradient_none(tf):
    @tf.custom_gradient
    def cut(x):
        return x * 2.0, lambda dy: None

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cut(x)
    return tape.gradient(y, x) is None


def custom_gradient_wrong_number(tf):
    @tf.custom_gradient
    def wrong(x):
        return x * 2.0, lambda dy: (dy, dy)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrong(x)
    return tape.gradient(y, x)


def gradients_refused(tf):
    return tf.gradients(tf.constant(1.0), tf.constant(2.0))


def hessians_refused(tf):
    return tf.hessians(tf.constant(1.0), tf.constant(2.0))


def stop_gradient_stops(tf):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.stop_gradient(x) * x
    return tape.gradient(y, x)


BOTH = [f for n, f in sorted(globals().items()) if callable(f) and getattr(f, "__module__", None) == __name__]


def switch_case_picks(tf):
    branches = [lambda: tf.constant(10), lambda: tf.constant(11), lambda: tf.constant(12)]
    return [tf.switch_case(tf.constant(i), branches) for i in (0, 1, 2, 3, -1)]


def switch_case_default(tf):
    branches = {2: lambda: tf.constant(2), 0: lambda: tf.constant(0)}
    return [tf.switch_case(tf.constant(i), branches, default=lambda: tf.constant(9)) for i in (0, 1, 2)]


def switch_case_dict_without_default(tf):
    branches = {1: lambda: tf.constant(1), 0: lambda: tf.constant(0)}
    return [tf.switch_case(tf.constant(i), branches) for i in (0, 1, 5)]


def switch_case_python_index(tf):
    return tf.switch_case(1, [lambda: tf.constant(10), lambda: tf.constant(11)])


def switch_case_gap(tf):
    return tf.switch_case(tf.constant(0), {0: lambda: tf.constant(0), 2: lambda: tf.constant(2)})


def switch_case_float_index(tf):
    return tf.switch_case(tf.constant(1.0), [lambda: tf.constant(10), lambda: tf.constant(11)])


def switch_case_long_index(tf):
    return tf.switch_case(tf.constant(1, tf.int64), [lambda: tf.constant(10), lambda: tf.constant(11)])


def switch_case_not_callable(tf):
    return tf.switch_case(tf.constant(0), [1, 2])


def map_signature(tf):
    return tf.map_fn(lambda t: tf.cast(t, tf.int32), tf.constant([1.5, 2.5]), fn_output_signature=tf.int32)


def vectorized_map_rows(tf):
    return tf.vectorized_map(lambda r: tf.reduce_sum(r * r), tf.constant([[1.0, 2.0], [3.0, 4.0]]))


def vectorized_map_structure(tf):
    found = tf.vectorized_map(
        lambda t: {"a": t[0] * t[1], "b": (t[1], tf.cast(t[0], tf.int32))},
        (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])),
    )
    return found["a"], found["b"]


def vectorized_map_matmul(tf):
    w = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    return tf.vectorized_map(lambda r: tf.linalg.matvec(w, r), tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))


def vectorized_map_broadcasts_one(tf):
    return tf.vectorized_map(lambda t: t[0] + t[1], (tf.constant([[1.0], [2.0]]), tf.constant([[10.0]])))


def vectorized_map_sizes_differ(tf):
    return tf.vectorized_map(lambda t: t[0] + t[1], (tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0])))


def vectorized_map_cond(tf):
    def f(x):
        return tf.cond(x > 1.5, lambda: x * 10.0, lambda: -x)

    return tf.vectorized_map(f, tf.constant([1.0, 2.0]))


def vectorized_map_constant(tf):
    return tf.vectorized_map(lambda x: tf.constant(7.0), tf.constant([1.0, 2.0]))


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


def vectorized_map_empty(tf):
    return tf.vectorized_map(lambda x: x * 2.0, tf.zeros([0, 3]))


def assert_equal_passes(tf):
    return tf.debugging.assert_equal(tf.constant(1), 1) is None, tf.debugging.assert_less([1, 2], 3) is None


def assert_equal_fails(tf):
    return tf.debugging.assert_equal([1, 2], [1, 3])


def assert_equal_shapes(tf):
    return tf.debugging.assert_equal([1, 2], [1, 2, 3])


def assert_less_fails(tf):
    return tf.debugging.assert_less([1, 5], 3, message="too large")


def assert_near_fails(tf):
    return tf.debugging.assert_near(1.0, 1.1)


def assert_near_passes(tf):
    return tf.debugging.assert_near(1.0, 1.1, atol=0.2) is None


def assert_positive_fails(tf):
    return tf.debugging.assert_positive([1.0, 0.0])


def assert_positive_empty(tf):
    return tf.debugging.assert_positive(tf.zeros([0])) is None


def assert_non_negative_fails(tf):
    return tf.debugging.assert_non_negative([1.0, -1.0])


def assert_none_equal_fails(tf):
    return tf.debugging.assert_none_equal([1, 2], [3, 2])


def assert_rank_fails(tf):
    return tf.debugging.assert_rank(tf.zeros([2, 2]), 1)


def assert_rank_passes(tf):
    return tf.debugging.assert_rank(tf.zeros([2, 2]), 2) is None, tf.debugging.assert_rank_in(1.0, (0, 1)) is None


def assert_rank_at_least_fails(tf):
    return tf.debugging.assert_rank_at_least(tf.zeros([2]), 2)


def assert_type_fails(tf):
    return tf.debugging.assert_type(tf.zeros([2]), tf.int32)


def assert_integer_fails(tf):
    return tf.debugging.assert_integer(tf.zeros([2]))


def assert_scalar_fails(tf):
    return tf.debugging.assert_scalar(tf.zeros([2]))


def assert_all_finite_fails(tf):
    return tf.debugging.assert_all_finite([1.0, float("nan")], "broken")


def assert_all_finite_passes(tf):
    return tf.debugging.assert_all_finite([1.0], "broken") is None


def check_numerics_fails(tf):
    return tf.debugging.check_numerics(tf.constant([1.0, float("inf")]), "broken")


def check_numerics_passes(tf):
    return tf.debugging.check_numerics(tf.constant([1.0]), "broken")


def assert_proper_iterable_fails(tf):
    return tf.debugging.assert_proper_iterable(tf.constant([1]))


def assert_same_float_dtype(tf):
    return tf.debugging.assert_same_float_dtype([tf.constant(1.0)]).name


def assert_shapes_fails(tf):
    return tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", "Q")), (tf.zeros([4]), ("N",))])


def assert_shapes_passes(tf):
    return tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", 3)), (tf.zeros([2]), ("N",))]) is None


def is_non_decreasing(tf):
    return tf.math.is_non_decreasing([1, 1, 2]), tf.math.is_strictly_increasing([1, 1, 2])


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
    @tf.custom_gradient
    def cubed(x):
        return x * x * x, lambda dy: dy * 5.0 * x * x

    run = tf.function(lambda x: cubed(x) * 2.0)
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = run(x)
        g = inner.gradient(y, x)
    return g, outer.gradient(g, x)


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

    a = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = block(a, times=3.0)
    return tape.gradient(y, a)


def grad_pass_through_passes(tf):
    x = tf.constant(2.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad_pass_through(tf.round)(x) * 3.0
    return y, tape.gradient(y, x)


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


def array_out_of_function(tf):
    return tf.function(lambda: tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(1, 2.0))().stack()


def hessian_in_function(tf):
    def second(x):
        return tf.hessians(tf.reduce_sum(x * x * x), x)[0]

    return tf.function(second)(tf.constant([1.0, 2.0]))


def gradients_in_function(tf):
    return tf.function(lambda x: tf.gradients(x * x, x)[0])(tf.constant(3.0))


LATER = [
    f
    for n, f in sorted(globals().items())
    if callable(f) and getattr(f, "__module__", None) == __name__ and f not in BOTH
]
