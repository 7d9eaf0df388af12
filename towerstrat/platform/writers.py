"""Who writes a local file: temporary files have the name of their writer, and are locked for as long as it lives.

The locks are the system's (``flock``): it releases them when a process ends in any way. Where there are none, what
another process left is never removed.
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
    """A new file beside ``path``, locked until the block ends, open for writing; afterwards it is gone, or was renamed.

    What killed processes of this machine left in the folder is removed first, and those of others of the same path.
    """
    remove_abandoned(path)
    file = _created(path)
    try:
        with file:
            yield file
            _unlock(file.fileno())  # a forked child has the lock too
    finally:
        with suppress(OSError):
            os.remove(file.name)


def _created(path: str) -> IO[bytes]:
    while True:
        file = open(f"{path}.{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.tmp", "xb")  # noqa: SIM115
        _lock(file.fileno())
        if os.path.exists(file.name):
            return file
        file.close()  # somebody took it for abandoned before it was locked


def remove_abandoned(path: str) -> list[str]:
    """Removes the temporary files of a folder whose writers are gone; says who the others are that write ``path``.

    Of other paths those of this machine alone: not all network file systems tell machines of one another's locks.
    """
    living = []
    for found in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), "*.tmp")):
        writer = _NAME.search(found)
        before = found[: writer.start()] if writer else ""
        same = before.startswith(f"{path}.")
        if writer is None or not (same or before.endswith(f".{socket.gethostname()}")):
            continue
        with suppress(OSError), open(found, "rb") as file:
            if _is_free(file.fileno()):
                os.remove(found)
            elif same:
                living.append(f"process {writer['process']} on {before[len(path) + 1 :]}")
    return living


@contextmanager
def alone(folder: str) -> Iterator[None]:
    """Inside, no other process or thread is in such a block for the same folder, on file systems that have locks."""
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
    """Waits for the lock of an open file."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)


def _unlock(opened: int) -> None:
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_UN)


def _is_free(opened: int) -> bool:
    """Whether nobody has the lock of an open file; False where that cannot be known."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
