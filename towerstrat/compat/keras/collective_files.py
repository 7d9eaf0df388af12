"""Files of models that several processes save together: the first process' file is the one that stays."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.platform.duty import DUTY

_SAVING = ("save_model", "save_weights")
_SUFFIXES = (".keras", ".h5", ".hdf5")
_FORMATS = ("keras", "h5", "hdf5")


def share(module: ModuleType) -> None:
    """Lets all processes take part in saving, since some values are in parts, and one of them write the file.

    What is written as a checkpoint is shared there.
    """
    for name in _SAVING:
        vars(module)[name] = _shared(vars(module)[name])


def _shared(save: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(save)
    def saving(model: Any, filepath: Any, *args: Any, **kwargs: Any) -> None:
        path = os.fspath(filepath) if isinstance(filepath, os.PathLike) else filepath
        in_one_file = isinstance(path, str) and (path.endswith(_SUFFIXES) or kwargs.get("save_format") in _FORMATS)
        if not in_one_file:
            save(model, filepath, *args, **kwargs)
            return
        if not DUTY.writes:
            with tempfile.TemporaryDirectory() as folder:
                save(model, os.path.join(folder, os.path.basename(path)), *args, **kwargs)
        COLLECTIVES.on_first_process(lambda: save(model, filepath, *args, **kwargs))

    return saving
