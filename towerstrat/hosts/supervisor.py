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

A program that hangs gets SIGQUIT, upon which it prints its stack. One that fails because it lost a peer says so in its
last lines: its fault is marked ``follows``, and the server waits for the cause.

>>> lines = "gloo: Connection closed by peer [10.0.0.2]", "ValueError: shapes (3,) and (2,)"
>>> [_LOST_A_PEER.search(line) is not None for line in lines]
[True, False]
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
from dataclasses import dataclass, field

from towerstrat.hosts import environment_variables, run_compatibility
from towerstrat.hosts.authentication import MessageKey
from towerstrat.hosts.child_process import Child, said
from towerstrat.hosts.connections import Connection, Loop
from towerstrat.hosts.heartbeat import Seen
from towerstrat.hosts.process_spec import ENDED, REFUSED, Place, Process, ProgramSpec, Timeouts
from towerstrat.hosts.program_watch import TICK, ProgramWatch
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


_UNKNOWN = Process(0, "unknown", 0)


@dataclass
class ProcessZero:
    """Process 0, as the supervisor of another one knows it.

    Attributes:
      supervisor, program: pid 0 until it has said who they are.
      seen: the progress of its program.
      heard: when it said something last, by the monotonic clock.
      beaten: when a heartbeat was sent to it last.
    """

    supervisor: Process = _UNKNOWN
    program: Process = _UNKNOWN
    seen: Seen = field(default_factory=Seen)
    heard: float = field(default_factory=time.monotonic)
    beaten: float = field(default_factory=time.monotonic)


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
        self._bounds = bounds
        self._work = work
        self._key = key
        self._attempt = attempt
        self._me = Process(place.index, socket.gethostname(), os.getpid())
        self._zero = ProcessZero()
        self._loop = Loop()
        self._hub: RendezvousServer | None = None
        self._connection: Connection | None = None
        self._turned_away = False
        self._came: list[int] = []  # signals
        self._program = ProgramWatch(self._me, bounds, self._say, self._report_end, self._report)
        self._verdict: int | None = None
        self._reported = False
        self._began = self._turned = time.monotonic()

    def run(self) -> int:
        """Runs until the program has ended, and on process 0 until all are told; the exit status (see the module)."""
        with self._signals():
            try:
                self._meet()
                while self._verdict is None or self._program.running:
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
        self._connection = self._connect(seconds) if self._hub is None else self._hub.connect()
        self._loop.add(self._connection, self._read)
        self._zero.heard = self._turned = time.monotonic()
        facts = {**run_compatibility.facts(self._work, self._place.cluster), "attempt": self._attempt}
        names = (str(self._place.index), *self._place.names)
        self._connection.send(
            Register(
                self._place.count,
                self._me.index,
                self._me.host,
                self._me.pid,
                facts,
                names,
                self._connection.here,
            )
        )

    def _connect(self, seconds: float) -> Connection:
        """Tries to connect for so many seconds; raises as ``_meet``."""
        until = self._began + seconds
        while True:
            for call in self._loop.wait(TICK):
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
        """One turn of the event loop, at most ``TICK`` seconds: sockets, rendezvous, program, heartbeat."""
        ready = self._loop.wait(TICK)
        now = time.monotonic()
        paused, self._turned = now - self._turned, now
        if paused > self._bounds.heartbeat:
            # This process was stopped, or its machine. What the others have done since then, they have said.
            self._zero.heard = now
            if self._hub is not None:
                self._hub.was_stopped(paused)
        for call in ready:
            call()
        if self._hub is not None:
            self._hub.tick()
        self._program.look(now)
        if self._connection is not None:
            self._keep_up(self._connection, now)

    def _keep_up(self, connection: Connection, now: float) -> None:
        """Forwards signals and heartbeats to process 0, and ends where it has been silent for too long."""
        for number in self._came:
            connection.send(Interrupted(number, signal.Signals(number).name))
        self._came.clear()
        if now - self._zero.beaten >= beat(self._bounds):
            self._zero.beaten = now
            self._send_beat(connection)
        connection.flush()
        if now - self._zero.heard > self._bounds.heartbeat:
            self._lost(silent(now - self._zero.heard, self._bounds))

    def _send_beat(self, connection: Connection) -> None:
        connection.send(Beat(*self._program.progress()))

    def _report_end(self, child: Child, status: int) -> None:
        """Reports the program's end: ``Ended`` where it succeeded or all were stopping, else ``Fault``."""
        if child.descriptor is not None:
            self._loop.remove(child.descriptor)
        if status:
            child.kill()  # what it has started
        if self._verdict is not None:
            return
        if self._connection is None:  # process 0 was lost while all were told to end
            self._verdict = self._program.status
        elif status == 0 or self._program.stopping:
            self._send_beat(self._connection)
            self._connection.send(Ended())
        else:
            lines = child.output.last(0.5)
            follows = status in (1, -signal.SIGABRT) and any(map(_LOST_A_PEER.search, lines))
            self._report(said(status), lines, follows)

    def _report(self, text: str, lines: Sequence[str] = (), follows: bool = False) -> None:
        """Sends a ``Fault`` to process 0, once; what becomes of the run is its decision.

        Args:
          text: a clause on what happened.
          lines: the program's last lines.
          follows: whether it may be the consequence of another process's fault.
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
            self._zero.heard = time.monotonic()
            self._obey(message)
        for why in connection.refused:
            self._say(f"Refused by {self._me}, from {connection.there}: {why}. The run goes on.")
        connection.refused.clear()
        if not connection.closed or self._connection is None:
            return
        if self._zero.supervisor.pid:
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
                self._zero.supervisor = self._zero.program = Process(0, host, pid)
            case Beat(pid, seen):
                self._zero.program = Process(0, self._zero.supervisor.host, pid or 0)
                self._zero.seen = seen
            case Start(coordinator, address, local, run):
                self._start(coordinator, address, local, run)
            case Stop(number, text, step):
                self._stop(number, text, step)
            case Later(step):
                self._answer(self._program.stop_after(step), step)
            case Agreed(apart):
                self._program.agree(apart)
            case Refused(text):
                self._conclude(text, REFUSED)
            case End(text, stuck):
                self._conclude(text, ENDED, stuck)
            case Done():
                self._conclude(None, self._program.status or 0)

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
            child = self._program.start(self._work.argv, environment)
        except OSError as error:
            self._report(f"cannot start its program: {error}")
            return
        if child.descriptor is not None:
            self._loop.add(child.descriptor, lambda: None)

    def _stop(self, number: int, text: str, step: int) -> None:
        """Passes a run-wide SIGTERM or SIGINT on to the program, with the shared step to stop after."""
        if self._program.child is None:
            self._conclude(text, 128 + number)
            return
        self._say(text)
        self._answer(self._program.stop(number, step), step)

    def _answer(self, begun: int, step: int) -> None:
        """Tells process 0 how many steps the program had begun when it was handed the step to stop after."""
        if self._connection is not None:
            self._connection.send(Begun(begun, step))

    def _lost(self, how: str) -> None:
        """Handles the loss of process 0: ends with an error, or, where all were stopping, goes on stopping alone.

        Args:
          how: the clause of the message.
        """
        if not self._program.stopping:
            zero = f"The supervisor of {self._zero.supervisor}, where all processes meet,"
            text = f"{zero if self._zero.supervisor.pid else f'Who listens at {self._place.address}'} {how}"
            self._conclude(f"{text} {did(self._zero.program, self._zero.seen)}", ENDED)
            return
        _, seen = self._program.progress()
        self._program.agree(apart=not seen.shared)
        self._disconnect()
        self._verdict = self._program.status

    def _conclude(self, text: str | None, status: int, stuck: bool = False) -> None:
        """Decides this process's exit status, once, and ends its program: SIGTERM, after ``GRACE`` seconds SIGKILL.

        Args:
          text: why, for standard error; None: all went well.
          status: the exit status; with ``ENDED`` that of a program that has failed itself comes first.
          stuck: whether the program hangs: it gets SIGQUIT instead, prints its stack, and is killed after 1 s.
        """
        if self._verdict is not None:
            return
        self._verdict = (self._program.status or status) if status == ENDED else status
        self._disconnect()
        if text is not None:
            everybody = f"all {self._place.count} processes end" if self._place.count > 1 else "it ends"
            attempt = f" (attempt {self._attempt})" if self._attempt > 1 else ""
            self._say(f"{text}\ntowerstrat: {everybody}{attempt}")
        self._program.end(stuck)

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
        self._program.close()
        self._loop.close()

    def _say(self, text: str) -> None:
        line = f"towerstrat: {text}"
        if self._program.child is not None:
            self._program.child.output.say(line)
        else:
            print(line, file=sys.stderr, flush=True)


def _empty(pipe: socket.socket) -> None:
    pipe.recv(1 << 10)
