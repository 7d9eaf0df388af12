"""Files of arrays that the package reads with ``pickle``: data sets, weights in ``.npz``. Here they are data alone."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import IO, Any

from towerstrat.compat.bundled import pickled_values
from towerstrat.platform.files import GFile


def read_archives(module: ModuleType) -> None:
    """Gives a module a ``np.load`` that runs no code of the file."""
    names = vars(module)
    names["np"] = SimpleNamespace(**{**vars(names["np"]), "load": _load})


def read_batches(module: ModuleType) -> None:
    """Gives the module that reads CIFAR a reader of pickles that runs no code of the file."""
    vars(module)["cPickle"] = SimpleNamespace(load=_load_batch)


def _load(file: str | IO[bytes], allow_pickle: bool) -> pickled_values.Arrays:
    """The arrays of a ``.npz`` file, by its path or open.

    Args:
      allow_pickle: True, as the package calls ``np.load``: arrays of lists and dictionaries are read too.
    """
    assert allow_pickle
    if not isinstance(file, str):
        return pickled_values.read_arrays(file.read(), getattr(file, "name", "an archive"))
    with GFile(file, "rb") as opened:
        return pickled_values.read_arrays(opened.read(), file)


def _load_batch(file: Any, encoding: str) -> Any:
    """The value of a pickled file; texts that Python 2 wrote are bytes, as ``encoding`` "bytes" asks for."""
    assert encoding == "bytes"
    return pickled_values.read(file.read(), file.name)
