"""The rendezvous of a run: process 0's supervisor, which all supervisors are connected to and which decides for all.

The topology is a star: each supervisor, process 0's own included, has one connection to this server. What one of them
reports is compared here and broadcast, so that all processes hear one verdict, once. The start of a run of one process:

>>> loop = Loop()
>>> server = RendezvousServer(Place(1, 0, "unix:/run/meet"), Timeouts(), MessageKey(b""), loop, print)
>>> own = server.connect()
>>> own.send(Register(1, 0, "worker-0", 4071, facts={}, names=("0",), address=""))
>>> serve, = loop.wait(0)                       # to be called when the connection can be read: first the greeting
>>> serve(), own.receive(), serve(), [type(message).__name__ for message in own.receive()]
(None, [], None, ['Welcome', 'Start'])
>>> _ = own.close(), server.close(), loop.close()

A run of three processes, of which process 1 is told to end (messages are those of ``supervisor_messages``):

    process 1                      server                    process 2
    Beat                     <->           <->               Beat      about once a second
    Interrupted(15)          ->
                  Stop(step=12) <-       -> Stop(step=12)              the programs get SIGTERM
    Begun(9, stop=12)        ->             <-               Begun(11, stop=12)
                         Agreed <-       -> Agreed                     nobody was past step 12: it stands
    Ended                    ->             <-               Ended
                           Done <-       -> Done

Had process 2 begun step 12 already, a later step would have been tried (``Later``) and both asked again. Elsewhere in a
run a ``Fault`` ends it for all (``End``); one that may be another's consequence waits ``_SETTLING`` for its cause.
Programs count a shared step when they begin it, and none ends it before all are in it: of processes that wait for one
another the one with the lowest count is behind, and is the stuck one.
"""

from __future__ import annotations

import math
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple

from towerstrat.hosts import run_compatibility
from towerstrat.hosts.authentication import MessageKey
from towerstrat.hosts.connections import Connection, Loop
from towerstrat.hosts.heartbeat import CHECKPOINTING, COMPILING, ENDED, STARTING, STEPPING, Seen
from towerstrat.hosts.process_spec import GRACE, LONGER, Place, Process, Timeouts
from towerstrat.hosts.rendezvous_listener import Listener
from towerstrat.hosts.sockets import LOOPBACK, coordinator_of, path_of
from towerstrat.hosts.supervisor_messages import (
    Agreed,
    Beat,
    Begun,
    Done,
    End,
    Ended,
    Fact,
    Fault,
    FromZero,
    Interrupted,
    Later,
    Refused,
    Register,
    Start,
    Stop,
    ToZero,
    Welcome,
)

_LONG = (STARTING, COMPILING, CHECKPOINTING)
_TICK = 0.2
_SETTLING = 2.0
"""Seconds in which the cause of a failure may arrive after its consequence: who loses a peer may notice first."""
_MARGIN, _NOTICE = 2, 1.0
"""The step after which all are to stop lies so many steps, and so many seconds' worth of them, behind the last seen."""
_SHOWN = 8
"""Processes that a message lists at most."""
_RUN = 16
"""Bytes of a run's random identifier, of which the key of its store is derived."""


@dataclass
class Member:
    """A supervisor that has registered.

    Attributes:
      supervisor, program: its process and that of its program (the same until it runs).
      facts, names: as of ``run_compatibility.Side``, compared before the start.
      address: IP address of its end of the connection; "" for a Unix socket.
      heard: time of its last message (``time.monotonic``).
      seen, at: progress of its program by the last ``Beat``, and the time of that.
      rate: shared steps per second between the last two beats that showed some.
      ended: whether its program has ended with status 0, or while all were stopping.
      told: whether SIGTERM or SIGINT has come to it.
      begun: shared steps that its program had begun when it was told the step to stop after; None: no answer yet.
    """

    connection: Connection
    supervisor: Process
    program: Process
    facts: Mapping[str, Fact]
    names: Sequence[str]
    address: str
    heard: float
    at: float
    seen: Seen = field(default_factory=Seen)
    rate: float = 0.0
    ended: bool = False
    told: bool = False
    begun: int | None = None

    def still(self, now: float) -> float:
        """Seconds since its program last did something, as far as the last ``Beat`` tells."""
        return (self.seen.age or 0.0) + now - self.at


