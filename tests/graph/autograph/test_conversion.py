"""Which code is converted, and what a converted function keeps of the original."""

import functools
import textwrap

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf2
from tests.graph.autograph.common import run, tf
from tests.locks import is_free
from towerstrat.graph.autograph import api, conversion
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Tensor

GLOBAL = 7


def sign(x):
    if x > 0:
        return 1
    return -1


def with_default(x, scale=3, *rest, offset=GLOBAL, **named):
    if x > 0:
        return x * scale + offset + sum(rest) + named.get("extra", 0)
    return x


def test_defaults_globals_and_star_arguments():
    assert run(with_default, 2) == 2 * 3 + 7
    assert run(lambda x: with_default(x, 2, 10, 20, offset=1, extra=100), 2) == 2 * 2 + 1 + 30 + 100
    assert run(lambda x: with_default(*[x, 5], **{"offset": 0}), 2) == 10


def test_a_default_is_that_of_the_definition():
    factor = 2

    def program(x, k=factor):
        return x * k if x > 0 else x

    factor = 100
    assert run(program, 3) == 6


def test_closures_are_shared_with_the_original():
    calls = 0

    def program(x):
        nonlocal calls
        calls += 1
        if x > 0:
            return x
        return -x

    assert run(program, -2) == 2
    assert run(program, 5) == 5
    assert calls == 2


def test_closures_of_one_code_object_are_kept_apart():
    def make(k):
        def program(x):
            if x > 0:
                return x * k
            return x

        return program

    assert [run(make(k), 2) for k in (1, 2, 3)] == [2, 4, 6]


class Model:
    def __init__(self, k):
        self.k = k
        self.__hidden = 10

    def __call__(self, x):
        if x > 0:
            return x * self.k
        return self.negative(x)

    def negative(self, x):
        while x < 0:
            x += self.__hidden
        return x

    @classmethod
    def of_class(cls, x):
        return 1 if x > 0 else 2

    @staticmethod
    def of_none(x):
        return 1 if x > 0 else 2

    @property
    def double(self):
        return self.k * 2


class Derived(Model):
    def negative(self, x):
        y = super().negative(x)
        if y > 5:
            y = y * 100
        return y


def test_methods_private_names_and_callable_objects():
    assert run(Model(5), 2) == 10
    assert run(Model(5), -13) == 7
    assert run(Model(5).negative, -1) == 9
    assert run(lambda x: Model(2)(x) + Model.of_class(x) + Model.of_none(-x) + Model(1).double, 3) == 6 + 1 + 2 + 2


def test_super():
    assert run(Derived(5), -13) == 700
    assert run(Derived(5), -6) == 4


def test_partial():
    def program(a, b, c=1):
        if a > 0:
            return a + 10 * b + 100 * c
        return a

    assert run(functools.partial(program, 3, c=2), 4) == 3 + 40 + 200
    assert run(lambda x: functools.partial(program, x)(5), 1) == 151


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args):
        result = function(*args)
        if result > 10:
            result = result * 2
        return result

    return wrapper


def test_decorators_and_what_they_wrap():
    @doubled
    @doubled
    def program(x):
        if x > 0:
            return x
        return -x

    assert run(program, 6) == 6
    assert run(program, -20) == 80
    assert program.__wrapped__ is not None


def test_lambdas_of_one_line_are_told_apart():
    first, second = (lambda x: x + 1 if x > 0 else x), (lambda x: x * 9 if x > 0 else -x)
    assert (run(first, 2), run(second, 2)) == (3, 18)
    assert run((lambda x: (lambda y: y if x > 0 else -y)(x * 2)), -3) == 6
    pair = [lambda v, k=k: v * k if v > 0 else v for k in (2, 3)]
    assert [run(f, 5) for f in pair] == [10, 15]


def test_a_lambda_over_several_lines():
    program = lambda x: (  # noqa: E731
        x * 2
        if x > 0
        else x * 3
    )  # fmt: skip
    assert run(program, -1) == -3


def test_recursive_false_converts_builtins_only():
    def program(x):
        return len(x), sign(x[0])

    with pytest.raises(TypeError, match="truth value"), Graph().as_default():
        api.converted(program, recursive=False)(tf.placeholder(tf.int32, [3]))


def test_do_not_convert():
    @api.do_not_convert
    def left(x):
        return inner(x)

    def inner(x):
        return isinstance(x, Tensor) and helper_is_plain()

    def helper_is_plain():
        return api.like_caller(sign) is sign

    assert run(lambda x: left(x), 1) is True
    with pytest.raises(TypeError, match="truth value"):
        run(api.do_not_convert(sign), 1)
    assert api.do_not_convert()(sign)(3) == 1


def test_what_is_called_back_is_converted_where_the_caller_is():
    def apply(function, x):
        return api.like_caller(function)(x)

    assert run(lambda x: api.do_not_convert(apply)(sign, x) if False else apply(sign, x), 3) == 1
    assert api.like_caller(sign) is sign


def test_converting_twice_changes_nothing():
    assert run(api.converted(api.converted(sign)), 3) == 1
    assert api.converted(sign)(5) == 1
    assert api.converted(sign).__name__ == "sign"


