"""What a function of structures comes to without structure, by derivatives and by differences, which must agree."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.golden.gradient_structures_cases import function_of, reads_back
from tests.graph.gradients import jets
from tests.graph.gradients.strategies import VARIABLES, X

Nest = tuple[Any, ...]
"""``(structure, nest, ...)``: the structure around the others, one after the other."""
STEP = 1e-3
"""Of differences: their error is its fourth power times fifth derivatives."""
CLOSE = 1e-5
"""How far apart derivatives and differences may be, relative to the largest derivative."""


class Arithmetic:
    """The kit of formulas: counts writes, and reads back what was written without a gradient.

    Attributes:
      frozen: what has no gradient, in order; where it is given, as it is for differences, it stays that.
    """

    sin = staticmethod(jets.sin)
    constant = staticmethod(np.asarray)

    def __init__(self, w: Any, s: Any, frozen: Sequence[Any] | None = None):
        self.w, self.s = w, s
        self.count = 0
        self.given = None if frozen is None else iter(frozen)
        self.frozen: list[Any] = []

    def leaf(self, x: Any) -> Any:
        self.writes()
        return self.sin(x) * self.w

    def writes(self) -> None:
        self.count += 1

    def jacobian(self, f: Callable[[Any], Any], x: Any) -> Any:
        """The Jacobian, of one evaluation of ``f``."""
        f(x)
        count = self.count
        found = jets.jacobian(f, x)
        self.count = count
        return found

    def read_back(self, value: Any) -> Any:
        return self.s + self.stopped(jets.plain(value) - jets.plain(self.s))

    def stopped(self, value: Any) -> Any:
        """A value that has no gradient."""
        self.frozen.append(value if self.given is None else next(self.given))
        return self.frozen[-1]


@dataclass
class Wanted:
    """What a formula says.

    Attributes:
      towers: of each tower the value, the gradients by x, w and s, and those of the sum of the gradients' squares.
      writes: how often a tower writes.
    """

    towers: list[list[np.ndarray[Any, Any]]]
    writes: int


@functools.cache
def wanted(nest: Nest, towers: int) -> Wanted:
    """``formula`` at the inputs of the table, found by differences too.

    Raises:
      AssertionError: derivatives and differences are not the same.
    """
    for i in range(towers):
        given = _given(nest, X * (i + 1))
        results, kit = _derivatives(nest, given)
        for got, function in ((results[1], _sum_of), (results[2], _squares_of)):
            near = _differences(functools.partial(function, nest, kit.frozen), given)
            size = max(1.0, float(np.max(np.abs(got))))
            np.testing.assert_allclose(got, near, rtol=0, atol=CLOSE * size, err_msg=str(nest))
    return formula(nest, towers, tuple(X))


def formula(nest: Nest, towers: int, x: tuple[float, ...]) -> Wanted:
    """The formula of a nest of structures, on towers of which the first has the input ``x``."""
    found, writes = [], 0
    for i in range(towers):
        given = _given(nest, np.array(x) * (i + 1))
        (value, *derivatives), kit = _derivatives(nest, given)
        found.append([value, *(part for entries in derivatives for part in _split(entries, given))])
        writes = kit.count
    return Wanted(found, writes)


def _given(nest: Nest, x: Any) -> list[Any]:
    """What is differentiated by."""
    return [x, VARIABLES["w"], VARIABLES["s"]][: 3 if reads_back(nest) else 2]


def _derivatives(nest: Nest, given: Sequence[Any], frozen: Any = None) -> tuple[list[Any], Arithmetic]:
    """The value, the derivatives of its sum, and those of the sum of these derivatives' squares."""
    x, w, *s = jets.sources(given)
    kit = Arithmetic(w, *(s or [VARIABLES["s"]]), frozen)
    y = function_of(kit, nest, "formula")(x)
    total = y.sum(0)
    return [y.value, total.first, 2.0 * total.second @ total.first], kit


def _sum_of(nest: Nest, frozen: Any, given: Sequence[Any]) -> float:
    x, w, *s = given
    return float(np.sum(function_of(Arithmetic(w, *(s or [VARIABLES["s"]]), frozen), nest, "formula")(x)))


def _squares_of(nest: Nest, frozen: Any, given: Sequence[Any]) -> float:
    first = _derivatives(nest, given, frozen)[0][1]
    return float(first @ first)


def _split(entries: Any, given: Sequence[Any]) -> list[Any]:
    cuts = np.cumsum([np.size(g) for g in given])[:-1]
    return [p.reshape(np.shape(g)) for p, g in zip(np.split(entries, cuts), given, strict=True)]


def _differences(function: Callable[[Sequence[Any]], float], given: Sequence[Any]) -> list[float]:
    """Central differences of fourth order, by all entries of arrays."""
    flat = np.concatenate([np.ravel(g) for g in given])
    steps = STEP * np.eye(len(flat))

    def across(step: Any) -> float:
        return function(_split(flat + step, given)) - function(_split(flat - step, given))

    return [(8 * across(step) - across(2 * step)) / (12 * STEP) for step in steps]
