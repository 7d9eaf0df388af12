"""Collectives of the processes of a run: what they compare, broadcast and gather before anything depends on it.

Processes of one run make the same collective calls on the devices; if they did not, they would wait for one another
forever, or add up what does not belong together. So what could differ is exchanged first, as messages in the key-value
store of JAX's coordinator (``store``), in one of these ways:

    agree             all compare a claim, in a ring: each reads that of the next process, the last that of the first
    broadcast         a number or text of process 0, for all
    on_first_process  process 0 acts for all, such as writing a file; the others wait, and raise what it raised
    gather            all-gather of a message; ``gather_bytes`` of bytes of any size, 1 MiB per process and round
    barrier           all wait until all are there
    channel           messages of one task between process 0 and the others, on any thread (``channels``)

Exchanges are counted, and the count is the key (``agreement/7``): all processes have to come to them in the same order,
on the main thread. A comparison costs two calls of the store, whatever the number of processes. Here this is process 0
of two, and a dictionary stands for the store, in which process 1 has put its claim:

>>> from unittest.mock import patch
>>> store = {("agreement/1", 1): encode(_Claim("step", {"program": "8f3a", "feeds": "5d70"}))}
>>> put, get = lambda key, claim: store.update({(key, 0): claim}), lambda *place: store[place]
>>> with patch.object(PROCESSES, "count", 2), patch.multiple(STORE, put=put, get=get):
...     Collectives().agree("step", {"program": "8f3a", "feeds": "19c2"}, tuple)        # doctest: +ELLIPSIS
Traceback (most recent call last):
towerstrat.errors.FailedPreconditionError: Process 1 differs from process 0, of 2: in step it has another value ...

Who finds a difference reads all claims, and names the minority. A process whose next one agrees with it finds none and
goes on; when its next collective fails for want of the others, it finds their message in the store (``refusal``).
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from towerstrat.errors import FailedPreconditionError
from towerstrat.hosts.channels import Channel
from towerstrat.hosts.heartbeat import COMPILING, PROGRESS
from towerstrat.hosts.messages import Schema, decode, encode
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.store import STORE

_REFUSED = "refused"
_ROUND = 1 << 20
"""Bytes per process and round of ``gather_bytes``, which bounds what the store holds at a time."""
_PATIENCE = 5.0
"""Seconds to wait for the pieces of another process, which has put none where it found no difference itself."""

T = TypeVar("T", float, str)
U = TypeVar("U")

Parts = Mapping[str, str]
"""Name -> digest or short text of a value that is compared: texts are equal where the values are."""


Pieces = Sequence[tuple[str, str]]
"""(text, words) per piece of a value, such as an operation: text is compared, words describe it in an error."""


class _Claim(NamedTuple):
    """The message of ``agree``: a process's next action, in words, and the values in it that must be equal."""

    what: str
    parts: dict[str, str]


