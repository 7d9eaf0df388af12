"""Values of checkpoints for layers that a model gets after ``restore``."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.compat.keras.program_release import RELEASE


def restore_parts(module: ModuleType) -> None:
    """Let ``Sequential.add`` restore what waits for a layer, as 1.x did.

    2.15 leaves values alone that wait for a layer of a model which was called before.
    """
    kind = vars(module)["Sequential"]
    add = kind.add

    @wraps(add)
    def add_and_restore(self: Any, layer: Any) -> None:
        add(self, layer)
        if RELEASE.is_first:
            for name, part in self._layer_checkpoint_dependencies.items():
                self._handle_deferred_dependencies(name, part)

    kind.add = add_and_restore
