"""Helpers of tests in ``tf.test``: attributes that are replaced for a while, graphs that are compared, paths."""

from __future__ import annotations

import os
from typing import Any

from towerstrat.platform import messages


class StubOutForTesting:
    """Replaces attributes, and puts back what was there."""

    def __init__(self) -> None:
        self._set: list[tuple[Any, str, Any, bool]] = []
        self._smart: list[tuple[Any, str, Any, bool]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.CleanUp()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replaces an attribute of a module, a class or an object, until ``UnsetAll``.

        Raises:
          AttributeError: it has none of that name.
        """
        self._replace(self._set, parent, child_name, new_child)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """``Set``, where the attribute may be one of a base, until ``SmartUnsetAll``."""
        self._replace(self._smart, obj, attr_name, new_attr)

    def _replace(self, kept: list[tuple[Any, str, Any, bool]], owner: Any, name: str, value: Any) -> None:
        own = name in vars(owner)
        kept.append((owner, name, vars(owner)[name] if own else getattr(owner, name), own))
        setattr(owner, name, value)

    def UnsetAll(self) -> None:
        """Puts back what ``Set`` replaced, the last first."""
        self._restore(self._set)

    def SmartUnsetAll(self) -> None:
        """Puts back what ``SmartSet`` replaced, the last first."""
        self._restore(self._smart)

    def _restore(self, kept: list[tuple[Any, str, Any, bool]]) -> None:
        while kept:
            owner, name, value, own = kept.pop()
            if own:
                setattr(owner, name, value)
            else:
                delattr(owner, name)

    def CleanUp(self) -> None:
        """Puts everything back."""
        self.SmartUnsetAll()
        self.UnsetAll()


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Raises AssertionError where two graphs differ in a node; their order and versions may differ.

    Args:
      checkpoint_v2, hash_table_shared_name: whether names of temporary files and of tables may differ; nodes here have
        none.

    Raises:
      TypeError: not a GraphDef.
    """
    for name, graph in (("actual", actual), ("expected", expected)):
        if not isinstance(graph, messages.GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph).__name__}")
    found, wanted = ({node.name: node for node in graph.node} for graph in (actual, expected))
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found or name not in wanted:
            raise AssertionError(f"{'Did not expect' if name in found else 'Did not find'} the node {name!r}.")
        if found[name] != wanted[name]:
            raise AssertionError(f"Nodes named {name!r} differ: expected {wanted[name]}, got {found[name]}")


def test_src_dir_path(relative_path: str) -> str:
    """A path from the current folder, where tests lie that are run from there."""
    return os.path.join(os.getcwd(), relative_path)


# No test, though its name says so.
test_src_dir_path.__test__ = False  # type: ignore[attr-defined]
