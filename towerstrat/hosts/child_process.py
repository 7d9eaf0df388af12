"""The program of a supervisor, as a child process in a process group of its own.

The group lets signals reach all that the program has started, and keeps Ctrl-C in a terminal from the program: that
comes to the supervisor, which decides for the run. On Linux the kernel kills the program when the supervisor dies,
however that is (``PR_SET_PDEATHSIG``), and a pidfd tells the supervisor's event loop of the program's end.

A child is given a file of progress (``heartbeat``), made in the temporary folder and unlinked as soon as the program
has mapped it, and a pipe for its standard error, of which ``stderr_relay`` keeps the last lines.

    child = Child(["python", "train.py"], os.environ)
    child.seen()          Seen(pid=4071, step=39, shared=39, age=0.1, phase="stepping", what="")
    child.status()        None while it runs, then 0, 1, ..., or -9 for SIGKILL
    child.kill(); child.close()

``said`` puts a status into words, for the message by which all processes hear of it:

>>> said(3), said(-9)
('ended with exit status 3', 'was killed by signal 9 (SIGKILL)')
"""

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
"""Seconds to wait for a killed process; one in an uninterruptible system call stays longer."""
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl."""


class Child:
    """A running program.

    Args:
      argv: its command.
      environment: its environment, to which the path of its file of progress is added.

    Raises:
      OSError: the command cannot be run.

    Attributes:
      pid: its process id.
      output: the relay of its standard error.
      descriptor: its pidfd, readable once it has ended; None where the system has none.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]):
        name = f"towerstrat-{os.getpid()}-{secrets.token_hex(4)}"
        self._reader = Reader(Path(tempfile.gettempdir(), name))
        self._mapped = False
        try:
            # A process group in the background that reads from the terminal is stopped (SIGTTIN).
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
        """Its progress, with the time since its start as ``age`` while it has reported none."""
        seen = self._reader.read()
        if seen.pid and not self._mapped:
            self._unlink()  # the mapping keeps the file alive
        return seen if seen.age is not None else seen._replace(age=time.monotonic() - self._began)

    def status(self) -> int | None:
        """Its exit status, -9 where signal 9 has ended it; None while it runs."""
        return self._process.poll()

    def is_stopped(self) -> bool:
        """Whether a signal such as SIGSTOP has stopped it; False where there is no ``/proc``."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] == "T"

    def stop_after(self, step: int) -> int:
        """Proposes the shared step to stop after; returns how many it has begun. See ``Reader.stop_after``."""
        return self._reader.stop_after(step)

    def agree(self, apart: bool) -> None:
        """Confirms the step proposed last. See ``Reader.agree``."""
        self._reader.agree(apart)

    def signal(self, number: int) -> None:
        """Sends a signal to its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kills its process group, also after its own end, and waits up to ``_KILLED`` seconds."""
        self.signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_KILLED)

    def close(self) -> None:
        """Frees what belongs to it, after its end; waits up to a second until its standard error has been passed on."""
        self.output.end(1.0)
        if self.descriptor is not None:
            os.close(self.descriptor)
        self._unlink()

    def _unlink(self) -> None:
        self._mapped = True
        self._reader.path.unlink(missing_ok=True)


class ends_with_parent:
    """``preexec_fn`` of a child that is to be killed when its parent dies (on Linux).

    A parent that died before the request is found by the parent's process id.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None) if sys.platform == "linux" else None
        self._parent = os.getpid()

    def __call__(self) -> None:
        if self._library is not None:
            self._library.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != self._parent:
                os._exit(1)


def said(status: int) -> str:
    """The clause of a message for an exit status of ``Child.status``."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"was killed by signal {-status}"
