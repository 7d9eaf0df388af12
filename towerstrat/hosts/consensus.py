"""What the processes of a run must have in common: each shows it to the next one before anything depends on it."""

from __future__ import annotations

import base64
import json
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from jax._src import distributed

from towerstrat.errors import FailedPreconditionError, UnknownError
from towerstrat.hosts.heartbeat import COMPILING, PROGRESS
from towerstrat.hosts.process_index import PROCESSES

_LONG = 24 * 3600 * 1000
"""Milliseconds: whoever is dead or stuck is found by others than those who wait."""
_REFUSED = "towerstrat/refused"
_MESSAGE = 1 << 20
"""Characters of one message of the service."""
_PATIENCE = 5.0
"""Seconds to wait for what a process says of a difference that it may not have found."""

T = TypeVar("T", float, str)

Parts = Mapping[str, str]
"""Names of what is compared -> short texts that are equal where these are."""


Pieces = Sequence[tuple[str, str]]
"""(text, words): texts are equal where pieces are, words are for people."""


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
        mine = json.dumps([what, dict(parts)])
        with PROGRESS.phase(COMPILING, f"comparing {what} with the other processes"):
            client().key_value_set(_key(self._count, PROCESSES.index), mine)
            if self._of((PROCESSES.index + 1) % PROCESSES.count) != mine:
                self._refuse(mine, details())

    def first(self, value: T) -> T:
        """The first process' value, in all that run together: a number or text."""
        if not PROCESSES.together:
            return value
        self._count += 1
        if PROCESSES.index == 0:
            client().key_value_set(_key(self._count, 0), json.dumps(value))
            return value
        found: T = json.loads(self._of(0))
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
            if waits and (error := _error(self._of(0))) is not None:
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
        if not waits:
            return
        try:
            told = pickle.dumps(error)
        except Exception:  # what a program raises may hold anything
            told = pickle.dumps(UnknownError(None, None, f"Process 0 has raised {type(error).__name__}: {error}"))
        client().key_value_set(_key(self._count, 0), base64.b64encode(told).decode())

    def all_of(self, text: str) -> list[str]:
        """What each process says, in all of them. All come to it together."""
        self._count += 1
        mine = _key(self._count, PROCESSES.index)
        client().key_value_set(mine, text)
        found = [text if i == PROCESSES.index else self._of(i) for i in range(PROCESSES.count)]
        # Whoever says something here has read what was said here before.
        if self._said is not None:
            client().key_value_delete(self._said)
        self._said = mine
        return found

    def bytes_of_all(self, data: bytes) -> list[bytes]:
        """The bytes of each process, of any size, in all of them. All come to it together."""
        text = base64.b64encode(data).decode()
        parts = [text[i : i + _MESSAGE] for i in range(0, len(text), _MESSAGE)]
        most = max(map(int, self.all_of(str(len(parts)))))
        said = [self.all_of(parts[i] if i < len(parts) else "") for i in range(most)]
        return [base64.b64decode("".join(pieces[process] for pieces in said)) for process in range(PROCESSES.count)]

    def _of(self, process: int) -> str:
        return str(client().blocking_key_value_get(_key(self._count, process), _LONG))

    def _refuse(self, mine: str, details: Pieces) -> None:
        """Raises the error of a difference. Processes that are fewer are those that differ; of two, the later one."""
        pieces = f"towerstrat/pieces/{self._count}"
        client().key_value_set(f"{pieces}/{PROCESSES.index}", json.dumps(list(details)))
        all_of_them = [mine if i == PROCESSES.index else self._of(i) for i in range(PROCESSES.count)]
        usual, times = Counter(all_of_them).most_common(1)[0]
        if times <= PROCESSES.count // 2:
            usual = all_of_them[0]
        culprits = [i for i, value in enumerate(all_of_them) if value != usual]
        normal = all_of_them.index(usual)
        other = normal if PROCESSES.index in culprits else culprits[0]
        words = _difference(*(json.loads(all_of_them[i]) for i in (normal, culprits[0])))
        if words is None:
            theirs = self._pieces(pieces, other)
            pair = (theirs, details) if PROCESSES.index in culprits else (details, theirs)
            words = _first_difference(*pair)
        several = len(culprits) > 1
        who = f"Processes {', '.join(map(str, culprits))} differ" if several else f"Process {culprits[0]} differs"
        message = (
            f"{who} from process {normal}, of {PROCESSES.count}: {words}. Every process must run the same program on "
            "the same values: give all of them the same script, arguments, seeds and feeds, and data that differ by "
            "process through a dataset."
        )
        client().key_value_set(f"{_REFUSED}/{PROCESSES.index}", message, allow_overwrite=True)
        raise FailedPreconditionError(None, None, message)

    def refusal(self) -> str | None:
        """What a process that refused to go on has said of it; None where none has."""
        found = client().key_value_dir_get(_REFUSED) if PROCESSES.count > 1 else []
        return found[0][1] if found else None

    def _pieces(self, folder: str, process: int) -> Pieces | None:
        """What a process, or one that is like it, says of its pieces; None where none does."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for key, value in client().key_value_dir_get(folder):
                if self._of(int(key.rpartition("/")[2])) == self._of(process):
                    return [(text, words) for text, words in json.loads(value)]
            time.sleep(0.05)
        return None


def _difference(usual: Sequence[Any], other: Sequence[Any]) -> str | None:
    """What differs between two (what, parts), in words; None where that is the first part, which has pieces."""
    names = [*usual[1], *(name for name in other[1] if name not in usual[1])]
    found = [name for name in names if usual[1].get(name) != other[1].get(name)]
    if usual[0] != other[0] or found[0] == names[0]:
        return None
    return f"in {usual[0]} it has another value of {', '.join(found)}"


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


def _error(told: str) -> BaseException | None:
    """What the first process has raised."""
    found: BaseException | None = pickle.loads(base64.b64decode(told))
    return found


def client() -> Any:
    """The client of the service that JAX's runtime has for small texts."""
    client = distributed.global_state.client
    assert client is not None, "several processes have joined"
    return client


def _key(number: int, process: int) -> str:
    return f"towerstrat/agreement/{number}/{process}"


AGREEMENT = Consensus()
