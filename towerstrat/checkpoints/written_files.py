"""Two programs that save to one folder are told apart: each knows the files that it wrote, as it left them."""

from __future__ import annotations

from collections.abc import Hashable

from towerstrat.platform.storage import storage_of

_left: dict[str, Hashable] = {}
"""Path -> what identifies the file that this process wrote there."""


def record(path: str) -> None:
    """Says that this process has just written ``path``."""
    _left[path] = storage_of(path).identity(path)


def forget(path: str) -> None:
    """Says that ``path`` is gone."""
    _left.pop(path, None)


def replaced(path: str) -> bool:
    """Whether another program has written ``path`` since this one did."""
    return path in _left and storage_of(path).identity(path) not in (None, _left[path])
