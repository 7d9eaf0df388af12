"""``tf.train.Saver``: saves variables by name, keeps the latest few files, and restores."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from towerstrat.checkpoints import checkpoint_state
from towerstrat.checkpoints.bundle_writer import Saved
from towerstrat.checkpoints.checkpoint_file import Checkpoint, opened
from towerstrat.checkpoints.object_graph_keys import OBJECT_GRAPH, names_of_objects
from towerstrat.errors import InvalidArgumentError, NotFoundError, OpError
from towerstrat.graph.eager.context import context
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.numerics_version import ORIGINAL
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.platform import logs, messages
from towerstrat.platform.files import IsDirectory
from towerstrat.training.base import global_step as steps
from towerstrat.training.saving import latest_checkpoint, resume_state
from towerstrat.training.saving.checkpoint_write import write
from towerstrat.training.saving.meta_graphs import check_debug_info, export_meta_graph
from towerstrat.training.saving.save_restore_ops import POSTPONED, HasState, parsed, part_of, restored_names, stored
from towerstrat.training.saving.saveables import SaveSpec, VariableSaveable, all_saveable_objects, by_name, saveables_of
from towerstrat.training.saving.saver_builder import BaseSaverBuilder, BulkSaverBuilder
from towerstrat.training.saving.saver_sessions import held, held_in_graph

_SECOND_FORMAT = 2


class Saver:
    """Saves and restores variables.

    Args:
      var_list: variables and saveable objects, or a dictionary of them by the name that they are saved under; default
        all global variables. Eagerly it must be given.
      reshape: restored values take the shapes of the variables.
      sharded: changes nothing in what is restored. The original then wrote a file of data for each device; here it is
        one for each process where there are several and the values are large (docs/hosts.md), whatever it says.
      max_to_keep: how many of the latest checkpoints are kept; 0 or None: all.
      keep_checkpoint_every_n_hours: one in so many hours is kept for good.
      name: of the scope of the operations.
      restore_sequentially: changes nothing: values are read one at a time.
      saver_def: the definition of a saver whose operations are in the graph already.
      builder: makes the operations; default ``BulkSaverBuilder``.
      defer_build: the operations are added by ``build``.
      allow_empty: no variables are fine; the saver then does nothing.
      write_version: the second format is written, also where the first is asked for, which is logged; both are read.
      pad_step_number: step numbers in paths have eight digits.
      save_relative_paths: paths in the state file are relative to its folder, so that it can be moved.
      filename: where it saves when its operation is run without a path.

    Raises:
      TypeError, ValueError: ``var_list`` is neither, has a name twice, or is empty; ``var_list`` with ``defer_build``.
      RuntimeError: no ``var_list`` eagerly.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: BaseSaverBuilder | None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = _SECOND_FORMAT,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ):
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                "var_list=None."
            )
        self._eager = get_default_graph().executing_eagerly
        if self._eager and var_list is None:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of variables to save"
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep or 0
        self._hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder = builder
        self._allow_empty = allow_empty
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._relative = save_relative_paths
        self._filename = filename
        self._is_built = False
        self._is_empty = False
        self._last: list[tuple[str, float]] = []
        self._surplus: list[tuple[str, float]] = []
        self._folders: set[str] = set()  # those that it has saved in
        self._keep_from = time.time() + keep_checkpoint_every_n_hours * 3600
        self._by_objects: Saver | None = None
        if not self._eager and not defer_build:
            self.build()

    def build(self) -> None:
        """Adds the operations to the default graph, unless that was done.

        Raises:
          ValueError: there is nothing to save. RuntimeError: operations are executed eagerly.
        """
        if self._eager:
            raise RuntimeError("Use save/restore instead of build in eager mode.")
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is not None:
            self._enter_definition()
            return
        if self._var_list is None:
            self._var_list = all_saveable_objects()
        if not self._var_list:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        builder = self._builder or BulkSaverBuilder(self._write_version)
        self.saver_def = builder.build(
            self._var_list,
            reshape=self._reshape,
            sharded=self._sharded,
            max_to_keep=self._max_to_keep,
            keep_checkpoint_every_n_hours=self._hours,
            name=self._name,
            restore_sequentially=self._restore_sequentially,
            filename=self._filename or "model",
        )

    def _enter_definition(self) -> None:
        """Takes over what a definition says of operations that are in the graph."""
        if not isinstance(self.saver_def, messages.SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")
        if self._name:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(self.saver_def, field, f"{self._name}/{getattr(self.saver_def, field)}")
        self._max_to_keep = self.saver_def.max_to_keep
        self._hours = self.saver_def.keep_checkpoint_every_n_hours
        self._keep_from = time.time() + self._hours * 3600

    def as_saver_def(self) -> Any:
        """The ``SaverDef`` that names the operations."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The definition, None where it is not in ``export_scope``, whose name is left out of those in it."""
        if export_scope is None:
            return self.saver_def
        start = f"{export_scope}/"
        if not self.saver_def.filename_tensor_name.startswith(start):
            return None
        copied = messages.SaverDef.FromString(self.saver_def.SerializeToString())
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(copied, field, getattr(copied, field).removeprefix(start))
        return copied

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The saver of a definition."""
        return Saver(saver_def=saver_def, name=import_scope)

    # ---- which checkpoints there are ---------------------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that it keeps, oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Sets what it keeps, with unknown times: they are removed as soon as there are too many."""
        self.set_last_checkpoints_with_time([(path, float("inf")) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[str, float]]) -> None:
        """Sets what it keeps: pairs of path and time, oldest first."""
        if not isinstance(last_checkpoints_with_time, list):
            raise TypeError(f"Expected a list of pairs of path and time, got {last_checkpoints_with_time!r}.")
        self._last = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over the checkpoints of a run before this one, as far as they are still there."""
        there = [path for path in checkpoint_paths if latest_checkpoint.checkpoint_exists(path)]
        self._last = list(zip(there, latest_checkpoint.get_checkpoint_mtimes(there), strict=True))

    def _record(self, path: str) -> None:
        """Enters a new checkpoint; the oldest goes where there are too many."""
        if not self._max_to_keep:
            return
        self._folders.add(checkpoint_state.folder_of(path))
        now = time.time()
        self._keep_from = min(self._keep_from, now + self._hours * 3600)  # a clock may be set back
        self._last = [entry for entry in self._last if entry[0] != path]
        self._last.append((path, now))
        while len(self._last) > self._max_to_keep:
            self._surplus.append(self._last.pop(0))

    def _remove_surplus(self, suffix: str) -> None:
        """Removes what is too many, but for those that are kept for good."""
        while self._surplus:
            path, written = self._surplus.pop(0)
            if written > self._keep_from and written != float("inf"):
                # A clock may be set forward: at most two are kept for that, not one for each period that it left out.
                self._keep_from = max(self._keep_from + self._hours * 3600, written)
                continue
            try:
                latest_checkpoint.remove_surplus(path, self._folders, suffix)
            except OpError as error:
                logs.warning("Ignoring: %s", error.message)

    # ---- saving ------------------------------------------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables; the checkpoint is whole or absent, and older ones are removed after it is there.

        Args:
          sess: the session that has their values; eagerly None.
          save_path: the path, to which ``-STEP`` is added where there is a step.
          global_step: a number, a tensor or variable, or its name.
          latest_filename: the name of the folder's state file, default "checkpoint".
          meta_graph_suffix: of the file with the graph. write_meta_graph: whether there is one.
          write_state: whether the state file is written, and older checkpoints are removed.
          strip_default_attrs: changes nothing: the attributes in the graph are those that the program gave.
          save_debug_info: is refused.

        Returns:
          The path, for ``restore``; None where there is nothing to save.

        Raises:
          ValueError: ``latest_filename`` has folders in it or is the checkpoint's own name; the folder cannot be made.
          TypeError: no session. RuntimeError: ``build`` was not called. FailedPreconditionError: a variable has no
            value. OpError: the disk is full, read-only, gone; what was there before is there still.
        """
        check_debug_info(save_debug_info)
        path, state_file = self._checked(sess, save_path, global_step, latest_filename)
        if not self._is_empty:
            self._write(sess, path, save_path)
        return self._finish(
            sess, path, save_path, state_file, meta_graph_suffix, write_meta_graph, write_state, strip_default_attrs
        )

    def captured(
        self, sess: BaseSession, save_path: str, global_step: Any = None, write_meta_graph: bool = True
    ) -> Callable[[], str | None]:
        """Takes the values that a session has now, and returns what saves them, as ``save`` does, in any thread.

        The arguments and what they raise are those of ``save``.
        """
        path, state_file = self._checked(sess, save_path, global_step, None)
        with POSTPONED.entered([]) as writes:
            if not self._is_empty:
                self._write(sess, path, save_path)

        def rest() -> str | None:
            for begin in writes:
                begin()
            return self._finish(sess, path, save_path, state_file, "meta", write_meta_graph, True, False)

        return rest

    def _checked(self, sess: Any, save_path: str, global_step: Any, latest_filename: str | None) -> tuple[str, str]:
        """The path of the checkpoint, and the name of its folder's state file."""
        if not self._is_built and not self._eager:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if not self._eager and not isinstance(sess, BaseSession):
            raise TypeError(f"'sess' must be a Session; {sess}")
        if self._write_version != _SECOND_FORMAT:
            logs.warning("Saver(write_version=V1): checkpoints are written in the second format, which restore reads.")
        state_file = latest_filename or checkpoint_state.STATE_FILE
        if os.path.dirname(state_file):
            raise ValueError("'latest_filename' must not contain path components")
        save_path = os.fsdecode(save_path)
        path = self._path(sess, save_path, global_step)
        if global_step is None and os.path.basename(save_path) == state_file and not self._sharded:
            raise ValueError(f"'latest_filename' collides with 'save_path': '{state_file}' and '{save_path}'")
        return path, state_file

    def _finish(
        self, sess: Any, path: str, save_path: str, state_file: str, meta_graph_suffix: str, write_meta_graph: bool,
        write_state: bool, strip_default_attrs: bool,
    ) -> str | None:  # fmt: skip
        """What ``save`` does once the values are written."""
        if write_state and not self._is_empty:
            self._record(path)
            self._write_state(path, os.fsdecode(save_path), state_file)
        if write_meta_graph and not self._eager:
            with sess.graph.as_default():
                self.export_meta_graph(
                    latest_checkpoint.meta_graph_filename(path, meta_graph_suffix),
                    strip_default_attrs=strip_default_attrs,
                )
        if write_state:
            self._remove_surplus(meta_graph_suffix)
        return None if self._is_empty else path

    def _path(self, sess: Any, save_path: str, global_step: Any) -> str:
        if global_step is None:
            return save_path
        if not hasattr(global_step, "__index__"):
            global_step = steps.global_step(sess, global_step)
        return f"{save_path}-{int(global_step):08d}" if self._pad_step_number else f"{save_path}-{int(global_step)}"

    def _write(self, sess: Any, path: str, save_path: str) -> None:
        try:
            if self._eager:
                with held(None, "Saver.save") as eager:
                    write(path, _entries(self._var_list, eager), resume_state.saved(eager))
            else:
                sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: path})
        except NotFoundError as error:
            if not IsDirectory(os.path.dirname(save_path) or "."):
                raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from error
            raise

    def _write_state(self, path: str, save_path: str, state_file: str) -> None:
        place = os.path.dirname(save_path)
        paths = self.last_checkpoints
        if self._relative:
            path, paths = os.path.relpath(path, place or "."), [os.path.relpath(p, place or ".") for p in paths]
        times = [written for _, written in self._last]
        known = times if all(t != float("inf") for t in times) and len(times) == len(paths) else None
        latest_checkpoint.update_checkpoint_state(place, path, paths, state_file, known)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """The default graph as a ``MetaGraphDef``, written to ``filename``; see ``export_meta_graph``."""
        return export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    # ---- restoring ---------------------------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: str) -> None:
        """Gives the variables the values of a checkpoint, by name; they need not have been initialized.

        One that ``tf.train.Checkpoint`` wrote is restored by the names that its variables had.

        Args:
          sess: the session that gets them; eagerly None.
          save_path: what ``save`` or ``latest_checkpoint`` returned.

        Raises:
          ValueError: there is no such checkpoint. NotFoundError: a variable is not in it; up to 1.15, there is no such
            folder. InvalidArgumentError: a variable has another shape or type there. DataLossError: a file is damaged.
            No variable has changed then.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fsdecode(save_path)
        if not latest_checkpoint.checkpoint_exists(path):
            folder = os.path.dirname(path)
            if not ORIGINAL.later and folder and not IsDirectory(folder):
                raise NotFoundError(None, None, f"{folder}; No such file or directory: there is no checkpoint {path}.")
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        logs.info("Restoring parameters from %s", path)
        try:
            if self._eager:
                names = self._restore_eagerly(path)
                resume_state.resume(path, context().session, names)
            else:
                sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: path})
                with held_in_graph(sess, "Saver.restore") as running:
                    names = restored_names(sess.graph, self.saver_def.restore_op_name)
                    resume_state.resume(path, running, names)
        except NotFoundError as error:
            checkpoint = opened(path)
            if OBJECT_GRAPH not in checkpoint or self._by_objects is self:
                raise _explained(error, "a Variable name or other graph key that is missing") from None
            self._restore_objects(sess, path, checkpoint)
        except InvalidArgumentError as error:
            raise _explained(error, "a mismatch between the current graph and the graph") from None

    def _restore_eagerly(self, path: str) -> set[str]:
        """Restores the variables; the names that were restored."""
        checkpoint = opened(path)
        found = [
            (saveable, [part_of(None, s.name, checkpoint.read(s.name), parsed(s.slice_spec)) for s in saveable.specs])
            for saveable in saveables_of(self._var_list)
        ]
        for saveable, values in found:
            if isinstance(saveable, VariableSaveable):
                saveable.check(values[0])
        for saveable, values in found:
            saveable.restore([convert_to_tensor(value) for value in values], None)
        return {spec.name for saveable, _ in found for spec in saveable.specs}

    def _restore_objects(self, sess: Any, path: str, checkpoint: Checkpoint) -> None:
        """Restores from a checkpoint of objects: its variables have keys of their own, and their names beside them."""
        if self._by_objects is None:
            logs.warning(
                "Restoring an object-based checkpoint using a name-based saver. This may be somewhat fragile, and will "
                "re-build the Saver. Instead, consider loading object-based checkpoints using tf.train.Checkpoint()."
            )
            keys = names_of_objects(checkpoint)
            named = self._var_list if isinstance(self._var_list, Mapping) else by_name(self._var_list)
            missing = sorted(set(named) - set(keys))
            if missing:
                raise NotFoundError(
                    None, None, f"Existing variables not in the checkpoint: {', '.join(missing)}. "
                    f"Variables names when this checkpoint was written which don't exist now: "
                    f"{', '.join(sorted(set(keys) - set(named)))}."
                )  # fmt: skip
            with sess.graph.as_default():
                self._by_objects = Saver({keys[name]: each for name, each in named.items()}, self._reshape)
            self._by_objects._by_objects = self._by_objects
        self._by_objects.restore(sess, path)


def _entries(var_list: Any, eager: HasState) -> list[Saved]:
    """What is written eagerly: variables from the state, other values from their tensors."""
    found = []
    for saveable in saveables_of(var_list):
        for spec in saveable.specs:
            load: Callable[[], Array] = partial(_array, spec)
            if isinstance(saveable, VariableSaveable):
                load = partial(stored, eager, saveable.variable._handle.op, saveable.variable.cell)
            found.append(Saved(spec.name, load, parsed(spec.slice_spec), spec.dtype.base_dtype.as_datatype_enum))
    return found


def _array(spec: SaveSpec) -> Array:
    return np.asarray(spec.tensor)


def _explained(error: OpError, what: str) -> OpError:
    """The error of a restore with what that mostly means."""
    return type(error)(
        None,
        error.op,
        "Restoring from checkpoint failed. This is most likely due to "
        f"{what} from the checkpoint. Please ensure that you have not altered the graph expected based on the "
        f"checkpoint. Original error:\n\n{error.message}",
    )  # type: ignore[call-arg]
