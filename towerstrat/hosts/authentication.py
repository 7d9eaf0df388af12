"""Proof that a message is of this run: a code (HMAC-SHA256) by a secret that its processes share.

A code is over the place of the message, its sender, its length and its bytes, by a key that is made of the secret, the
run and its attempt, or of the secret and what both ends of a connection have drawn. It is checked before all else.
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
"""Characters of a secret that cannot be guessed."""
_DIGEST = "sha256"


class ForeignMessage(ValueError):
    """Bytes that are no message of this run, at this place, by this sender; or not whole."""


class MessageKey:
    """A key of codes. Without a secret it only tells runs, places and senders apart.

    Args:
      secret: what the processes share; empty: nothing.

    Attributes:
      is_secret: whether others do not know it.
    """

    def __init__(self, secret: bytes, is_secret: bool | None = None):
        self._secret = secret
        self.is_secret = bool(secret) if is_secret is None else is_secret

    def derive(self, *parts: bytes) -> MessageKey:
        """A key for one run, or one connection."""
        return MessageKey(hmac.digest(self._secret, _joined(*parts), _DIGEST), self.is_secret)

    def hex(self) -> str:
        """The key as text, for another process of this run."""
        return self._secret.hex()

    def seal(self, place: str, sender: int, message: bytes) -> bytes:
        """A message with its code in front.

        Args:
          place: where it is read: its key, or its number on a connection. sender: the process that sends it.
        """
        return self._code(place, sender, message) + message

    def open(self, place: str, sender: int, sealed: bytes) -> bytes:
        """The message of what ``seal`` gave.

        Raises:
          ForeignMessage: it is of something else.
        """
        code, message = sealed[:CODE_BYTES], sealed[CODE_BYTES:]
        if not hmac.compare_digest(code, self._code(place, sender, message)):
            raise ForeignMessage(
                f"{len(sealed)} bytes at {place} are not what process {sender} of this run sends there: they come from "
                "another run or secret, were sent before, or are cut"
            )
        return message

    def _code(self, place: str, sender: int, message: bytes) -> bytes:
        return hmac.digest(self._secret, _joined(place.encode(), struct.pack("<q", sender), message), _DIGEST)


def _joined(*parts: bytes) -> bytes:
    """Parts in one, each with its length."""
    return b"".join(struct.pack("<Q", len(part)) + part for part in parts)


def take_secret(path: str | None, environment: MutableMapping[str, str]) -> MessageKey:
    """The secret of this run, from a file or from the environment, which has it no more then.

    Args:
      path: the file; None: the environment has it, or there is none.

    Raises:
      ValueError: both are there, others may read the file, or it is too short.
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
            found = os.fstat(file.fileno())
            if found.st_uid not in (0, os.getuid()) or stat.S_IMODE(found.st_mode) & 0o077:
                raise ValueError(
                    f"Expected a secret that nobody else may read (chmod 600), got {path} of user {found.st_uid} with "
                    f"mode {stat.S_IMODE(found.st_mode):o}."
                )
            return file.read()
    except OSError as error:
        raise ValueError(f"Expected a file with the secret of the run: {error}.") from None
