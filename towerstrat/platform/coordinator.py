"""``tf.train.Coordinator``: stop a group of threads together, and raise their first exception where they are joined.

    >>> coordinator = Coordinator()
    >>> def work():
    ...     with coordinator.stop_on_exception():
    ...         raise RuntimeError("disk full")
    >>> threads = [threading.Thread(target=work), threading.Thread(target=coordinator.wait_for_stop)]
    >>> for thread in threads:
    ...     thread.start()
    >>> coordinator.join(threads)
    Traceback (most recent call last):
    RuntimeError: disk full

Stopping is cooperative: threads look at ``should_stop`` between two pieces of work. The first exception wins; the end
of the input (OutOfRangeError) stops the threads and is no error. A ``LooperThread`` calls a function at an interval
until the stop. Source: ``tensorflow/python/training/coordinator.py``.
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
    """Stop request and first exception, shared by a group of threads.

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
        """Wait for a stop request, at most ``timeout`` seconds; return whether there was one."""
        return self._stop.wait(timeout)

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop, because of an exception if there is one.

        Args:
          ex: an exception, or the tuple of ``sys.exc_info()``. ``join`` raises the first one.

        Raises:
          BaseException: ``ex``, where ``join`` has returned already and cannot raise it.
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
        """Clear the stop request and the exception, so that the coordinator can be used again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Catch an exception of the block and pass it to ``request_stop``, for ``join`` to raise."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread to those that ``join`` waits for."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until the registered threads and ``threads`` have ended.

        Args:
          threads: to wait for besides the registered ones; None: no others.
          stop_grace_period_secs: seconds that they have, together, after a stop was requested.
          ignore_live_threads: whether threads alive after that are only logged.

        Raises:
          BaseException: the first exception passed to ``request_stop``.
          RuntimeError: threads are still alive.
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
        """Raise the first exception passed to ``request_stop``, if there was one."""
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """Daemon thread that calls a function in a loop until its coordinator stops; an exception stops the coordinator.

    Args:
      coord: the coordinator; the thread is registered with it.
      timer_interval_secs: seconds from the start of one call to the next; None: without a pause.
      target, args, kwargs: the call; a subclass may override ``run_loop`` instead.

    Raises:
      ValueError: no coordinator; arguments without a target.
    """

    def __init__(
        self, coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., object] | None = None,
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
        coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., object],
        args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:  # fmt: skip
        """Make a thread and start it."""
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
                    # A call longer than the interval delays the next one; missed calls are not made up for.
                    due = max(due + self._interval, time.monotonic())
            self.stop_loop()

    def start_loop(self) -> None:
        """Called when the thread starts."""

    def stop_loop(self) -> None:
        """Called when the thread stops."""

    def run_loop(self) -> None:
        """One iteration: calls ``target``; subclasses may override it."""
        target, args, kwargs = self._called
        if target is not None:
            target(*args, **kwargs)
