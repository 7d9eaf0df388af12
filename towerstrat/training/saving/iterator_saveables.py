"""``make_saveable_from_iterator``: the position of an iterator as one of the things that a saver saves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.data.iterators.session_iterators import Iterator, IteratorKey
from towerstrat.data.pipeline.dataset_variants import boxed
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, nothing
from towerstrat.graph.ir.types import HostArray, string
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.training.saving.saveables import SaveableObject, SaveSpec


class IteratorSaveable(SaveableObject):
    """The position of an iterator.

    Args:
      position: of an iterator that a dataset has made.
      initializer: restoring runs it where the iterator is not initialized.
    """

    def __init__(self, position: IteratorKey, initializer: Operation | None):
        self._attrs = {"iterator": position, "initializer": initializer}
        state = get_default_graph().add("SerializeIterator", [], self._attrs).outputs[0]
        super().__init__(state, [SaveSpec(state, "", f"{position.name}-state")], position.name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        return get_default_graph().add("DeserializeIterator", restored_tensors, self._attrs)


def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """What a saver takes to save an iterator's position: add it to ``GraphKeys.SAVEABLE_OBJECTS``, or to ``var_list``.

    Savers save the positions of all iterators beside the checkpoint anyway, and take them where the program initializes
    the iterator after restoring; this one is part of the checkpoint, and where the iterator is after restoring.

    Raises:
      ValueError: the iterator is named by a string handle.
    """
    found: Iterator = getattr(iterator, "iterator", iterator)
    if not isinstance(found.position, IteratorKey):
        raise ValueError("The position of an iterator from a string handle is that of the one it names; save that.")
    return IteratorSaveable(found.position, found._initializer)


def iterators_of(graph: Graph) -> list[IteratorSaveable]:
    """The positions of the iterators that a graph takes elements from."""
    used = (op.attrs.get("iterator") for op in graph.get_operations())
    return [IteratorSaveable(p, None) for p in dict.fromkeys(used) if isinstance(p, IteratorKey)]


def _serialize(session: BaseSession, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    return [boxed(op.attrs["iterator"].resource(session).state_bytes())]


def _deserialize(session: BaseSession, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    resource = op.attrs["iterator"].resource(session)
    if not resource.initialized and op.attrs["initializer"] is not None:
        session.run(op.attrs["initializer"])
    resource.resume_bytes(np.asarray(values[0]).item())
    return []


def _string(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    return [Signature(string, ())]


_HIDDEN = ("iterator", "initializer")
define_op("SerializeIterator", _string, host=_serialize, stateful=True, differentiable=False, hidden=_HIDDEN)
define_op("DeserializeIterator", nothing, host=_deserialize, stateful=True, differentiable=False, hidden=_HIDDEN)
