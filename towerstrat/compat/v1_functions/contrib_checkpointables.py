"""What ``tf.contrib.checkpoint`` and ``tf.contrib.eager`` had of their own for checkpoints of objects."""

from __future__ import annotations

import io
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from towerstrat.checkpoints import object_graph_keys as object_names
from towerstrat.errors import NotFoundError
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.types import DType, as_dtype
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.variables.containers import TrackableDataStructure
from towerstrat.graph.variables.trackable import VARIABLE_VALUE, Trackable, TrackableReference
from towerstrat.graph.variables.variables import Variable, variable_creator_scope
from towerstrat.platform import messages
from towerstrat.training.saving import checkpoint_manager, checkpoint_reader, python_state, saver
from towerstrat.training.saving.object_graph import ObjectGraphView
from towerstrat.training.saving.saveables import SaveableObject, SaveSpec


class CheckpointManager(checkpoint_manager.CheckpointManager):
    """``tf.train.CheckpointManager`` as 1.12 had it.

    Args:
      checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours, checkpoint_name: as there.
    """

    def __init__(
        self, checkpoint: Any, directory: str, max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None, checkpoint_name: str = "ckpt",
    ):  # fmt: skip
        super().__init__(checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours, checkpoint_name)

    def save(  # type: ignore[override]
        self, session: SessionLike | None = None, checkpoint_number: Any = None
    ) -> str | None:
        """Saves a checkpoint and then removes those that are too many; see ``tf.train.CheckpointManager.save``.

        Args:
          session: in a graph, the session that has the values; default the default session.
        """
        return self._save(session or self._session(), checkpoint_number)


