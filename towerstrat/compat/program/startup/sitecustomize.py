"""Run by a Python that a program under ``towerstrat run`` starts: there ``import tensorflow`` means the same.

It needs nothing but the standard library, and imports towerstrat only when tensorflow or keras is imported. Names that
Python and numpy have not any more are there too.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

_NAME = "sitecustomize"
_BOUND = ("tensorflow", "keras")
_LEGACY = "_towerstrat_legacy_python"
_FOLDER = Path(__file__).resolve().parent


class _OnDemand:
    """Finds ``tensorflow``, and ``keras``, by putting towerstrat's finder in its own place."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in _BOUND:
            return None
        sys.meta_path.remove(cls)
        if importlib.util.find_spec("towerstrat") is None:
            sys.path.append(str(_FOLDER.parents[3]))
        importlib.import_module("towerstrat.compat.program.child_interpreters").bind_as_parent()
        return importlib.util.find_spec(name)


def _start() -> None:
    """Leaves the path as it would be without this folder, and runs the ``sitecustomize`` that this one hides."""
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _FOLDER]
    parent = json.loads(os.environ.get("TOWERSTRAT_PARENT", "{}"))
    if parent.get("prefix") != sys.prefix:
        leave_flags(parent)
    else:
        sys.meta_path.insert(0, _OnDemand)
        spec = importlib.util.spec_from_file_location(_LEGACY, _FOLDER.parent / "legacy_python" / "__init__.py")
        if spec is not None and spec.loader is not None:
            sys.modules[_LEGACY] = legacy = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(legacy)
            legacy.install()
    hidden = PathFinder.find_spec(_NAME)
    if hidden is not None and hidden.loader is not None:
        sys.modules[_NAME] = importlib.util.module_from_spec(hidden)
        hidden.loader.exec_module(sys.modules[_NAME])


def leave_flags(parent: dict[str, Any]) -> None:
    """Takes out of ``XLA_FLAGS`` those that are for the parent's XLA: another one may not know them, and would end."""
    for flag in parent.get("flags", ()):
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "").replace(flag, "").strip()


if __name__ == _NAME:
    _start()