def test_installed_code_runs_as_it_is():
    def program(x):
        return np.mean([1.0, 3.0]) + textwrap.dedent("  a").count("a"), x

    assert run(program, 1) == (3.0, 1)


def test_generators_and_comprehensions():
    def numbers(n):
        i = 0
        while i < n:
            yield i
            i += 1

    def program(x):
        return (
            [x * i for i in numbers(3)] + [sign(v) for v in (x, -x)],
            dict.fromkeys("ab", x + 0),
            sum(i for i in range(4)),
        )

    assert run(program, 2) == ([0, 2, 4, 1, -1], {"a": 2, "b": 2}, 6)


def test_statements_of_all_kinds():
    def program(x):
        global GLOBAL
        before = GLOBAL
        try:
            GLOBAL = 8
            raise KeyError("no")
        except (KeyError, ValueError) as error:
            text = f"{type(error).__name__}:{error.args[0]!r:>5}"
            if x > 0:
                y = 1
            else:
                y = 2
        else:
            if x > 0:
                y = 3
            else:
                y = 4
        finally:
            GLOBAL = before
        (a, *rest), b = [1, 2, 3], x
        rest[0] += 1
        z: int = y + a
        while z < 3:
            z += 1
        for k in range(2):
            if k > 5:
                break
        else:
            z = z + 1000
        assert text
        del text
        return z, rest, b, k

    assert run(program, 5) == (1003, [3, 3], 5, 1)
    assert run(program, -5) == (1003, [3, 3], -5, 1)
    assert GLOBAL == 7


def test_what_asks_for_its_caller():
    def program(x):
        value = 41
        return eval("value + 1"), locals()["value"], globals()["GLOBAL"], "value" in dir(), x

    assert run(program, 0) == (42, 41, 7, True, 0)


def test_an_assignment_expression_stays_python():
    def program(x):
        k = 0
        while (step := k + 1) < 3:
            k = step
        return k, x

    assert run(program, 5) == (2, 5)


def test_to_code_and_to_graph():
    code = api.to_code(sign)
    assert "ag__.if_stmt(" in code
    compile(code, "<code>", "exec")
    assert api.to_graph(sign)(4) == 1
    assert api.to_graph(Model.negative)(Model(1), -3) == 7
    with pytest.raises(ValueError, match="generator"):
        api.to_code(lambda: (yield))
    with pytest.raises(ValueError, match="Expected a function"):
        api.to_graph(3)


def test_to_code_and_to_graph_of_1_15():
    with Graph().as_default():
        given = {"x": tf.constant(-2)}
        found = tf1.autograph.to_graph(sign, True, given, {"x": Tensor}, None)(tf.constant(-2))
        assert isinstance(found, Tensor)
        with tf1.Session() as session:
            assert session.run(found) == -1
    assert tf1.autograph.to_code(sign, arg_values=None, indentation=" ") == tf2.autograph.to_code(sign)
    with pytest.raises(ValueError, match="Expected a function"):
        tf1.autograph.to_graph(3)


def test_verbosity(capsys):
    api.set_verbosity(1, alsologtostdout=True)
    try:
        run(lambda x: x if x > 1000 else -x, 3)
    finally:
        api.set_verbosity(0)
    assert "AutoGraph: test_verbosity.<locals>.<lambda>" in capsys.readouterr().out
    api.trace("traced", 1)
    assert capsys.readouterr().out == "traced 1\n"


def test_a_function_with_a_docstring_only():
    def nothing():
        """Nothing."""

    assert run(lambda x: (nothing(), x), 1) == (None, 1)
    assert api.to_graph(nothing).__doc__ == "Nothing."


def test_functions_given_to_operations_are_converted(later_behavior):
    @tf2.function
    def work(x):
        def larger(a, b):
            if b > a:
                return b
            return a

        return tf2.map_fn(lambda e: e if e > 0 else -e, x), tf2.foldl(larger, x)

    positive, largest = work(tf2.constant([-1.0, 2.0, -3.0]))
    assert positive.numpy().tolist() == [1.0, 2.0, 3.0]
    assert float(largest) == 2.0


def test_the_call_of_a_layer_is_converted(later_behavior):
    class Clipping(tf2.compat.v1.layers.Layer):
        def call(self, x):
            if tf2.reduce_sum(x) > 1.0:
                return x / tf2.reduce_sum(x)
            return x

    layer = Clipping()
    work = tf2.function(lambda x: layer(x))
    assert work(tf2.constant([2.0, 2.0])).numpy().tolist() == [0.5, 0.5]
    assert work(tf2.constant([0.25, 0.25])).numpy().tolist() == [0.25, 0.25]


def test_threads_wait_while_one_converts(monkeypatch):
    decide, free = conversion._decide, []
    monkeypatch.setattr(conversion, "_decide", lambda *args: (free.append(is_free(conversion._lock)), decide(*args))[1])
    assert run(lambda x: x if x > 1000 else -x, 3) == -3
    assert free
    assert not any(free)
