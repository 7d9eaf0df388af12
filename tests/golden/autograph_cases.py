# ruff: noqa: RET503
"""Programs whose control flow over tensors is written in Python; the original and ours both convert and run them.

A case is called with ``tf``, and gives the program and the arguments of each of its runs. What it raises while it is
built, or in a run, belongs to the case.
"""

CASES = []


def _on(*runs):
    """Makes a case of a function of ``tf`` and further arguments, which are given for each run."""

    def made(program):
        def case(tf):
            return lambda *args: program(tf, *args), list(runs)

        case.__name__ = program.__name__
        CASES.append(case)
        return case

    return made


@_on([2.0], [-3.0])
def if_assigns(tf, x):
    if x > 0.0:
        y = x * x
    else:
        y = -x
    return y


@_on([2.0], [-3.0])
def if_without_else(tf, x):
    y = x + 1.0
    if x > 0.0:
        y = y * 10.0
    return y


@_on([-5], [5], [50], [500])
def elif_chain(tf, x):
    if x < 0:
        y = -1
    elif x < 10:
        y = 0
    elif x < 100:
        y = 1
    else:
        y = 2
    return y


@_on([20], [5], [-1])
def returns_in_branches(tf, x):
    if x > 0:
        if x > 10:
            return x * 2, 1
        return x * 3, 2
    return x, 3


@_on([1], [-1])
def return_after_else(tf, x):
    if x > 0:
        y = x
    else:
        return x - 1
    return y + 1


@_on([1, 1], [1, -1], [-1, 1])
def nested_ifs(tf, x, y):
    a = 0
    b = {"k": y}
    if x > 0:
        a = 1
        if y > 0:
            a = a + 10
            b = {"k": y * 2}
        else:
            b = {"k": y * 3}
        a = a + 100
    return a, b


_FLAG = True


@_on([1])
def python_if(tf, x):
    if _FLAG:
        y = x + 1
    else:
        y = undefined_name  # noqa: F821
    return y


@_on([1, -1], [1, 1], [-1, 6], [-1, 1], [2, 2])
def boolean_operators(tf, x, y):
    if x > 0 and not y > 0:
        a = 1
    elif x > 0 or y > 5:
        a = 2
    else:
        a = 3
    return a, x > 1 and y > 1, x > 1 or y > 1, not x > 1


@_on([5], [3], [-1], [11])
def chained_comparison(tf, x):
    return 0 < x < 10 <= x + 5, 3 if 0 < x <= 5 else 4


@_on([5], [-3], [1000])
def conditional_expression(tf, x):
    y = x * 2 if x > 0 else -x
    return y if y < 100 else x - x


@_on([1], [-1])
def python_operands_of_and(tf, x):
    return x > 0 and True, True and x > 0, False or x > 0, x is not None and x > 0


@_on([5], [0])
def while_counts(tf, n):
    i = 0
    total = 0
    while i < n:
        total += i
        i += 1
    return total, i


@_on([100.0], [0.5])
def while_of_floats(tf, x):
    while x > 1.0:
        x = x / 2.0
    return x


@_on([6], [1])
def while_nested(tf, n):
    i = 0
    total = 0
    while i < n:
        j = 0
        while j < i:
            if j % 2 == 0:
                total += j
            else:
                total -= 1
            j += 1
        i += 1
    return total


@_on([4], [0])
def for_range(tf, n):
    total = 0
    for i in tf.range(n):
        total += i * i
    return total


@_on([7], [0])
def for_range_with_step(tf, n):
    total = 0
    last = -1
    for i in tf.range(n, 0, -2):
        total = total * 10 + i
        last = i
    for i in tf.range(1, n, 3):
        total += i
    return total, last, i


@_on([1.0])
def for_range_of_fixed_length(tf, x):
    for i in tf.range(3):
        x = x * 2.0 + tf.cast(i, tf.float32)
    return x


@_on([0, 5, 2], [5, 0, -2])
def for_range_with_unknown_step(tf, a, b, c):
    total = 0
    for i in tf.range(a, b, c):
        total = total * 10 + i
    return total


@_on([5], [-3])
def for_range_builtin(tf, n):
    total = 0
    for i in range(n):
        total += i
    for i in range(2, n):
        total += 10 * i
    for i in range(0, n, 2):
        total += 100 * i
    return total


