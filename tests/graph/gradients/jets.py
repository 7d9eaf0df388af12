"""Numbers that carry derivatives: an arithmetic of second derivatives on numpy that shares nothing with JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class _Number:
    """Arithmetic that follows from sums, products and ``scaled``.

    Attributes:
      level: of two numbers the one of the lower level is constant to what the other carries; arrays have none.
    """

    __array_ufunc__ = None
    level = 0

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __add__(self, other: Any) -> Any:
        raise NotImplementedError

    def __mul__(self, other: Any) -> Any:
        raise NotImplementedError

    def __sub__(self, other: Any) -> Any:
        return self + other * -1.0


def _level(number: Any) -> int:
    return number.level if isinstance(number, _Number) else -1


class Jet(_Number):
    """An array of the shape S with its first and second derivatives by n numbers, in S + (n,) and S + (n, n).

    The second derivative of a product a b is a b'' + a'' b + a' b' + b' a'.
    """

    def __init__(self, value: Array, first: Array, second: Array):
        self.value, self.first, self.second = value, first, second

    def __add__(self, other: Any) -> Any:
        if _level(other) > self.level:
            return NotImplemented
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.first, self.second)
        return Jet(self.value + other.value, self.first + other.first, self.second + other.second)

    def __mul__(self, other: Any) -> Any:
        if _level(other) > self.level:
            return NotImplemented
        if not isinstance(other, Jet):
            other = np.asarray(other)
            return Jet(self.value * other, self.first * other[..., None], self.second * other[..., None, None])
        one, two = self.first, other.first
        crossed = one[..., :, None] * two[..., None, :]
        second = self.value[..., None, None] * other.second + self.second * other.value[..., None, None]
        first = self.value[..., None] * two + one * other.value[..., None]
        return Jet(self.value * other.value, first, second + crossed + np.swapaxes(crossed, -1, -2))

    def of(self, value: Array, first: Array, second: Array) -> Jet:
        """A function of it, from the function's value and derivatives."""
        crossed = self.first[..., :, None] * self.first[..., None, :]
        curved = first[..., None, None] * self.second + second[..., None, None] * crossed
        return Jet(value, first[..., None] * self.first, curved)

    def sum(self, axis: int) -> Jet:
        return Jet(self.value.sum(axis), self.first.sum(axis), self.second.sum(axis))


class Dual(_Number):
    """``a + b e`` with e e = 0, of jets, arrays, or duals of a lower level."""

    def __init__(self, a: Any, b: Any, level: int):
        self.a, self.b, self.level = a, b, level

    def __add__(self, other: Any) -> Any:
        if _level(other) > self.level:
            return NotImplemented
        if _level(other) < self.level:
            return Dual(self.a + other, self.b, self.level)
        return Dual(self.a + other.a, self.b + other.b, self.level)

    def __mul__(self, other: Any) -> Any:
        if _level(other) > self.level:
            return NotImplemented
        if _level(other) < self.level:
            return Dual(self.a * other, self.b * other, self.level)
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a, self.level)

    def sum(self, axis: int) -> Dual:
        return Dual(self.a.sum(axis), self.b.sum(axis), self.level)


def sources(values: Sequence[Array]) -> list[Jet]:
    """Arrays that derivatives are taken by: all their entries, one after the other."""
    sizes = [int(np.size(v)) for v in values]
    every = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1])
    none = np.zeros((sum(sizes),) * 2)
    return [
        Jet(np.asarray(v), e.reshape(*np.shape(v), -1), np.zeros((*np.shape(v), *none.shape)))
        for v, e in zip(values, every, strict=True)
    ]


def sin(x: Any) -> Any:
    if isinstance(x, Dual):
        return Dual(sin(x.a), cos(x.a) * x.b, x.level)
    if isinstance(x, Jet):
        return x.of(np.sin(x.value), np.cos(x.value), -np.sin(x.value))
    return np.sin(x)


def cos(x: Any) -> Any:
    if isinstance(x, Dual):
        return Dual(cos(x.a), sin(x.a) * x.b * -1.0, x.level)
    if isinstance(x, Jet):
        return x.of(np.cos(x.value), -np.sin(x.value), -np.cos(x.value))
    return np.cos(x)


def plain(x: Any) -> Array:
    """The value alone."""
    if isinstance(x, Dual):
        return plain(x.a)
    return x.value if isinstance(x, Jet) else np.asarray(x)


def jacobian(f: Callable[[Any], Any], x: Any) -> Any:
    """The derivatives of a vector function by the entries of a vector: ``[i, j]`` is that of entry i by entry j."""
    level = max(_level(x), 0) + 1
    columns = [f(Dual(x, e, level)) for e in np.eye(np.size(plain(x)))]
    zero = x * 0.0
    return _stacked([c.b if _level(c) == level else zero for c in columns])


def _stacked(columns: Sequence[Any]) -> Any:
    level = max(map(_level, columns))
    if level > 0:
        duals = [c if _level(c) == level else Dual(c, c * 0.0, level) for c in columns]
        return Dual(_stacked([d.a for d in duals]), _stacked([d.b for d in duals]), level)
    if level == 0:
        jets = [c if isinstance(c, Jet) else _constant(c, columns) for c in columns]
        parts = ([getattr(j, name) for j in jets] for name in ("value", "first", "second"))
        return Jet(*(np.stack(p, 1) for p in parts))
    return np.stack(columns, 1)


def _constant(array: Array, others: Sequence[Any]) -> Jet:
    like = next(o for o in others if isinstance(o, Jet))
    return Jet(array, np.zeros_like(like.first), np.zeros_like(like.second))
