"""Comparing versions."""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any


@total_ordering
class Version:
    """A version that compares with others of its kind, and with strings."""

    def __init__(self, vstring: str | None = None):
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        raise NotImplementedError

    def _key(self) -> Any:
        raise NotImplementedError

    def _other(self, other: Any) -> Any:
        made = type(self)(other) if isinstance(other, str) else other
        return made._key() if isinstance(made, type(self)) else None

    def __eq__(self, other: object) -> bool:
        return self._key() == self._other(other)

    def __lt__(self, other: Any) -> bool:
        key = self._other(other)
        return NotImplemented if key is None else self._key() < key

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"


class LooseVersion(Version):
    """Numbers and words between dots: ``version`` is the list of them. A word and a number do not compare."""

    version: list[int | str]

    def parse(self, vstring: str) -> None:
        self.vstring = vstring
        parts = (p for p in re.split(r"(\d+|[a-z]+|\.)", vstring) if p and p != ".")
        self.version = [int(p) if p.isdigit() else p for p in parts]

    def _key(self) -> list[int | str]:
        return self.version

    def __str__(self) -> str:
        return self.vstring


class StrictVersion(Version):
    """Two or three numbers, and a pre-release ``a1`` or ``b1``.

    Raises:
      ValueError: another form.
    """

    version: tuple[int, ...]
    prerelease: tuple[str, int] | None

    def parse(self, vstring: str) -> None:
        match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", vstring)
        if match is None:
            raise ValueError(f"invalid version number '{vstring}'")
        *numbers, kind, number = match.groups()
        self.version = tuple([int(n or 0) for n in numbers])
        self.prerelease = (kind, int(number)) if kind else None

    def _key(self) -> Any:
        return self.version, self.prerelease is None, self.prerelease or ("", 0)

    def __str__(self) -> str:
        shown = ".".join(map(str, self.version[:2] if self.version[2] == 0 else self.version))
        return shown + (f"{self.prerelease[0]}{self.prerelease[1]}" if self.prerelease else "")
