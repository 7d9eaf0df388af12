"""``tf.train.Coordinator``: stops threads together, and hands their first exception to whoever waits for them.

Source: ``tensorflow/python/training/coordinator.py``.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from towerstrat.errors import OutOfRangeError
from towerstrat.platform import logs


class Coordinator:
    """Lets threads ask each other to stop.

    A thread runs ``while not coordinator.should_stop()``, and reports an exception by ``request_stop(error)`` or
    ``stop_on_exception()``; ``join`` waits for all threads and raises the first exception that was reported.

    Args:
      clean_stop_exception_types: exceptions that stop the threads and are not raised by ``join``; by default
        OutOfRangeError, the end of the input.
    """

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None):
        clean = (OutOfRangeError,) if clean_stop_exception_types is None else clean_stop_exception_types
        self._clean = tuple(clean)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether ``join`` has returned since the stop was last cleared."""
        return self._joined

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits for a request to stop, so many seconds at most; returns whether there was one."""
        return self._stop.wait(timeout)

    def request_stop(self, ex: Any = None) -> None:
        """Asks the threads to stop.

        Args:
          ex: an exception, or what ``sys.exc_info()`` returned. ``join`` raises the first one.

        Raises:
          BaseException: ``ex``, where ``join`` has returned already.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self._joined and error is not None:
                raise error
            if not self._stop.is_set():
                if error is not None and not isinstance(error, BaseException):
                    error = ValueError(f"ex must be an exception or the tuple of sys.exc_info(), got {ex!r}.")
                if error is not None and self._error is None:
                    if isinstance(ex, tuple):
                        logs.info("Error reported to Coordinator: %s", error)
                    else:
                        logs.info("Error reported to Coordinator: %s, %s", type(error), error)
                    self._error = error
                self._stop.set()

    def clear_stop(self) -> None:
        """Forgets that a stop was requested, and the exception."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Passes an exception that leaves it to ``request_stop``, instead of raising it."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread to those that ``join`` waits for."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until threads have ended: those registered, and those given.

        Args:
          stop_grace_period_secs: how long they have after a stop was requested.
          ignore_live_threads: whether those that have not ended by then are let go.

        Raises:
          BaseException: what was passed to ``request_stop``.
          RuntimeError: a thread had not ended.
        """
        with self._lock:
            waited = list(self._threads | set(threads or ()))
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(0.1):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            thread.join(max(0.0, end - time.monotonic()))
        laggards = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
            if self._error is not None:
                raise self._error
        if laggards:
            said = f"Coordinator stopped with threads still running: {' '.join(laggards)}"
            if not ignore_live_threads:
                raise RuntimeError(said)
            logs.info("%s", said)

    def raise_requested_exception(self) -> None:
        """Raises what was passed to ``request_stop``, if anything was."""
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """A thread that calls something again and again until a coordinator stops, and stops it by an exception.

    Args:
      coord: the coordinator; the thread is registered with it.
      timer_interval_secs: seconds between the beginnings of calls; None: none.
      target, args, kwargs: what is called, if not ``run_loop`` of a subclass.

    Raises:
      ValueError: no coordinator; arguments without a target.
    """

    def __init__(
        self, coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}")
        super().__init__(daemon=True)
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        self._coord = coord
        self._interval = timer_interval_secs
        self._called = (target, tuple(args or ()), dict(kwargs or {}))
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any],
        args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:  # fmt: skip
        """Starts such a thread."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                    self.run_loop()
                    # What was missed meanwhile, as on a slow disk, is not made up for.
                    due = max(due + self._interval, time.monotonic())
            self.stop_loop()

    def start_loop(self) -> None:
        """Called when the thread starts."""

    def stop_loop(self) -> None:
        """Called when the thread stops."""

    def run_loop(self) -> None:
        """Called again and again."""
        target, args, kwargs = self._called
        if target is not None:
            target(*args, **kwargs)
