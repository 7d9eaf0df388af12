"""Assertions with the arguments of 2.x: what they print is x and y, never ``data``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ops.control import assertions
from towerstrat.graph.ops.host import runtime_checks


def _named(function: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = original.__name__
    function.__doc__ = (original.__doc__ or "").partition("\n")[0]
    return function


def _of_two(original: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> Any:
        return original(x, y, summarize=summarize, message=message, name=name)

    return _named(function, original)


def _of_one(original: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None) -> Any:
        return original(x, summarize=summarize, message=message, name=name)

    return _named(function, original)


def _of_rank(original: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> Any:
        return original(x, rank, message=message, name=name)

    return _named(function, original)


assert_equal = _of_two(assertions.assert_equal)
assert_less = _of_two(assertions.assert_less)
assert_less_equal = _of_two(assertions.assert_less_equal)
assert_greater = _of_two(assertions.assert_greater)
assert_greater_equal = _of_two(assertions.assert_greater_equal)
assert_negative = _of_one(assertions.assert_negative)
assert_positive = _of_one(assertions.assert_positive)
assert_non_negative = _of_one(assertions.assert_non_negative)
assert_non_positive = _of_one(assertions.assert_non_positive)
assert_rank = _of_rank(assertions.assert_rank)
assert_rank_at_least = _of_rank(assertions.assert_rank_at_least)
assert_shapes = assertions.assert_shapes


def assert_none_equal(
    x: Any, y: Any, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> Any:
    """An operation that raises InvalidArgumentError when ``x != y`` is false for some entry."""
    return assertions.assert_none_equal(x, y, summarize=summarize, message=message, name=name)


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, message: str | None = None, summarize: int | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """An operation that raises InvalidArgumentError unless ``|x - y| < atol + rtol * |y|`` for every entry."""
    return assertions.assert_near(x, y, rtol, atol, summarize=summarize, message=message, name=name)


def assert_rank_in(x: Any, ranks: Any, message: str | None = None, name: str | None = None) -> Any:
    """Makes sure that ``x`` has one of these ranks."""
    return assertions.assert_rank_in(x, ranks, message=message, name=name)


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Any:
    """The tensor. Raises ValueError, which ``message`` begins, unless its shape is known to be that of a scalar."""
    return assertions.assert_scalar(tensor, name, message)


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Any:
    """``x``, checked to hold neither NaN nor infinity when it runs."""
    return runtime_checks.verify_tensor_all_finite(x, message, name)
