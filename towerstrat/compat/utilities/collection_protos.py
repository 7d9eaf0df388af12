"""How the entries of a collection become protocol messages: ``register_proto_function`` and what asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Conversion = Callable[..., Any] | None


class _Conversions(NamedTuple):
    proto_type: Any
    to_proto: Conversion
    from_proto: Conversion


_REGISTERED: dict[str, _Conversions] = {}


def register_proto_function(
    collection_name: str, proto_type: Any = None, to_proto: Conversion = None, from_proto: Conversion = None
) -> None:
    """Registers the conversions of a collection's entries.

    Args:
      proto_type: the class of messages. to_proto, from_proto: functions between entries and messages.

    Raises:
      TypeError: a conversion is not callable. KeyError: the collection is registered.
    """
    for what, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function is not None and not callable(function):
            raise TypeError(f"{what} must be callable.")
    if collection_name in _REGISTERED:
        raise KeyError(f"Registering two proto_functions with name {collection_name!r}!")
    _REGISTERED[collection_name] = _Conversions(proto_type, to_proto, from_proto)


def get_collection_proto_type(collection_name: str) -> Any:
    """The class of messages of a collection, or None."""
    found = _REGISTERED.get(collection_name)
    return found.proto_type if found else None


def get_to_proto_function(collection_name: str) -> Conversion:
    """The function from entries to messages, or None."""
    found = _REGISTERED.get(collection_name)
    return found.to_proto if found else None


def get_from_proto_function(collection_name: str) -> Conversion:
    """The function from messages to entries, or None."""
    found = _REGISTERED.get(collection_name)
    return found.from_proto if found else None
