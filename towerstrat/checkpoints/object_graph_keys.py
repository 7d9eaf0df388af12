"""Object-based checkpoints (``tf.train.Checkpoint``): the object graph that maps variables to their keys.

Such a checkpoint stores a variable under the path of attributes that leads to it, and the graph of all objects as one
string, a ``TrackableObjectGraph``, under ``OBJECT_GRAPH``. The graph also has the name that each variable had, by which
a name-based program can find it. ``names_of_objects`` reads that mapping; ``objects_of_names`` makes keys and graph
from names alone:

    >>> keys, graph = objects_of_names(["dense/kernel"])
    >>> keys
    {'dense/kernel': 'dense/kernel/.ATTRIBUTES/VARIABLE_VALUE'}
    >>> [[child.local_name for child in node.children] for node in graph.nodes]
    [['dense'], ['kernel'], []]

Source: ``trackable_object_graph.proto``.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError

from towerstrat.checkpoints.checkpoint_file import Checkpoint
from towerstrat.errors import DataLossError
from towerstrat.platform import messages

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""Key of the serialized object graph, a string of shape []."""


def object_graph(checkpoint: Checkpoint) -> messages.TrackableObjectGraph:
    """Read a checkpoint's object graph. Raises NotFoundError where it has none, DataLossError where it is damaged."""
    data = checkpoint.read(OBJECT_GRAPH).item()
    try:
        return messages.TrackableObjectGraph.FromString(data)
    except (ValueError, DecodeError) as error:
        raise DataLossError(None, None, f"{OBJECT_GRAPH}: {error}.") from None


def names_of_objects(checkpoint: Checkpoint) -> dict[str, str]:
    """Variable name in the program that saved -> key in the checkpoint."""
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in object_graph(checkpoint).nodes
        for attribute in node.attributes
        if attribute.full_name
    }


def objects_of_names(names: Iterable[str]) -> tuple[dict[str, str], messages.TrackableObjectGraph]:
    """Name -> key, and the object graph, for variables by name: ``a/b`` is child ``b`` of child ``a`` of the root."""
    graph = messages.TrackableObjectGraph()
    graph.nodes.add()
    numbers, keys = {"": 0}, {}
    for name in names:
        parent, path = 0, ""
        for part in name.split("/"):
            path += f"/{part}"
            if path not in numbers:
                numbers[path] = len(graph.nodes)
                graph.nodes.add()
                graph.nodes[parent].children.add(node_id=numbers[path], local_name=part)
            parent = numbers[path]
        keys[name] = f"{name.replace('.', '..')}/.ATTRIBUTES/VARIABLE_VALUE"
        graph.nodes[parent].attributes.add(name="VARIABLE_VALUE", full_name=name, checkpoint_key=keys[name])
    return keys, graph