class Verdict(NamedTuple):
    """The end of a run.

    Attributes:
      at: its time. why: the reason; "" where all went well.
    """

    at: float
    why: str


class RendezvousServer:
    """The server of a run's rendezvous, in the event loop of process 0's supervisor. No call blocks.

    Args:
      place: of process 0. bounds: the timeouts. key: of the secret that the processes share.
      loop: the event loop in which its sockets are registered. say: writes a line to this process's standard error.
    """

    def __init__(self, place: Place, bounds: Timeouts, key: MessageKey, loop: Loop, say: Callable[[str], None]):
        self._place = place
        self._key = key
        self._bounds = bounds
        self._say = say
        self._members: dict[int, Member] = {}
        self._by_connection: dict[Connection, Member] = {}
        self._listener = Listener(place, bounds, key, say, loop, self._serve)
        self._began = self._advanced = time.monotonic()
        self._beat = self._ticked = 0.0
        self._started = False
        self._stop_after: int | None = None
        """The shared step after which all are to stop; None: nobody was told to."""
        self._over: Verdict | None = None
        self._pending: tuple[float, str] | None = None
        self._stopped: tuple[float, float] | None = None

    def listen(self) -> None:
        """Opens the listening socket at the run's address, and raises the limit of open files where it is too low.

        Raises:
          OSError: the address cannot be had, see ``sockets.listen``; ``in_use``: another process listens there.
        """
        self._listener.listen()

    def connect(self) -> Connection:
        """The connection of process 0's own supervisor: the other end of a socket pair."""
        server_end, client_end = socket.socketpair()
        self._listener.connection(server_end)
        return Connection(client_end, self._key, 0, accepted=False, schema=FromZero)

    def tick(self) -> None:
        """Runs the watchdogs and sends heartbeats; does so every ``_TICK`` seconds however often it is called."""
        now = time.monotonic()
        if now - self._ticked < _TICK:
            return
        self._ticked = now
        for member in self._members.values():
            member.connection.flush()
        self._listener.tick(now)
        if self._over is None:
            self._look(now)
        if now - self._beat >= beat(self._bounds):
            self._beat = now
            if 0 in self._members:
                first = self._members[0]
                self._tell(Beat(first.program.pid, first.seen))

    def was_stopped(self, seconds: float) -> None:
        """Restarts the heartbeat timeouts, after this process or its machine was suspended for so many seconds."""
        now = time.monotonic()
        self._stopped = (now, seconds)
        for member in self._members.values():
            member.heard = now

    def finished(self) -> bool:
        """Whether the run is over, and all supervisors have closed their connections or had ``GRACE`` seconds to."""
        gone = all(each.connection.closed for each in self._members.values())
        late = self._over is not None and time.monotonic() - self._over.at > GRACE
        return self._over is not None and (gone or late)

    def close(self) -> None:
        """Closes all connections and frees the address."""
        for member in self._members.values():
            if not member.connection.closed:
                self._listener.drop(member.connection)
        self._listener.close()

    def _serve(self, connection: Connection) -> None:
        """Handles the messages of a connection that can be read; its first one must be ``Register``."""
        messages = connection.receive()
        member = self._by_connection.get(connection)
        for message in messages:
            if member is None:
                member = self._register(connection, message)
                if member is None:
                    break
            else:
                self._hear(member, message)
        if connection.refused:
            connection.closed = connection.closed or member is None
            self._listener.say_refused(connection)
        if connection.closed:
            self._listener.drop(connection)
            if member is not None:
                self._lost(member)

    def _register(self, connection: Connection, message: ToZero) -> Member | None:
        """Registers the sender of a connection's first message, and starts the run with the last one; None: refused."""
        if not isinstance(message, Register) or message.number != connection.sender:
            connection.refuse(f"it begins with {type(message).__name__}, and is no process that registers")
            return None
        try:
            address = message.address and str(ip_address(message.address))
        except ValueError:
            connection.refuse(f"it has the address {message.address!r}")
            return None
        process, count = Process(message.number, message.host, message.pid), message.hosts
        there = self._members.get(process.index)
        if self._over is not None:
            self._refuse(
                connection, f"{process} came when the run at {self._place.address} had ended. {self._over.why}"
            )
            return None
        if self._started:
            who = "" if there is None else f" with {there.program}"
            self._refuse(
                connection,
                f"{process} came to {self._place.address} when the run there had started{who}. That run goes on.",
            )
            return None
        if count != self._place.count or not 0 <= process.index < count:
            zero = self._members[0].supervisor if 0 in self._members else "process 0"
            self._refuse(
                connection,
                f"{process} was started as one of {count} processes, {zero} as one of {self._place.count}. "
                "Give all the same --hosts, and --host from 0 to one less.",
                self.refuse,
            )
            return None
        if there is not None:
            self._refuse(
                connection,
                f"Process {process.index} was started twice: host {there.supervisor.host}, pid {there.supervisor.pid}, "
                f"and host {process.host}, pid {process.pid}. Give each its own --host.",
                self.refuse,
            )
            return None
        now = time.monotonic()
        self._listener.register(connection)
        member = Member(connection, process, process, message.facts, message.names, address, now, now)
        self._members[process.index] = self._by_connection[connection] = member
        zero = self._members[0].supervisor if 0 in self._members else process
        connection.send(Welcome(zero.host, zero.pid))
        if len(self._members) == self._place.count:
            self._start()
        return member

    def _refuse(self, connection: Connection, text: str, everybody: Callable[[str], None] | None = None) -> None:
        """Refuses one process, and by ``everybody`` the whole run where it cannot be known which process is wrong."""
        connection.send(Refused(text))
        if everybody is None:
            self._say(text)
        else:
            everybody(text)

    def _start(self) -> None:
        """Compares the facts of all, and sends each ``Start`` with what its program needs; or refuses the run."""
        members = [self._members[i] for i in range(self._place.count)]
        apart = run_compatibility.differences([run_compatibility.Side(m.supervisor, m.facts, m.names) for m in members])
        if apart:
            omitted = [f"and {len(apart) - _SHOWN} differences more"] if len(apart) > _SHOWN else []
            lines = "".join(f"\n  {line}" for line in (*apart[:_SHOWN], *omitted))
            self.refuse(f"The processes do not run the same program:{lines}")
            return
        self._started = True
        coordinator = coordinator_of(self._place.address)
        here = path_of(self._place.address) is not None
        run = secrets.token_bytes(_RUN)
        reached_at = [LOOPBACK] * len(members) if here else addresses(members)
        # Processes that share a machine each take the GPU of their number there.
        together = Counter(member.supervisor.host for member in members)
        before: Counter[str] = Counter()
        for member, address in zip(members, reached_at, strict=True):
            host = member.supervisor.host
            local = before[host] if together[host] > 1 else None
            before[host] += 1
            member.connection.send(Start(coordinator, address, local, run))

    def _hear(self, member: Member, message: ToZero) -> None:
        """Handles a message of a registered supervisor; any message is a sign of life."""
        member.heard = now = time.monotonic()
        if isinstance(message, Beat):
            seen = message.seen
            if seen.shared > member.seen.shared:
                member.rate = (seen.shared - member.seen.shared) / max(now - member.at, _TICK)
                self._advanced = now
            member.seen, member.at = seen, now
            if message.pid:
                member.program = Process(member.supervisor.index, member.supervisor.host, message.pid)
        elif isinstance(message, Ended) or (isinstance(message, Fault) and self._stop_after is not None):
            self._end_of(member)
        elif isinstance(message, Fault):
            lines = "".join(f"\n  | {line}" for line in message.tail)
            text = f"{member.program} {message.text}. It was {member.seen.describe()}."
            text += f" Its last lines:{lines}" if lines else ""
            if not message.follows:  # otherwise its cause may still come
                self.end(text)
            elif self._pending is None:
                self._pending = (now, text)
        elif isinstance(message, Interrupted):
            self._stop(member, message.signal, message.name)
        elif isinstance(message, Begun) and message.stop == self._stop_after:
            member.begun = message.step
            self._agree()

    def _stop(self, member: Member, number: int, name: str) -> None:
        """Broadcasts ``Stop`` with the step to stop after; a second signal to one supervisor ends the run at once."""
        if member.told:
            self.end(f"{name} came again to {member.supervisor}.")
        elif self._stop_after is None:
            text = f"{name} came to {member.supervisor}: all processes are told to end."
            self._stop_after = self._step_ahead()
            self._tell(Stop(number, text, self._stop_after))
            if not self._started:
                self._finish(Done())
        member.told = True

    def _step_ahead(self) -> int:
        """A shared step that probably no program will have begun by the time that all have been told of it."""
        members = self._members.values()
        steps = max((max(m.seen.shared, m.begun or 0) for m in members), default=0)
        rate = max((m.rate for m in members), default=0.0)
        return steps + _MARGIN + math.ceil(rate * _NOTICE)

    def _agree(self) -> None:
        """Confirms the step to stop after, once all have answered; proposes a later one where some had begun it."""
        begun = [member.begun for member in self._members.values() if not member.ended]
        if self._stop_after is None or None in begun:
            return
        if all(steps is not None and steps < self._stop_after for steps in begun):
            self._tell(Agreed(apart=not any(begun)))
            return
        self._stop_after = self._step_ahead()
        for member in self._members.values():
            member.begun = None
        self._tell(Later(self._stop_after))

    def _end_of(self, member: Member) -> None:
        """Notes the end of a program, which may have been the last answer awaited or the end of all."""
        member.ended = True
        self._agree()
        if all(each.ended for each in self._members.values()):
            self._finish(Done())

    def _lost(self, member: Member) -> None:
        """Handles the loss of a supervisor's connection: ends the run, unless all are stopping or it is over."""
        if self._over is not None:
            return
        if self._stop_after is not None:
            self._end_of(member)
            return
        if self._stopped is not None and time.monotonic() - self._stopped[0] < self._bounds.heartbeat:
            self.end(
                f"The supervisor of {self._members[0].supervisor} was itself stopped for {self._stopped[1]:.1f} s "
                f"(--heartbeat {self._bounds.heartbeat:g}): the others have ended without it."
            )
            return
        self.end(
            f"The supervisor of {member.supervisor} is gone: it was killed, or its host went down. "
            f"{did(member.program, member.seen)}"
        )

    def _look(self, now: float) -> None:
        """Ends the run where processes are missing at the join timeout, silent, or stuck, or a fault has settled."""
        bounds = self._bounds
        if not self._started:
            missing = [i for i in range(self._place.count) if i not in self._members]
            if now - self._began > bounds.join:
                there = ", ".join(str(m.supervisor) for _, m in sorted(self._members.items())[:_SHOWN])
                which = f"process{'es' if len(missing) > 1 else ''} {', '.join(map(str, missing[:_SHOWN]))}"
                self.end(
                    f"Of {self._place.count} processes, {which} did not come to {self._place.address} within "
                    f"{bounds.join:g} s (--join-timeout). There: {there}."
                )
                return
        for member in self._members.values():
            if now - member.heard <= bounds.heartbeat:
                continue
            if self._stop_after is not None:
                self._end_of(member)
            else:
                self.end(
                    f"The supervisor of {member.supervisor} {silent(now - member.heard, bounds)} "
                    f"{did(member.program, member.seen)}"
                )
        if self._pending is not None and now - self._pending[0] > _SETTLING:
            before = [f" {m.program} had ended before." for m in self._members.values() if m.ended]
            self.end("".join([self._pending[1], *before[:_SHOWN]]))
        elif self._started and self._stop_after is None and bounds.stuck:
            self._look_for_stuck(now)

    def _look_for_stuck(self, now: float) -> None:
        """Ends the run where a program is stuck, and names the one that the others wait for.

        Of those idle for longer than the timeout it is the one with the fewest steps. It waits while a program that is
        not idle may still be the one waited for, such as one that compiles.
        """
        if self._stopped is not None and now - self._stopped[0] < self._bounds.stuck:
            return
        if now - self._advanced < 2 * beat(self._bounds) + _TICK:  # of some it is not heard yet that they go on
            return
        ended = [m for m in self._members.values() if m.ended or m.seen.phase == ENDED]
        going = [m for m in self._members.values() if m not in ended]
        if not going:  # programs that do not come to their end
            ended, going = [], [m for m in ended if not m.ended]
        over = [m for m in going if m.still(now) > self._bounds.stuck * (LONGER if m.seen.phase in _LONG else 1)]
        if not over:
            return
        behind = min(over, key=_order)
        if any(_may_be_waited_for(m, behind) for m in going if m not in over):
            return
        shown = [m for m in going if m is not behind]
        still, option = f"no step for {behind.still(now):.1f} s", f"--stuck-timeout {self._bounds.stuck:g}"
        if ended:
            left, shown = min(ended, key=_order), going
            text = f"{left.program} has ended, the others have made {still} ({option}). It was {left.seen.describe()}."
        elif len(over) > 1 and all(_order(m) == _order(behind) for m in over):
            text = f"The processes have made {still} ({option}); which of them the others wait for cannot be seen."
            shown = going
        else:
            text = f"{behind.program} has made {still} ({option}). It is {behind.seen.describe()}."
        lines = [f"\n  {m.program} is {m.seen.describe()}" for m in shown[:_SHOWN]]
        self._finish(End("".join([text, *lines]), stuck=True))

    def end(self, text: str) -> None:
        """Ends the run in all processes for this reason: each exits with its program's status, or else ``ENDED``."""
        self._finish(End(text))

    def refuse(self, text: str) -> None:
        """Ends the run because the processes do not fit together; all supervisors exit with ``REFUSED``."""
        self._finish(Refused(text))

    def _finish(self, message: End | Refused | Done) -> None:
        """Broadcasts how the run ends; the first verdict stands."""
        if self._over is None:
            self._over = Verdict(time.monotonic(), "" if isinstance(message, Done) else message.text)
            self._tell(message)

    def _tell(self, message: FromZero) -> None:
        for member in self._members.values():
            if not member.connection.closed:
                member.connection.send(message)


