"""What ``Checkpoint.restore`` returns: whether all was restored, and in graphs what does it.

Source: ``tensorflow/python/checkpoint/checkpoint.py``.
"""

from __future__ import annotations

from typing import Any, Self

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.containers import TrackableDataStructure
from towerstrat.graph.variables.trackable import Trackable
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import logs
from towerstrat.training.saving.object_graph import ObjectGraphView, attributes, node_names
from towerstrat.training.saving.object_restore import NamedRestoration, Restoration
from towerstrat.training.saving.saver import Saver
from towerstrat.training.saving.saver_sessions import held_in_graph, session_for

_SHOWN = 10


class CheckpointLoadStatus:
    """Of a checkpoint of objects.

    Args:
      checkpoint: the call of ``restore``. graph_view: the objects that it was called for.
    """

    def __init__(self, checkpoint: Restoration, graph_view: ObjectGraphView):
        self._checkpoint = checkpoint
        self._view = graph_view
        self._root = graph_view.root  # which is kept while the status is

    def assert_consumed(self) -> Self:
        """Raises AssertionError where an object or a value has none on the other side."""
        self.assert_existing_objects_matched()
        checkpoint = self._checkpoint
        names = node_names(checkpoint.graph)
        for i, node in enumerate(checkpoint.graph.nodes):
            if node.attributes and i not in checkpoint.objects:  # others have nothing of their own to restore
                raise AssertionError(f"Unresolved object in checkpoint {names.get(i, i)}: {node}")
        if checkpoint.slots:
            raise AssertionError(f"Unresolved slot restorations: {checkpoint.slots}")
        if checkpoint.unused:
            left = "\n".join(f"{names[i]} ({checkpoint.objects[i]}): {n}" for i, n in checkpoint.unused.items())
            raise AssertionError(
                "Unused attributes in these objects (the attributes exist in the checkpoint but were not restored):\n"
                f"{left}"
            )
        return self

    def assert_existing_objects_matched(self) -> Self:
        """Raises AssertionError where an object with values has none in the checkpoint."""
        checkpoint = self._checkpoint
        for i, obj in checkpoint.objects.items():
            if obj._update_uid < checkpoint.restore_uid:
                raise AssertionError(f"Object {checkpoint.graph.nodes[i]} not assigned a value from checkpoint.")
        unused = self._unmatched()
        if unused:
            raise AssertionError(
                f"Found {len(unused)} Python objects that were not bound to checkpointed values, likely due to changes "
                f"in the Python program. Showing {min(_SHOWN, len(unused))} of {len(unused)} unmatched objects: "
                f"{unused[:_SHOWN]}"
            )
        return self

    def assert_nontrivial_match(self) -> Self:
        """Raises AssertionError where nothing but the root object is in the checkpoint."""
        if len(self._checkpoint.objects) > 1:
            return self
        unused = self._unmatched()
        if unused:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means that the checkpoint "
                "does not match the Python program. The following objects have no matching checkpointed value: "
                f"{unused}"
            )
        raise AssertionError(f"Nothing to load. No dependencies have been added to {self._root} yet.")

    def _unmatched(self) -> list[Trackable]:
        """The objects with values of their own that are not in the checkpoint."""
        known = {id(obj) for obj in self._checkpoint.objects.values()}
        return [
            obj
            for obj in self._view.list_objects()
            if id(obj) not in known and not isinstance(obj, TrackableDataStructure) and any(attributes(obj, ""))
        ]

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """In a graph, restores into a session what was found so far. Eagerly that was done.

        Raises:
          RuntimeError: no session. InvalidArgumentError: a variable has another shape or type in the checkpoint.
        """
        if not get_default_graph().executing_eagerly:
            with held_in_graph(session, "run_restore_ops") as holding:
                self._checkpoint.run(holding)

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """``run_restore_ops``, and the initializers of variables that are not in the checkpoint."""
        if get_default_graph().executing_eagerly:
            return
        known = {id(obj) for obj in self._checkpoint.objects.values()}
        rest = [obj for obj in self._view.list_objects() if id(obj) not in known]
        with held_in_graph(session, "initialize_or_restore") as holding:
            self._checkpoint.run(holding)
            initialize(rest, self._checkpoint.restore_uid, holding)

    def expect_partial(self) -> Self:
        """No warnings of values in the checkpoint that nothing took."""
        self._checkpoint.expect_partial = True
        return self

    def _stream_to(self, session: SessionLike) -> None:
        """Restores into a session what was found so far, and from now on each object as it is found."""
        self.run_restore_ops(session)
        self._checkpoint.session = session


