"""``towerstrat launch``: all processes of a run on this machine, started and ended together, and started again.

Each process is a supervisor with its program (``python -m towerstrat.hosts supervise``), in a process group of its own.
They meet at a Unix socket in a private folder, with a new secret in a file there; JAX's coordinator has one too. With
``--devices D`` each gets D devices: virtual ones of the CPU (``JAX_NUM_CPU_DEVICES``), or GPUs I*D to I*D+D-1 of the
machine's (``JAX_LOCAL_DEVICE_IDS``).

    towerstrat launch -n 2 train.py

    [0] step 1: loss 2.30          each line of a process's output, with its index in front
    [1] step 1: loss 2.30

SIGTERM and Ctrl-C are passed on to all supervisors, which stop their programs together. When one has failed the others
hear of it from process 0; a supervisor that does not end then is killed (``_Attempt.run``). After a failure all are
started again, ``--restarts`` times, unless the processes did not fit together or were told to end.

The second of two processes with two devices each, and the status of a run in which process 1 has failed with 3:

>>> environment = Launch(2, 0, 2, Timeouts(), ProgramSpec(("python", "train.py")))._environment(1)
>>> environment["JAX_NUM_CPU_DEVICES"], environment["JAX_LOCAL_DEVICE_IDS"]
('2', '2,3')
>>> _status([ENDED, 3])
3
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO, BinaryIO

from towerstrat.hosts import command_line
from towerstrat.hosts.child_process import ends_with_parent
from towerstrat.hosts.connections import Loop
from towerstrat.hosts.process_spec import ENDED, GRACE, REFUSED, Place, ProgramSpec, Timeouts
from towerstrat.hosts.sockets import private_folder

_TICK = 0.25
_TIDYING = 1.5
"""Seconds that a supervisor may take to end after its program."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TOLD = {128 + number for number in _SIGNALS}


class Launch:
    """Launcher of a program in several processes of this machine.

    Args:
      number: of processes. restarts: how often all are started again after a failure.
      devices: number of devices of each; None: all that JAX finds.
      bounds: the timeouts of the supervisors. work: the program.
    """

    def __init__(self, number: int, restarts: int, devices: int | None, bounds: Timeouts, work: ProgramSpec):
        self._number = number
        self._restarts = restarts
        self._devices = devices
        self._bounds = bounds
        self._work = work

    def run(self) -> int:
        """Runs all processes until they have ended, again after failures; the exit status: 0, or that of who failed."""
        for attempt in range(1, self._restarts + 2):
            attempted = _Attempt(self._bounds)
            with private_folder() as folder:
                secret = _new_secret(folder)
                for i in range(self._number):
                    place = Place(self._number, i, f"unix:{folder}/meet")
                    command = command_line.supervise(place, self._bounds, self._work, attempt, secret)
                    attempted.start(command, self._environment(i))
                statuses = attempted.run()
            status = _status(statuses)
            if status in (0, REFUSED) or attempted.told or set(statuses) <= {0, *_TOLD} or attempt > self._restarts:
                break
            _say(f"attempt {attempt} ended with status {status}; attempt {attempt + 1} of {self._restarts + 1} begins")
        return status

    def _environment(self, index: int) -> dict[str, str]:
        """The environment of process ``index``, with its share of the devices."""
        # Standard output is a pipe, which Python would buffer; lines are to appear when they are written.
        variables = {"PYTHONUNBUFFERED": "1"} | dict(os.environ)
        if self._devices is not None:
            indices = range(index * self._devices, (index + 1) * self._devices)
            variables |= {
                "JAX_NUM_CPU_DEVICES": str(self._devices),
                "JAX_LOCAL_DEVICE_IDS": ",".join(map(str, indices)),
            }
        return variables


class _Attempt:
    """One attempt at the run: the supervisors that were started together, and the relay of their output.

    Attributes:
      told: whether this process got SIGTERM or SIGINT, and has passed it on.
    """

    def __init__(self, bounds: Timeouts):
        self.told = False
        self._bounds = bounds
        self._processes: list[subprocess.Popen[bytes]] = []
        self._loop = Loop()
        self._open: dict[IO[bytes], bytes] = {}
        self._came: list[int] = []

    def start(self, command: list[str], environment: dict[str, str]) -> None:
        """Starts the next supervisor, whose index is the number of those before."""
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            process_group=0, preexec_fn=ends_with_parent(), bufsize=0,
        )  # fmt: skip
        head = f"[{len(self._processes)}] ".encode()
        self._processes.append(process)
        assert process.stdout is not None
        assert process.stderr is not None
        self._pass_on(process.stdout, sys.stdout.buffer, head)
        self._pass_on(process.stderr, sys.stderr.buffer, head)

    def run(self) -> list[int]:
        """Waits until all have ended; their exit statuses. Those that do not end after one has failed are killed."""
        until = None
        with self._signals():
            while any(process.poll() is None for process in self._processes):
                for call in self._loop.wait(_TICK):
                    call()
                self._tell()
                statuses = {process.poll() for process in self._processes} - {None, 0}
                if until is None and statuses:
                    seconds = self._bounds.stopping if self.told or statuses <= _TOLD else 0.0
                    until = time.monotonic() + seconds + GRACE + _TIDYING
                elif until is not None and time.monotonic() > until:
                    self._kill()
        self._drain()
        return [process.wait() for process in self._processes]

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, lambda number, _: self._came.append(number)) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _tell(self) -> None:
        """Passes signals that have come on to all supervisors."""
        for number in self._came:
            self.told = True
            for process in self._processes:
                process.send_signal(number)
        self._came.clear()

    def _kill(self) -> None:
        for i, process in enumerate(self._processes):
            if process.poll() is None:
                _say(f"the supervisor of process {i} (pid {process.pid}) does not end with the others: it is killed")
                process.kill()  # its program ends with it
                process.wait()

    def _drain(self) -> None:
        """Relays what is left in the pipes, for ``_TIDYING`` seconds: an orphan of a program may hold them open."""
        until = time.monotonic() + _TIDYING
        while self._open and time.monotonic() < until:
            for call in self._loop.wait(_TICK):
                call()
        for stream in list(self._open):
            self._loop.remove(stream)
            stream.close()
        self._loop.close()

    def _pass_on(self, stream: IO[bytes], target: BinaryIO, head: bytes) -> None:
        """Registers a pipe in the event loop, whose lines go to ``target`` with ``head`` in front."""

        def read() -> None:
            part = os.read(stream.fileno(), 1 << 16)
            *lines, unfinished = (self._open[stream] + part).split(b"\n")
            if not part:
                lines, unfinished = ([unfinished] if unfinished else []), b""
                self._loop.remove(stream)
                stream.close()
                del self._open[stream]
            else:
                self._open[stream] = unfinished
            if lines:
                target.write(b"".join(head + line + b"\n" for line in lines))
                target.flush()

        self._open[stream] = b""
        self._loop.add(stream, read)


def _new_secret(folder: str) -> str:
    """Writes a new secret into a file of ``folder`` that only this user can read; its path."""
    path = os.path.join(folder, "secret")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path


def _status(statuses: list[int]) -> int:
    """The exit status of a run: that of a process which failed itself comes before ``ENDED`` of the others.

    >>> _status([ENDED, 3, ENDED]), _status([ENDED, -9]), _status([0, 0])
    (3, 70, 0)
    """
    if REFUSED in statuses:
        return REFUSED
    failures = [status for status in statuses if status > 0 and status != ENDED]
    return failures[0] if failures else ENDED if any(statuses) else 0


def _say(text: str) -> None:
    print(f"towerstrat: {text}", file=sys.stderr, flush=True)
