"""Functions and classes that the package hands to TensorFlow.

They are kept. What would ask for them is the loading of SavedModels, which is refused, and code of TensorFlow's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_Function = Callable[..., Any]


class _Registered:
    """What was registered, by its purpose."""

    def __init__(self) -> None:
        self.functions: dict[str, _Function] = {}


_registered = _Registered()


def _registering(purpose: str) -> Callable[[_Function], None]:
    def register(func: _Function) -> None:
        _registered.functions[purpose] = func

    register.__doc__ = f"Keeps the function that {purpose}."
    return register


register_clear_session_function = _registering("forgets the package's graphs and names")
register_get_session_function = _registering("gives the package's session")
register_call_context_function = _registering("gives the context of the layer that is being called")
register_load_context_function = _registering("tells whether a saved model is being loaded")
register_load_model_function = _registering("loads a saved model")


class VersionedTypeRegistration:
    """How objects of one class are made again from a saved model.

    Args:
      object_factory: makes one from the metadata that was saved. version: of that form.
      min_producer_version, min_consumer_version: which versions can be read, and by which.
      bad_consumers: versions that must not read it. setter: sets an attribute of an object.
    """

    def __init__(
        self,
        object_factory: _Function,
        version: int,
        min_producer_version: int,
        min_consumer_version: int,
        bad_consumers: Sequence[int] | None = None,
        setter: _Function = setattr,
    ):
        self.object_factory = object_factory
        self.setter = setter
        self.version = version
        self.min_producer_version = min_producer_version
        self.min_consumer_version = min_consumer_version
        self.bad_consumers = list(bad_consumers or ())


class RevivedType(NamedTuple):
    """A class whose objects saved models have: which they are, and how they are made again."""

    predicate: _Function
    versions: Sequence[VersionedTypeRegistration]


_revived: dict[str, RevivedType] = {}


def register_revived_type(identifier: str, predicate: _Function, versions: Sequence[VersionedTypeRegistration]) -> None:
    """Notes a class whose objects saved models have.

    Raises:
      AssertionError: the identifier is taken.
    """
    if identifier in _revived:
        raise AssertionError(f"Duplicate registrations for type '{identifier}'")
    _revived[identifier] = RevivedType(predicate, sorted(versions, key=lambda each: -each.version))


def registered_identifiers() -> list[str]:
    """The identifiers of the classes that were noted."""
    return list(_revived)


def get_setter(identifier: str) -> _Function | None:
    """What sets attributes of the objects of a class, in its newest version; None for an unknown one."""
    found = _revived.get(identifier)
    return found.versions[0].setter if found else None
