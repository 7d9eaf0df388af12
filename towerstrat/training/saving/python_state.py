"""State of Python objects in checkpoints, as strings of bytes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from towerstrat.graph.ir.types import string
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.variables.trackable import Trackable
from towerstrat.training.saving.saveables import SaveableObject, SaveSpec

PYTHON_STATE = "py_state"


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
        return {
            PYTHON_STATE: partial(PythonStateSaveable, state_callback=self.serialize, restore_callback=self.deserialize)
        }
