"""Message authentication: HMAC-SHA256 codes by which the processes of a run know each other's messages.

A code covers the place of a message, its sender and its bytes, each with its length. The place says where it is read: a
key of the store, or direction and number on a connection. So a message cannot be moved, repeated or taken for that of
another process. Keys are derived from the run's secret: one for the store (by run and attempt), one for each connection
(by random bytes of both ends). Codes are checked before anything else is read of a message.

>>> key = MessageKey(b"secret").derive(b"store", b"this run")
>>> sealed = key.seal("agreement/7", 1, b"hello")
>>> key.open("agreement/7", 1, sealed)
b'hello'
>>> key.open("agreement/8", 1, sealed)  # doctest: +ELLIPSIS
Traceback (most recent call last):
towerstrat.hosts.authentication.ForeignMessage: 37 bytes at agreement/8 are not what process 1 of this run ...

Without a secret the same code runs with an empty one, which protects against mistakes, not against attackers. Nothing
is encrypted.
"""

from __future__ import annotations

import hmac
import os
import stat
import struct
from collections.abc import MutableMapping
from pathlib import Path

SECRET = "TOWERSTRAT_SECRET"
"""The environment variable with the secret of a run whose processes are started apart."""
CODE_BYTES = 32
_SHORTEST = 16
"""Characters that a secret must have at least, so that it cannot be guessed."""
_DIGEST = "sha256"


class ForeignMessage(ValueError):
    """Bytes whose code is wrong: of another run, place or sender, or changed, or cut."""


class MessageKey:
    """Key for message codes. Made of no secret it only tells runs, places and senders apart.

    Args:
      secret: bytes that the processes share; empty: they share none. is_secret: see below; None: unless it is empty.

    Attributes:
      is_secret: whether others cannot know the key.
    """

    def __init__(self, secret: bytes, is_secret: bool | None = None):
        self._secret = secret
        self.is_secret = bool(secret) if is_secret is None else is_secret

    def derive(self, *parts: bytes) -> MessageKey:
        """A key that depends on this one and on ``parts``, such as for one run or one connection."""
        return MessageKey(hmac.digest(self._secret, _join(*parts), _DIGEST), self.is_secret)

    def hex(self) -> str:
        """The key as hexadecimal digits, which a supervisor passes to its program."""
        return self._secret.hex()

    def seal(self, location: str, sender: int, message: bytes) -> bytes:
        """Authenticates a message: the code, ``CODE_BYTES`` long, and the message.

        Args:
          location: where it is read: its path in the store, or its direction and number on a connection.
          sender: the number of the process that sends it.
          message: the bytes, sent in the clear.
        """
        return self._code(location, sender, message) + message

    def open(self, location: str, sender: int, sealed: bytes) -> bytes:
        """Checks the code and returns the message.

        Raises:
          ForeignMessage: the code is not that of this location, sender and message.
        """
        code, message = sealed[:CODE_BYTES], sealed[CODE_BYTES:]
        if not hmac.compare_digest(code, self._code(location, sender, message)):
            raise ForeignMessage(
                f"{len(sealed)} bytes at {location} are not what process {sender} of this run sends there: they come "
                "from another run or secret, were sent before, or are cut"
            )
        return message

    def _code(self, location: str, sender: int, message: bytes) -> bytes:
        return hmac.digest(self._secret, _join(location.encode(), struct.pack("<q", sender), message), _DIGEST)


def _join(*parts: bytes) -> bytes:
    """Parts in one, each behind its length, so that other parts never give the same bytes."""
    return b"".join(struct.pack("<Q", len(part)) + part for part in parts)


def take_secret(path: str | None, environment: MutableMapping[str, str]) -> MessageKey:
    """Reads the run's secret from a file or from the environment, and removes it from the environment.

    Args:
      path: the file; None: the environment has it, or there is none.
      environment: usually ``os.environ``; programs that inherit it must not see the secret.

    Raises:
      ValueError: there are both; the file cannot be read, or others may read it; or the secret is too short.
    """
    text = environment.pop(SECRET, None)
    if path is not None:
        if text is not None:
            raise ValueError(f"Expected one secret, got --secret-file {path} and {SECRET} in the environment.")
        text = _text_of(path)
    if text is None:
        return MessageKey(b"")
    secret = text.strip().encode(errors="surrogateescape")
    if len(secret) < _SHORTEST:
        raise ValueError(
            f"Expected a secret of {_SHORTEST} characters or more in {path or SECRET}, got {len(secret)}. "
            "`openssl rand -hex 32` makes one."
        )
    return MessageKey(secret)


def _text_of(path: str) -> str:
    try:
        with Path(path).open(errors="surrogateescape") as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in (0, os.getuid()) or stat.S_IMODE(status.st_mode) & 0o077:
                raise ValueError(
                    f"Expected a secret that nobody else may read (chmod 600), got {path} of user {status.st_uid} with "
                    f"mode {stat.S_IMODE(status.st_mode):o}."
                )
            return file.read()
    except OSError as error:
        raise ValueError(f"Expected a file with the secret of the run: {error}.") from None
