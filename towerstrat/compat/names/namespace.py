"""Trees of modules made from the tables of public names."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from types import ModuleType
from typing import Any, NamedTuple

from towerstrat.compat.estimator import package_loader as package
from towerstrat.compat.estimator.package_loader import Binding
from towerstrat.compat.keras.package_loader import Names
from towerstrat.compat.names import keras_modules, missing_names, name_file, public_names, stubs, tf_slim
from towerstrat.compat.names.lazy_names import Joined, LazyName, Packaged, held, named
from towerstrat.graph.runtime.sessions import all_operations  # noqa: F401  (registers what graphs are made of)


class Namespace(ModuleType):
    """A module of the tree. A name that only the original has is a corner, one that none has raises.

    What has a name of the table is imported when the name is asked for, and all of it when ``__dict__`` is, since
    programs loop over ``vars`` of a module.

    Args:
      public: its dotted public name, such as ``tf.nn``.
      api: 1 or 2, the namespace that it is of. mount: what programs call that namespace.
      bound: used while a package is loaded that serves some of its names.
    """

    def __init__(self, name: str, public: str, api: int, mount: str = "tf", bound: Binding = nullcontext):
        super().__init__(name)
        held(self)["__path__"] = []
        held(self)["__package__"] = name
        held(self).update(_public=public, _api=api, _mount=mount, _missing={}, _deferred={}, _bound=bound)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        own = held(self)
        for name in dir(self):
            if name not in own:
                with suppress(ImportError, AttributeError):  # of a package that is not installed
                    own[name] = getattr(self, name)
        return own

    def __getattr__(self, name: str) -> Any:
        own = held(self)
        if name == "__all__":
            return sorted({*dir(self), *missing_names.members(own["_public"], own["_api"])})
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found, value = look_up(self, name)
        if found:
            return value
        place = (f"{own['_public']}.{name}", own["_api"], own["_mount"])
        if place[1] == 1 and place[0] in tf_slim.NAMES and tf_slim.available():
            own[name] = tf_slim.load(place[0], own["_bound"])
            return own[name]
        if missing_names.is_module(*place[:2]):
            return _only_listed(self, name)
        probed = name.startswith("_") and stubs.is_probing(sys._getframe(1))
        if missing_names.origin(*place[:2]) and not probed:
            return stubs.stub_of(*place)
        raise missing_names.missing(*place)

    def __dir__(self) -> list[str]:
        own = held(self)
        served = tf_slim.members(own["_public"]) if own["_api"] == 1 else ()
        return sorted(name for name in {*own, *own["_deferred"], *served} if not name.startswith("_"))


class InternalModule(Namespace):
    """A module of the original's inside: offers what some public modules offer, and a few names of its own.

    Args:
      sources: the public modules, in the order they are searched.
      own: further names.
      api: 1 or 2, the original whose inside it is of.
    """

    def __init__(
        self, name: str, sources: tuple[Namespace, ...], own: Mapping[str, LazyName | Packaged | Joined], api: int
    ):
        super().__init__(name, name, api)
        held(self)["_deferred"].update(own)
        held(self)["_sources"] = sources

    def __dir__(self) -> list[str]:
        return sorted({n for source in held(self)["_sources"] for n in dir(source)} | set(super().__dir__()))


class Place(NamedTuple):
    """Where a module is: its public name, the namespace that it is of (1 or 2), what programs call that namespace."""

    public: str
    api: int
    mount: str


def place(module: Namespace) -> Place:
    """Where a module is in its tree."""
    own = held(module)
    return Place(own["_public"], own["_api"], own["_mount"])


def deferred(module: Namespace, name: str) -> Any:
    """What will give the value of a name of a tree's module when it is asked for; None where it has no such name."""
    return held(module)["_deferred"].get(name)


def look_up(module: Namespace, name: str) -> tuple[bool, Any]:
    """Whether a module of a tree has a name, and its value."""
    if _has(module, name):
        return True, _value(module, name)
    public, api, _ = place(module)
    full = f"{public}.{name}"
    sources = () if name.startswith("_") else held(module).get("_sources", ())
    source = next((each for each in sources if _has(each, name)), None)
    # Sources are modules of 1.x: under 2.x they serve what is not of 2.x.
    value = missing_names.exported(full, api) if source is None or api == 2 else None
    if value is not None:
        return True, value
    if source is not None:
        return True, _value(source, name)
    if (public.startswith("tensorflow.") or name == "python") and missing_names.is_module(full, api):
        return True, _only_listed(module, name)
    return False, None


