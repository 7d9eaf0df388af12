"""A pytest plugin that writes which lines of the package each file of tests runs: ``-p tests.mutants.lines``.

``LINES_FOLDER=FOLDER python3.12 -m pytest -p tests.mutants.lines`` writes a file of that folder for each file of tests,
with ``FILE:LINE`` for each line that ran. It needs ``sys.monitoring``, which Python has from 3.12 on.
"""

import os
import pathlib
import sys

import pytest

ROOT = str(pathlib.Path(__file__).parents[2])
PACKAGE = os.path.join(ROOT, "towerstrat")
TOOL = 1
"""The number by which ``sys.monitoring`` knows tools that measure coverage."""


class Lines:
    """Records lines once for each file of tests."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.file = ""
        self.seen: set[tuple[str, int]] = set()
        sys.monitoring.use_tool_id(TOOL, "lines")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.LINE, self._line)
        sys.monitoring.set_events(TOOL, sys.monitoring.events.LINE)

    def _line(self, code, line):
        if code.co_filename.startswith(PACKAGE):
            self.seen.add((code.co_filename, line))
        return sys.monitoring.DISABLE

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        file = item.nodeid.partition("::")[0]
        if file != self.file:
            self.write()
            self.file = file
            sys.monitoring.restart_events()
        return (yield)

    def pytest_sessionfinish(self):
        self.write()

    def write(self) -> None:
        """Writes what the last file of tests ran."""
        if self.file:
            with (self.folder / self.file.replace("/", "+")).open("a") as out:
                out.writelines(f"{name[len(ROOT) + 1 :]}:{line}\n" for name, line in sorted(self.seen))
        self.seen.clear()


def pytest_configure(config):
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        return  # of several processes, those that run tests record
    folder = pathlib.Path(os.environ["LINES_FOLDER"])
    folder.mkdir(parents=True, exist_ok=True)
    config.pluginmanager.register(Lines(folder), "lines")
