"""What the processes of a run must have in common, compared before their programs start."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import towerstrat
from towerstrat.hosts.process_spec import Process, ProgramSpec

_PACKAGES = ("jax", "jaxlib", "numpy")
_COMMAND = "command"
_OF_THE_TASK = re.compile(
    r"--?(task|job|worker|process|host|node|rank|replica)s?([_-]?(index|id|name|type|rank|number|num))?$|--?local[_-]rank$"
)
"""Options that say which process this is."""
_EXACT = re.compile(r"seed", re.IGNORECASE)
"""Options whose values must be the same although they are numbers of the process."""


class Side(NamedTuple):
    """What one process brings.

    Attributes:
      process: whose this is. facts: by name. names: what means this process in its arguments.
    """

    process: Process
    facts: Mapping[str, Any]
    names: Sequence[str]


def facts(work: ProgramSpec, cluster: str) -> dict[str, Any]:
    """What this process brings, as JSON can say it.

    Args:
      work: what it runs. cluster: what the environment says of the cluster as a whole.
    """
    found: dict[str, Any] = {"towerstrat": towerstrat.__version__, "Python": platform.python_version()}
    found |= {name: _version(name) for name in _PACKAGES}
    if work.program:
        path = _file_of_module(work.program) if work.is_module else Path(work.program)
        found["program"] = f"{work.program if path is None or work.is_module else path.name} ({_digest(path)})"
    # The same file may lie in another folder elsewhere.
    own = work.program if work.program and not work.is_module else None
    found[_COMMAND] = [Path(word).name if word == own else word for word in work.argv[1:]]
    found["PYTHONHASHSEED"] = os.environ.get("PYTHONHASHSEED", "not set")
    found["cluster"] = cluster
    return found


def differences(sides: Sequence[Side]) -> list[str]:
    """What differs: a line for each process that is not as the others are; where half are, as process 0 is."""
    found = []
    for name in sides[0].facts:
        usual = sides[0]
        apart = [one for one in sides if not _same(name, one, usual)]
        if len(apart) > len(sides) / 2:
            others = [one for one in sides if not _same(name, one, apart[0])]
            if len(others) < len(apart):
                usual, apart = apart[0], others
        for one in apart:
            own, other = _shown(name, one, usual)
            found.append(f"{one.process} has {name} {own}, where {usual.process} has {other}")
    return found


def _same(name: str, one: Side, other: Side) -> bool:
    a, b = one.facts.get(name), other.facts.get(name)
    if a == b or name != _COMMAND:
        return a == b
    return a is not None and b is not None and len(a) == len(b) and not _apart(one, other)


def _apart(one: Side, other: Side) -> list[int]:
    """Where words of two commands of the same length mean something else."""
    mine, theirs = one.facts[_COMMAND], other.facts[_COMMAND]
    found = []
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        option = a.partition("=")[0] if "=" in a else mine[i - 1] if i else ""
        if a == b or _OF_THE_TASK.match(option.lower()):
            continue
        if _EXACT.search(option) or _neutral(a, one.names) != _neutral(b, other.names):
            found.append(i)
    return found


def _neutral(word: str, names: Sequence[str]) -> list[str]:
    """A word in parts, of which numbers and names of the process itself are left out."""
    return ["" if part in names else part for part in re.split(r"(\d+(?:\.\d+)?|[^\W\d_]+)", word)]


def _shown(name: str, one: Side, other: Side) -> tuple[str, str]:
    a, b = one.facts.get(name), other.facts.get(name)
    if name != _COMMAND or a is None or b is None:
        return str(a), str(b)
    if len(a) == len(b):
        places = _apart(one, other)
        a, b = [a[i] for i in places], [b[i] for i in places]
    return shlex.join(a), shlex.join(b)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _digest(path: Path | None) -> str:
    if path is not None and path.is_dir():
        path /= "__main__.py"
    if path is None or not path.is_file():
        return "not found"
    return f"sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"


def _file_of_module(name: str) -> Path | None:
    """The file that ``python -m NAME`` runs; found without importing anything."""
    folders = None
    spec = None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, folders)
        if spec is None:
            return None
        folders = spec.submodule_search_locations
    if folders:
        spec = PathFinder.find_spec("__main__", list(folders))
    return Path(spec.origin) if spec is not None and spec.origin else None
