"""Things that are public functions, or methods of public classes: which there are, and how one is disturbed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from tests.value_cases.change import Change, intercept
from tests.value_cases.results import ONCE, disturbed
from towerstrat.compat.names import name_file


class Thing(NamedTuple):
    """One function, or a method of one class.

    Attributes:
      function: the Python function.
      owner: the class of which objects it is disturbed; None for any, and for what is no method.
    """

    function: Any
    owner: type | None = None

    def is_meant(self, args: tuple[Any, ...]) -> bool:
        """Whether a call with these arguments is of this thing."""
        return self.owner is None or (bool(args) and type(args[0]) is self.owner)


Things = Mapping[str, Thing]


def disturb(thing: Thing, change: Change) -> None:
    """The results of a thing are changed for the rest of the process; what is there for its effect has none."""
    of_effect = thing.function.__annotations__.get("return") == "None"

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        if of_effect and change.flip and not ONCE.busy and thing.is_meant(args):
            return None
        found = original(*args, **kwargs)
        return found if ONCE.busy or not thing.is_meant(args) else disturbed(found, change)

    intercept(thing.function, around)


@cache
def public(*modules: str) -> Mapping[str, Any]:
    """The public objects of modules, or of packages, by what follows ``towerstrat.`` in where they are."""
    found: dict[str, Any] = {}
    for row in (*name_file.below("tf"), *name_file.below("tensorflow")):
        inside = any(f"{row.module}.".startswith(f"towerstrat.{module}.") for module in modules)
        if inside and row.attribute != "*":
            name = f"{row.module}.{row.attribute}".removeprefix("towerstrat.")
            found[name] = attrgetter(row.attribute)(importlib.import_module(row.module))
    return dict(sorted(found.items()))


def functions(*modules: str) -> Iterator[tuple[str, Thing]]:
    """The public functions of modules."""
    for name, value in public(*modules).items():
        if inspect.isfunction(value):
            yield name, Thing(value)


def methods(named: Callable[[str], bool], *modules: str) -> Iterator[tuple[str, Thing]]:
    """The methods of the public classes of modules, inherited ones too, but those that only raise."""
    known: set[type] = set()
    for name, value in public(*modules).items():
        if inspect.isclass(value) and value not in known:
            known.add(value)
            for method, thing in methods_of(value, named):
                yield f"{name}.{method}", thing


def methods_of(owner: type, named: Callable[[str], bool]) -> Iterator[tuple[str, Thing]]:
    """The methods of a class, inherited ones too, but those that only raise."""
    for method in filter(named, dir(owner)):
        found = getattr(owner, method)
        found = found.fget if isinstance(found, property) else found
        function = inspect.unwrap(found.__func__ if inspect.ismethod(found) else found)
        if inspect.isfunction(function) and not function.__qualname__.startswith("_undefined"):
            yield method, Thing(function, owner)


def by_place(things: Iterable[tuple[str, Thing]]) -> Things:
    """Things by where their functions stand, each function once: methods that classes inherit are one thing."""
    found = {f"{f.__module__}.{f.__qualname__}": Thing(f) for f in (thing.function for _, thing in things)}
    return {name.removeprefix("towerstrat."): thing for name, thing in sorted(found.items())}
