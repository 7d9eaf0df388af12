"""The supervisor of one process of a run: starts the program when all are there, watches it, ends with the others.

``towerstrat run`` becomes a supervisor where a run has several processes (``os.execv``, without JAX); the script is its
child. It is one thread around an event loop (``connections.Loop``): each turn serves the sockets that can be read,
sends a heartbeat, and looks at the child. Nothing that the program does can hold it up.

    1 meet       process 0 opens a ``RendezvousServer``; the others try to connect until the join timeout
    2 register   ``Register`` with versions, program and arguments, which the server compares; ``Welcome``
    3 start      ``Start`` brings the address of JAX's coordinator; the child gets it in its environment
    4 watch      exit status, SIGSTOP, a program that has raised and does not end, silence of process 0
    5 end        by a message of the server (``_obey``) or the loss of it (``_lost``): ``_conclude`` sets the verdict

The verdict is this process's exit status: the program's own where that failed; else ``ENDED`` (70) where another one
did, ``REFUSED`` (78) where the processes do not fit together. Two processes, of which the program of the second raises:

    supervisor 0                                     supervisor 1
                                                     child ends with status 1
                              server  <-             Fault("ended with exit status 1", its last lines)
    End  <-                   server  ->             End
    SIGTERM to its child, SIGKILL 3 s later
    exits with 70                                    exits with 1

A program that fails because it lost a peer says so in its last lines (``_LOST_A_PEER``): its fault is marked
``follows``, and the server waits for the cause. A program that hangs gets SIGQUIT, upon which it prints its stack.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence

from towerstrat.hosts import environment_variables, run_compatibility
from towerstrat.hosts.authentication import MessageKey
from towerstrat.hosts.child_process import Child, said
from towerstrat.hosts.connections import Connection, Loop
from towerstrat.hosts.heartbeat import FAILING, Seen
from towerstrat.hosts.process_spec import ENDED, GRACE, REFUSED, WHERE, Place, Process, ProgramSpec, Timeouts
from towerstrat.hosts.rendezvous_server import RendezvousServer, beat, did, silent
from towerstrat.hosts.sockets import connect, in_use
from towerstrat.hosts.supervisor_messages import (
    Agreed,
    Beat,
    Begun,
    Done,
    End,
    Ended,
    Fault,
    FromZero,
    Interrupted,
    Later,
    Refused,
    Register,
    Start,
    Stop,
    Welcome,
)

_TICK = 0.25
"""Seconds between two looks at the program."""
_LINGERS = 5.0
"""Seconds from an exception of the program to its exit, after which the supervisor reports it."""
_ENDING = 5.0
"""Seconds from SIGKILL to giving up on the program: it is in an uninterruptible system call."""
_LINE = 4096
"""Characters sent of each of the program's last lines."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LOST_A_PEER = re.compile(
    r"gloo|nccl|coordination.?service|heartbeat|(connection|socket) (reset|closed|refused)|broken pipe|UNAVAILABLE|"
    r"DEADLINE_EXCEEDED|ABORTED",
    re.IGNORECASE,
)
"""Error texts of collectives and of JAX's service that have lost a peer: the failure is probably a consequence."""


class CannotJoin(Exception):
    """The rendezvous cannot be reached, or this process was told to end before it was.

    Attributes:
      status: its exit status.
    """

    def __init__(self, text: str, status: int):
        super().__init__(text)
        self.status = status


