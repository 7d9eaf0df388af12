"""The release of TensorFlow that a program was written for, where ``tf.keras`` depends on it."""

from __future__ import annotations

import re

LAST_OF_TOWERS = (1, 12)
"""The last release before losses became classes: that of the names of 1.x where no program says another."""


class Release:
    """The release that the process follows.

    Attributes:
      version: major and minor number; None in a library, whose programs may use both namespaces.
    """

    def __init__(self) -> None:
        self.version: tuple[int, int] | None = None

    def follow(self, text: str | None) -> None:
        """Follow a release such as "1.14.0"; None follows what a library has."""
        numbers = re.findall(r"\d+", text or "")
        self.version = (int(numbers[0]), int(numbers[1])) if text else None

    @property
    def of_graphs(self) -> tuple[int, int]:
        """The release that models of graphs follow."""
        return self.version or LAST_OF_TOWERS

    @property
    def is_first(self) -> bool:
        """Whether the program is known to be one of 1.x."""
        return self.version is not None and self.version < (2, 0)


RELEASE = Release()