@_on([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
def for_rows(tf, x):
    total = tf.zeros([2])
    for row in x:
        total = total + row * row
    return total


@_on([[1, 2, 3, 4, 5]])
def for_elements_with_branch(tf, x):
    evens = 0
    odds = 0
    for v in x:
        if v % 2 == 0:
            evens += v
        else:
            odds += v
    return evens, odds


@_on([5])
def for_python_list(tf, x):
    total = x
    for k in [1, 2, 3]:
        if k == 2:
            continue
        total = total * k
    return total


@_on([1], [-1])
def for_python_with_tensor_branch(tf, x):
    for k in range(3):
        if x > k:
            x = x + 10
    return x


@_on([[1, 2, 3, 4], 2], [[1, 2, 3, 4], 100], [[1, 2, 3, 4], -1])
def break_in_for(tf, x, limit):
    total = 0
    for v in x:
        if total > limit:
            break
        total += v
    return total


@_on([100], [1])
def break_in_while(tf, n):
    i = 0
    while True:
        if i > 3:
            break
        i += 1
    j = 0
    while j < n:
        j += 2
        if j == 4 or j > 7:
            break
        j += 1
    return i, j


@_on([[1, -5, 20]])
def continue_in_for(tf, x):
    total = 0
    for v in x:
        if v < 0:
            continue
        total += v
        if v > 10:
            continue
        total += 100
    return total


@_on([3], [10])
def break_and_continue(tf, n):
    total = 0
    for i in tf.range(n):
        if i == 1:
            continue
        for j in tf.range(i):
            if j > 2:
                break
            if j == 1:
                continue
            total += 10 * i + j
        if total > 200:
            break
    return total


@_on([1.0], [0.001], [60.0])
def range_with_break_of_fixed_length(tf, x):
    for _ in tf.range(10):
        x = x * 2.0
        if x > 50.0:
            break
    return x


@_on([10])
def several_variables(tf, n):
    a, b = 0, 1
    for _ in tf.range(n):
        a, b = b, a + b
    return a, b


@_on([3], [0])
def structures(tf, n):
    s = {"a": 0, "b": (1.0, [tf.zeros([2]), 5])}
    for i in tf.range(n):
        s = {"a": s["a"] + i, "b": (s["b"][0] * 2.0, [s["b"][1][0] + 1.0, s["b"][1][1]])}
    return s


@_on([4])
def subscripts(tf, n):
    s = {"a": 0, "b": 1}
    for i in tf.range(n):
        s["a"] += i
        if i > 1:
            s["b"] = s["a"]
    return s["a"], s["b"]


class _Counter:
    def __init__(self):
        self.x = 1
        self.seen = 0

    def double_until(self, n):
        while self.x < n:
            self.x = self.x * 2
            self.seen += 1
        return self.x


@_on([30], [3])
def attributes(tf, n):
    counter = _Counter()
    counter.double_until(n)
    if counter.seen > 3:
        counter.seen = 100
    return counter.x, counter.seen


@_on([4], [0])
def only_after_an_iteration(tf, n):
    for i in tf.range(n):
        y = i * 2
    return y


@_on([[5, 6, 7], 3], [[5], 0])
def target_after_the_loop(tf, x, n):
    for v in x:  # noqa: B007
        pass
    for i in tf.range(n):  # noqa: B007
        pass
    return v, i


@_on([4])
def none_before_the_loop(tf, n):
    best = None
    for i in tf.range(n):
        best = i * 3
    return best


@_on([4])
def none_asked_in_the_loop(tf, n):
    best = None
    for i in tf.range(1, n):
        if best is None:
            best = i
        else:
            best = best * 10 + i
    return best


@_on([9])
def return_as_only_statement_of_loop(tf, n):
    for i in tf.range(5, n):
        return i * 2
    return 7


@_on([[1.0, 2.0], 3])
def vectors_only_after_an_iteration(tf, x, n):
    for i in tf.range(n):
        y = x + tf.cast(i, tf.float32)
    return y


@_on([2.0], [[1.0, 2.0]])
def tensor_array(tf, x):
    ta = tf.TensorArray(tf.float32, size=3)
    for i in tf.range(3):
        ta = ta.write(i, x * tf.cast(i, tf.float32))
    return ta.stack()


@_on([2.0])
def tensor_array_in_branch(tf, x):
    ta = tf.TensorArray(tf.float32, size=4)
    for i in tf.range(4):
        if x > tf.cast(i, tf.float32):
            ta = ta.write(i, x)
        else:
            ta = ta.write(i, -x)
    return ta.stack()


def shape_invariants(tf):
    def program(n):
        y = tf.zeros([1])
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
            y = tf.concat([y, [tf.cast(i, tf.float32)]], 0)
        return y

    return program, [[3]]


def maximum_iterations(tf):
    def program(n):
        i = tf.constant(0)
        while i < n:
            tf.autograph.experimental.set_loop_options(maximum_iterations=4, parallel_iterations=2)
            i += 1
        return i

    return program, [[2], [100]]


CASES += [shape_invariants, maximum_iterations]  # options of loops are found where tf is no argument


@_on([[1, 2, 3], -4], [[1, 2, 3], 4])
def builtins(tf, x, n):
    k = len(x)
    return k, int(n), float(n), abs(n), abs(-3), int("7"), max(2, 3), len([1, 2])


@_on([2.0], [-1.0])
def gradient_of_if(tf, x):
    if x > 0.0:
        y = x * x * x
    else:
        y = 5.0 * x
    return y, tf.gradients(y, x)[0]


@_on([2.0, 3], [2.0, 0])
def gradient_of_while(tf, x, n):
    y = x
    i = 0
    while i < n:
        y = y * x
        i += 1
    return y, tf.gradients(y, x)[0]


@_on([[[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]], 0.7])
def gradient_of_for(tf, x, w):
    h = tf.zeros([2])
    for row in x:
        h = tf.tanh(h * w + row)
    loss = tf.reduce_sum(h)
    return [loss] + tf.gradients(loss, [x, w])


@_on([2.0], [5.0])
def gradient_of_break(tf, x):
    y = x
    for i in tf.range(6):
        if y > 100.0:
            break
        if i % 2 == 0:
            y = y * x
        else:
            y = y + x
    return y, tf.gradients(y, x)[0]


@_on([2.0], [0.5])
def gradient_of_nested(tf, x):
    total = 0.0
    for i in tf.range(3):
        y = x
        for _ in tf.range(2):
            y = y * x if x > 1.0 else y + x
        total = total + y * tf.cast(i, tf.float32)
    return total, tf.gradients(total, x)[0]


def _scaled(x, scale=2):
    if x > 0:
        return x * scale
    return x


@_on([3], [-3])
def functions_called(tf, x):
    return _scaled(x), _scaled(x, scale=5), (lambda v: v + 1 if v > 0 else v - 1)(x)


def _power(x, n):
    if n == 0:
        return x * 0 + 1
    if x > 100:
        return x
    return x * _power(x, n - 1)


@_on([3], [1000])
def recursion(tf, x):
    return _power(x, 4)


@_on([1], [2], [5])
def closures_and_inner_functions(tf, x):
    offset = x * 10

    def inner(v):
        if v > 2:
            r = v + offset
        else:
            r = v - offset
        return r

    return inner(x) + inner(x + 1)


@_on([5], [20])
def variable_with_loop(tf, n):
    total = tf.constant(0)
    i = tf.constant(0)
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        if i > 8:
            break
        total += i
    else_part = total * 2
    return total, else_part


@_on([1], [-1])
def try_and_with(tf, x):
    with tf.name_scope("part"):
        if x > 0:
            y = x
        else:
            y = -x
    try:
        z = y + 1
    finally:
        w = y + 2
    return y, z, w


@_on([1], [-1])
def deleted_and_augmented(tf, x):
    y = x
    y += 1
    z = y
    del y
    if x > 0:
        z *= 2
        z -= 1
    return z


@_on([[1]], [[-1]])
def condition_of_one_element(tf, x):
    if x > 0:
        return 1
    return 2


# ---- what is refused ---------------------------------------------------------------------------------------------


@_on([1])
def undefined_in_else(tf, x):
    if x > 0:
        y = 1
    return y


@_on([1])
def undefined_in_main(tf, x):
    if x > 0:
        pass
    else:
        y = 1
    return y


@_on([1])
def none_in_one_branch(tf, x):
    y = None
    if x > 0:
        y = 1
    return y


@_on([1])
def no_return_in_else(tf, x):
    if x > 0:
        return x


@_on([1])
def types_of_branches_differ(tf, x):
    if x > 0:
        y = 1
    else:
        y = 2.0
    return y


@_on([1])
def structures_of_branches_differ(tf, x):
    if x > 0:
        y = (1, 2)
    else:
        y = (1, 2, 3)
    return y


@_on([1])
def type_changes_in_loop(tf, n):
    y = 0
    for _ in tf.range(n):
        y = tf.cast(y, tf.float32) + 0.5
    return y


@_on([1])
def shape_changes_in_loop(tf, n):
    y = tf.zeros([1])
    for _ in tf.range(n):
        y = tf.concat([y, y], 0)
    return y


@_on([1])
def structure_changes_in_loop(tf, n):
    s = (0,)
    for _ in tf.range(n):
        s = s + (1,)
    return s


@_on([1])
def none_after_iteration(tf, n):
    y = 0
    for _ in tf.range(n):
        y = None
    return y


@_on([1])
def read_before_assignment_in_loop(tf, n):
    for _ in tf.range(n):
        y = y + 1  # noqa: F821
    return y


@_on([[1, 2]])
def vector_as_condition(tf, x):
    if x > 0:
        return 1
    return 2


@_on([1])
def number_as_condition(tf, x):
    while x:
        x -= 1
    return x


@_on([2])
def break_of_python_loop(tf, n):
    total = 0
    for i in range(5):
        if i > n:
            break
        total += i
    return total


@_on([1])
def condition_becomes_tensor(tf, n):
    i = 0
    while i < 3:
        i = n + i
    return i


@_on([2])
def tensor_in_list_of_loop(tf, n):
    found = []
    for i in tf.range(n):
        found.append(i)
    return tf.stack(found)


@_on([1])
def scalar_iterated(tf, x):
    total = 0
    for v in x:
        total += v
    return total
