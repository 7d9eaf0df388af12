"""The two namespaces as packages of this library: ``towerstrat.compat.v1`` and ``towerstrat.compat.v2``."""

from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING

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
    from towerstrat.compat.names.namespace import build

    v1, v2 = build("towerstrat.compat.v1", "towerstrat.compat.v2", _bound, _later)
