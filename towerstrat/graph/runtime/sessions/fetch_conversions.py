"""Types of the program's own that ``Session.run`` fetches and feeds: ``register_session_run_conversion_functions``.

    register(Pair, lambda p: ([p.a, p.b], Pair.of), lambda p, value: [(p.a, value.a), (p.b, value.b)])

    session.run(pair)                    fetches [pair.a, pair.b], returns Pair.of([value of a, value of b])
    session.run(y, {pair: value})        feeds pair.a and pair.b

The newest registration that fits a value's type is used. A conversion without the session, of a pair of tensors:

>>> pair = Conversion(tuple, lambda p: (list(p), tuple), lambda p, value: zip(p, value))
>>> fetches, join = pair.fetch(("a:0", "b:0"))
>>> fetches, join([1.0, 2.0])
(['a:0', 'b:0'], (1.0, 2.0))
>>> list(fed_parts(pair, ("a:0", "b:0"), (3.0, 4.0)))
[('a:0', 3.0), ('b:0', 4.0)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Joined = Callable[[list[Any]], Any]
FetchFunction = Callable[[Any], tuple[list[Any], Joined]]
FeedFunction = Callable[[Any, Any], Iterable[tuple[Any, Any]]]


class Conversion(NamedTuple):
    """The registered functions that fetch and feed values of a type.

    Attributes:
      fetch: from a value to a list of fetches, and a function from the fetched values to the result.
      feed: from a value and what is fed for it to pairs of a tensor and its value; None: it cannot be fed.
    """

    kind: type[Any]
    fetch: FetchFunction
    feed: FeedFunction | None


_registered: list[Conversion] = []


def register_session_run_conversion_functions(
    tensor_type: type[Any],
    fetch_function: FetchFunction,
    feed_function: FeedFunction | None = None,
    feed_function_for_partial_run: Callable[[Any], list[Any]] | None = None,
) -> None:
    """Make ``Session.run`` accept values of a type.

    Args:
      tensor_type: the type; values of derived types are taken too.
      fetch_function: ``value -> (fetches, join)``, where ``join`` makes the result of the list of fetched values.
      feed_function: ``(value, fed) -> [(tensor, its value), ...]``.
      feed_function_for_partial_run: unused, since ``Session.partial_run`` is refused.

    Raises:
      ValueError: the type, or one derived from it, is registered.
    """
    if any(issubclass(entry.kind, tensor_type) for entry in _registered):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _registered.insert(0, Conversion(tensor_type, fetch_function, feed_function))


def conversion_of(value: object) -> Conversion | None:
    """The newest conversion that is registered for a value, or None."""
    return next((entry for entry in _registered if isinstance(value, entry.kind)), None)


def fed_parts(conversion: Conversion, value: Any, fed: object) -> Iterable[tuple[Any, Any]]:
    """The (tensor, value) pairs that are fed for a registered value. Raises TypeError where it cannot be fed."""
    if conversion.feed is None:
        raise TypeError(f"{conversion.kind.__name__} was registered without a feed function: {value!r} cannot be fed.")
    return conversion.feed(value, fed)
