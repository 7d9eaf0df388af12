"""The program of a supervisor: a process in a group of its own, which ends when its supervisor does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from towerstrat.hosts import environment_variables
from towerstrat.hosts.heartbeat import Reader, Seen
from towerstrat.hosts.stderr_relay import Output

_KILLED = 1.0
"""Seconds until a process that was killed is gone."""
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl."""


class Child:
    """A program that runs.

    Args:
      argv: its command.
      environment: its environment, to which the place of its progress is added.

    Raises:
      OSError: there is no such command.

    Attributes:
      pid: its process.
      output: its standard error.
      descriptor: what can be read once it has ended, where the system has that.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]):
        name = f"towerstrat-{os.getpid()}-{secrets.token_hex(4)}"
        self._reader = Reader(Path(tempfile.gettempdir(), name))
        self._mapped = False
        try:
            # A group of its own that read from the terminal would be stopped.
            self._process = subprocess.Popen(
                argv,
                env={**environment, environment_variables.PROGRESS: str(self._reader.path)},
                stdin=subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None,
                stderr=subprocess.PIPE,
                process_group=0,
                preexec_fn=ends_with_parent(),
            )
        except OSError:
            self._unlink()
            raise
        self.pid = self._process.pid
        self._began = time.monotonic()
        opened = getattr(os, "pidfd_open", None)
        self.descriptor: int | None = opened(self.pid) if opened is not None else None
        assert self._process.stderr is not None
        self.output = Output(self._process.stderr)  # type: ignore[arg-type]

    def seen(self) -> Seen:
        """What it does."""
        seen = self._reader.read()
        if seen.pid and not self._mapped:
            self._unlink()  # what has mapped it keeps it
        return seen if seen.age is not None else seen._replace(age=time.monotonic() - self._began)

    def status(self) -> int | None:
        """Its exit status once it has ended; that of signal 9 is -9."""
        return self._process.poll()

    def is_stopped(self) -> bool:
        """Whether it is stopped by a signal, where the system tells."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] == "T"

    def stop_after(self, step: int) -> int:
        """Lets it stop at a shared step, if it looks and all agree; says how many it has begun by then."""
        return self._reader.stop_after(step)

    def agree(self, apart: bool) -> None:
        """Tells it that all stop at the step it was told last; ``apart``: each for itself."""
        self._reader.agree(apart)

    def signal(self, number: int) -> None:
        """Sends a signal to it and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Ends it, and what is left of what it has started, hard. What waits in the system's inside ends later."""
        self.signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_KILLED)

    def close(self) -> None:
        """After its end: waits a moment until all that it wrote has been passed on."""
        self.output.end(1.0)
        if self.descriptor is not None:
            os.close(self.descriptor)
        self._unlink()

    def _unlink(self) -> None:
        self._mapped = True
        self._reader.path.unlink(missing_ok=True)


class ends_with_parent:
    """Called in a child before its program: when its parent ends, however that is, it is killed (on Linux)."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None) if sys.platform == "linux" else None
        self._parent = os.getpid()

    def __call__(self) -> None:
        if self._library is not None:
            self._library.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != self._parent:
                os._exit(1)


def said(status: int) -> str:
    """What an exit status means: "was killed by signal 9 (SIGKILL)", "ended with exit status 3"."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"was killed by signal {-status}"
