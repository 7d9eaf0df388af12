"""A checkpoint of several processes: each writes its share of the bytes at the same time, the first one the index.

The processes exchange three messages: the first one says that they may begin, each of the others that it has written
its file, and what is in it, and the first one that the checkpoint is there, or what went wrong.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from towerstrat.checkpoints import bundle_writer
from towerstrat.checkpoints import dtypes as elements
from towerstrat.checkpoints.bundle_reader import shard_path
from towerstrat.checkpoints.bundle_writer import Saved, Written
from towerstrat.checkpoints.shard_layout import Form, cut, divided
from towerstrat.errors import FailedPreconditionError, OpError, UnknownError
from towerstrat.graph.ir.mesh import everywhere
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.platform.storage import storage_of
from towerstrat.training.saving.async_writer import copies

_PATIENCE = 5.0
"""Seconds until a file that another process has written must be seen: file systems over a network remember folders."""


class Folders:
    """What the first process knows of folders.

    Attributes:
      smallest: bytes of values that all processes have, from which on each process writes a part of a checkpoint.
      shared: folder -> whether all processes see the files of one another there.
    """

    def __init__(self) -> None:
        self.smallest = 64 << 20
        self.shared: dict[str, bool] = {}


FOLDERS = Folders()


class _Begin(NamedTuple):
    """The others may write. ``shards``: in the names of the files. ``plan``: a digest of what is saved."""

    shards: int
    plan: str


class _Differs(NamedTuple):
    """A process would save something else. ``plan``: each array that it would save, in words."""

    plan: tuple[str, ...]


class _End(NamedTuple):
    """It is over. ``error``: what went wrong. ``together``: whether the files of the others are in the checkpoint."""

    error: BaseException | None = None
    together: bool = False


class _NotSeen(Exception):
    """The first process does not see the file at this path, which another one has written."""


class SharedSave:
    """A checkpoint that all processes save. All make it together, on the thread of their program.

    Args:
      prefix: its path. beside: the contents of its side file, if it has one.
      arrays: what is saved, the same in all processes. Values that lie on the devices of all of them, alike, are what
        is divided; all others are those of the first process.
      copied: whether the values that this process is to write are copied, so that they may change meanwhile.

    Attributes:
      count: the number of other processes.

    Raises:
      FailedPreconditionError: a variable has no value.
    """

    def __init__(self, prefix: str, arrays: Iterable[Saved], beside: bytes | None, copied: bool = False):
        self._prefix, self._beside = prefix, beside
        self._folder = os.path.dirname(prefix)
        self._talk = COLLECTIVES.channel()
        self._reported: BaseException | None = None
        self.count = PROCESSES.count - 1
        arrays = list(arrays)
        # A value of which each process has a part is put together by all of them.
        values = [_in_each(array.load()) for array in arrays]
        forms = [_form(array, value) for array, value in zip(arrays, values, strict=True)]
        self._divides = sum(form.nbytes for form in forms if form.anywhere) >= FOLDERS.smallest
        pieces = divided(forms, PROCESSES.count if self._divides else 1)
        self._plan = tuple(_described(array, form) for array, form in zip(arrays, forms, strict=True))
        arrays = [array._replace(load=partial(_own, value)) for array, value in zip(arrays, values, strict=True)]
        # The first process writes all by itself where it turns out that it does not see what the others write.
        self._has_all = PROCESSES.index == 0 and not (copied and self._divides and FOLDERS.shared.get(self._folder))
        if copied and self._has_all:
            arrays = copies(arrays)
        self._shares = [[cut(arrays[p.number], forms[p.number].shape, p) for p in share] for share in pieces]
        self._arrays = arrays if self._has_all else []
        if copied and not self._has_all:
            own = PROCESSES.index if self._divides else None
            self._shares = [
                copies(share) if i == own else _without_values(share) for i, share in enumerate(self._shares)
            ]

    def __call__(self) -> None:
        """Writes, in any thread; returns, or raises, in all processes when the checkpoint is there.

        Raises:
          ValueError, OpError: as ``bundle_writer.write``; the message names the process.
        """
        if PROCESSES.index:
            self._help()
            return
        try:
            together = self._divides and self._with_others()
            if not together:
                bundle_writer.write(self._prefix, self._arrays, self._beside)
        except BaseException as error:
            told = error if error is self._reported else _named(error)
            self._talk.broadcast(_End(told))
            if told is error or type(told) is not type(error):
                raise
            raise told from error
        self._talk.broadcast(_End(together=together))

    # ---- the first process -------------------------------------------------------------------------------------

    def _with_others(self) -> bool:
        """Writes with the others; False where this process does not see what they write, and has all values."""
        if self._has_all and not FOLDERS.shared.get(self._folder, True):
            return False
        try:
            bundle_writer.write(self._prefix, self._shares[0], self._beside, self)
        except _NotSeen as missing:
            FOLDERS.shared[self._folder] = False
            logs.warning(
                "%s, which another process has written, is not there: the processes do not share the folder %s. From "
                "now on process 0 writes the checkpoints there by itself, which takes longer; give all processes a "
                "folder that they share, since they restore from it too.", missing, self._folder or ".",
            )  # fmt: skip
            if not self._has_all:
                raise FailedPreconditionError(
                    None, None, f"{missing}, which another process has written, is not there, and the values have "
                    "changed since they were to be saved beside training. Process 0 writes the next checkpoint."
                ) from None  # fmt: skip
            return False
        FOLDERS.shared[self._folder] = True
        return True

    def begin(self, shards: int) -> None:
        """See ``bundle_writer.Others``."""
        self._talk.broadcast(_Begin(shards, _digest(self._plan)))

    def written(self, shards: int) -> Iterator[tuple[Sequence[Saved], Sequence[bytes]]]:
        """See ``bundle_writer.Others``."""
        reports = self._talk.reports(Written | _Differs | BaseException)
        for process, report in enumerate(reports, 1):
            if isinstance(report, _Differs):
                report = FailedPreconditionError(None, None, _difference(self._plan, report.plan, process))
            if isinstance(report, BaseException):
                self._reported = report
                raise report
        for process, report in enumerate(reports, 1):
            path = shard_path(self._prefix, process, shards)
            if not _sees(path, report.tail):
                raise _NotSeen(path)
            yield self._shares[process], report.entries

    # ---- the others --------------------------------------------------------------------------------------------

    def _help(self) -> None:
        said, path, own = self._talk.receive(_Begin | _End), None, None
        if isinstance(said, _Begin):
            path = shard_path(self._prefix, PROCESSES.index, said.shards)
            try:
                self._talk.report(self._share(said))
            except BaseException as error:
                own = error
                self._talk.report(_named(error))
                if not isinstance(error, Exception):
                    raise
            said = self._talk.receive(_End)
        if path is not None and not said.together:
            with suppress(OpError):  # a folder that is gone has no such file
                storage_of(path).remove(path)
        if said.error is not None:
            raise said.error from own

    def _share(self, begin: _Begin) -> Written | _Differs:
        """Writes this process' file."""
        if begin.plan != _digest(self._plan):
            return _Differs(self._plan)
        return bundle_writer.write_shard(self._prefix, PROCESSES.index, begin.shards, self._shares[PROCESSES.index])


