"""Addresses at which the supervisors of a run meet, and sockets for them.

Between machines an address is ``HOST:PORT``, on one machine it may be ``unix:PATH``. JAX's coordinator gets another
address of the same kind on process 0's machine:

>>> split_address("10.0.0.1:8476"), split_address("[fd00::1]:8476")
(('10.0.0.1', 8476), ('fd00::1', 8476))
>>> path_of("unix:/run/user/1000/meet"), path_of("10.0.0.1:8476")
('/run/user/1000/meet', None)
>>> coordinator_of("unix:/run/user/1000/meet")
'unix:/run/user/1000/meet.jax'

Whoever may enter a Unix socket's folder could serve or join the run, so the folder must belong to this user and be
closed to all others, which is checked on both ends. A socket's file that a killed run has left is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import tempfile
from collections.abc import Iterator

LOOPBACK = "127.0.0.1"
_UNIX = "unix:"
_LONGEST_PATH = 100
"""Bytes of a Unix socket's path, of at most 108: the path of JAX's coordinator is made longer by a suffix."""
_HERE = ("localhost", LOOPBACK, "::1")
_BACKLOG = 1024


def split_address(address: str) -> tuple[str, int]:
    """Splits an address ``HOST:PORT``; an IPv6 address is in brackets.

    Raises:
      ValueError: the address is something else.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ValueError(f"Expected an address HOST:PORT, such as 10.0.0.1:8476; got {address!r}.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def path_of(address: str) -> str | None:
    """The path of an address ``unix:PATH``; None of another address.

    Raises:
      ValueError: the path is not absolute, or too long for a socket.
    """
    if not address.startswith(_UNIX):
        return None
    path = address.removeprefix(_UNIX)
    if not os.path.isabs(path) or len(os.fsencode(path)) > _LONGEST_PATH:
        raise ValueError(f"Expected unix:PATH with an absolute path of at most {_LONGEST_PATH} bytes; got {address!r}.")
    return path


def is_local(address: str) -> bool:
    """Whether only processes of this machine can reach an address: a Unix socket, or the loopback."""
    return path_of(address) is not None or split_address(address)[0] in _HERE


def coordinator_of(address: str) -> str:
    """An address for JAX's coordinator on process 0's machine, of the same kind as ``address``; called there."""
    path = path_of(address)
    if path is not None:
        return f"{_UNIX}{path}.jax"
    host, _ = split_address(address)
    return f"[{host}]:{free_port()}" if ":" in host else f"{host}:{free_port()}"


def listen(address: str) -> socket.socket:
    """A socket that listens at an address.

    Raises:
      OSError: the address cannot be had, or others may enter the folder of a Unix socket.
    """
    path = path_of(address)
    if path is not None:
        return _listen_at_path(path)
    host, port = split_address(address)
    if host in _HERE:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # A name may belong to a service in front of this machine, or resolve to the loopback here: all interfaces.
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    return socket.create_server(("", port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)


def release(listener: socket.socket, address: str) -> None:
    """Closes a listening socket and frees its address."""
    listener.close()
    path = path_of(address)
    if path is not None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def connect(address: str, timeout: float) -> socket.socket:
    """A socket that is connected to an address; ``timeout`` in seconds.

    Raises:
      OSError: nobody listens, or others may enter the folder of a Unix socket.
    """
    path = path_of(address)
    if path is None:
        return socket.create_connection(split_address(address), timeout=timeout)
    _require_private(os.path.dirname(path))
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout)
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def private_folder() -> Iterator[str]:
    """A temporary folder that only this user can enter, whose path is short enough for Unix sockets in it."""
    usual = tempfile.gettempdir()
    # Room for the folder's name and that of a socket in it.
    short = usual if len(os.fsencode(usual)) <= _LONGEST_PATH // 2 else "/tmp"
    with tempfile.TemporaryDirectory(prefix="towerstrat-", dir=short, ignore_cleanup_errors=True) as folder:
        yield folder


def free_port() -> int:
    """A port of this machine at which nobody listens now."""
    with socket.create_server(("", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def in_use(error: OSError) -> bool:
    """Whether an error of ``listen`` says that another process listens at the address."""
    return error.errno == errno.EADDRINUSE


def _listen_at_path(path: str) -> socket.socket:
    _require_private(os.path.dirname(path))
    listener = socket.socket(socket.AF_UNIX)
    try:
        try:
            listener.bind(path)
        except OSError as error:
            if not in_use(error) or _is_served(path):
                raise
            os.unlink(path)  # a run that was killed has left it
            listener.bind(path)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _is_served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        try:
            tried.connect(path)
        except ConnectionRefusedError:
            return False
    return True


def _require_private(folder: str) -> None:
    status = os.stat(folder)
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(
            errno.EPERM,
            f"Expected a folder of user {os.getuid()} that nobody else may enter (chmod 700), got one of user "
            f"{status.st_uid} with mode {stat.S_IMODE(status.st_mode):o}",
            folder,
        )