class Supervisor:
    """Supervisor of this process's program; ``run`` is its whole life.

    Args:
      place: which process of the run this is.
      bounds: how long things may take.
      work: the program.
      key: of the secret that the processes of the run share.
      attempt: how often the run was started, from 1.
    """

    def __init__(self, place: Place, bounds: Timeouts, work: ProgramSpec, key: MessageKey, attempt: int = 1):
        self._place = place
        self._key = key
        self._bounds = bounds
        self._argv = work.argv
        self._facts = {**run_compatibility.facts(work, place.cluster), "attempt": attempt}
        self._attempt = attempt
        self._me = Process(place.index, socket.gethostname(), os.getpid())
        self._zero = self._zero_program = Process(0, "unknown", 0)
        self._zero_seen = Seen()
        self._loop = Loop()
        self._hub: RendezvousServer | None = None
        self._connection: Connection | None = None
        self._turned_away = False
        self._came: list[int] = []  # signals
        self._child: Child | None = None
        self._own: int | None = None  # the program's exit status
        self._verdict: int | None = None  # that of this process
        self._reported = False
        self._stop_until: float | None = None
        self._kill_at: float | None = None
        self._stopped_since: float | None = None
        self._began = self._heard = self._beat = self._turned = self._looked = time.monotonic()

    def run(self) -> int:
        """Runs until the program has ended, and on process 0 until all are told; the exit status (see the module)."""
        with self._signals():
            try:
                self._meet()
                while self._verdict is None or (self._child is not None and self._own is None):
                    self._turn()
                while self._hub is not None and not self._hub.finished():
                    self._turn()
            except CannotJoin as error:
                self._conclude(str(error), error.status)
            finally:
                self._close()
        assert self._verdict is not None
        return self._verdict

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        ours, other = socket.socketpair()
        for end in (ours, other):
            end.setblocking(False)
        before = {number: signal.signal(number, lambda number, _: self._came.append(number)) for number in _SIGNALS}
        signal.set_wakeup_fd(other.fileno(), warn_on_full_buffer=False)
        self._loop.add(ours, lambda: _empty(ours))
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
            ours.close()
            other.close()

    def _meet(self) -> None:
        """Connects to the rendezvous, on process 0 after opening it, and sends ``Register``.

        Raises:
          CannotJoin: nobody listens within the join timeout, the address cannot be had, or a signal came meanwhile.
        """
        seconds = self._bounds.join
        if self._place.index == 0:
            hub = RendezvousServer(self._place, self._bounds, self._key, self._loop, self._say)
            try:
                hub.listen()
                self._hub = hub
            except OSError as error:
                if not in_use(error):
                    raise CannotJoin(f"{self._me} cannot listen at {self._place.address}: {error}.", REFUSED) from None
                # Perhaps there is another process 0, which says so to all.
                seconds = min(seconds, self._bounds.heartbeat)
        self._connection = self._connected(seconds) if self._hub is None else self._hub.connect()
        self._loop.add(self._connection, self._read)
        self._heard = self._turned = time.monotonic()
        names = (str(self._place.index), *self._place.names)
        self._connection.send(
            Register(
                self._place.count,
                self._me.index,
                self._me.host,
                self._me.pid,
                self._facts,
                names,
                self._connection.here,
            )
        )

    def _connected(self, seconds: float) -> Connection:
        """Tries to connect for so many seconds; raises as ``_meet``."""
        until = self._began + seconds
        while True:
            for call in self._loop.wait(_TICK):
                call()
            try:
                end = connect(self._place.address, min(5.0, seconds))
                return Connection(end, self._key, self._place.index, accepted=False, schema=FromZero)
            except OSError as error:
                if time.monotonic() > until:
                    raise CannotJoin(
                        f"{self._me} found nobody at {self._place.address} for {seconds:g} s (--join-timeout): process "
                        f"0 must listen there. Is it started, and can it be reached from here? ({error})", ENDED,
                    ) from None  # fmt: skip
            if self._came:
                name = signal.Signals(self._came[0]).name
                raise CannotJoin(f"{name} came to {self._me}, which waited for process 0.", 128 + self._came[0])

    def _turn(self) -> None:
        """One turn of the event loop, at most ``_TICK`` seconds: sockets, rendezvous, program, heartbeat."""
        ready = self._loop.wait(_TICK)
        now = time.monotonic()
        paused, self._turned = now - self._turned, now
        if paused > self._bounds.heartbeat:
            # This process was stopped, or its machine. What the others have done since then, they have said.
            self._heard = now
            if self._hub is not None:
                self._hub.was_stopped(paused)
        for call in ready:
            call()
        if self._hub is not None:
            self._hub.tick()
        if self._child is not None and self._own is None:
            self._look(self._child, now)
        if self._connection is not None:
            self._keep_up(self._connection, now)

    def _keep_up(self, connection: Connection, now: float) -> None:
        """Forwards signals and heartbeats to process 0, and ends where it has been silent for too long."""
        for number in self._came:
            connection.send(Interrupted(number, signal.Signals(number).name))
        self._came.clear()
        if now - self._beat >= beat(self._bounds):
            self._beat = now
            self._send_beat(connection)
        connection.flush()
        if now - self._heard > self._bounds.heartbeat:
            self._lost(silent(now - self._heard, self._bounds))

    def _send_beat(self, connection: Connection) -> None:
        pid, seen = (None, Seen()) if self._child is None else (self._child.pid, self._child.seen())
        connection.send(Beat(pid, seen))

    def _look(self, child: Child, now: float) -> None:
        """Checks on the program: has it ended, is it to be killed, is it at fault."""
        status = child.status()
        if status is not None:
            self._ended(child, status)
        elif self._kill_at is not None:
            if now > self._kill_at:
                child.kill()
            if now > self._kill_at + _ENDING:
                self._say(f"{self._program()} was killed, and has not ended: it waits for something in the system.")
                self._own = 128 + signal.SIGKILL
        elif self._stop_until is not None:
            if now > self._stop_until:
                self._say(
                    f"{self._program()} has not ended {self._bounds.stopping:g} s after it was told to. It is killed."
                )
                child.kill()
        elif now - self._looked > _TICK:
            self._looked = now
            self._look_for_faults(child, now)

    def _look_for_faults(self, child: Child, now: float) -> None:
        """Reports a program that a signal has stopped, or that has raised and does not end."""
        if not child.is_stopped():
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = now
        elif now - self._stopped_since > self._bounds.heartbeat:
            self._report(f"is stopped by a signal (SIGSTOP or the like) for {now - self._stopped_since:.1f} s")
        seen = child.seen()
        if seen.phase == FAILING and (seen.age or 0.0) > _LINGERS:
            self._report(f"has failed ({seen.what}) and did not end for {seen.age:.1f} s")

    def _ended(self, child: Child, status: int) -> None:
        """Reports the program's end: ``Ended`` where it succeeded or all were stopping, else ``Fault``."""
        self._own = status if status >= 0 else 128 - status
        if child.descriptor is not None:
            self._loop.remove(child.descriptor)
        if status:
            child.kill()  # what it has started
        if self._verdict is not None:
            return
        if self._connection is None:  # process 0 was lost while all were told to end
            self._verdict = self._own
        elif status == 0 or self._stop_until is not None:
            self._send_beat(self._connection)
            self._connection.send(Ended())
        else:
            lines = child.output.last(0.5)
            follows = status in (1, -signal.SIGABRT) and any(map(_LOST_A_PEER.search, lines))
            self._report(said(status), lines, follows)

    def _report(self, text: str, lines: Sequence[str] = (), follows: bool = False) -> None:
        """Sends a ``Fault`` to process 0, once; what becomes of the run is its decision.

        Args:
          text: a clause on what happened. lines: the program's last lines. follows: whether it may be the consequence
            of another process's fault.
        """
        if self._connection is not None and not self._reported:
            self._reported = True
            self._send_beat(self._connection)
            self._connection.send(Fault(text, tuple(line[:_LINE] for line in lines), follows))

    def _read(self) -> None:
        """Obeys the messages of process 0; a connection that is closed before ``Welcome`` is tried again."""
        connection = self._connection
        if connection is None:  # it was closed after it was found that it can be read
            return
        for message in connection.receive():
            self._heard = time.monotonic()
            self._obey(message)
        for why in connection.refused:
            self._say(f"Refused by {self._me}, from {connection.there}: {why}. The run goes on.")
        connection.refused.clear()
        if not connection.closed or self._connection is None:
            return
        if self._zero.pid:
            self._lost("is gone: it was killed, or its host went down.")
        elif time.monotonic() - self._began < self._bounds.join:
            # The end of a run that was there before: perhaps another begins.
            if not self._turned_away:
                self._turned_away = True
                self._say(
                    f"Who listens at {self._place.address} has closed the connection of {self._me} without an answer: "
                    "it belongs to another run, or does not have the same secret. It is tried again."
                )
            self._disconnect()
            self._meet()
        else:
            self._lost("belongs to another run, or does not have the same secret: it closes connections unanswered.")

    def _obey(self, message: FromZero) -> None:
        """Carries out a message of process 0."""
        match message:
            case Welcome(host, pid):
                self._zero = self._zero_program = Process(0, host, pid)
            case Beat(pid, seen):
                self._zero_program = Process(0, self._zero.host, pid or 0)
                self._zero_seen = seen
            case Start(coordinator, address, local, run):
                self._start(coordinator, address, local, run)
            case Stop(number, text, step):
                self._stop(number, text, step)
            case Later(step):
                self._stop_after(step)
            case Agreed(apart):
                self._agree(apart)
            case Refused(text):
                self._conclude(text, REFUSED)
            case End(text, stuck):
                self._conclude(text, ENDED, stuck)
            case Done():
                self._conclude(None, self._own or 0)

    def _start(self, coordinator: str, address: str, local: int | None, run: bytes) -> None:
        """Starts the program with the run's environment variables; arguments as of ``Start``."""
        environment = os.environ | {
            environment_variables.HOSTS: str(self._place.count),
            environment_variables.HOST: str(self._place.index),
            environment_variables.COORDINATOR: "" if self._place.on_slice else coordinator,
            environment_variables.ADDRESS: address,
            environment_variables.ATTEMPT: str(self._attempt),
            environment_variables.KEY: self._key.derive(b"store", run, str(self._attempt).encode()).hex(),
        }
        # Sets of strings must have the same order everywhere.
        environment.setdefault("PYTHONHASHSEED", "0")
        if local is not None:
            environment.setdefault("JAX_LOCAL_DEVICE_IDS", str(local))
        try:
            self._child = Child(self._argv, environment)
        except OSError as error:
            self._report(f"cannot start its program: {error}")
            return
        if self._child.descriptor is not None:
            self._loop.add(self._child.descriptor, lambda: None)

    def _stop(self, number: int, text: str, step: int) -> None:
        """Passes a run-wide SIGTERM or SIGINT on to the program, with the shared step to stop after."""
        if self._child is None:
            self._conclude(text, 128 + number)
            return
        self._say(text)
        self._stop_until = time.monotonic() + self._bounds.stopping
        self._stop_after(step)
        if self._own is None:
            self._child.signal(number)

    def _stop_after(self, step: int) -> None:
        """Hands the program the step to stop after, and answers process 0 with the steps that it had begun by then."""
        begun = self._child.stop_after(step) if self._child is not None and self._own is None else 0
        if self._connection is not None:
            self._connection.send(Begun(begun, step))

    def _agree(self, apart: bool) -> None:
        if self._child is not None:
            self._child.agree(apart)

    def _lost(self, how: str) -> None:
        """Handles the loss of process 0: ends with an error, or, where all were stopping, goes on stopping alone.

        Args:
          how: the clause of the message.
        """
        if self._stop_until is None:
            zero = f"The supervisor of {self._zero}, where all processes meet,"
            text = f"{zero if self._zero.pid else f'Who listens at {self._place.address}'} {how}"
            self._conclude(f"{text} {did(self._zero_program, self._zero_seen)}", ENDED)
            return
        self._agree(apart=self._child is not None and not self._child.seen().shared)
        self._disconnect()
        self._verdict = self._own

    def _conclude(self, text: str | None, status: int, stuck: bool = False) -> None:
        """Decides this process's exit status, once, and ends its program: SIGTERM, after ``GRACE`` seconds SIGKILL.

        Args:
          text: why, for standard error; None: all went well. status: the exit status; with ``ENDED`` that of a program
            that has failed itself comes first.
          stuck: whether the program hangs: it gets SIGQUIT instead, prints its stack, and is killed after 1 s.
        """
        if self._verdict is not None:
            return
        self._verdict = (self._own or status) if status == ENDED else status
        self._disconnect()
        if text is not None:
            everybody = f"all {self._place.count} processes end" if self._place.count > 1 else "it ends"
            attempt = f" (attempt {self._attempt})" if self._attempt > 1 else ""
            self._say(f"{text}\ntowerstrat: {everybody}{attempt}")
        if self._child is not None and self._own is None:
            self._child.signal(WHERE if stuck else signal.SIGTERM)
            grace = 0.0 if self._child.is_stopped() else 1.0 if stuck else GRACE
            self._kill_at = time.monotonic() + grace

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._loop.remove(self._connection)
            self._connection.flush()
            self._connection.close()
            self._connection = None

    def _close(self) -> None:
        self._disconnect()
        if self._hub is not None:
            self._hub.close()
        if self._child is not None:
            if self._own is None:
                self._child.kill()
            self._child.close()
        self._loop.close()

    def _program(self) -> Process:
        return self._me if self._child is None else Process(self._me.index, self._me.host, self._child.pid)

    def _say(self, text: str) -> None:
        line = f"towerstrat: {text}"
        if self._child is not None:
            self._child.output.say(line)
        else:
            print(line, file=sys.stderr, flush=True)


def _empty(pipe: socket.socket) -> None:
    pipe.recv(1 << 10)
