"""Random functions with branches, loops and writes, in three homes: eagerly, as a function, as a function in a graph.

A function is source text with Python's ``if``, ``while`` and ``for`` over tensors, ``tf.cond`` and ``tf.while_loop``,
and assignments that nothing but the order of the lines holds. In all homes it has the same results, and leaves the same
values in its variables, at its first call and at its second.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import towerstrat.compat.v1 as tf
from tests.fuzz.difference import Difference, Tolerance, apart, first
from towerstrat.compat import v2 as tf2
from towerstrat.graph.eager import mode

TOLERANCE = Tolerance(each=16, largest=64)
NAMES = ("a", "b", "c")
VARIABLES = ("v", "w")
LIMIT = 8.0
DEPTH = 3
HEADER = """import numpy as np
from towerstrat.compat import v2 as tf

v, w = tf.Variable([1.0, -1.0]), tf.Variable([0.5, 2.0])
"""


class Source:
    """The text of a function of one tensor."""

    def __init__(self, random: Random):
        self.random = random
        self.lines = ["def function(x):", "    a, b, c = x + 0.0, x * 0.5, tf.zeros_like(x)"]
        self.loops = 0
        self.statements(1, random.randint(3, 6))
        self.lines.append("    return a, b, c, v + 0.0, w * 1.0")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def expression(self) -> str:
        leaf = self.random.choice
        kind = self.random.randint(0, 5)
        one, two = leaf((*NAMES, *VARIABLES)), leaf((*NAMES, *VARIABLES))
        if kind == 0:
            return f"tf.cond({self.condition()}, lambda: {one} + 1.0, lambda: {two} * 0.5)"
        if kind == 1:
            turns = self.random.randint(0, 3)
            return (
                f"tf.while_loop(lambda i, z: i < {turns}, lambda i, z: (i + 1, z * 0.5 + {one}), (0, {two} + 0.0))[1]"
            )
        return f"{one} {leaf('+-*')} {two}"

    def condition(self) -> str:
        name = self.random.choice((*NAMES, *VARIABLES))
        return f"tf.reduce_sum({name}) > {self.random.randint(-2, 2) / 2}"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statements(self, depth: int, count: int) -> None:
        for _ in range(count):
            kinds = (
                ("assign", "assign", "write", "write", "if", "while", "for") if depth < DEPTH else ("assign", "write")
            )
            getattr(self, f"_{self.random.choice(kinds)}")(depth)

    def _assign(self, depth: int) -> None:
        name = self.random.choice(NAMES)
        self.line(depth, f"{name} = tf.clip_by_value({self.expression()}, -{LIMIT}, {LIMIT})")

    def _write(self, depth: int) -> None:
        """A write whose result nothing uses, alone or in a branch."""
        variable, method = self.random.choice(VARIABLES), self.random.choice(("assign", "assign_add", "assign_sub"))
        write = f"{variable}.{method}(tf.clip_by_value({self.expression()}, -{LIMIT}, {LIMIT}) * 0.25)"
        if self.random.random() < 0.3:
            write = f"tf.cond({self.condition()}, lambda: {write} * 1.0, lambda: {variable} + 0.0)"
        self.line(depth, write)

    def _if(self, depth: int) -> None:
        self.line(depth, f"if {self.condition()}:")
        self.statements(depth + 1, self.random.randint(1, 2))
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.statements(depth + 1, self.random.randint(1, 2))

    def _while(self, depth: int) -> None:
        self.loops += 1
        counter = f"i{self.loops}"
        self.line(depth, f"{counter} = tf.constant(0)")
        self.line(depth, f"while {counter} < {self.random.randint(0, 3)}:")
        self.line(depth + 1, f"{counter} += 1")
        self.statements(depth + 1, self.random.randint(1, 2))

    def _for(self, depth: int) -> None:
        self.loops += 1
        bound = self.random.choice(("2", "3", f"tf.cast({self.condition()}, tf.int32) * 2"))
        self.line(depth, f"for j{self.loops} in tf.range({bound}):")
        self.line(depth + 1, f"b += tf.cast(j{self.loops}, tf.float32)")
        self.statements(depth + 1, self.random.randint(1, 2))


# ---- running ---------------------------------------------------------------------------------------------------


def program(seed: int) -> Difference | None:
    """The first difference between the homes of the function of a seed; None where there is none."""
    text = Source(Random(f"functions {seed}")).text()
    inputs = np.random.default_rng(seed).integers(-4, 5, (2, 2)).astype(np.float32) / 2
    wanted: list[Any] = []
    for home in (_eagerly, _as_function, _in_graph):
        try:
            found = home(text, f"<functions {seed}>", inputs)
        except Exception as error:
            return Difference(f"{home.__name__} raises {type(error).__name__}: {error}", _shown(text, inputs))
        wanted = wanted or found
        problems = [apart(f, w, TOLERANCE, LIMIT) for f, w in zip(found, wanted, strict=True)]
        problem = first([f"{home.__name__}: result {i}: {p}" for i, p in enumerate(problems) if p])
        if problem:
            return Difference(problem, _shown(text, inputs))
    return None


def _shown(text: str, inputs: Any) -> str:
    calls = "\n".join(f"print(*tf.function(function)(tf.constant({x.tolist()})), v, w)" for x in inputs)
    return f"{HEADER}\n{text}\n{calls}\n"


def _made(text: str, name: str) -> tuple[Callable[..., Any], list[Any]]:
    """The function, whose source can be found for its conversion, and its variables."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    variables = [tf2.Variable([1.0, -1.0]), tf2.Variable([0.5, 2.0])]
    names: dict[str, Any] = {"tf": tf2, "v": variables[0], "w": variables[1]}
    exec(compile(text, name, "exec"), names)
    return names["function"], variables


def _called(function: Callable[..., Any], variables: Any, inputs: Any) -> list[Any]:
    found: list[Any] = []
    for x in inputs:
        found += [r.numpy() for r in function(tf2.constant(x))]
        found += [v.numpy() for v in variables]
    return found


def _eagerly(text: str, name: str, inputs: Any) -> list[Any]:
    with mode.eager_mode():
        function, variables = _made(text, name)
        return _called(function, variables, inputs)


def _as_function(text: str, name: str, inputs: Any) -> list[Any]:
    with mode.eager_mode():
        function, variables = _made(text, name)
        return _called(tf2.function(function), variables, inputs)


def _in_graph(text: str, name: str, inputs: Any) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        function, variables = _made(text, name)
        fed = tf.placeholder(tf.float32, [2])
        results = tf2.function(function)(fed)
        session.run([v.initializer for v in variables])
        found: list[Any] = []
        for x in inputs:
            found += [*session.run(results, {fed: x}), *session.run(variables)]
        return found