def initialize(objects: list[Any], before: int, session: SessionLike) -> None:
    """Runs the initializers of objects that no call of ``restore`` from ``before`` on has given values."""
    found = [obj.initializer for obj in objects if getattr(obj, "initializer", None) is not None]
    late = {id(obj.initializer) for obj in objects if hasattr(obj, "initializer") and obj._update_uid >= before}
    session.run([each for each in found if id(each) not in late])


class InitializationOnlyStatus:
    """Of ``restore(None)``: there is no checkpoint, and ``initialize_or_restore`` initializes.

    Args:
      graph_view: the objects. restore_uid: the number of the call.
    """

    def __init__(self, graph_view: ObjectGraphView, restore_uid: int):
        self._view = graph_view
        self._uid = restore_uid
        self._root = graph_view.root

    def assert_consumed(self) -> Self:
        """Raises AssertionError."""
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Raises AssertionError."""
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """In a graph, runs the initializers of all variables."""
        if not get_default_graph().executing_eagerly:
            initialize(self._view.list_objects(), self._uid, session_for(session, "initialize_or_restore"))

    def expect_partial(self) -> Self:
        return self

    def _stream_to(self, session: SessionLike) -> None:
        self.run_restore_ops(session)


class NameBasedSaverStatus:
    """Of a checkpoint of variables by name.

    Args:
      checkpoint: the call of ``restore``. graph_view: the objects.
    """

    def __init__(self, checkpoint: NamedRestoration, graph_view: ObjectGraphView):
        logs.warning(
            "Restoring a name-based tf.train.Saver checkpoint using the object-based restore API. This mode uses "
            "global names to match variables, and so is somewhat fragile. Prefer re-encoding training checkpoints in "
            "the object-based format: run save() on the object-based saver (the same one this message is coming from) "
            "and use that checkpoint in the future."
        )
        self._checkpoint = checkpoint
        self._view = graph_view
        self._root = graph_view.root
        self._optional: list[Variable] = []

    def add_to_optionally_restored(self, var: Variable) -> None:
        """A variable that need not be in the checkpoint; in a graph it is initialized where it is not."""
        self._optional.append(var)

    def assert_consumed(self) -> Self:
        """Raises AssertionError where an object has not been restored."""
        optional = {id(each) for each in self._optional}
        unused = [(obj, name) for obj, name in self._checkpoint.unused if id(obj) not in optional]
        if unused:
            raise AssertionError(
                "Some objects had attributes which were not restored: "
                + "".join(f"\n    {obj}: {name}" for obj, name in unused)
            )
        for obj in self._view.list_objects():
            if obj._update_uid < self._checkpoint.restore_uid:
                raise AssertionError(f"Object not restored: {obj}")
        return self

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """In a graph, restores all objects by the names of their variables.

        Raises:
          RuntimeError: no session. NotFoundError: a variable is not in the checkpoint.
        """
        if get_default_graph().executing_eagerly:
            return
        session = session_for(session, "run_restore_ops")
        saveables, left = [], []
        optional = {id(each) for each in self._optional}
        for obj in self._view.list_objects():
            obj._maybe_initialize_trackable()
            if obj._update_uid >= self._checkpoint.restore_uid:
                continue
            obj._update_uid = self._checkpoint.restore_uid
            own = self._checkpoint.saveables(obj)
            there = all(spec.name in self._checkpoint.checkpoint for each in own for spec in each.specs)
            if id(obj) in optional and not there:
                left.append(obj.initializer)
            else:
                saveables += own
        Saver(saveables).restore(session, self._checkpoint.path)
        session.run(left)

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """``run_restore_ops``."""
        self.run_restore_ops(session)

    def expect_partial(self) -> Self:
        return self

    def _stream_to(self, session: SessionLike) -> None:
        raise NotImplementedError(
            "Streaming restore not supported from name-based checkpoints. Restore, and save again by this object."
        )


LoadStatus = CheckpointLoadStatus | InitializationOnlyStatus | NameBasedSaverStatus


def streaming_restore(status: LoadStatus, session: SessionLike | None = None) -> None:
    """In a graph, restores into a session, and from now on each object as it is made. Eagerly that is so anyway."""
    if not get_default_graph().executing_eagerly:
        status._stream_to(session_for(session, "streaming_restore"))
