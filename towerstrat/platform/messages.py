"""TensorFlow's protocol messages by name: ``messages.ConfigProto``, ``messages.NodeDef``, ``messages.Event``, ...

    >>> from towerstrat.platform import messages
    >>> messages.Event.FromString(messages.Event(step=7).SerializeToString()).step
    7

The classes are made from the ``.proto`` files in ``protos/`` when the first one is asked for (module ``__getattr__``),
since protobuf and the parsing cost a start that many programs do not need.
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
    return proto_files.message_types(__name__).get(name)


def __getattr__(name: str) -> Any:
    """A message class or enumeration by its name in the proto package ``tensorflow``. Raises AttributeError."""
    message = None if name.startswith("__") else _message(name)
    if message is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return message
