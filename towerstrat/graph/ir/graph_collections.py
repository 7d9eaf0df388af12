"""Collections of a graph: lists of objects by key, as libraries find them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_OF_VARIABLES = ("variables", "local_variables", "trainable_variables")
"""The collections that functions add to from inside."""


class Collections:
    """The collections of a graph, and whether it is finalized: a mixin of it."""

    def __init__(self) -> None:
        super().__init__()
        self._collections: dict[Hashable, list[Any]] = {}
        self._finalized = False

    def finalize(self) -> None:
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        """Undoes ``finalize``, as closing a monitored session does."""
        self._finalized = False

    @property
    def finalized(self) -> bool:
        return self._finalized

    @contextmanager
    def allow_changes(self) -> Iterator[None]:
        """Lets the graph be added to inside, finalized or not."""
        outer, self._finalized = self._finalized, False
        try:
            yield
        finally:
            self._finalized = outer

    def add_to_collection(self, name: Hashable, value: Any) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: str | Iterable[Hashable], value: Any) -> None:
        for name in (names,) if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[Hashable]:
        return [k for k, v in self._collections.items() if v]

    def clear_collection(self, name: Hashable) -> None:
        self._collections.pop(name, None)

    def collections_of_function(self, shared: bool) -> dict[Hashable, list[Any]]:
        """The collections for a function traced here: these, or copies except those of variables."""
        if shared:
            return self._collections
        copies = {name: list(values) for name, values in self._collections.items()}
        return copies | {name: self.get_collection_ref(name) for name in _OF_VARIABLES}

    @property
    def collections(self) -> list[Hashable]:
        return list(self._collections)
