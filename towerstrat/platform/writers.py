"""Atomic writes on local disks: temporary files that tell who writes them, and that are deleted after a kill.

A file is written beside its target as ``TARGET.HOST-PID-RANDOM.tmp`` and locked (``flock``) until it was renamed. The
system drops the lock when the process ends in any way, so that the lock and not the name tells a live writer from an
abandoned file:

    model.index.node1-4711-8c61f0aa.tmp, locked        another writer: ``remove_abandoned("model.index")`` reports it
    model.index.node1-4711-8c61f0aa.tmp, not locked    left by a killed process: deleted

Files of other hosts are judged only where they are of the same target, since some network file systems do not show one
host's locks to another. Where the system has no ``flock``, nothing that another process left is ever deleted.

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.index")
    >>> with temporary(path) as file:
    ...     print(remove_abandoned(path) == [f"process {os.getpid()} on {socket.gethostname()}"])
    True
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

try:
    import fcntl
except ImportError:  # a system without them
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"-(?P<process>\d+)-[0-9a-f]{8}\.tmp$")


@contextmanager
def temporary(path: str) -> Iterator[IO[bytes]]:
    """Create a locked temporary file beside ``path`` for binary writing; deleted at the end unless renamed.

    Abandoned temporary files are deleted first (``remove_abandoned``).
    """
    remove_abandoned(path)
    file = _create(path)
    try:
        with file:
            yield file
            _unlock(file.fileno())  # explicitly, since a forked child has the lock too: closing here leaves it held
    finally:
        with suppress(OSError):
            os.remove(file.name)


def _create(path: str) -> IO[bytes]:
    while True:
        file = open(f"{path}.{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.tmp", "xb")  # noqa: SIM115
        _lock(file.fileno())
        if os.path.exists(file.name):
            return file
        file.close()  # another process deleted it as abandoned before it was locked


def remove_abandoned(path: str) -> list[str]:
    """Delete abandoned temporary files in the folder of ``path``; return the live writers of ``path`` itself.

    Files of other targets are deleted only if this host wrote them: not all network file systems share locks.
    """
    living = []
    for file_name in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), "*.tmp")):
        writer = _NAME.search(file_name)
        before = file_name[: writer.start()] if writer else ""
        same = before.startswith(f"{path}.")
        if writer is None or not (same or before.endswith(f".{socket.gethostname()}")):
            continue
        with suppress(OSError), open(file_name, "rb") as file:
            if _is_free(file.fileno()):
                os.remove(file_name)
            elif same:
                living.append(f"process {writer['process']} on {before[len(path) + 1 :]}")
    return living


@contextmanager
def alone(folder: str) -> Iterator[None]:
    """Hold an exclusive lock of a folder, against processes and threads; no lock where the file system has none."""
    if fcntl is None:
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        _lock(opened)
        try:
            yield
        finally:
            _unlock(opened)
    finally:
        os.close(opened)


def _lock(opened: int) -> None:
    """Wait for the exclusive lock of an open file; go on without it where the file system has no locks."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)


def _unlock(opened: int) -> None:
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_UN)


def _is_free(opened: int) -> bool:
    """Whether the lock of an open file could be taken; False also where there are no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
