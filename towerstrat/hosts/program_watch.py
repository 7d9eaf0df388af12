"""The supervised program: started, watched for its end and for faults, told to stop, ended.

A ``ProgramWatch`` holds the child of a supervisor over its whole life. ``look``, once a turn of the supervisor's loop,
says what became of it by two functions that the supervisor gives:

    child                                  look(now)
    exits with status s                    ended(s), once; ``status`` is s from then on
    SIGSTOP for longer than --heartbeat    fault("is stopped by a signal (SIGSTOP or the like) for 10.2 s")
    raised, and does not end for 5 s       fault("has failed (ValueError: ...) and did not end for 5.1 s")

A program that ``stop`` has told to end gets ``Timeouts.stopping`` seconds, one that ``end`` ends the seconds of its
signal; then it is killed. What a kill does not end waits for something in the system, and is given up.

Here the child is an object that has been killed by signal 9; a real one is made by ``start``:

>>> from types import SimpleNamespace
>>> me, ended = Process(1, "worker-1", 4070), lambda child, status: print(child.pid, "ended with", status)
>>> program = ProgramWatch(me, Timeouts(), say=print, ended=ended, fault=print)
>>> program.child = SimpleNamespace(pid=4071, status=lambda: -9)
>>> program.running, program.look(now=0.0), program.running, program.status
4071 ended with -9
(True, None, False, 137)
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence

from towerstrat.hosts.child_process import Child
from towerstrat.hosts.heartbeat import FAILING, Seen
from towerstrat.hosts.process_spec import GRACE, WHERE, Process, Timeouts

TICK = 0.25
"""Seconds between two looks at the program."""
_LINGERS = 5.0
"""Seconds from an exception of the program to its exit, after which it is a fault."""
_ENDING = 5.0
"""Seconds from SIGKILL to giving up on the program: it is in an uninterruptible system call."""


class ProgramWatch:
    """The program of a supervisor.

    Args:
      supervisor: the process that watches; the program is called by its number and host.
      bounds: how long things may take.
      say: is given a line for the user.
      ended: is called once with the child and the status that it ended with: negative, the signal that killed it.
      fault: is given a clause on what is wrong with a program that runs.

    Attributes:
      child: the process of the program; None before ``start``.
      status: its exit status as a shell has it, 128 and the signal that killed it; None until it has ended.
    """

    def __init__(
        self,
        supervisor: Process,
        bounds: Timeouts,
        say: Callable[[str], None],
        ended: Callable[[Child, int], None],
        fault: Callable[[str], None],
    ):
        self._supervisor = supervisor
        self._bounds = bounds
        self._say = say
        self._ended = ended
        self._fault = fault
        self.child: Child | None = None
        self.status: int | None = None
        self._stop_until: float | None = None
        self._kill_at: float | None = None
        self._stopped_since: float | None = None
        self._looked = time.monotonic()

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self.child is not None and self.status is None

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stop_until is not None

    @property
    def process(self) -> Process:
        """The program as messages name it; before it is started its supervisor."""
        here = self._supervisor
        return here if self.child is None else Process(here.index, here.host, self.child.pid)

    def start(self, argv: Sequence[str], environment: Mapping[str, str]) -> Child:
        """Starts the program. Raises OSError where that is not possible."""
        self.child = Child(argv, environment)
        return self.child

    def progress(self) -> tuple[int | None, Seen]:
        """Its process number and what it says of its progress; None and nothing before it is started."""
        return (None, Seen()) if self.child is None else (self.child.pid, self.child.seen())

    def look(self, now: float) -> None:
        """Looks whether it has ended, is to be killed, or is at fault."""
        if self.child is None or self.status is not None:
            return
        status = self.child.status()
        if status is not None:
            self.status = status if status >= 0 else 128 - status
            self._ended(self.child, status)
        elif self._kill_at is not None:
            if now > self._kill_at:
                self.child.kill()
            if now > self._kill_at + _ENDING:
                self._say(f"{self.process} was killed, and has not ended: it waits for something in the system.")
                self.status = 128 + signal.SIGKILL
        elif self._stop_until is not None:
            if now > self._stop_until:
                self._say(
                    f"{self.process} has not ended {self._bounds.stopping:g} s after it was told to. It is killed."
                )
                self.child.kill()
        elif now - self._looked > TICK:
            self._looked = now
            self._look_for_faults(self.child, now)

    def _look_for_faults(self, child: Child, now: float) -> None:
        """Says where a signal has stopped it, or where it has raised and does not end."""
        if not child.is_stopped():
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = now
        elif now - self._stopped_since > self._bounds.heartbeat:
            self._fault(f"is stopped by a signal (SIGSTOP or the like) for {now - self._stopped_since:.1f} s")
        seen = child.seen()
        if seen.phase == FAILING and (seen.age or 0.0) > _LINGERS:
            self._fault(f"has failed ({seen.what}) and did not end for {seen.age:.1f} s")

    def stop(self, number: int, step: int) -> int:
        """Tells it to end by a signal, after a step; the number of steps that it had begun by then."""
        self._stop_until = time.monotonic() + self._bounds.stopping
        begun = self.stop_after(step)
        if self.child is not None and self.status is None:
            self.child.signal(number)
        return begun

    def stop_after(self, step: int) -> int:
        """Hands it the step to stop after; the number of steps that it had begun by then."""
        return self.child.stop_after(step) if self.child is not None and self.status is None else 0

    def agree(self, apart: bool) -> None:
        """Hands on whether all processes stop by themselves (``apart``) or after a shared step."""
        if self.child is not None:
            self.child.agree(apart)

    def end(self, stuck: bool) -> None:
        """Ends it: SIGTERM, after ``GRACE`` seconds SIGKILL.

        Args:
          stuck: whether it hangs: it gets SIGQUIT instead, prints its stack, and is killed after 1 s.
        """
        if self.child is not None and self.status is None:
            self.child.signal(WHERE if stuck else signal.SIGTERM)
            grace = 0.0 if self.child.is_stopped() else 1.0 if stuck else GRACE
            self._kill_at = time.monotonic() + grace

    def close(self) -> None:
        """Kills it where it still runs, and frees what it was watched by."""
        if self.child is not None:
            if self.status is None:
                self.child.kill()
            self.child.close()
