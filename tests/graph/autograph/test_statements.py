"""What converted statements become: effects, gradients, registered iterables, builtins, eager values."""

import numpy as np
import pytest

from tests.graph.autograph.common import run, tf
from towerstrat import errors
from towerstrat.graph.autograph import api
from towerstrat.graph.autograph.builtins import Overloading
from towerstrat.graph.autograph.iteration import StagedIterable
from towerstrat.graph.autograph.loops import staged_while
from towerstrat.graph.eager import mode
from towerstrat.graph.eager.context import context
from towerstrat.graph.ir.graph import Graph, enter


def test_effects_run_with_their_branch_only():
    def program(x):
        v = tf.Variable(10)
        if x > 0:
            v.assign_add(1)
        else:
            v.assign_sub(5)
            if x < -5:
                v.assign_sub(100)
        return v.read_value()

    assert [run(program, x) for x in (1, -1, -9)] == [11, 5, -95]


def test_effects_of_loops_without_variables():
    def program(n):
        v = tf.Variable(0)
        while v < n:
            v.assign_add(3)
        for i in tf.range(n):
            if i > 2:
                v.assign_add(100)
        return v.read_value()

    assert run(program, 5) == 6 + 200


def test_an_assertion_in_a_branch_counts_where_the_branch_runs():
    def program(x):
        y = x
        if x > 0:
            assert x < 10, "too large"
            y = x + 1
        return y

    assert (run(program, 5), run(program, -50)) == (6, -50)
    with pytest.raises(errors.InvalidArgumentError, match="too large"):
        run(program, 11)


def test_the_right_side_of_and_runs_where_it_counts():
    def program(x):
        v = tf.Variable(0)

        def counted(y):
            v.assign_add(1)
            return y > 10

        a = x > 0 and counted(x)
        b = x > 0 or counted(x)
        return a, b, v.read_value()

    assert run(program, 20) == (True, True, 1)
    assert run(program, -1) == (False, False, 1)


def types_of(program, *shapes, **options):
    with Graph().as_default() as graph:
        result = api.converted(program)(*(tf.placeholder(tf.float32, s) for s in shapes))
        return graph, result, [op.type for op in graph.get_operations()]


def test_cheap_conditions_need_no_branch():
    _, _, types = types_of(lambda x: 0.0 < x < 1.0 or not x > 2.0, [])
    assert "If" not in types
    _, _, types = types_of(lambda x: x > 0.0 and tf.reduce_all(x > 0.0), [])
    assert "If" in types


def test_loops_of_fixed_length_are_bounded():
    def with_break(x):
        for _ in tf.range(7):
            if x > 3.0:
                break
            x = x * 2.0
        return x

    def plain(x):
        for _ in tf.range(7):
            x = x * 2.0
        return x

    for program, bounded in ((with_break, True), (plain, False)):
        graph, result, _ = types_of(program, [])
        loop = next(op for op in graph.get_operations() if op.type == "While")
        assert loop.attrs["bounded"] is bounded
        with graph.as_default(), tf.Session() as session:
            x = graph.get_operations()[0].outputs[0]
            slope = tf.gradients(result, x)
            assert session.run(slope, {x: 2.0}) == [2.0 if bounded else 128.0]


def test_rows_are_elements_of_a_scan():
    def program(x):
        total = 0.0
        for row in x:
            total += tf.reduce_sum(row)
        return total

    _, _, types = types_of(program, [5, 3])
    assert "TensorArrayReadV3" in types
    assert run(program, np.ones((0, 3))) == 0
    assert run(program, np.ones((4, 3)), shapes=[None]) == 12


def test_strings_are_walked_too():
    def program(x):
        text = tf.constant("")
        for word in tf.constant(["a", "bb", "c"]):
            if x > 0:
                text = word
            x -= 1
        return text

    assert run(program, 2) == b"bb"


def test_values_of_unknown_size_that_only_an_iteration_gives():
    def program(x, n):
        for i in tf.range(n):
            if i > 0:
                y = x * 2.0
            else:
                y = x
        return y, tf.gradients(tf.reduce_sum(y), x)[0]

    y, slope = run(program, [1.0, 2.0], 2, shapes=[[None], []])
    np.testing.assert_array_equal(y, [2.0, 4.0])
    np.testing.assert_array_equal(slope, [2.0, 2.0])


def test_return_from_a_loop():
    def program(x, limit):
        for i in tf.range(10):
            x = x * 2.0
            if x[0] > limit:
                return x, i
            for j in tf.range(3):
                if x[0] + tf.cast(j, tf.float32) > 50.0:
                    return x + 1000.0, j
        return x, -1

    for shapes in ([[2], []], [[None], []]):
        assert [np.asarray(v).tolist() for v in run(program, [1.0, 2.0], 7.0, shapes=shapes)] == [[8.0, 16.0], 2]
        assert [np.asarray(v).tolist() for v in run(program, [1.0, 2.0], 1e9, shapes=shapes)] == [[1064.0, 1128.0], 0]
        assert [np.asarray(v).tolist() for v in run(program, [0.0, 2.0], 7.0, shapes=shapes)] == [[0.0, 2048.0], -1]


