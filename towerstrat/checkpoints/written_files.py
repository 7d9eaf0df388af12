"""Detect another program that writes to the same folder: remember the identity of each file that this process wrote.

After a save ``record`` keeps inode, size and time of the index and the state file (``Storage.identity``). Before the
next state file is written, and before a checkpoint is deleted, ``replaced`` compares: what somebody else has written
since is not ours. Such a checkpoint is left alone, such a state file is written all the same; a warning says either.

>>> import os, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "model.index")
...     for content in "first", "the second":
...         with open(path, "w") as file:
...             _ = file.write(content)
...         if content == "first":
...             record(path)
...         print(replaced(path))
False
True
"""

from __future__ import annotations

from collections.abc import Hashable

from towerstrat.platform.storage import storage_of

_left: dict[str, Hashable] = {}
"""Path -> identity of the file that this process wrote there last."""


def record(path: str) -> None:
    """Remember the file at ``path`` as written by this process. Call right after it was written."""
    _left[path] = storage_of(path).identity(path)


def forget(path: str) -> None:
    """Forget ``path``, which this process deletes."""
    _left.pop(path, None)


def replaced(path: str) -> bool:
    """Whether another program has replaced ``path`` since this process wrote it; False where it is gone."""
    return path in _left and storage_of(path).identity(path) not in (None, _left[path])
