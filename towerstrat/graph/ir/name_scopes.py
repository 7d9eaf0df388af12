"""Names of operations and of state: unique within a graph, prefixed by scopes, as in TensorFlow.

Checkpoints, ``get_tensor_by_name`` and random draws depend on names, so numbers are given exactly as in the original:
the first "w" is ``w``, the next ``w_1``; case does not count; a scope's name is made unique, too, unless it ends in a
slash.

>>> from towerstrat.graph.ir.graph import Graph
>>> graph = Graph()
>>> with graph.name_scope("layer") as scope:
...     names = [graph.unique_name("w"), graph.unique_name("W")]
>>> scope, names, graph.unique_name("layer")
('layer/', ['layer/w', 'layer/W_1'], 'layer_1')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.ir.graph_scopes import ThreadScopes

OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class Naming:
    """The names of a graph: a mixin of it.

    Attributes:
      scope_name, creators: the thread's name scope, without a slash at its end, and its variable creators.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, int] = {}
        self._state_names: dict[str, int] = {}
        self._thread = ThreadScopes()

    @property
    def scope_name(self) -> str:
        return self._thread.name

    @scope_name.setter
    def scope_name(self, name: str) -> None:
        self._thread.name = name

    @property
    def creators(self) -> list[Callable[..., Any]]:
        return self._thread.creators

    _variable_creator_stack = creators

    def _get_control_flow_context(self) -> None:
        """None: branches and loops are regions of their own, not contexts of the graph."""

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """``name`` below the current scope, with ``_1``, ``_2``, ... where it is taken (case does not count)."""
        if self.scope_name:
            name = f"{self.scope_name}/{name}"
        key = name.lower()
        used = self._names.get(key, 0)
        if mark_as_used:
            self._names[key] = used + 1
        if used:
            base = key
            while key in self._names:
                key = f"{base}_{used}"
                used += 1
            if mark_as_used:
                self._names[key] = 1
            name = f"{name}_{used - 1}"
        return name

    @property
    def state_scope(self) -> str:
        """The prefix of the names of state other than variables: the function's name in its graph, else ""."""
        return ""

    def state_name(self, base: str) -> str:
        """A new name for state other than variables: ``base``, ``base_1``, ... in order of creation.

        It depends on others of the same base only, so it survives edits of the rest of the program.
        """
        used = self._state_names.get(base, 0)
        self._state_names[base] = used + 1
        return f"{self.state_scope}{base}_{used}" if used else f"{self.state_scope}{base}"

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of operations made inside; yields the scope's name with a slash at its end.

        A name that ends in a slash re-enters that scope; None or "" is the top level.
        """
        if name:
            if self.scope_name:
                if not SCOPE_NAME.match(name):
                    raise ValueError(f"'{name}' is not a valid scope name")
            elif not OP_NAME.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        old = self.scope_name
        if not name:
            new = ""
        elif name[-1] == "/":
            new = name[:-1]
        else:
            new = self.unique_name(name)
        self.scope_name = new
        try:
            yield f"{new}/" if new else ""
        finally:
            self.scope_name = old

    def get_name_scope(self) -> str:
        return self.scope_name
