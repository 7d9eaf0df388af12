"""The tags of summaries, which are the names of their operations, and where summaries are collected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.platform import logs

_ILLEGAL = re.compile(r"[^-/\w\.]")


def clean_tag(name: str | None) -> str | None:
    """A name with underscores for what operations cannot be called, and without slashes at its start; logged."""
    if name is None:
        return None
    cleaned = _ILLEGAL.sub("_", name).lstrip("/")
    if cleaned != name:
        logs.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


@contextmanager
def summary_scope(
    name: str | None, family: str | None = None, default_name: str | None = None, values: Sequence[Any] | None = None
) -> Iterator[tuple[str, str]]:
    """Opens the name scope of a summary; yields its tag and the scope.

    The tag is the scope's full name, so it is unique. With a family, by which TensorBoard groups, it begins with that.
    """
    name, family = clean_tag(name), clean_tag(family)
    with name_scope(name if family is None else f"{family}/{name}", default_name, values) as scope:
        tag = scope.rstrip("/")
        yield tag if family is None else f"{family}/{tag}", scope


def collect(value: Tensor, collections: Sequence[Any] | None, default: Sequence[Any]) -> None:
    """Adds a summary to collections, or to those of ``default`` where they are None."""
    get_default_graph().add_to_collections(default if collections is None else collections, value)