class UniqueNameTracker(TrackableDataStructure):
    """Depends on objects by names that it makes unique.

    Raises:
      ValueError: an object is not trackable.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    @property
    def _values(self) -> Iterable[Any]:
        return [reference.ref for reference in self._checkpoint_dependencies]

    def track(self, checkpointable: Any, base_name: str) -> Any:
        """Adds a dependency, called ``base_name``, with ``_1``, ``_2``, ... where that is taken; returns the object."""
        self._maybe_initialize_trackable()
        count = self._counts.get(base_name, 0)
        while self._lookup_dependency(name := f"{base_name}_{count}" if count else base_name) is not None:
            count += 1
        self._counts[base_name] = count + 1
        self._track_value(checkpointable, name)
        return checkpointable


class PythonStateWrapper(Trackable, metaclass=ABCMeta):
    """``PythonState`` of 1.x, whose methods had other names."""

    @abstractmethod
    def _serialize(self) -> Any:
        """The state as a string."""

    @abstractmethod
    def _deserialize(self, string_value: Any) -> Any:
        """Takes the state from a string."""

    def _gather_saveables_for_checkpoint(self) -> Mapping[str, Any]:
        return {
            python_state.PYTHON_STATE: partial(
                python_state.PythonStateSaveable, state_callback=self._serialize, restore_callback=self._deserialize
            )
        }


class _NumpyWrapper(PythonStateWrapper):
    """An array."""

    def __init__(self, array: Any):
        self.array = array

    def _serialize(self) -> bytes:
        file = io.BytesIO()
        np.save(file, self.array, allow_pickle=False)
        return file.getvalue()

    def _deserialize(self, string_value: bytes) -> None:
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


class NumpyState(Trackable):
    """An object whose attributes are numpy arrays, which are saved, and made by restoring.

    Raises:
      NotImplementedError: something else is assigned to an attribute.
    """

    def _lookup_dependency(self, name: str, cached_dependencies: Any = None) -> Any:
        """An array, made where there is none yet, since a checkpoint asks for those that it has."""
        value = super()._lookup_dependency(name)
        if value is None:
            value = _NumpyWrapper(np.array([]))
            self._self_unconditional_checkpoint_dependencies.append(TrackableReference(name, value))
            self._self_unconditional_dependency_names[name] = value
            object.__setattr__(self, name, value)
        return value

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return value.array if isinstance(value, _NumpyWrapper) else value

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):  # of tracking itself
            object.__setattr__(self, name, value)
            return
        if not isinstance(value, np.ndarray | np.generic):
            raise NotImplementedError(
                f"Assigned {value} to the {name} property of {self}, which is not a NumPy array. Put what else is to "
                "be saved beside the NumpyState in the checkpoint."
            )
        known = vars(self).get(name)
        if known is not None:
            known.array = value
            return
        object.__setattr__(self, name, self._track_trackable(_NumpyWrapper(value), name, overwrite=True))


class _CallbackSaveable(SaveableObject):
    """A tensor that one function makes and another takes."""

    def __init__(
        self, name: str, dtype: DType, save_callback: Callable[[], Any], restore_callback: Callable[[Any], Any]
    ):
        super().__init__(save_callback, [SaveSpec(save_callback, "", name, dtype)], name)
        self._restore_callback = restore_callback

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Sequence[Any] | None) -> Any:
        (tensor,) = restored_tensors
        return self._restore_callback(tensor)


class _Buffers:
    """What goes from some objects to their parts and back.

    Args:
      names: of the parts. fill: puts a tensor for each into a dictionary. consume: takes all of them from one.
    """

    def __init__(
        self, names: Sequence[str], fill: Callable[[dict[str, Any]], Any], consume: Callable[[dict[str, Any]], Any]
    ):
        self._names = names
        self._fill = fill
        self._consume = consume
        self._saved: dict[str, Any] = {}
        self._restored: dict[str, Any] = {}

    def save(self, name: str) -> Any:
        """The tensor of a part. Raises AssertionError where not all parts are saved."""
        if name not in self._saved:
            if self._saved:
                raise AssertionError(
                    f"Split dependency {name} unsynchronized. Split dependencies must be saved together; "
                    f"{sorted(self._saved)} were not."
                )
            self._fill(self._saved)
        return self._saved.pop(name)

    def restore(self, name: str, tensor: Any) -> Any:
        """Takes the tensor of a part; the last one restores all."""
        self._restored[name] = tensor
        if len(self._restored) < len(self._names):
            return no_op()
        given, self._restored = self._restored, {}
        return self._consume(given)


class _SplitDependency(Trackable):
    """A part of some objects, saved as if it were a variable."""

    def __init__(self, buffers: _Buffers, name: str, dtype: DType):
        self._buffers = buffers
        self._name = name
        self._dtype = dtype

    def _gather_saveables_for_checkpoint(self) -> Mapping[str, Any]:
        return {
            VARIABLE_VALUE: partial(
                _CallbackSaveable,
                dtype=self._dtype,
                save_callback=partial(self._buffers.save, self._name),
                restore_callback=partial(self._buffers.restore, self._name),
            )
        }


def split_dependency(
    component_names: Sequence[str],
    component_dtypes: Sequence[Any],
    fill_save_buffer_fn: Callable[[dict[str, Any]], Any],
    consume_restore_buffer_fn: Callable[[dict[str, Any]], Any],
    device: str | None = None,
) -> dict[str, Trackable]:
    """Objects by name that are saved as variables, and together are made from something, and make it again.

    Args:
      component_names, component_dtypes: of the objects.
      fill_save_buffer_fn: puts a tensor under each name into a dictionary.
      consume_restore_buffer_fn: takes such a dictionary; returns the operation that restores, eagerly anything.
      device: changes nothing: checkpoints hold arrays of the host.
    """
    buffers = _Buffers(component_names, fill_save_buffer_fn, consume_restore_buffer_fn)
    pairs = zip(component_names, component_dtypes, strict=True)
    return {name: _SplitDependency(buffers, name, as_dtype(dtype)) for name, dtype in pairs}


def list_objects(root_checkpointable: Any) -> list[Any]:
    """All objects below an object that would be saved with it."""
    return ObjectGraphView(root_checkpointable).list_objects()


def object_metadata(save_path: str) -> messages.TrackableObjectGraph:
    """The graph of objects in a checkpoint. Raises ValueError where it has none."""
    try:
        return object_names.object_graph(checkpoint_reader.CheckpointReader(save_path)._checkpoint)
    except NotFoundError:
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (it is missing the key '
            f'"{object_names.OBJECT_GRAPH}"). Likely it was created with a name-based saver and does not contain an '
            "object dependency graph."
        ) from None


def dot_graph_from_checkpoint(save_path: str) -> str:
    """The graph of objects in a checkpoint in the language of Graphviz."""
    reader = checkpoint_reader.CheckpointReader(save_path)
    graph = object_metadata(save_path)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    slots = {slot.slot_variable_node_id for node in graph.nodes for slot in node.slot_variables}
    lines = ["digraph {"]
    for i, node in enumerate(graph.nodes):
        look = 'shape=point label="" width=.25'
        if [a.name for a in node.attributes] == [VARIABLE_VALUE]:
            (value,) = node.attributes
            kind, color = ("Slot variable", "orange") if i in slots else ("Variable", "blue")
            key = value.checkpoint_key
            said = f"{kind} {_quoted(value.full_name)} shape={shapes[key]} {types[key].name}"
            look = f'shape=point label="" color={color} width=.25 tooltip="{said}"'
        elif node.slot_variables:
            look += ' color=red,tooltip="Optimizer"'
        lines.append(f"N_{i} [{look}]")
        lines += [f'N_{i} -> N_{child.node_id} [label="{_quoted(child.local_name)}"]' for child in node.children]
        for slot in node.slot_variables:
            to = slot.slot_variable_node_id
            lines.append(f'N_{i} -> N_{to} [label="{_quoted(slot.slot_name)}" style=dotted]')
            lines.append(f"N_{slot.original_variable_node_id} -> N_{to} [style=dotted]")
    return "\n".join([*lines, "}", ""])


def _quoted(name: str) -> str:
    return name.replace('"', '\\"')


class Saver:
    """``tf.train.Saver`` for eager variables.

    Args:
      var_list: a list of variables, or a dictionary of them by name.

    Raises:
      RuntimeError: not eagerly.
    """

    def __init__(self, var_list: Any):
        if not mode.executing_eagerly():
            raise RuntimeError(
                "tfe.Saver can only be used when eager execution is enabled. Use tf.train.Saver when building graphs."
            )
        self._saver = saver.Saver(var_list)

    def save(self, file_prefix: str, global_step: Any = None) -> str | None:
        """Saves the variables; returns the path, which has the number of the step where one is given."""
        return self._saver.save(None, file_prefix, global_step, write_meta_graph=False)

    def restore(self, file_prefix: str) -> None:
        """Gives the variables the values of a checkpoint."""
        self._saver.restore(None, file_prefix)


def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """``optimizer.variables()``."""
    return list(optimizer.variables())


@contextmanager
def restore_variables_on_create(save_path: str | None, map_func: Callable[[str], str] | None = None) -> Iterator[None]:
    """Variables that are made inside start with the values that a checkpoint has under their names.

    Args:
      save_path: the checkpoint, or a folder of which the latest is taken; None: nothing happens.
      map_func: a variable's name -> that in the checkpoint.

    Raises:
      ValueError: not eagerly; ``map_func`` is no function. NotFoundError: a variable is not in the checkpoint.
    """
    if not mode.executing_eagerly():
        raise ValueError("Currently, restore_variables_on_create can only be used with eager execution enabled.")
    if not save_path:
        yield
        return
    if map_func is not None and not callable(map_func):
        raise ValueError(f"map_func must be callable, got {map_func!r}.")
    reader = checkpoint_reader.load_checkpoint(save_path)

    def creator(next_creator: Callable[..., Variable], **kwargs: Any) -> Variable:
        made = next_creator(**kwargs)
        name = made._shared_name if map_func is None else map_func(made._shared_name)
        if not reader.has_tensor(name):
            raise NotFoundError(None, None, f"{name} not found in checkpoint")
        made.assign(reader.get_tensor(name))
        return made

    with variable_creator_scope(creator):
        yield
