"""The two namespaces as packages of this library: ``towerstrat.compat.v1`` and ``towerstrat.compat.v2``."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from towerstrat.platform.deferred import Deferred, without_collections

if TYPE_CHECKING:
    from towerstrat.compat import importer
else:
    importer = Deferred("towerstrat.compat.importer")


def _bound() -> AbstractContextManager[None]:
    return importer.bound()


def _later(name: str) -> ModuleType:
    return importer.later(name)


with without_collections():
    from towerstrat.compat.names import keras_modules
    from towerstrat.compat.names.namespace import build

    v1, v2 = build("towerstrat.compat.v1", "towerstrat.compat.v2", _bound, _later)


class _Packaged(MetaPathFinder):
    """Finds the modules below the two packages that the package keras serves, such as ``towerstrat.compat.v2.keras``.

    ``import keras`` itself, as unpickling a model does it, is served where no TensorFlow is installed that would be.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname == keras_modules.NAME:
            alone = keras_modules.available() and PathFinder.find_spec("tensorflow") is None
            return keras_modules.spec(fullname, _later) if alone else None
        for root in (v1, v2):
            if fullname.startswith(f"{root.__name__}."):
                found = keras_modules.below(root, fullname.removeprefix(f"{root.__name__}."))
                return None if found is None else importer.spec(fullname, found)
        return None


sys.meta_path.insert(0, _Packaged())
