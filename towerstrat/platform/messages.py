"""Protocol messages of the original: ``messages.ConfigProto``, ``messages.NodeDef``, ``messages.Event``, ...

``protos/`` defines them, as ordinary ``.proto`` files; they are made when the first one is asked for.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from towerstrat.platform.deferred import Deferred

if TYPE_CHECKING:
    from towerstrat.platform import proto_files
else:  # protobuf, and reading the files
    proto_files = Deferred("towerstrat.platform.proto_files")


@cache
def _message(name: str) -> Any:
    return proto_files.made(__name__).get(name)


def __getattr__(name: str) -> Any:
    """A message class, or an enumeration, by its name in the package ``tensorflow``."""
    found = None if name.startswith("__") else _message(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
