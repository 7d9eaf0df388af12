"""Facts that the processes of a run must have in common, compared before their programs start.

Each supervisor collects its facts (``facts``) and sends them with ``Register``; process 0's server compares those of
all (``differences``). They are versions of towerstrat, Python, JAX and numpy, a digest of the program's file, the
command line, ``PYTHONHASHSEED``, and the cluster of ``TF_CONFIG``. What differs is named process by process.

A command line may differ in what says which process it is: options such as ``--task_index`` (``_OF_THE_TASK``), and
numbers and names that are the process's own, as in ``--log=/logs/w0.txt`` of process 0. A seed may not.

>>> zero = Side(Process(0, "a", 11), {"command": ["--task_index=0", "--log=/w0.txt", "--lr=0.1"]}, ["0"])
>>> one = Side(Process(1, "b", 12), {"command": ["--task_index=1", "--log=/w1.txt", "--lr=0.2"]}, ["1"])
>>> differences([zero, one])
['process 1 (host b, pid 12) has command --lr=0.2, where process 0 (host a, pid 11) has --lr=0.1']
"""

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
"""Options that name the process, whose values may differ."""
_EXACT = re.compile(r"seed", re.IGNORECASE)
"""Options whose values must be equal, even where they are the process's own number."""


class Side(NamedTuple):
    """One process's side of the comparison.

    Attributes:
      process: whose it is. facts: values by name. names: words that stand for the process in its arguments.
    """

    process: Process
    facts: Mapping[str, Any]
    names: Sequence[str]


def facts(work: ProgramSpec, cluster: str) -> dict[str, Any]:
    """Facts of this process by name, each a text or, for "command", a list of words.

    Args:
      work: its program.
      cluster: as of ``Place``.
    """
    by_name: dict[str, Any] = {"towerstrat": towerstrat.__version__, "Python": platform.python_version()}
    by_name |= {name: _version(name) for name in _PACKAGES}
    if work.program:
        path = _file_of_module(work.program) if work.is_module else Path(work.program)
        by_name["program"] = f"{work.program if path is None or work.is_module else path.name} ({_digest(path)})"
    # The same file may lie in another folder elsewhere.
    program_file = work.program if work.program and not work.is_module else None
    by_name[_COMMAND] = [Path(word).name if word == program_file else word for word in work.argv[1:]]
    by_name["PYTHONHASHSEED"] = os.environ.get("PYTHONHASHSEED", "not set")
    by_name["cluster"] = cluster
    return by_name


def differences(sides: Sequence[Side]) -> list[str]:
    """A line for each fact of a process that differs from the majority's, or, without a majority, from process 0's."""
    lines = []
    for name in sides[0].facts:
        usual = sides[0]
        apart = [one for one in sides if not _same(name, one, usual)]
        if len(apart) > len(sides) / 2:
            others = [one for one in sides if not _same(name, one, apart[0])]
            if len(others) < len(apart):
                usual, apart = apart[0], others
        for one in apart:
            value, other = _show(name, one, usual)
            lines.append(f"{one.process} has {name} {value}, where {usual.process} has {other}")
    return lines


def _same(name: str, one: Side, other: Side) -> bool:
    """Whether two processes agree on a fact; command lines may differ in what names the process."""
    a, b = one.facts.get(name), other.facts.get(name)
    if a == b or name != _COMMAND:
        return a == b
    return a is not None and b is not None and len(a) == len(b) and not _apart(one, other)


def _apart(one: Side, other: Side) -> list[int]:
    """Indices of the words of two command lines of one length that must be equal and are not."""
    mine, theirs = one.facts[_COMMAND], other.facts[_COMMAND]
    indices = []
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        option = a.partition("=")[0] if "=" in a else mine[i - 1] if i else ""
        if a == b or _OF_THE_TASK.match(option.lower()):
            continue
        if _EXACT.search(option) or _neutral(a, one.names) != _neutral(b, other.names):
            indices.append(i)
    return indices


def _neutral(word: str, names: Sequence[str]) -> list[str]:
    """A word in parts, of which the process's own numbers and names are blanked.

    >>> _neutral("/w0.txt", ["0"])
    ['/', 'w', '', '', '.', 'txt', '']
    """
    return ["" if part in names else part for part in re.split(r"(\d+(?:\.\d+)?|[^\W\d_]+)", word)]


def _show(name: str, one: Side, other: Side) -> tuple[str, str]:
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
    """The file that ``python -m NAME`` runs, found without importing a package; None: there is none."""
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
