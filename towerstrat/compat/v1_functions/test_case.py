"""``tf.test``: a TestCase with a fresh graph per test, a cached session and comparisons of arrays."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from towerstrat.compat.v1_functions.array_assertions import ArrayAssertions
from towerstrat.compat.v1_functions.benchmark import pattern_of, run_benchmarks
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite_values import Fetchable
from towerstrat.graph.ir.context_stacks import get_default_session
from towerstrat.graph.ir.graph import entered_graphs, get_default_graph, reset_default_graph
from towerstrat.graph.ops.random.stateful import set_random_seed
from towerstrat.graph.runtime.sessions.session import BaseSession, Session
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import flags

_SEED = 87654321


def get_temp_dir() -> str:
    """A folder for the files of tests."""
    return tempfile.gettempdir()


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the main module, or the benchmarks that ``--benchmarks=PATTERN`` asks for."""
    arguments = argv or sys.argv
    pattern = pattern_of(arguments)
    if pattern is None:
        mine = [a for a in arguments[1:] if a.startswith("--") and a[2:].partition("=")[0] in flags.FLAGS]
        flags.FLAGS([arguments[0], *mine])
        unittest.main(argv=[a for a in arguments if a not in mine])
    else:
        run_benchmarks(pattern)


class _NoTest:
    """A method that no test loader takes for a test, though its name says so."""

    def __init__(self, method: Any):
        self._method = method

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._method.__get__(instance, owner)


class CapturedWrites:
    """The text that was written to a stream. Args: ``path``: of the file that took it."""

    def __init__(self, path: str):
        self._path = path

    def contents(self) -> str:
        with open(self._path) as file:
            return file.read()


class TestCase(ArrayAssertions):
    """A test with its own default graph, the same seeds each time, and assertions on arrays.

    A subclass may have a ``setUp`` of its own that leaves this one out.
    """

    __test__ = False
    _cached: Session | None = None
    _cached_for: tuple[Any, Any] = (None, None)
    _tempdir: str | None = None
    _threads: Sequence[_CheckedThread] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def __init__(self, methodName: str = "runTest"):
        super().__init__(methodName)

    def setUp(self) -> None:
        super().setUp()
        self._ClearCachedSession()
        random.seed(_SEED)
        np.random.seed(_SEED)
        if all(graph.executing_eagerly for graph in entered_graphs()):
            reset_default_graph()
        set_random_seed(_SEED)

    def tearDown(self) -> None:
        for thread in self._threads:
            thread.check_termination()
        self._ClearCachedSession()
        super().tearDown()

    def _ClearCachedSession(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    def get_temp_dir(self) -> str:
        """A folder of this test's own, removed after it."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, self._tempdir, ignore_errors=True)
        return self._tempdir

    @contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:
        """Inside, what is written to a stream (of a file descriptor) goes to a file; gives what has its contents."""
        stream.flush()
        descriptor = stream.fileno()
        before = os.dup(descriptor)
        with tempfile.NamedTemporaryFile("w", dir=self.get_temp_dir(), delete=False) as file:
            os.dup2(file.fileno(), descriptor)
            try:
                yield CapturedWrites(file.name)
            finally:
                stream.flush()
                os.dup2(before, descriptor)
                os.close(before)

    def checkedThread(
        self, target: Callable[..., Any], args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None
    ) -> _CheckedThread:
        """A thread with ``start`` and ``join``; the test fails where its function raises, or nobody has joined it."""
        thread = _CheckedThread(self, target, args, kwargs)
        self._threads = [*self._threads, thread]
        return thread

    @contextmanager
    def session(self, graph: Any = None, config: Any = None, use_gpu: bool = False,
                force_gpu: bool = False) -> Iterator[Session | None]:  # fmt: skip
        """A new session as the default one, None with eager execution. ``use_gpu`` and ``force_gpu`` change nothing."""
        if get_default_graph().executing_eagerly:
            yield None
            return
        with Session(graph=graph, config=config) as session:
            yield session

    @contextmanager
    def cached_session(self, graph: Any = None, config: Any = None, use_gpu: bool = False,
                       force_gpu: bool = False) -> Iterator[Session | None]:  # fmt: skip
        """The session of this test as the default one, always the same; None with eager execution."""
        if get_default_graph().executing_eagerly:
            yield None
            return
        if self._cached is not None and not (graph is self._cached_for[0] and config is self._cached_for[1]):
            raise ValueError(
                "The graph or config is another one than that of the test's cached session. Use self.session()."
            )
        with self._cached_session(graph, config) as session:
            yield session

    @contextmanager
    def _cached_session(self, graph: Any = None, config: Any = None) -> Iterator[Session]:
        """The session of this test, made where there is none yet."""
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
            self._cached_for = (graph, config)
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    @_NoTest
    @contextmanager
    def test_session(self, graph: Any = None, config: Any = None, use_gpu: bool = False,
                     force_gpu: bool = False) -> Iterator[Session | None]:  # fmt: skip
        """The session of this test, whatever its configuration is, or a new one when a graph is given."""
        if get_default_graph().executing_eagerly:
            yield None
            return
        with self._cached_session(None, config) if graph is None else self.session(graph, config) as session:
            yield session

    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors, in a graph by the default or the cached session.

        Eagerly functions without arguments are called, as learning rates are there.
        """
        if get_default_graph().executing_eagerly:
            return nest.map_structure(self._evaluated, tensors)
        session = get_default_session()
        if isinstance(session, BaseSession):
            return session.run(tensors)
        with self._cached_session() as session:
            return session.run(tensors)

    def _evaluated(self, value: Any) -> Any:
        if isinstance(value, Fetchable) and not isinstance(value, Variable):
            parts, join = value._fetch_parts()
            return join([self._evaluated(part) for part in parts])
        if hasattr(value, "numpy"):
            return value.numpy()
        return self.evaluate(value()) if callable(value) else value


class _CheckedThread:
    """A thread of a test. See ``TestCase.checkedThread``."""

    def __init__(self, testcase: TestCase, target: Callable[..., Any], args: Sequence[Any] | None = None,
                 kwargs: Mapping[str, Any] | None = None):  # fmt: skip
        self._testcase = testcase
        self._error: Exception | None = None
        self._joined = False

        def run() -> None:
            try:
                target(*(args or ()), **(kwargs or {}))
            except Exception as error:
                self._error = error

        self._thread = threading.Thread(target=run)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Waits for its end. The test fails where the function has raised."""
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._testcase.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails the test where nobody has joined the thread."""
        if not self._joined:
            self._testcase.fail("A checked thread was not joined.")