def _in_each(value: Any) -> Any:
    """A value that lies on devices of several processes as one that each of them has whole; any other as it is."""
    if not isinstance(value, jax.Array) or value.is_fully_addressable or value.is_fully_replicated:
        return value
    parts: dict[int, set[str]] = {}
    places: Mapping[Any, Any] = value.sharding.devices_indices_map(value.shape)
    for device, index in places.items():
        parts.setdefault(device.process_index, set()).add(str(index))
    return value if len({frozenset(own) for own in parts.values()}) == 1 else everywhere(value)


def _form(array: Saved, value: Any) -> Form:
    in_each = isinstance(value, jax.Array) and not value.is_fully_addressable
    host = value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value)
    return Form(host.shape, host.dtype.itemsize, array.code or elements.code_of(host.dtype), in_each)


def _own(value: Any) -> Any:
    """A value as this process has it; without a copy on the CPU, where a slice of it is none either."""
    if not isinstance(value, jax.Array) or value.is_fully_addressable:
        return value
    if not value.is_fully_replicated:
        return np.asarray(value)
    value = value.addressable_data(0)
    return np.asarray(value) if value.device.platform == "cpu" else value


def _without_values(arrays: Sequence[Saved]) -> list[Saved]:
    """What others write, without the memory that its values take."""
    return [array._replace(load=_gone) for array in arrays]


def _gone() -> Any:
    raise AssertionError("another process writes it")


def _sees(path: str, tail: tuple[int, int]) -> bool:
    """Whether a file is there, and ends as whoever wrote it says."""
    until = time.monotonic() + _PATIENCE
    while True:
        storage_of(path).refresh()
        if bundle_writer.tail(path) == tail:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.1)


def _named(error: BaseException) -> BaseException:
    """An error of this process as all others raise it."""
    who = f"Process {PROCESSES.index} of {PROCESSES.count}"
    if isinstance(error, OpError):
        named = copy(error)
        named.message = f"{who}: {error.message}"
        named.args = (named.message,)
        return named
    if isinstance(error, ValueError):
        return ValueError(f"{who}: {error}")
    return UnknownError(None, None, f"{who} has raised {type(error).__name__}: {error}")


def _described(array: Saved, form: Form) -> str:
    """All that the division, which must be the same in all processes, depends on."""
    part = f", part {array.whole.part} of {list(array.whole.shape)}" if array.whole is not None else ""
    held = "" if form.anywhere else ", not on the devices of all processes"
    return f"{array.name} ({elements.name_of(form.code)} {list(form.shape)}{part}{held})"


def _digest(plan: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(plan).encode(errors="surrogateescape")).hexdigest()


def _difference(usual: Sequence[str], other: Sequence[str], process: int) -> str:
    missing = [line for line in usual if line not in set(other)]
    more = [line for line in other if line not in set(usual)]
    return (
        f"Process {process} of {PROCESSES.count} saves {more[0] if more else 'less'}, where process 0 saves "
        f"{missing[0] if missing else 'nothing of that kind'}. Every process must save the same variables, with the "
        "same shapes and types, in the same order."
    )