class Collectives:
    """The exchanges of this run, in the order in which every process makes them."""

    def __init__(self) -> None:
        self._count = 0
        self._channels = 0
        self._said: str | None = None
        """The key of this process's last message of an all-gather; deleted once all have read it."""

    def agree(self, action: str, parts: Parts, details: Callable[[], Pieces]) -> None:
        """Compares a claim with the next process's; if that holds for all, all are equal.

        Args:
          action: words that are the same in all processes.
          parts: values that must be equal.
          details: makes the pieces of the first part, among which the error names the first that differs.

        Raises:
          FailedPreconditionError: this process differs from the next; the message names the process and the value.
        """
        self._count += 1
        mine = encode(_Claim(action, dict(parts)))
        with PROGRESS.phase(COMPILING, f"comparing {action} with the other processes"):
            STORE.put(self._key, mine)
            if self._of((PROCESSES.index + 1) % PROCESSES.count) != mine:
                self._refuse(mine, details())

    def broadcast(self, value: T) -> T:
        """Broadcasts the first process's number or text; where each goes its own way, the process's own."""
        if not PROCESSES.in_lockstep:
            return value
        self._count += 1
        if PROCESSES.index == 0:
            STORE.put(self._key, encode(value))
            return value
        received: T = decode(self._of(0), str if isinstance(value, str) else float)
        return received

    def on_first_process(self, do: Callable[[], None]) -> None:
        """Calls ``do`` in the first process, for all; the others wait until it is done, and raise what it raises.

        Where each process goes its own way, each calls it. Off the main thread the others do not wait: threads come to
        it in no common order.
        """
        if not PROCESSES.in_lockstep:
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
        """Sends the others the outcome of ``on_first_process``; None: it succeeded."""
        if waits:
            STORE.put(self._key, encode(error))

    def gather(self, value: U, schema: Schema) -> list[U]:
        """All-gather: the values of all processes, in order of process.

        Args:
          value: of this process.
          schema: its type, as of ``messages.decode``.
        """
        return [decode(message, schema) for message in self._exchange(encode(value))]

    def gather_bytes(self, data: bytes) -> list[bytes]:
        """All-gather of bytes, of any size, which may differ by process; in order of process."""
        most = max(self.gather(len(data), int))
        rounds = [self._exchange(data[i : i + _ROUND]) for i in range(0, most, _ROUND)]
        return [b"".join(each[process] for each in rounds) for process in range(PROCESSES.count)]

    def barrier(self) -> None:
        """Waits until all processes are at it."""
        self.gather(None, None)

    def channel(self) -> Channel:
        """The next channel, whose number is the same in all processes. Called in all, on the main thread."""
        self._channels += 1
        return Channel(self._channels)

    def _exchange(self, mine: bytes) -> list[bytes]:
        """All-gather of encoded messages."""
        self._count += 1
        STORE.put(self._key, mine)
        gathered = [mine if i == PROCESSES.index else self._of(i) for i in range(PROCESSES.count)]
        # All have put a message here, so all have read those of the exchange before: this process's can go.
        if self._said is not None:
            STORE.delete(self._said, PROCESSES.index)
        self._said = self._key
        return gathered

    @property
    def _key(self) -> str:
        return f"agreement/{self._count}"

    def _of(self, process: int) -> bytes:
        return STORE.get(self._key, process)

    def _refuse(self, mine: bytes, details: Pieces) -> None:
        """Raises the error of a difference. It names the minority, or, without one, who differs from process 0."""
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
        """The error message of a process that raised in ``agree``; None where none has."""
        senders = STORE.senders(_REFUSED) if PROCESSES.count > 1 else []
        return decode(STORE.get(_REFUSED, senders[0]), str) if senders else None

    @property
    def _pieces_key(self) -> str:
        return f"pieces/{self._count}"

    def _pieces(self, process: int) -> Pieces | None:
        """The pieces of a process, or of one with the same claim; None where none has put any in time."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for sender in STORE.senders(self._pieces_key):
                if self._of(sender) == self._of(process):
                    pieces: Pieces = decode(STORE.get(self._pieces_key, sender), tuple[tuple[str, str], ...])
                    return pieces
            time.sleep(0.05)
        return None


def _difference(usual: _Claim, other: _Claim) -> str | None:
    """The difference of two claims as a clause; None where it is in the first part, whose pieces say more.

    >>> usual, other = (_Claim("step", {"program": "8f3a", "feeds": feeds}) for feeds in ("19c2", "5d70"))
    >>> _difference(usual, other)
    'in step it has another value of feeds'
    """
    names = [*usual.parts, *(name for name in other.parts if name not in usual.parts)]
    differing = [name for name in names if usual.parts.get(name) != other.parts.get(name)]
    if usual.what != other.what or differing[0] == names[0]:
        return None
    return f"in {usual.what} it has another value of {', '.join(differing)}"


def _first_difference(usual: Pieces | None, other: Pieces | None) -> str:
    """The first difference of two lists of pieces as a clause.

    >>> _first_difference([("Relu", "Relu (train.py:16)")], [("Sum", "Sum (train.py:17)")])
    'it has Sum (train.py:17) where the other one has Relu (train.py:16)'
    """
    if usual is None or other is None:
        return "it runs another program"
    for (text, words), (their_text, their_words) in zip(usual, other, strict=False):
        if text != their_text:
            return f"it has {their_words} where the other one has {words}"
    if len(usual) == len(other):
        return "it has the same operations for other shapes or types of their inputs"
    longer, who = (usual, "the other one has") if len(usual) > len(other) else (other, "it has")
    return f"{who} {longer[min(len(usual), len(other))][1]} besides"


COLLECTIVES = Collectives()
