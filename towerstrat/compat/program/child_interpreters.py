"""Python processes that a program under ``towerstrat run`` starts see the same ``tensorflow``.

The environment tells them: a folder on ``PYTHONPATH`` whose ``sitecustomize`` Python runs when it starts, and how the
program runs. A Python of another installation goes on as if nothing was there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from towerstrat.compat import importer
from towerstrat.compat.program import startup
from towerstrat.compat.v1_functions import behavior_switches
from towerstrat.platform import compilation_cache, compilers, devices

_PARENT = "TOWERSTRAT_PARENT"
_FOLDER = str(Path(startup.__file__).parent)


def bind(api: int, version: str | None, say: Callable[[str], None] = importer.nothing) -> None:
    """``import tensorflow`` means towerstrat from now on, and operations behave as in that original.

    Args:
      api: 1 for the names and graphs of 1.x, 2 for the names and eager execution of 2.x.
      version: what ``tf.__version__`` is; None: the version of that namespace.
      say: is given a line for the program's user.
    """
    importer.install(api, version, say)
    if api == 2:
        behavior_switches.begin_as_v2()


def start(towers: int | None, say: Callable[[str], None] = importer.nothing) -> None:
    """Keeps compiled programs on disk, and known defects of the compiler out; gives the process ``towers`` towers.

    Args:
      towers: None: one per device.
      say: is given a line for the program's user.

    Raises:
      OSError: the folder of compiled programs cannot be used.
    """
    refused = compilation_cache.enable()
    if refused is not None:
        say(refused)
    compilers.set_flags()
    if towers is not None:
        devices.ask(towers)


def tell(api: int, version: str | None, towers: int | None) -> None:
    """Enters in the environment, for children, what ``tensorflow`` is, its version, and how many towers there are."""
    flags = [defect.flag for defect in compilers.PRESENT]
    parent = {"prefix": sys.prefix, "api": api, "version": version, "towers": towers, "flags": flags}
    os.environ[_PARENT] = json.dumps(parent)
    paths = os.environ.get("PYTHONPATH")
    if paths is None or _FOLDER not in paths.split(os.pathsep):
        os.environ["PYTHONPATH"] = _FOLDER if not paths else f"{_FOLDER}{os.pathsep}{paths}"


def bind_as_parent() -> None:
    """In a child: what ``bind`` and ``start`` did in the process that started it."""
    parent = json.loads(os.environ[_PARENT])
    bind(parent["api"], parent["version"])
    start(parent["towers"])
