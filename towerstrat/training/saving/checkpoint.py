"""``tf.train.Checkpoint``: saves and restores objects by the names that they have for each other."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from towerstrat.errors import NotFoundError
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.default_graph import init_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.types import int64
from towerstrat.graph.variables.containers import AutoTrackable, NoDependency
from towerstrat.graph.variables.trackable import Trackable, TrackableReference
from towerstrat.graph.variables.variables import Variable, create_variable
from towerstrat.platform.files import Exists, IsDirectory
from towerstrat.training.saving import latest_checkpoint
from towerstrat.training.saving.async_writer import BackgroundWriter
from towerstrat.training.saving.checkpoint_options import CheckpointOptions
from towerstrat.training.saving.load_status import LoadStatus, NameBasedSaverStatus
from towerstrat.training.saving.object_graph import ObjectGraphView
from towerstrat.training.saving.object_saver import ObjectSaver, incremented

_COUNTER = "save_counter"
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")


def _trackable(name: str, value: Any) -> Trackable:
    """The value. Raises ValueError where it cannot be saved."""
    if not isinstance(value, Trackable):
        raise ValueError(
            f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from `Trackable`), got "
            f"{value}. Pass what holds variables: a variable, a layer, an optimizer, a tf.Module."
        )
    return value


class _Numbered(AutoTrackable):
    """Saves under a prefix with a number that it counts up, which is saved too."""

    _saver: ObjectSaver
    _writer: BackgroundWriter
    _save_counter: Variable | None = None

    @property
    def save_counter(self) -> Variable:
        """The variable with the number of the latest checkpoint; it is made when it is asked for, or by restoring."""
        if self._save_counter is None:
            with init_scope():
                made = create_variable(initial_value=0, dtype=int64, name=_COUNTER, trainable=False)
            self._track_trackable(made, _COUNTER)
            self._save_counter = NoDependency(made)  # type: ignore[assignment]
            self._counter_made(made)
        assert self._save_counter is not None
        return self._save_counter

    def _counter_made(self, counter: Variable) -> None:
        """Called with the counter when it is made."""

    def _next_number(self, session: SessionLike | None) -> int:
        """Counts up. In a graph, a counter that is made now starts at 0."""
        is_new = self._save_counter is None
        return incremented(self.save_counter, session, is_new)

    def _write(
        self, path: str, session: SessionLike | None, options: CheckpointOptions | None,
        then: Callable[[], None] | None = None,
    ) -> str:  # fmt: skip
        """Writes a checkpoint, and calls ``then`` when it is there; in the background where ``options`` say so.

        What was written in the background before is there first, and raises its error here.
        """
        self._writer.wait()
        background = options is not None and options.enable_async
        write = self._saver.copied(path, session) if background else partial(self._saver.save, path, session)

        def run() -> None:
            write()
            if then is not None:
                then()
            if options is not None:
                options.written(path)

        if background:
            self._writer.submit(run)
        else:
            run()
        return path

    def _save(self, prefix: Any, session: SessionLike | None, options: CheckpointOptions | None) -> str:
        prefix = os.fsdecode(prefix)
        path = f"{prefix}-{self._next_number(session)}"
        record = partial(latest_checkpoint.update_checkpoint_state, os.path.dirname(prefix), path, [path])
        return self._write(path, session, options, record)

    def _restore(self, save_path: Any) -> LoadStatus:
        self._writer.wait()
        path = None if save_path is None else os.fsdecode(save_path)
        try:
            status = self._saver.restore(_inside(path))
        except NotFoundError as error:
            raise NotFoundError(
                None, None, f"Error when restoring from checkpoint or SavedModel at {path}: {error.message}\n"
                "Please double-check that the path is correct. You may be missing the checkpoint suffix (e.g. the '-1' "
                "in 'path/to/ckpt-1').",
            ) from None  # fmt: skip
        # Made now, so that in a graph it is initialized together with the others.
        counter = self.save_counter
        if isinstance(status, NameBasedSaverStatus):
            status.add_to_optionally_restored(counter)
        return status


def _inside(path: str | None) -> str | None:
    """The checkpoint in a SavedModel, where ``path`` is the folder of one."""
    if path is not None and IsDirectory(path) and any(Exists(os.path.join(path, name)) for name in _SAVED_MODEL):
        return os.path.join(path, "variables", "variables")
    return path


class CheckpointV1(_Numbered):
    """Saves and restores the objects that it is given, and what they depend on; ``tf.train.Checkpoint`` of 1.x.

    Args:
      **kwargs: trackable objects (variables, layers, optimizers, modules, other checkpoints) by the names that they
        have in the checkpoint. They become attributes.

    Raises:
      ValueError: one is not trackable.

    Example, in a graph::

        checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)
        status = checkpoint.restore(tf.train.latest_checkpoint(folder))
        with tf.Session() as session:
            status.initialize_or_restore(session)
            session.run(train_op)
            checkpoint.save(folder + "/ckpt")
    """

    def __init__(self, **kwargs: Any):
        for name, value in sorted(kwargs.items()):
            setattr(self, name, _trackable(name, value))
        self._saver, self._writer = ObjectSaver(ObjectGraphView(weakref.ref(self))), BackgroundWriter()

    def write(self, file_prefix: str, session: SessionLike | None = None) -> str:
        """Writes a checkpoint at ``file_prefix`` itself, and no state file; see ``ObjectSaver.save``."""
        return self._write(os.fsdecode(file_prefix), session, None)

    def save(self, file_prefix: str, session: SessionLike | None = None) -> str:
        """Writes ``file_prefix-NUMBER`` and the state file that ``tf.train.latest_checkpoint`` reads.

        Args:
          session: in a graph, the session that has the values; default the default session.

        Returns:
          The path, for ``restore``.

        Raises:
          RuntimeError, FailedPreconditionError, OpError: as ``ObjectSaver.save``.
        """
        return self._save(file_prefix, session, None)

    def restore(self, save_path: str | None) -> LoadStatus:
        """Restores the objects: eagerly at once, and those that come later when they come; in a graph by the status.

        Args:
          save_path: what ``save`` or ``latest_checkpoint`` returned. It may be of ``tf.train.Saver``: then variables
            are found by their names. None: there is none, and the status initializes.

        Returns:
          The status, with ``assert_consumed``, ``assert_existing_objects_matched``, ``assert_nontrivial_match``,
          ``initialize_or_restore(session)``, ``run_restore_ops(session)``, ``expect_partial``.

        Raises:
          NotFoundError, DataLossError, ValueError: as ``ObjectSaver.restore``.
        """
        return self._restore(save_path)


class Checkpoint(_Numbered):
    """``tf.train.Checkpoint`` of 2.x.

    Args:
      root: an object whose dependencies are saved as those of the checkpoint itself, or a weak reference to one.
      **kwargs: trackable objects, or lists, dictionaries and tuples of such, by the names that they have in the
        checkpoint. They become attributes.

    Raises:
      ValueError: one is not trackable, or ``root`` has another object of that name.
    """

    def __init__(self, root: Any = None, **kwargs: Any):
        attached: list[TrackableReference] | None = None
        if root is not None:
            target = _trackable("root", _target(root))
            target._maybe_initialize_trackable()
            self._save_counter = NoDependency(target._lookup_dependency(_COUNTER))  # type: ignore[assignment]
            self.root = NoDependency(root)
            attached = self._attached(target, kwargs)
        else:
            self._set_all(kwargs)
        self._attached_dependencies: Any = NoDependency(attached)
        self._saver = ObjectSaver(ObjectGraphView(weakref.ref(self) if root is None else root, attached))
        self._writer = BackgroundWriter()

    def _set_all(self, given: Mapping[str, Any]) -> dict[str, Trackable]:
        """Sets the attributes; name -> value as it is tracked."""
        found = {}
        for name, value in sorted(given.items()):
            setattr(self, name, value)
            found[name] = _trackable(name, _target(getattr(self, name)))
        return found

    def _attached(self, root: Trackable, given: Mapping[str, Any]) -> list[TrackableReference]:
        """What is saved beside the root's own dependencies."""
        attached = []
        for name, value in self._set_all(given).items():
            own = root._lookup_dependency(name)
            if own is None:
                attached.append(TrackableReference(name, value))
            elif own is not value:
                raise ValueError(
                    f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists."
                )
        return attached

    def _counter_made(self, counter: Variable) -> None:
        if self._attached_dependencies is None:
            return
        self._attached_dependencies.append(TrackableReference(_COUNTER, counter))
        waiting = _target(self.root)._deferred_dependencies.pop(_COUNTER, ())
        for position in waiting[-1:]:
            position.restore(counter)

    def sync(self) -> None:
        """Returns when all that was saved in the background is there. Raises what went wrong with it."""
        self._writer.wait()

    def write(self, file_prefix: Any, options: CheckpointOptions | None = None) -> str:
        """Writes a checkpoint at ``file_prefix`` itself, for ``read``, and no state file.

        Args:
          options: a ``CheckpointOptions``.

        Returns:
          The path.

        Raises:
          RuntimeError, FailedPreconditionError, OpError: as ``ObjectSaver.save``.
        """
        return self._write(os.fsdecode(file_prefix), None, options)

    def read(self, save_path: Any, options: CheckpointOptions | None = None) -> LoadStatus:
        """Restores what ``write`` wrote: as ``restore``, without the counter."""
        self._writer.wait()
        return self._saver.restore(None if save_path is None else os.fsdecode(save_path))

    def save(self, file_prefix: Any, options: CheckpointOptions | None = None) -> str:
        """Writes ``file_prefix-NUMBER`` and the state file that ``tf.train.latest_checkpoint`` reads.

        Args:
          options: a ``CheckpointOptions``.

        Returns:
          The path, for ``restore``.

        Raises:
          NotImplementedError: in a function. RuntimeError, FailedPreconditionError, OpError: as ``ObjectSaver.save``.
        """
        if get_default_graph().building_function:
            raise NotImplementedError(
                "Calling tf.train.Checkpoint.save() from a function is not supported: files are written when Python "
                "runs. Call it outside of the function."
            )
        return self._save(file_prefix, None, options)

    def restore(self, save_path: Any, options: CheckpointOptions | None = None) -> LoadStatus:
        """Restores the objects; see ``CheckpointV1.restore``. A folder of a SavedModel means the checkpoint in it.

        ``options`` change nothing here.
        """
        return self._restore(save_path)


def _target(value: Any) -> Any:
    return value() if isinstance(value, weakref.ref) else value
