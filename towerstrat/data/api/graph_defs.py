"""Pipelines as messages: which transformations there are, for libraries that look for some."""

from __future__ import annotations

from typing import Any

from towerstrat.data.pipeline.batching import Batch, PaddedBatch
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.data.pipeline.prefetch import Prefetch
from towerstrat.platform import messages


def graph_def(node: DatasetNode) -> messages.GraphDef:
    """A ``GraphDef`` with a node for each transformation of a pipeline and of the datasets in its functions.

    Types are named as this library's transformations are: ``ShuffleDataset``, ``BatchDataset``. It describes, and
    nothing is made of it again.
    """
    described = messages.GraphDef()
    names: dict[DatasetNode, str] = {}
    for part in [node, *(part for part in node.walk() if part is not node)]:
        if isinstance(part, DatasetNode) and part not in names:
            names[part] = f"{part.kind}Dataset_{len(names)}"
            described.node.add(name=names[part], op=f"{part.kind}Dataset")
    for part, entry in zip(names, described.node, strict=True):
        entry.input.extend(names[child] for child in part.children)
    return described


def batching(dataset: Any) -> tuple[Any, bool, Any]:
    """What the last batching of a dataset was given: the size of batches, whether a smaller last one is left out, and
    how many elements the dataset takes ahead.

    Returns:
      (size, drop_remainder, buffer size): numbers, or tensors where a run decides; the last is None where the dataset
      ends in no prefetch.

    Raises:
      ValueError: the dataset is not batched.
    """
    node = dataset.node
    ahead = node.size if isinstance(node, Prefetch) else None
    found: DatasetNode = node
    while not isinstance(found, Batch | PaddedBatch):
        if not found.children:
            raise ValueError(f"Unable to get batched dataset from the input dataset: {dataset!r} has no batch().")
        found = found.children[0]
    return found.size, found.drop_remainder, ahead
