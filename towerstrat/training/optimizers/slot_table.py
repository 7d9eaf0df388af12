"""The slots of an optimizer: made once per variable, given the values that wait for them in checkpoints."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.trackable import Position
from towerstrat.towers.engine.distributed_values import value_container


def variable_key(var: Any) -> Any:
    """What stands for a variable, or for the distributed variable that a component belongs to."""
    return value_container(var).op


class SlotTable(dict[str, dict[Any, Any]]):
    """Slot name -> variable -> slot. An eager variable that is gone takes its slots with it."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[tuple[str, Any], list[Position]] = {}

    def named(self, slot_name: str) -> dict[Any, Any]:
        """The slots of one name, by ``variable_key``."""
        return self.setdefault(slot_name, {})

    def find(self, var: Any, slot_name: str) -> Any:
        """A variable's slot, or None."""
        named = self.get(slot_name)
        return named.get(variable_key(var)) if named else None

    def slots(self) -> list[Any]:
        return [slot for named in self.values() for slot in named.values()]

    def ensure(self, var: Any, slot_name: str, make: Callable[[], Any]) -> Any:
        """A variable's slot, made if it is not there yet."""
        named = self.named(slot_name)
        key = variable_key(var)
        if key not in named:
            if isinstance(var, EagerVariable) and not any(key in other for other in self.values()):
                weakref.finalize(var, _forget, weakref.ref(self), key).atexit = False
            named[key] = make()
            waiting = self._waiting.pop((slot_name, key), ())
            for position in sorted(waiting, key=lambda p: p.restore_uid, reverse=True):
                position.restore(named[key])
        return named[key]

    def restored(self, position: Any, slot_name: str, var: Any, make: Callable[[], Any]) -> Any:
        """The slot that a checkpoint has a value for: eagerly made if it is not there yet; None: the value waits."""
        graph = get_default_graph()
        # Where creators are in scope, such as a template's, they see the slot when the optimizer itself makes it.
        is_now = graph.executing_eagerly and not graph.creators and position.is_simple_variable()
        if is_now:
            return self.ensure(var, slot_name, make)
        slot = self.find(var, slot_name)
        if slot is None:
            self._waiting.setdefault((slot_name, variable_key(var)), []).append(position)
        return slot


def _forget(table: weakref.ref[SlotTable], key: Any) -> None:
    """Lets go of the slots of a variable that is gone."""
    found = table()
    for named in found.values() if found is not None else ():
        named.pop(key, None)
