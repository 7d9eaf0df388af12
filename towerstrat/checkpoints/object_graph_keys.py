"""Checkpoints of objects: which keys their variables have. Source: ``trackable_object_graph.proto``."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError

from towerstrat.checkpoints.checkpoint_file import Checkpoint
from towerstrat.errors import DataLossError
from towerstrat.platform import messages

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The key of the graph of objects in a checkpoint."""


def object_graph(checkpoint: Checkpoint) -> messages.TrackableObjectGraph:
    """The graph of objects of a checkpoint. Raises NotFoundError where it has none, DataLossError for a damaged one."""
    data = checkpoint.read(OBJECT_GRAPH).item()
    try:
        return messages.TrackableObjectGraph.FromString(data)
    except (ValueError, DecodeError) as error:
        raise DataLossError(None, None, f"{OBJECT_GRAPH}: {error}.") from None


def names_of_objects(checkpoint: Checkpoint) -> dict[str, str]:
    """The name that a variable had in its graph -> its key in the checkpoint."""
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in object_graph(checkpoint).nodes
        for attribute in node.attributes
        if attribute.full_name
    }


def objects_of_names(names: Iterable[str]) -> tuple[dict[str, str], messages.TrackableObjectGraph]:
    """Name -> key in a checkpoint of objects, and their graph: ``a/b`` is the object ``b`` of the object ``a``."""
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
