"""The lines of the package that a process runs, and the records of the tests that ran them.

Nothing but Python's own library is imported: processes that tests start record too, whatever their environment has.
"""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import sys
from collections import defaultdict
from typing import NamedTuple

ROOT = str(pathlib.Path(__file__).parents[2])
PACKAGE = os.path.join(ROOT, "towerstrat")
TOOL = 1
"""The number by which ``sys.monitoring`` knows tools that measure coverage."""

CHILD = f"""\
import importlib.util
spec = importlib.util.spec_from_file_location("lines_of_a_child", {__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.record_child()
"""
"""The ``sitecustomize.py`` of the processes that tests start."""


class Record(NamedTuple):
    """One test of a run.

    Attributes:
      test: its name.
      own: the seconds of processor of the process that ran it; children: those of the processes that it started.
      lines: file, from the root of the repository, and number.
    """

    test: str
    own: float
    children: float
    lines: frozenset[tuple[str, int]]

    @property
    def seconds(self) -> float:
        return self.own + self.children


def read(folder: pathlib.Path) -> list[Record]:
    """What was written, by the names of the tests."""
    found: dict[str, Record] = {}
    for file in sorted(folder.glob("*.json")):
        for text in file.read_text().splitlines():
            test, own, children, files = json.loads(text)
            before = found.get(test, Record(test, 0.0, 0.0, frozenset()))
            lines = before.lines.union((name, line) for name, numbers in files.items() for line in numbers)
            found[test] = Record(test, before.own + own, before.children + children, lines)
    return [found[test] for test in sorted(found)]


class Lines:
    """The lines of the package that this process runs, each once until ``take``."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()
        sys.monitoring.use_tool_id(TOOL, "lines")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.LINE, self._line)
        sys.monitoring.set_events(TOOL, sys.monitoring.events.LINE)

    def _line(self, code, line):
        if code.co_filename.startswith(PACKAGE):
            self.seen.add((code.co_filename[len(ROOT) + 1 :], line))
        return sys.monitoring.DISABLE

    def take(self) -> dict[str, list[int]]:
        """The numbers of the lines by file, which count anew from now on."""
        files = defaultdict(list)
        for name, line in sorted(self.seen.copy()):
            files[name].append(line)
        self.seen.clear()
        sys.monitoring.restart_events()
        return files


def write(folder: pathlib.Path, *record: object) -> None:
    with (folder / f"{os.getpid()}.json").open("a") as file:
        file.write(json.dumps(record) + "\n")


def record_child() -> None:
    """Writes at the end of this process, which a test started, the lines that it ran."""
    test, folder = os.environ.get("PYTEST_CURRENT_TEST", ""), pathlib.Path(os.environ["LINES_FOLDER"])
    if test and not sys.monitoring.get_tool(TOOL):
        lines, leave = Lines(), os._exit

        def written() -> None:
            if files := lines.take():
                write(folder, test.rpartition(" (")[0], 0.0, 0.0, files)

        def _exit(status: int) -> None:
            written()
            leave(status)

        atexit.register(written)
        os._exit = _exit
