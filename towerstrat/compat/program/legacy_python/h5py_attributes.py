"""Attributes of HDF5 files as h5py before version 3 and numpy before 2.2 gave them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

Say = Callable[[str, str], None]


def decodable(module: ModuleType, say: Say) -> None:
    """Lets the text that ``h5py._hl.attrs`` reads be decoded, as bytes are: it is itself then. Lists of texts
    are true where there is one, as lists are.

    Args:
      say: is given what a program used, and what it is now.
    """

    class Text(str):
        def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
            say("decode() of an attribute that h5py reads", "it is text already")
            return str(self)

    class Texts(np.ndarray):
        def __bool__(self) -> bool:
            return self.size > 0

    kind = vars(module)["AttributeManager"]
    read = kind.__getitem__

    @wraps(read)
    def read_decodable(self: Any, name: Any) -> Any:
        found = read(self, name)
        if isinstance(found, str):
            return Text(found)
        if isinstance(found, np.ndarray) and (found.dtype.kind == "O" or not found.size):
            found = found.view(Texts)
            for i, each in enumerate(found.flat):
                found.flat[i] = Text(each) if isinstance(each, str) else each
        return found

    kind.__getitem__ = read_decodable
