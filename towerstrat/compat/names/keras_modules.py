"""Where ``tf.keras`` is: modules of the package keras 2.15."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from towerstrat.compat.keras.package_loader import KERAS, NAME, Names
from towerstrat.compat.names.lazy_names import held

__all__ = ["NAME", "PLACES", "PUBLIC", "Served", "View", "available", "below", "serves", "spec"]

PUBLIC = {1: "keras.api._v1.keras", 2: "keras.api._v2.keras"}
"""By namespace: the package's module whose names ``tf.keras`` has."""
PLACES = {
    1: ("keras", "contrib.keras", "python.keras"),
    2: ("keras", "losses", "metrics", "optimizers", "python.keras"),
}
"""By namespace: the paths below ``tensorflow`` that the package's modules are reached by."""
CHANGED = {(1, "keras"), (1, "keras.experimental"), (1, "keras.mixed_precision"), (1, "keras.utils")}
"""(namespace, path): modules in which the original had names that 2.15 has not."""
_INSIDE = re.compile(r"(?:contrib\.keras\.)?python\.keras(?:\._impl\.keras)?(?=\.|$)")
_OUTSIDE = re.compile(r"(?:contrib\.keras\.api\.|contrib\.)?keras(?=\.|$)")
_MOVED = (
    (r"optimizer_v2\.learning_rate_schedule", "optimizers.schedules.learning_rate_schedule"),
    (r"optimizer_v2", "optimizers.legacy"),
    (r"mixed_precision\.experimental", "mixed_precision"),
    (r"saving\.(?=(hdf5_format|model_config|save|saved_model|saving_utils)(\.|$))", "saving.legacy."),
    (
        r"layers\.(advanced_activations|convolutional_recurrent|cudnn_recurrent|dense_attention|embeddings|local|merge|"
        r"noise|normalization_v2|recurrent|recurrent_v2|wrappers)$",
        "layers",
    ),
)
"""Beginnings of paths inside Keras that the originals had, with those of 2.15."""


class View(ModuleType):
    """A module that offers the names of some modules of the package: of several that have a name, the first one's.

    Args:
      place: what it stands for. sources: the package's modules.
    """

    def __init__(self, place: Served, sources: Sequence[ModuleType]):
        super().__init__(f"tensorflow.{place.path}", sources[0].__doc__)
        self.__dict__.update(__path__=[], __package__=self.__name__, _sources=tuple(sources), _place=place)

    @property
    def otherwise(self) -> ModuleType | None:
        """What would stand there without the package: it knows which names the original had."""
        place: Served = self.__dict__["_place"]
        return place.otherwise

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [each for each in dir(self) if not each.startswith("_")]
        if name.startswith("__") and name != "__internal__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        below = self.__dict__["_place"].below(name)
        if below is not None:
            return below.value()
        for source in self.__dict__["_sources"]:
            if hasattr(source, name):
                return getattr(source, name)
        if self.otherwise is not None:
            return getattr(self.otherwise, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({name for source in self.__dict__["_sources"] for name in dir(source)})


class Served(NamedTuple):
    """A module of the original's that the package serves, loaded when it is asked for.

    Attributes:
      path: below ``tensorflow``, such as ``keras``, or ``python.keras.layers`` of the original's inside. api: 1 or 2.
      names: what the package imports. otherwise: the module that would stand there without the package.
    """

    path: str
    api: int
    names: Names
    otherwise: ModuleType | None = None

    def value(self) -> ModuleType:
        """The module."""
        return _module(self, _sources(self.path, self.api))

    def below(self, name: str) -> Served | None:
        """The module ``name`` in it, where the package serves that."""
        path = f"{self.path}.{name}"
        if not _sources(path, self.api):
            return None
        otherwise = getattr(self.otherwise, name, None)
        return Served(path, self.api, self.names, otherwise if isinstance(otherwise, ModuleType) else None)

    def has(self, rest: Sequence[str]) -> bool:
        """Whether the module has what is below it at ``rest``, as far as can be told without loading it.

        What is below a class or another value of the package is not looked for.
        """
        if not rest:
            return True
        below = self.below(rest[0])
        if below is not None:
            return below.has(rest[1:])
        own = held(self.otherwise).get("_deferred", ()) if self.otherwise is not None else ()
        return rest[0] in own or any(KERAS.defines(source, rest[0]) for source in _sources(self.path, self.api))


@cache
def _module(place: Served, sources: tuple[str, ...]) -> ModuleType:
    found = [KERAS.module(source, place.names) for source in sources]
    own = ("python.", "contrib.")  # what programs set there stays there
    return View(place, found) if place.path.startswith(own) or (place.api, place.path) in CHANGED else found[0]


def below(root: ModuleType, path: str) -> ModuleType | None:
    """The module at a path below the root of a tree, where the package serves it."""
    first, *rest = path.split(".")
    found: Any = held(root)["_deferred"].get(first)
    for name in rest:
        found = found.below(name) if isinstance(found, Served) else None
    return found.value() if isinstance(found, Served) else None


def available() -> bool:
    """Whether the package is installed."""
    return KERAS.available()


def serves(path: str, api: int) -> bool:
    """Whether the package has what the original has at ``path`` below ``tensorflow``."""
    return KERAS.available() and bool(_sources(path, api))


def spec(name: str, names: Names) -> ModuleSpec | None:
    """How a module of the package is imported by its own name, from now on."""
    KERAS.use(names)
    return KERAS.find_spec(name)


def _sources(path: str, api: int) -> tuple[str, ...]:
    """The package's modules that have what the original's module at ``path`` has; none where there are none."""
    if path in ("contrib.keras.api", "contrib.keras.python"):
        return (PUBLIC[api],)
    found: tuple[str, ...]
    place = _INSIDE.match(path)
    if place is not None:
        below = path[place.end() :]
        for former, now in _MOVED:
            below = re.sub(rf"^\.{former}", f".{now}", below)
        found = (f"{PUBLIC[api]}{below}", f"keras.src{below}")
    else:
        place = _OUTSIDE.match(path)
        below = path[place.end() :] if place is not None else f".{path}"
        found = (f"{PUBLIC[api]}{below}",) if place is not None or path.partition(".")[0] in PLACES[api] else ()
    return tuple(name for name in found if KERAS.has(name))
