"""Programs ask whether they run eagerly: they do not."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.core import get_default_graph


def executing_eagerly() -> bool:
    """False: programs run as graphs."""
    return False


def graph_mode() -> Any:
    """A context manager that changes nothing: programs run as graphs."""
    return get_default_graph().as_default()
