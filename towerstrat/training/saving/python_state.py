"""State of Python objects in checkpoints, as strings of bytes."""

from __future__ import annotations

import io
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from towerstrat.graph.ir.types import string
from towerstrat.graph.ops.control_flow import no_op
from towerstrat.graph.variables.trackable import Trackable, TrackableReference
from towerstrat.training.saving.saveables import SaveableObject, SaveSpec

_STATE = "py_state"


class PythonStateSaveable(SaveableObject):
    """State that is asked for when a checkpoint is written, and handed back when one is restored, in graphs too.

    Args:
      name: the key. state_callback: gives the state as bytes.
      restore_callback: takes it; None: nothing is restored.
    """

    def __init__(
        self, name: str, state_callback: Callable[[], Any], restore_callback: Callable[[Any], Any] | None = None
    ):
        super().__init__(state_callback, [SaveSpec(state_callback, "", name, string)], name)
        self._restore_callback = restore_callback

    def python_restore(self, restored_strings: Sequence[bytes]) -> None:
        """Hands the state back."""
        if self._restore_callback is not None:
            (restored,) = restored_strings
            self._restore_callback(restored)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Sequence[Any] | None) -> Any:
        return no_op()


class PythonState(Trackable, metaclass=ABCMeta):
    """An object with state in Python. Programs derive from it and say how it becomes a string of bytes."""

    @abstractmethod
    def serialize(self) -> Any:
        """The state as a string."""

    @abstractmethod
    def deserialize(self, string_value: Any) -> Any:
        """Takes the state from a string."""

    def _gather_saveables_for_checkpoint(self) -> Mapping[str, Any]:
        return {_STATE: partial(PythonStateSaveable, state_callback=self.serialize, restore_callback=self.deserialize)}


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
            _STATE: partial(PythonStateSaveable, state_callback=self._serialize, restore_callback=self._deserialize)
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
