"""Checkpoints of objects: which keys their variables have."""

from __future__ import annotations

from towerstrat.checkpoints.opening import Checkpoint
from towerstrat.errors import DataLossError
from towerstrat.platform import messages

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The key of the graph of objects in a checkpoint."""


def object_graph(checkpoint: Checkpoint) -> messages.TrackableObjectGraph:
    """The graph of objects of a checkpoint. Raises NotFoundError where it has none, DataLossError for a damaged one."""
    data = checkpoint.read(OBJECT_GRAPH).item()
    try:
        return messages.TrackableObjectGraph.FromString(data)
    except ValueError as error:
        raise DataLossError(None, None, f"{OBJECT_GRAPH}: {error}.") from None


def names_of_objects(checkpoint: Checkpoint) -> dict[str, str]:
    """The name that a variable had in its graph -> its key in the checkpoint."""
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in object_graph(checkpoint).nodes
        for attribute in node.attributes
        if attribute.full_name
    }
