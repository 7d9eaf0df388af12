"""Pipelines as messages: which transformations there are, for libraries that look for some."""

from __future__ import annotations

from towerstrat.data.pipeline import Node
from towerstrat.platform import messages


def graph_def(node: Node) -> messages.GraphDef:
    """A ``GraphDef`` with a node for each transformation of a pipeline and of the datasets in its functions.

    Types are named as this library's transformations are: ``ShuffleDataset``, ``BatchDataset``. It describes, and
    nothing is made of it again.
    """
    described = messages.GraphDef()
    names: dict[Node, str] = {}
    for part in [node, *(part for part in node.walk() if part is not node)]:
        if isinstance(part, Node) and part not in names:
            names[part] = f"{type(part).__name__}Dataset_{len(names)}"
            described.node.add(name=names[part], op=f"{type(part).__name__}Dataset")
    for part, entry in zip(names, described.node, strict=True):
        entry.input.extend(names[child] for child in part.children)
    return described
