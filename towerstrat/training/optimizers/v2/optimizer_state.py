"""What an optimizer of version 2 keeps for a graph, and the hyperparameters of one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from towerstrat.graph.ir.default_graph import init_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.variables.trackable import Position
from towerstrat.graph.variables.variables import Variable, create_variable
from towerstrat.training.base import slots
from towerstrat.training.optimizers.slot_table import SlotTable

Hyperparameters = Mapping[str, tuple[bool, Any]]
"""Name -> (whether it is evaluated at each step, its value)."""


def is_dynamic(value: Any) -> bool:
    """Whether a hyperparameter is evaluated again at each step: functions, and eagerly variables."""
    return callable(value) or (get_default_graph().executing_eagerly and isinstance(value, Variable))


class OptimizerState:
    """The slots and other variables of an optimizer in one graph, with the hyperparameters that never change.

    ``at_step`` gives the same variables with the hyperparameters of a step; the hooks of ``OptimizerV2`` get that one.

    Args:
      op_name: the optimizer's name, which slots are named by.
      hyper: of the optimizer.
      restore: ``restore(name, variable)`` gives a new variable that is no slot what waits for it in checkpoints.
    """

    def __init__(self, op_name: str, hyper: Hyperparameters, restore: Callable[[str, Any], None]):
        self._op_name = op_name
        self._restore = restore
        self._slots = SlotTable()
        self._non_slots: dict[str, Any] = {}
        self.deferred_dependencies: dict[str, list[Position]] = {}
        """Name -> what waits in checkpoints for a variable that is no slot."""
        with init_scope():
            self._hyper = {
                name: convert_to_tensor(value, name=name)
                for name, (dynamic, value) in sorted(hyper.items())
                if not dynamic
            }
        self._distribution: Any = None
        self._non_slot_devices: Any = None

    def at_step(self, hyper: Hyperparameters, distribution: Any, non_slot_devices: Any) -> OptimizerState:
        """This state with the hyperparameters of a step, and where to place variables that are no slots."""
        state = copy(self)
        state._hyper = self._hyper | {
            name: convert_to_tensor(value() if callable(value) else value, name=name)
            for name, (dynamic, value) in sorted(hyper.items())
            if dynamic
        }
        state._distribution = distribution
        state._non_slot_devices = non_slot_devices
        return state

    def get_hyper(self, name: str, dtype: Any = None) -> Tensor:
        """The hyperparameter called ``name``, cast to ``dtype`` if that is given. Raises KeyError for another name."""
        if name not in self._hyper:
            raise KeyError(f"{name}: _set_hyper was called for {sorted(self._hyper)}, and for no other name.")
        value = self._hyper[name]
        return value if dtype is None else cast(value, dtype)

    # ---- slots -----------------------------------------------------------------------------------------------

    def create_slot(self, var: Any, val: Any, slot_name: str, optional_op_name: str | None = None) -> Any:
        """The slot, made with the tensor ``val`` as its initial value if it is not there yet.

        Args:
          optional_op_name: the end of the variable's name; default the optimizer's name.
        """
        op_name = optional_op_name or self._op_name
        return self._slots.ensure(var, slot_name, lambda: slots.create_slot(var, val, op_name))

    def create_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, optional_op_name: str | None = None
    ) -> Any:
        """The slot, made by an initializer, or from a tensor, if it is not there yet."""
        if not callable(initializer):
            return self.create_slot(var, convert_to_tensor(initializer, dtype), slot_name, optional_op_name)
        op_name = optional_op_name or self._op_name
        return self._slots.ensure(
            var, slot_name, lambda: slots.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        )

    def zeros_slot(self, var: Any, slot_name: str, optional_op_name: str | None = None) -> Any:
        """The slot, made as zeros if it is not there yet."""
        op_name = optional_op_name or self._op_name
        return self._slots.ensure(var, slot_name, lambda: slots.create_zeros_slot(var, op_name))

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot called ``name`` of a variable, or None."""
        return self._slots.find(var, name)

    def get_slot_names(self) -> list[str]:
        return sorted(self._slots)

    def restored_slot(self, position: Any, slot_name: str, variable: Any) -> Any:
        """The slot that a checkpoint has a value for; see ``SlotTable.restored``."""

        def make() -> Any:
            return slots.create_slot(variable, convert_to_tensor(position.value()), self._op_name)

        return self._slots.restored(position, slot_name, variable, make)

    # ---- other variables -------------------------------------------------------------------------------------

    def create_non_slot(self, initial_value: Any, name: str, colocate_with: Any = None) -> Any:
        """A variable of the optimizer itself, made if it is not there yet.

        Args:
          colocate_with: where it lives; default where the strategy has such variables.
        """
        if name not in self._non_slots:
            place = self._non_slot_devices if colocate_with is None else colocate_with
            with self._distribution.colocate_vars_with(place):
                self._non_slots[name] = create_variable(initial_value=initial_value, name=name, trainable=False)
            self._restore(name, self._non_slots[name])
        return self._non_slots[name]

    def get_non_slot(self, name: str) -> Any:
        """The variable called ``name`` that is no slot, or None."""
        return self._non_slots.get(name)

    def non_slots(self) -> list[tuple[str, Any]]:
        """The variables that are no slots, with their names, by name."""
        return sorted(self._non_slots.items(), key=lambda item: item[0])

    def variables(self) -> list[Any]:
        """Slots and others, by name."""
        return sorted([*self._non_slots.values(), *self._slots.slots()], key=lambda v: v.name)
