"""A pytest plugin that writes the seconds of each test and the lines of the package that it runs.

``LINES_FOLDER=FOLDER python3.12 -m pytest -p tests.thinning.recorder`` writes one line of JSON for each test into a
file of that folder for each process of the run: the test, its seconds of processor, those of the processes that it
started, and the numbers of lines by file. Lines that these processes ran are written by themselves, and are of the
test as well. It needs ``sys.monitoring``, which Python has from 3.12 on.
"""

from __future__ import annotations

import os
import pathlib

import pytest

from tests.thinning.lines import CHILD, Lines, write


class Recorder:
    """Writes a line for each test."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.lines = Lines()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.lines.take()
        before = os.times()
        try:
            return (yield)
        finally:
            after = os.times()
            own = after.user + after.system - before.user - before.system
            children = after.children_user + after.children_system - before.children_user - before.children_system
            write(self.folder, item.nodeid, round(own, 3), round(children, 3), self.lines.take())


def pytest_configure(config):
    folder = pathlib.Path(os.environ["LINES_FOLDER"]).absolute()
    if not hasattr(config, "workerinput"):
        start = folder / "start"
        start.mkdir(parents=True, exist_ok=True)
        (start / "sitecustomize.py").write_text(CHILD)
        os.environ["LINES_FOLDER"] = str(folder)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(start), os.environ.get("PYTHONPATH")]))
        if config.getoption("numprocesses", None):
            return  # of several processes, those that run tests record
    config.pluginmanager.register(Recorder(folder), "lines")
