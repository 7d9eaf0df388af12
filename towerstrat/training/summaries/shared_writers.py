"""Event files that several writers of a graph share, by name."""

from __future__ import annotations

from weakref import WeakKeyDictionary, WeakValueDictionary

from towerstrat.graph.ir.graph import Graph
from towerstrat.platform.event_files import EventFile

_FILES: WeakKeyDictionary[Graph, WeakValueDictionary[str, EventFile]] = WeakKeyDictionary()


def shared_file(graph: Graph, name: str | None, folder: str, flush_secs: float, suffix: str | None) -> EventFile:
    """The event file of a graph by name; where it has none, a new one as the other arguments say.

    Args:
      name: None: that of the folder.
      suffix: the end of the file's name; None: ``.v2``.
    """
    files = _FILES.setdefault(graph, WeakValueDictionary())
    name = f"logdir:{folder}" if name is None else name
    file = files.get(name)
    if file is None:
        file = files[name] = EventFile(folder, flush_secs, ".v2" if suffix is None else suffix)
    return file


def shared_files(graph: Graph) -> list[EventFile]:
    """The event files of a graph's writers that are in use."""
    return list(_FILES.get(graph, {}).values())
