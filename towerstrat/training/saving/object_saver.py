"""Saves the graph of objects below one object, and restores it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from towerstrat.checkpoints.bundle_writer import Saved
from towerstrat.checkpoints.checkpoint_file import opened
from towerstrat.checkpoints.object_graph_keys import OBJECT_GRAPH, object_graph
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import EagerSession, context
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import HostArray, string
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform.files import MakeDirs
from towerstrat.training.saving import resume_state
from towerstrat.training.saving.checkpoint_write import captured, write
from towerstrat.training.saving.load_status import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    LoadStatus,
    NameBasedSaverStatus,
)
from towerstrat.training.saving.object_graph import ObjectGraphView, serialized
from towerstrat.training.saving.object_restore import (
    Assigned,
    CheckpointPosition,
    NamedRestoration,
    Restoration,
    new_restore_uid,
)
from towerstrat.training.saving.save_restore_ops import store, stored
from towerstrat.training.saving.saveables import SaveableObject, SaveSpec, VariableSaveable
from towerstrat.training.saving.saver import Saver
from towerstrat.training.saving.saver_sessions import held, session_for


class ObjectSaver:
    """Saves and restores the objects that ``view`` shows."""

    def __init__(self, view: ObjectGraphView):
        self._view = view
        self._operations: dict[str, Assigned] = {}

    def save(self, prefix: str, session: SessionLike | None = None) -> str:
        """Writes the values that all objects have now, whole or not at all; folders are made where they are missing.

        Args:
          session: in a graph, the session that has their values; default the default session.

        Returns:
          ``prefix``.

        Raises:
          RuntimeError: in a graph, no session. FailedPreconditionError: a variable has no value.
          OpError: the disk is full, read-only, gone; what was there before is there still.
        """
        with held(session, "Checkpoint.save") as running:
            write(prefix, self._entries(prefix, running), resume_state.saved(running))
        return prefix

    def copied(self, prefix: str, session: SessionLike | None = None) -> Callable[[], None]:
        """Copies the values that all objects have now; what writes them as ``save`` does, by any thread, at any time.

        Args, raises: as ``save``; the errors of the disk come from what is returned.
        """
        with held(session, "Checkpoint.save") as running:
            return captured(prefix, self._entries(prefix, running), resume_state.saved(running))

    def _entries(self, prefix: str, session: BaseSession | EagerSession) -> list[Saved]:
        saved, graph = serialized(self._view.nodes())
        folder = os.path.dirname(prefix)
        if folder:
            MakeDirs(folder)
        data = np.array(graph.SerializeToString(), object)
        return [*_entries(saved, session), Saved(OBJECT_GRAPH, lambda: data)]

    def restore(self, save_path: str | None) -> LoadStatus:
        """Restores the objects: eagerly those that are there now, and the others as they are made.

        In a graph nothing happens before the status is asked to restore into a session.

        Args:
          save_path: the checkpoint, of objects or of variables by name; None: there is none.

        Raises:
          NotFoundError: there is no such checkpoint. DataLossError: it is damaged.
          EagerArgumentError: eagerly, a variable has another shape or type in it; that is a ValueError.
        """
        if save_path is None:
            return InitializationOnlyStatus(self._view, new_restore_uid())
        checkpoint = opened(save_path)
        if OBJECT_GRAPH not in checkpoint:
            return self._restore_by_names(NamedRestoration(save_path, checkpoint))
        restoration = Restoration(save_path, checkpoint, object_graph(checkpoint), self._operations)
        CheckpointPosition(restoration, 0).restore(self._view.root)
        if get_default_graph().executing_eagerly:
            resume_state.resume(save_path, context().session)
        for name, ref in self._view.attached_dependencies or ():
            nodes = [c.node_id for c in restoration.graph.nodes[0].children if c.local_name == name]
            if nodes and nodes[0] not in restoration.objects:
                CheckpointPosition(restoration, nodes[0]).restore(ref)
        return CheckpointLoadStatus(restoration, self._view)

    def _restore_by_names(self, restoration: NamedRestoration) -> LoadStatus:
        if get_default_graph().executing_eagerly:
            for obj in self._view.list_objects():
                obj._name_based_attribute_restore(restoration)
        return NameBasedSaverStatus(restoration, self._view)


class CheckpointableSaver(ObjectSaver):
    """``tf.contrib.eager.CheckpointableSaver``: saves the objects below one, with a number where it is given.

    Args:
      root_checkpointable: a trackable object, or a weak reference to one.
    """

    def __init__(self, root_checkpointable: Any):
        super().__init__(ObjectGraphView(root_checkpointable))

    def save(  # type: ignore[override]
        self, file_prefix: str, checkpoint_number: Any = None, session: SessionLike | None = None
    ) -> str:
        """Writes ``file_prefix-NUMBER``; see ``ObjectSaver.save``.

        Args:
          checkpoint_number: a number, a variable or a tensor.
        """
        if checkpoint_number is None:
            return super().save(os.fsdecode(file_prefix), session)
        if not hasattr(checkpoint_number, "__index__"):
            checkpoint_number = session_for(session, "save").run(checkpoint_number)
        return super().save(f"{os.fsdecode(file_prefix)}-{int(checkpoint_number)}", session)

    def freeze(self) -> Saver:
        """A ``Saver`` of the objects that are there now; what it writes can be restored as objects."""
        return frozen_saver(self._view.root)


def frozen_saver(root_trackable: Any, max_to_keep: int | None = None) -> Saver:
    """A ``Saver`` of the objects below ``root_trackable`` that are there now, under their keys as objects."""
    saved, graph = serialized(ObjectGraphView(root_trackable).nodes())
    fixed = [each for key, each in saved.items() if isinstance(each, VariableSaveable)]
    if len(fixed) < len(saved):
        raise UnsupportedError(
            "A frozen saver saves variables only, and these save something else: "
            f"{[key for key, each in saved.items() if not isinstance(each, VariableSaveable)]}."
        )
    return Saver([*fixed, _Fixed(graph.SerializeToString())], max_to_keep=max_to_keep)


class _Fixed(SaveableObject):
    """The graph of objects, as it was."""

    def __init__(self, data: bytes):
        super().__init__(data, [SaveSpec(constant(data, string), "", OBJECT_GRAPH)], OBJECT_GRAPH)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        return no_op()


def incremented(counter: Variable, session: SessionLike | None, is_new: bool) -> int:
    """Adds one to a counter, and returns it; in a graph one that ``is_new`` starts at 0 in the session."""
    with held(session, "Checkpoint.save") as running:
        if is_new and isinstance(running, BaseSession):
            running.run(counter.initializer)
        number = int(stored(running, counter._handle.op, counter.cell)) + 1
        store(running, None, [(counter.cell, np.array(number))])
    return number


def _entries(saved: Mapping[str, SaveableObject], session: BaseSession | EagerSession) -> list[Saved]:
    """What is written: variables when their turn comes, all tensors in one run before."""
    entries, tensors = [], {}
    for saveable in {id(each): each for each in saved.values()}.values():
        for spec in saveable.specs:
            if isinstance(saveable, VariableSaveable):
                variable = saveable.variable
                load = partial(stored, session, variable._handle.op, variable.cell)
                entries.append(Saved(spec.name, load, None, spec.dtype.base_dtype.as_datatype_enum))
            else:
                tensors[spec.name] = spec.tensor
    if isinstance(session, BaseSession):
        fetched = {name: tensor for name, tensor in tensors.items() if isinstance(tensor, Tensor)}
        tensors |= session.run(fetched) if fetched else {}
    return [*entries, *(Saved(name, partial(_array, value)) for name, value in tensors.items())]


def _array(value: Any) -> HostArray:
    return np.array(value, object) if isinstance(value, bytes | str) else np.asarray(value)
