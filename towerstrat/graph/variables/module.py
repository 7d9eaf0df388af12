"""``tf.Module``: an object that finds the variables and modules among its attributes.

Nothing is registered: each time ``variables`` is read, the attributes are searched in the order of their names, also in
lists and dicts, first the module's own variables, then those of its submodules; each object once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.containers import AutoTrackable
from towerstrat.graph.variables.trackable import TRACKING_ATTRIBUTES
from towerstrat.graph.variables.variables import Variable

_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
_NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])")
Path = tuple[Any, ...]
"""Attribute name, then keys and indices."""
_Self = TypeVar("_Self", bound="Module")
P = ParamSpec("P")
R = TypeVar("R")


class Module(AutoTrackable):
    """The base class of objects with variables and modules among their attributes, also inside lists and dicts.

    Args:
      name: an identifier; by default the class' name in snake case.

    Raises:
      ValueError: the name is no identifier.

    >>> class Pair(Module): pass
    >>> pair = Pair()
    >>> pair.left, pair.right = Module("left"), Module("right")
    >>> [m.name for m in pair.submodules]
    ['left', 'right']
    """

    _TF_MODULE_IGNORED_PROPERTIES: ClassVar[frozenset[str]] = frozenset()
    """Names of attributes that are not searched."""

    def __init__(self, name: str | None = None):
        if name is None:
            name = _NEW_WORD.sub("_", type(self).__name__).lower()
        elif not _IDENTIFIER.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name: it must be a Python identifier, such as a class name."
            )
        self._name = name
        graph = get_default_graph()
        if graph.executing_eagerly:
            outer = graph.get_name_scope()
            self._scope_name = f"{outer}/{name}/" if outer else f"{name}/"
        else:
            with graph.name_scope(name) as scope:
                self._scope_name = scope

    @property
    def name(self) -> str:
        """The name, without those of the enclosing scopes."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """The module's ``tf.name_scope``: its name inside the scope in which it was made."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Its variables in the order of the attributes' names, then those of its modules."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among ``variables``."""
        return tuple(self._flatten(predicate=lambda x: _is_variable(x) and x.trainable))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The ones among ``variables`` that are not trainable."""
        return tuple(self._flatten(predicate=lambda x: _is_variable(x) and not x.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules among its attributes, recursively."""
        return tuple(self._flatten(predicate=lambda x: isinstance(x, Module)))

    def _flatten(
        self, recursive: bool = True, predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None, with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:  # fmt: skip
        """Iterates over the values of its attributes, each once: first its own, then those of its modules.

        Args:
          recursive: whether modules are searched too.
          predicate: selects values; default all.
          attribute_traversal_key: the sort key of attributes' names.
          with_path: yield (path, value) pairs, with a value as often as it is found.
          expand_composites: changes nothing: composite values hold no variables here.
        """
        seen = None if with_path else {id(self)}
        for path, value in _walk(self, recursive, attribute_traversal_key, (), seen, ()):
            if predicate is None or predicate(value):
                yield (path, value) if with_path else value

    @classmethod
    def with_name_scope(cls, method: Callable[Concatenate[_Self, P], R]) -> Callable[Concatenate[_Self, P], R]:
        """Decorator of a method: it runs inside the module's name scope."""

        @functools.wraps(method)
        def inside(self: _Self, /, *args: P.args, **kwargs: P.kwargs) -> R:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return inside


def _is_variable(value: object) -> bool:
    return isinstance(value, Variable)


def _with_paths(value: object, path: Path) -> Iterator[tuple[Path, Any]]:
    """The leaves of a structure with their paths."""
    if not nest.is_sequence(value):
        yield path, value
        return
    for key, child in zip(nest.keys(value), nest.children(value), strict=True):
        yield from _with_paths(child, (*path, key))


def _walk(
    module: Module, recursive: bool, order: Callable[[str], Any] | None, path: Path, seen: set[int] | None,
    around: tuple[Module, ...],
) -> Iterator[tuple[Path, Any]]:  # fmt: skip
    """The values that a module holds, with their paths.

    Args:
      module: the one to look into; the modules below it come after its own values.
      recursive: whether these are looked into, too.
      order: the sort key of attributes' names.
      path: of the module, which the paths begin with.
      seen: ids of values that are left out, extended on the way; None: values are repeated.
      around: the modules on the path, so that cycles end.
    """
    modules = []
    attributes = vars(module)
    for key in sorted(attributes, key=order):
        if key in module._TF_MODULE_IGNORED_PROPERTIES or key in TRACKING_ATTRIBUTES:
            continue
        try:
            leaves = list(_with_paths(attributes[key], (*path, key)))
        except TypeError as error:
            raise ValueError(f"Error processing property {key!r} of {module!r}: {error}") from error
        for leaf_path, leaf in leaves:
            if seen is not None:
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
            yield leaf_path, leaf
            if recursive and isinstance(leaf, Module):
                modules.append((leaf_path, leaf))
    if not any(m is module for m in around):
        for leaf_path, leaf in modules:
            yield from _walk(leaf, recursive, order, leaf_path, seen, (*around, module))
