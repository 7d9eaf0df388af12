"""Text in attributes of HDF5 files, which h5py gave as bytes before version 3."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

Say = Callable[[str, str], None]


def decodable(module: ModuleType, say: Say) -> None:
    """Lets the text that ``h5py._hl.attrs`` reads be decoded, as bytes are: it is itself then.

    Args:
      say: is given what a program used, and what it is now.
    """

    class Text(str):
        def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
            say("decode() of an attribute that h5py reads", "it is text already")
            return str(self)

    kind = vars(module)["AttributeManager"]
    read = kind.__getitem__

    @wraps(read)
    def read_decodable(self: Any, name: Any) -> Any:
        found = read(self, name)
        if isinstance(found, str):
            return Text(found)
        if getattr(found, "dtype", None) == object:
            for i, each in enumerate(found.flat):
                found.flat[i] = Text(each) if isinstance(each, str) else each
        return found

    kind.__getitem__ = read_decodable
