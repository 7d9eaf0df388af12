"""What the processes of a run must have in common: each shows it to the next one before anything depends on it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from towerstrat.errors import FailedPreconditionError
from towerstrat.hosts.heartbeat import COMPILING, PROGRESS
from towerstrat.hosts.messages import decode, encode
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.store import STORE

_REFUSED = "refused"
_ROUND = 1 << 20
"""Bytes of each process that the store has at a time, where all send bytes of any size."""
_PATIENCE = 5.0
"""Seconds to wait for what a process says of a difference that it may not have found."""

T = TypeVar("T", float, str)
U = TypeVar("U")

Parts = Mapping[str, str]
"""Names of what is compared -> short texts that are equal where these are."""


Pieces = Sequence[tuple[str, str]]
"""(text, words): texts are equal where pieces are, words are for people."""


class _Claim(NamedTuple):
    """What a process is about to do, in words, and the parts of it that must be equal."""

    what: str
    parts: dict[str, str]


class Consensus:
    """Compares values of all processes, in the order in which each of them comes to do so.

    A process looks at the next one, the last at the first: where none finds a difference, all are equal. It takes two
    calls of the service that JAX's runtime has, whatever the number of processes.
    """

    def __init__(self) -> None:
        self._count = 0
        self._said: str | None = None
        """The key under which this process has said something to all last."""

    def require(self, what: str, parts: Parts, details: Callable[[], Pieces]) -> None:
        """Returns where all processes are about to do the same.

        Args:
          what: what this process is about to do, in words that are the same in all.
          parts: what must be equal.
          details: the pieces that the first part was made of, to name the first one that differs.

        Raises:
          FailedPreconditionError: a process differs; the message names it, and what is different.
        """
        self._count += 1
        mine = encode(_Claim(what, dict(parts)))
        with PROGRESS.phase(COMPILING, f"comparing {what} with the other processes"):
            STORE.put(self._key, mine)
            if self._of((PROCESSES.index + 1) % PROCESSES.count) != mine:
                self._refuse(mine, details())

    def first(self, value: T) -> T:
        """The first process' value, in all that run together: a number or text."""
        if not PROCESSES.together:
            return value
        self._count += 1
        if PROCESSES.index == 0:
            STORE.put(self._key, encode(value))
            return value
        found: T = decode(self._of(0), str if isinstance(value, str) else float)
        return found

    def by_first(self, do: Callable[[], None]) -> None:
        """The first process does it, for all; the others wait for it, and get the exception that it raises.

        Where each process goes its own way, each does it. In a thread beside the program the others do not wait.
        """
        if not PROCESSES.together:
            return do()
        waits = threading.current_thread() is threading.main_thread()
        self._count += waits
        if PROCESSES.index:
            if waits and (error := decode(self._of(0), BaseException | None)) is not None:
                raise error
            return None
        try:
            do()
        except BaseException as error:
            self._tell(waits, error)
            raise
        return self._tell(waits, None)

    def _tell(self, waits: bool, error: BaseException | None) -> None:
        """Says to those that wait that it is done, or what was raised."""
        if waits:
            STORE.put(self._key, encode(error))

    def all_of(self, value: U, schema: Any) -> list[U]:
        """What each process says, in all of them. All come to it together.

        Args:
          value: what this process says. schema: its type, as of ``messages.decode``.
        """
        return [decode(message, schema) for message in self._exchange(encode(value))]

    def bytes_of_all(self, data: bytes) -> list[bytes]:
        """The bytes of each process, of any size, in all of them. All come to it together."""
        most = max(self.all_of(len(data), int))
        rounds = [self._exchange(data[i : i + _ROUND]) for i in range(0, most, _ROUND)]
        return [b"".join(each[process] for each in rounds) for process in range(PROCESSES.count)]

    def _exchange(self, mine: bytes) -> list[bytes]:
        self._count += 1
        STORE.put(self._key, mine)
        found = [mine if i == PROCESSES.index else self._of(i) for i in range(PROCESSES.count)]
        # Whoever says something here has read what was said here before.
        if self._said is not None:
            STORE.delete(self._said, PROCESSES.index)
        self._said = self._key
        return found

    @property
    def _key(self) -> str:
        return f"agreement/{self._count}"

    def _of(self, process: int) -> bytes:
        return STORE.get(self._key, process)

    def _refuse(self, mine: bytes, details: Pieces) -> None:
        """Raises the error of a difference. Processes that are fewer are those that differ; of two, the later one."""
        STORE.put(self._pieces_key, encode(tuple(details)))
        all_of_them = [mine if i == PROCESSES.index else self._of(i) for i in range(PROCESSES.count)]
        usual, times = Counter(all_of_them).most_common(1)[0]
        if times <= PROCESSES.count // 2:
            usual = all_of_them[0]
        culprits = [i for i, value in enumerate(all_of_them) if value != usual]
        normal = all_of_them.index(usual)
        other = normal if PROCESSES.index in culprits else culprits[0]
        words = _difference(*(decode(all_of_them[i], _Claim) for i in (normal, culprits[0])))
        if words is None:
            theirs = self._pieces(other)
            pair = (theirs, details) if PROCESSES.index in culprits else (details, theirs)
            words = _first_difference(*pair)
        several = len(culprits) > 1
        who = f"Processes {', '.join(map(str, culprits))} differ" if several else f"Process {culprits[0]} differs"
        message = (
            f"{who} from process {normal}, of {PROCESSES.count}: {words}. Every process must run the same program on "
            "the same values: give all of them the same script, arguments, seeds and feeds, and data that differ by "
            "process through a dataset."
        )
        STORE.put(_REFUSED, encode(message))
        raise FailedPreconditionError(None, None, message)

    def refusal(self) -> str | None:
        """What a process that refused to go on has said of it; None where none has."""
        senders = STORE.senders(_REFUSED) if PROCESSES.count > 1 else []
        return decode(STORE.get(_REFUSED, senders[0]), str) if senders else None

    @property
    def _pieces_key(self) -> str:
        return f"pieces/{self._count}"

    def _pieces(self, process: int) -> Pieces | None:
        """What a process, or one that is like it, says of its pieces; None where none does."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for sender in STORE.senders(self._pieces_key):
                if self._of(sender) == self._of(process):
                    found: Pieces = decode(STORE.get(self._pieces_key, sender), tuple[tuple[str, str], ...])
                    return found
            time.sleep(0.05)
        return None


def _difference(usual: _Claim, other: _Claim) -> str | None:
    """What differs between two claims, in words; None where that is the first part, which has pieces."""
    names = [*usual.parts, *(name for name in other.parts if name not in usual.parts)]
    found = [name for name in names if usual.parts.get(name) != other.parts.get(name)]
    if usual.what != other.what or found[0] == names[0]:
        return None
    return f"in {usual.what} it has another value of {', '.join(found)}"


def _first_difference(usual: Pieces | None, other: Pieces | None) -> str:
    if usual is None or other is None:
        return "it runs another program"
    for (text, words), (their_text, their_words) in zip(usual, other, strict=False):
        if text != their_text:
            return f"it has {their_words} where the other one has {words}"
    if len(usual) == len(other):
        return "it has the same operations for other shapes or types of their inputs"
    longer, who = (usual, "the other one has") if len(usual) > len(other) else (other, "it has")
    return f"{who} {longer[min(len(usual), len(other))][1]} besides"


AGREEMENT = Consensus()
