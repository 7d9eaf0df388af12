"""Messages between supervisors: their types, and so what a message may hold."""

from __future__ import annotations

from typing import NamedTuple

from towerstrat.hosts.heartbeat import Seen

Fact = str | int | tuple[str, ...]


class Register(NamedTuple):
    """The first message of a supervisor to process 0: who it is, and what it brings to the comparison.

    Attributes:
      hosts, number: of how many processes it is which. host, pid: where it runs.
      facts, names: as of ``run_compatibility.Side``.
      address: of this end of the connection; "" of a Unix socket.
    """

    hosts: int
    number: int
    host: str
    pid: int
    facts: dict[str, Fact]
    names: tuple[str, ...]
    address: str


class Beat(NamedTuple):
    """A sign of life, in both directions. ``pid``: of the program, where there is one."""

    pid: int | None
    seen: Seen


class Ended(NamedTuple):
    """The program has ended as it should."""


class Fault(NamedTuple):
    """Something has failed.

    Attributes:
      text: what happened. tail: the program's last lines. follows: whether it may have another process' fault.
    """

    text: str
    tail: tuple[str, ...]
    follows: bool


class Interrupted(NamedTuple):
    """A signal has come to the supervisor."""

    signal: int
    name: str


class Begun(NamedTuple):
    """How many shared steps the program had begun when it was told to stop after the step ``stop``."""

    step: int
    stop: int


class Welcome(NamedTuple):
    """A supervisor is registered; process 0's own process."""

    host: str
    pid: int


class Start(NamedTuple):
    """All are there.

    Attributes:
      coordinator: where JAX's service is to be. address: by which the others reach the receiver's host.
      local: which process of those on its machine it is, where there are several.
      run: what tells this run from others.
    """

    coordinator: str
    address: str
    local: int | None
    run: bytes


class Stop(NamedTuple):
    """All programs are told to end by a signal, those that can after a shared step."""

    signal: int
    text: str
    step: int


class Later(NamedTuple):
    """A later step after which all may stop."""

    step: int


class Agreed(NamedTuple):
    """The step stands; ``apart``: there is none, each stops for itself."""

    apart: bool


class Refused(NamedTuple):
    """The processes do not fit together."""

    text: str


class End(NamedTuple):
    """The run is over. ``stuck``: programs that hang are asked where they are."""

    text: str
    stuck: bool = False


class Done(NamedTuple):
    """All programs have ended as they should."""


ToZero = Register | Beat | Ended | Fault | Interrupted | Begun
FromZero = Welcome | Beat | Start | Stop | Later | Agreed | Refused | End | Done
