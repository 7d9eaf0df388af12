"""``tempfile`` for the package of estimators: several processes that run together have one folder."""

from __future__ import annotations

import tempfile
from typing import Any

from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES


def mkdtemp(*args: Any, **kwargs: Any) -> str:
    """A new folder, as ``tempfile.mkdtemp`` makes one; of several processes, the first one's."""
    if PROCESSES.in_lockstep and PROCESSES.index:
        return COLLECTIVES.broadcast("")
    return COLLECTIVES.broadcast(tempfile.mkdtemp(*args, **kwargs))
