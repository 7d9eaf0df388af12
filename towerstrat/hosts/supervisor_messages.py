"""Messages between supervisors and process 0's server: ``NamedTuple``s, whose fields are the schema they are read by.

    to the server (``ToZero``)                  from the server (``FromZero``)
    Register     who it is, facts to compare    Welcome      registered
                                                Start        all are there: start the program
    Beat         heartbeat, progress            Beat         heartbeat, progress of process 0's program
    Ended        program ended with status 0    Done         all have ended
    Fault        program failed                 End          the run is over: end the program
                                                Refused      the processes do not fit together
    Interrupted  SIGTERM or SIGINT came         Stop         all programs are to end after this shared step
    Begun        shared steps begun so far      Later        some program was past it: after this one
                                                Agreed       none was: the step stands

``rendezvous_server`` shows a run's sequence of them; ``messages`` encodes them:

>>> from towerstrat.hosts.messages import decode, encode
>>> encode(Begun(step=9, stop=12))
b'{"kind": "Begun", "step": 9, "stop": 12}'
>>> decode(encode(Done()), FromZero)
Done()
"""

from __future__ import annotations

from typing import NamedTuple

from towerstrat.hosts.heartbeat import Seen

Fact = str | int | tuple[str, ...]


class Register(NamedTuple):
    """A supervisor's first message: who it is, and the facts to compare.

    Attributes:
      hosts, number: the number of processes by its own account, and its index. host, pid: of the supervisor.
      facts, names: as of ``run_compatibility.Side``.
      address: IP address of its end of the connection; "" of a Unix socket.
    """

    hosts: int
    number: int
    host: str
    pid: int
    facts: dict[str, Fact]
    names: tuple[str, ...]
    address: str


class Beat(NamedTuple):
    """Heartbeat, in both directions, with the progress of the sender's program. ``pid``: of that; None: not started."""

    pid: int | None
    seen: Seen


class Ended(NamedTuple):
    """The program has ended with status 0, or, where all were told to end, at all."""


class Fault(NamedTuple):
    """The program has failed, is stopped, or cannot start.

    Attributes:
      text: a clause on what happened, after the process's name. tail: the last lines of its standard error.
      follows: whether it may be the consequence of another process's fault.
    """

    text: str
    tail: tuple[str, ...]
    follows: bool


class Interrupted(NamedTuple):
    """SIGTERM or SIGINT has come to the supervisor."""

    signal: int
    name: str


class Begun(NamedTuple):
    """Answer to ``Stop`` and ``Later``: the program had begun ``step`` shared steps when it was told ``stop``."""

    step: int
    stop: int


class Welcome(NamedTuple):
    """The supervisor is registered; ``host``, ``pid``: of process 0's supervisor."""

    host: str
    pid: int


class Start(NamedTuple):
    """All are there and fit together: the receiver starts its program.

    Attributes:
      coordinator: address of JAX's coordinator, which process 0's program will start.
      address: IP address by which the others reach the receiver's host.
      local: index of the process among those on its machine; None: it is the only one.
      run: random bytes that identify the run.
    """

    coordinator: str
    address: str
    local: int | None
    run: bytes


class Stop(NamedTuple):
    """All programs are to end: each gets the signal, and those that can stop do so after the shared step ``step``."""

    signal: int
    text: str
    step: int


class Later(NamedTuple):
    """Another proposal of the shared step to stop after, since a program had begun the last one."""

    step: int


class Agreed(NamedTuple):
    """The step proposed last stands; ``apart``: no program shares steps, and each stops after its own next one."""

    apart: bool


class Refused(NamedTuple):
    """The run is refused, or the receiver is: the processes do not fit together."""

    text: str


class End(NamedTuple):
    """The run is over because of a fault. ``stuck``: programs print their stacks (SIGQUIT) before they are killed."""

    text: str
    stuck: bool = False


class Done(NamedTuple):
    """All programs have ended, none by a fault."""


ToZero = Register | Beat | Ended | Fault | Interrupted | Begun
FromZero = Welcome | Beat | Start | Stop | Later | Agreed | Refused | End | Done
