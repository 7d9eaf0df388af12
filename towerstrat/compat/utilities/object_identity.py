"""Dictionaries and sets of objects by identity: ``tensorflow.python.util.object_identity``."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are compared with ``is``, so that they need no hash.

    Args:
      args, kwargs: entries, as ``dict`` takes them.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self._entries: dict[int, tuple[Callable[[], Any], Any]] = {}
        self.update(*args, **kwargs)

    def _kept(self, key: Any) -> Callable[[], Any]:
        """A function that gives the key."""
        return lambda: key

    def __getitem__(self, key: Any) -> Any:
        if id(key) not in self._entries:
            raise KeyError(key)
        return self._entries[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries[id(key)] = (self._kept(key), value)

    def __delitem__(self, key: Any) -> None:
        if id(key) not in self._entries:
            raise KeyError(key)
        del self._entries[id(key)]

    def __contains__(self, key: object) -> bool:
        return id(key) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        for kept, _ in list(self._entries.values()):
            key = kept()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"{type(self).__name__}({[(key, self[key]) for key in self]})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """One whose entries go with their keys."""

    def _kept(self, key: Any) -> Callable[[], Any]:
        place, entries = id(key), self._entries
        return weakref.ref(key, lambda _: entries.pop(place, None))


class ObjectIdentitySet(MutableSet[Any]):
    """A set whose elements are compared with ``is``.

    Args:
      items: the first elements.
    """

    _dictionary: type[ObjectIdentityDictionary] = ObjectIdentityDictionary

    def __init__(self, items: Iterable[Any] = ()):
        self._elements = self._dictionary()
        self.update(items)

    def __contains__(self, item: object) -> bool:
        return item in self._elements

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def add(self, value: Any) -> None:
        self._elements[value] = True

    def discard(self, value: Any) -> None:
        self._elements.pop(value, None)

    def update(self, items: Iterable[Any]) -> None:
        """Adds the items."""
        for item in items:
            self.add(item)

    def intersection(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """The items that are in the set."""
        return self & ObjectIdentitySet(items)  # type: ignore[return-value]

    def difference(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """The elements that are not among the items."""
        return self - ObjectIdentitySet(items)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """One whose elements go when nothing else holds them."""

    _dictionary = ObjectIdentityWeakKeyDictionary