def addresses(members: Sequence[Member]) -> list[str]:
    """The IP address by which the others reach each member's host, in order.

    They are read off the connections, since a host's name may resolve to the loopback on the host itself. Whoever came
    through the loopback is on process 0's host, and has its address.
    """
    here = sorted((m.connection.here for m in members if m.connection.here), key=_is_loopback)
    zero = here[0] if here else ""
    return [zero if not m.address or _is_loopback(m.address) else m.address for m in members]


def _is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback


def _order(member: Member) -> tuple[int, bool]:
    """Sort key, least first for whom the others wait: fewer steps; at equal steps, in another phase than stepping."""
    return member.seen.step, member.seen.phase == STEPPING


def _may_be_waited_for(going: Member, still: Member) -> bool:
    """Whether ``still``, which is idle, may wait for ``going``: it is behind, or compiles and is not ahead."""
    return going.seen.shared < still.seen.shared or (going.seen.phase in _LONG and going.seen.step <= still.seen.step)


def silent(seconds: float, bounds: Timeouts) -> str:
    """The clause of an error message about a supervisor that has sent nothing for so many seconds."""
    return (
        f"has said nothing for {seconds:.1f} s (--heartbeat {bounds.heartbeat:g}): it is stopped, or its host is down "
        "or cannot be reached."
    )


def did(program: Process, seen: Seen) -> str:
    """The sentence of an error message about the last known progress of a lost supervisor's program."""
    return f"Its program (pid {program.pid}) was {seen.describe()}." if seen.pid else "Its program had not begun."


def beat(bounds: Timeouts) -> float:
    """Seconds between two heartbeats: 1, or a fifth of a shorter ``--heartbeat``."""
    return min(1.0, bounds.heartbeat / 5)
