"""A tree of modules made from a table of public names."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from towerstrat.compat import known


class Namespace(ModuleType):
    """A module of the tree. A name that is not in it raises with the nearest thing that works.

    Attributes:
      public: its dotted public name, such as ``tf.nn``.
    """

    def __init__(self, name: str, public: str, doc: str | None = None):
        super().__init__(name, doc)
        self.__dict__["__path__"] = []
        self.__dict__["__package__"] = name
        self.__dict__["_public"] = public

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise known.missing(f"{self.__dict__['_public']}.{name}")

    def __dir__(self) -> list[str]:
        return sorted(name for name in self.__dict__ if not name.startswith("_"))


class Mixture(Namespace):
    """A module of the original's inside: offers what some public modules offer, and a few names of its own.

    Args:
      sources: the public modules, in the order they are searched.
      own: further names.
    """

    def __init__(self, name: str, public: str, sources: tuple[Namespace, ...], own: Mapping[str, Any]):
        super().__init__(name, public)
        self.__dict__.update(own)
        self.__dict__["_sources"] = sources

    def __getattr__(self, name: str) -> Any:
        for source in self.__dict__["_sources"]:
            if name in source.__dict__ and not name.startswith("_"):
                return source.__dict__[name]
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({n for source in self.__dict__["_sources"] for n in dir(source)} | set(super().__dir__()))


def build(root: str, table: Mapping[str, Any]) -> Namespace:
    """The tree for ``table`` (dotted public name, ``tf.nn.relu``, to object), its modules named from ``root``."""
    known.announce(table)
    top = Namespace(root, "tf")
    for name, value in table.items():
        *parents, last = name.split(".")[1:]
        module = top
        for parent in parents:
            module = child(module, parent)
        module.__dict__[last] = value
    for module in tree(top):
        module.__dict__["__all__"] = dir(module)
    return top


def child(module: Namespace, name: str) -> Namespace:
    """The module ``name`` inside ``module``, made when it is not there."""
    if name not in module.__dict__:
        module.__dict__[name] = Namespace(f"{module.__name__}.{name}", f"{module.__dict__['_public']}.{name}")
    return module.__dict__[name]


def tree(module: Namespace) -> Iterator[Namespace]:
    """The module and all below it."""
    yield module
    for value in list(module.__dict__.values()):
        if isinstance(value, Namespace) and value.__name__.startswith(module.__name__ + "."):
            yield from tree(value)


def publish(top: Namespace) -> None:
    """Makes every module of the tree importable by its name."""
    for module in tree(top):
        sys.modules.setdefault(module.__name__, module)