def test_a_return_that_python_never_takes():
    def program(n):
        a = 0
        for i in tf.range(n):
            limit = 3
            if limit > 5:
                return a, 0
            if n > 100:
                break
            a = a + i
        return a, n

    assert [int(v) for v in run(program, 4)] == [6, 4]


def test_return_of_nothing():
    def program(x):
        v = tf.Variable(0)

        def step():
            if x > 0:
                v.assign(1)
                return
            v.assign(2)

        step()
        return v.read_value()

    assert (run(program, 1), run(program, -1)) == (1, 2)


def test_what_is_only_tried_leaves_no_trace():
    def program(n):
        for i in tf.range(n):
            y = i * 2
            graph.add_to_collection("seen", y)
        while y > 100:
            y -= 1
        return y

    with Graph().as_default() as graph:
        graph.add_to_collection("before", 1)
        api.converted(program)(tf.placeholder(tf.int32, []))
        assert len(graph.get_collection("seen")) == 1
        assert graph.get_collection("before") == [1]


class Holder:
    value = 1


def test_an_error_leaves_attributes_as_they_were():
    holder = Holder()

    def branch(x):
        if x > 0:
            holder.value = x
            raise KeyError
        return holder.value

    def loop(x):
        while x > holder.value:
            holder.value = holder.value + x
            raise KeyError
        return x

    for program in (branch, loop):
        with pytest.raises(KeyError):
            run(program, 5)
        assert holder.value == 1


def test_the_order_of_returns_and_python_loops():
    def program(x):
        if x > 100:
            return x
        for k in range(3):
            x = x + k
        while k < 5:
            k += 1
        return x * k

    assert (run(program, 101), run(program, 1)) == (101, 20)


# ---- types with statements and builtins of their own ---------------------------------------------------------------


class Countdown(StagedIterable, Overloading):
    """n, n - 1, ..., 1."""

    converted_builtins = {
        len: lambda countdown: countdown.start * 1,
        zip: lambda *countdowns: f"{len(countdowns)} zipped",
    }

    def __init__(self, n):
        self.left = tf.Variable(0)
        self.start = n

    def _staged_loop(self, body, variables, goes_on):
        with tf.control_dependencies([self.left.assign(self.start + 1)]):
            staged_while(
                lambda: tf.logical_and(self.left.assign_sub(1) >= 1, True if goes_on is None else goes_on()),
                lambda: body(self.left.read_value()), variables, "for loop", body,
            )  # fmt: skip


def test_iterables_with_a_loop_of_their_own():
    def program(n):
        digits = 0
        for k in Countdown(n):
            if k > 6:
                continue
            if k < 3:
                break
            digits = digits * 10 + k
        return digits

    assert run(program, 7) == 6543
    assert run(program, 2) == 0


def test_types_that_overload_builtins():
    def program(n):
        zipped = zip(Countdown(n), Countdown(n))  # noqa: B905
        return len(Countdown(n)), zipped, [*zip([1], [2], strict=True)], len([1])

    assert run(program, 7) == (7, "2 zipped", [(1, 2)], 1)


# ---- builtins ----------------------------------------------------------------------------------------------------


def test_builtins_on_tensors():
    def program(x, s):
        flag = bool(s)
        top = max(s, 3) if flag else s
        return top, max(x), min(x), min(s, 2, 1), sum(x), sum(x, s), sorted(x, reverse=True), abs(s), float(s)

    found = run(program, [3, 1, 2], 5)
    assert [np.asarray(v).tolist() for v in found] == [5, 3, 1, 1, 6, 11, [3, 2, 1], 5, 5.0]
    assert run(lambda s: (any([s is None]), all([True]), list(map(abs, [-2])), [*enumerate("a")]), 1) == (
        False, True, [2], [(0, "a")],
    )  # fmt: skip


def test_print_runs_with_the_program_where_asked_to(capfd):
    def program(x):
        print("value", x)
        return x

    run(program, 3, options=api.Feature.BUILTIN_FUNCTIONS)
    assert capfd.readouterr().out == "value 3\n"
    run(program, 3)
    assert capfd.readouterr().out.startswith('value Tensor("Placeholder:0"')


def test_len_and_range():
    def program(x):
        total = 0
        for i in range(len(x)):
            total += i * x[i]
        return total, len(x)

    assert run(program, [1, 2, 3], shapes=[[None]]) == (8, 3)
    with pytest.raises(ValueError, match="got the scalar"):
        run(lambda x: len(x), 3)


# ---- eager values ------------------------------------------------------------------------------------------------


def test_eager_values_are_python_values():
    def program(x, n):
        total = 0
        for v in x:
            if v < 0:
                continue
            if v > 5 or not v < 100:
                break
            total += v
        while n > 0 and total < 100:
            total = total + n
            n -= 1
        found = []
        for i in range(len(x)):
            found.append(x[i])
        return total, len(found), int(n), max(found)

    with enter(context()):
        total, count, left, top = api.converted(program)(tf.constant([1, -1, 3, 9, 1]), tf.constant(3))
    assert mode.executing_eagerly() is False
    assert (int(total), count, int(left), int(top)) == (10, 5, 0, 9)
