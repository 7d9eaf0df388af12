"""Pipelines of which a process reads every so-many-th file."""

from __future__ import annotations

import copy

from towerstrat.data.files.record_nodes import Files
from towerstrat.data.pipeline.nodes import DatasetNode, Part
from towerstrat.data.pipeline.ordering import Shard


def of_files(node: DatasetNode, number: int, index: int) -> DatasetNode | None:
    """The same pipeline over every ``number``-th file, starting at ``index``; None where it reads no files.

    The names are divided where they enter the node that reads: before a shuffle or repetition of records, after one of
    names, as the original does. A function that makes a dataset of files gets its share of what it is called with.
    """
    if isinstance(node, Files) or _reads_inside(node):
        divided: list[DatasetNode] = [Shard(child, number, index) for child in node.children]
    else:
        found = [of_files(child, number, index) for child in node.children]
        if all(child is None for child in found):
            return None
        divided = [new or old for new, old in zip(found, node.children, strict=True)]
    result = copy.copy(node)
    if hasattr(result, "child") and "child" in vars(result):
        result.child = divided[0]
    result.children = tuple(divided)
    return result


def _reads_inside(node: DatasetNode) -> bool:
    """Whether what the node has besides its children reads files: the datasets that its function makes."""
    others = [part for part in vars(node).values() if isinstance(part, Part) and part not in node.children]
    return any(isinstance(inner, Files) for part in others for inner in part.walk())
