"""Tests in processes of their own, with something disturbed in them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

LIMIT = 60
"""Seconds after which a test that is disturbed is ended; it counts as one that has noticed nothing."""


def failures(items: Sequence[pytest.Item], prepare: Callable[[], None], limit: int = LIMIT) -> list[str] | None:
    """The names of the tests that fail after ``prepare``, in a fork of this process; None where it does not end."""
    here, there = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(here)
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(limit)
        try:
            prepare()
            failed = [i.nodeid for i in items if any(r.failed for r in runtestprotocol(i, log=False, nextitem=None))]
            os.write(there, json.dumps(failed).encode())
        finally:  # Whatever happens, this process does not go on as if it were the other one.
            os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as stream:
        found = stream.read()
    os.waitpid(pid, 0)
    return json.loads(found) if found else None


class Loop:
    """A plugin of pytest: instead of running tests it hands those that were collected, long ones too, to ``work``."""

    def __init__(self, work: Callable[[Mapping[str, pytest.Item]], None]):
        self.work = work
        self.items: dict[str, pytest.Item] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items = {item.nodeid: item for item in items}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with session.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            self.work(self.items)
        return True


def with_tests(tests: Iterable[str], work: Callable[[Mapping[str, pytest.Item]], None]) -> Any:
    """Collects the files that tests are in and hands what is in them to ``work``, by name."""
    files = sorted({test.partition("::")[0] for test in tests})
    return pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", *files], plugins=[Loop(work)])