def _has(module: Namespace, name: str) -> bool:
    return name in held(module) or name in held(module)["_deferred"]


def _value(module: Namespace, name: str) -> Any:
    own = held(module)
    if name not in own:
        own[name] = own["_deferred"][name].value()
    return own[name]


def _only_listed(module: Namespace, name: str) -> Namespace:
    """A module below ``module`` that an original has; no attribute of it, since ``dir`` lists what is here."""
    public, api, mount = place(module)
    own = held(module)
    made = Namespace(f"{module.__name__}.{name}", f"{public}.{name}", api, mount, own["_bound"])
    return own["_missing"].setdefault(name, made)


def build(first: str, second: str, bound: Binding, later: Names) -> tuple[Namespace, Namespace]:
    """The trees of 1.x and 2.x, each reached from the other as ``compat.v1`` and ``compat.v2``.

    Args:
      first, second: the names of the trees' roots as modules, of 1.x and of 2.x.
      bound: used while a package is loaded that serves some of the names.
      later: what the package that serves ``tf.keras`` imports.
    """
    one, two = _tree(first, 1, second, bound, later), _tree(second, 2, first, bound, later)
    for root in (one, two):
        compat = child(root, "compat")
        held(compat).update(v1=one, v2=two)
    # `import tensorflow.compat.v2 as tf; tf.enable_v2_behavior()` is how programs of 1.13 to 1.15 asked for 2.x.
    held(two)["_deferred"]["enable_v2_behavior"] = held(one)["_deferred"]["enable_v2_behavior"]
    return one, two


def _tree(root: str, api: int, other: str, bound: Binding, later: Names) -> Namespace:
    # A tree that hangs below the other one is called by its place there.
    mount = f"tf{root.removeprefix(other)}" if root.startswith(f"{other}.") else "tf"
    top = Namespace(root, "tf", api, mount, bound)
    for name in tf_slim.NAMES if api == 1 else ():
        _above(top, name)
    for name, value in public_names.entries(api).items():
        module, last = _above(top, name)
        if isinstance(value, LazyName):
            held(module)["_deferred"][last] = public_names.Symbol(value)
        else:
            held(module)[last] = value
    for row in name_file.public(package.NAME, api):
        module, last = _above(top, row.name)
        held(module)["_deferred"][last] = named(row, bound)
    for path in keras_modules.PLACES[api] if keras_modules.available() else ():
        if not path.startswith("python."):
            serve(top, path, api, later)
    return top


def serve(top: Namespace, path: str, api: int, later: Names) -> None:
    """Makes the package keras serve ``path``, such as ``keras`` or ``contrib.keras``, below the root of a tree."""
    module, last = _above(top, f"tf.{path}")
    otherwise = held(module).pop(last, None) or _only_listed(module, last)
    if path == "contrib.keras":
        otherwise = deferred(top, "keras").otherwise
    held(module)["_deferred"][last] = keras_modules.Served(path, api, later, otherwise)


def _above(top: Namespace, name: str) -> tuple[Namespace, str]:
    """The module that has a dotted public name, made where it is not there, and the name in it."""
    *parents, last = name.split(".")[1:]
    for parent in parents:
        top = child(top, parent)
    return top, last


def set_version(root: Namespace, version: str) -> None:
    """Gives the root of a tree another version, such as "1.14.0"."""
    named = {"__version__", "VERSION"} & set(held(root))
    held(root).update(dict.fromkeys(named, version))
    held(held(root)["version"])["VERSION"] = version


def child(module: Namespace, name: str) -> Namespace:
    """The module ``name`` inside ``module``, made when it is not there."""
    own = held(module)
    if name not in own:
        mine = f"{module.__name__}.{name}", f"{own['_public']}.{name}"
        own[name] = Namespace(*mine, own["_api"], own["_mount"], own["_bound"])
    return own[name]


def tree(module: Namespace) -> Iterator[Namespace]:
    """The module and all below it."""
    yield module
    for value in list(held(module).values()):
        if isinstance(value, Namespace) and value.__name__.startswith(module.__name__ + "."):
            yield from tree(value)


def publish(top: Namespace, package: ModuleType) -> None:
    """Makes the tree's modules importable by their names; its root takes the place of ``package``."""
    held(top).update(__spec__=package.__spec__, __doc__=package.__doc__, __file__=package.__file__)
    sys.modules[top.__name__] = top
    for module in tree(top):
        sys.modules.setdefault(module.__name__, module)
