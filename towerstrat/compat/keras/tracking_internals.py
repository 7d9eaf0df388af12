"""``tf.__internal__.tracking``: what the package's models and optimizers do with checkpoints, beside ``Trackable``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from towerstrat.compat.utilities.object_identity import ObjectIdentityDictionary
from towerstrat.graph.variables.trackable import Trackable, TrackableReference
from towerstrat.training.saving import object_graph
from towerstrat.training.saving.saveables import SaveableObject, VariableSaveable


def _delegated(name: str) -> Any:
    """A method or property of ``Trackable``, that of the object that is delegated to."""
    if not isinstance(vars(Trackable)[name], property):

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(self._trackable, name)(*args, **kwargs)

        return call

    def read(self: Any) -> Any:
        return getattr(self._trackable, name)

    def write(self: Any, value: Any) -> None:
        setattr(self._trackable, name, value)

    return property(read, write)


_METHODS = [
    name for name, value in vars(Trackable).items()
    if name.startswith("_") and not name.startswith("__") and (callable(value) or isinstance(value, property))
]  # fmt: skip


class DelegatingTrackableMixin:
    """An object that checkpoints take for another one, whose dependencies its own are.

    Args:
      trackable_obj: the other one.
    """

    def __init__(self, trackable_obj: Trackable):
        self._trackable = trackable_obj

    locals().update({name: _delegated(name) for name in _METHODS})


class ObjectGraphView(object_graph.ObjectGraphView):
    """The objects below ``root``, with the paths to them."""

    def breadth_first_traversal(self) -> tuple[list[Any], Mapping[Any, tuple[TrackableReference, ...]]]:
        """All objects, and for each the dependencies that lead to it."""
        found: list[Any] = []
        paths = ObjectIdentityDictionary()
        paths[self.root] = ()
        queue = deque([self.root])
        while queue:
            obj = queue.popleft()
            found.append(obj)
            for name, ref in self.children(obj).items():
                if ref not in paths:
                    paths[ref] = (*paths[obj], TrackableReference(name, ref))
                    queue.append(ref)
        return found, paths


def saveable_objects_from_trackable(obj: Trackable) -> Mapping[str, Callable[..., SaveableObject]]:
    """What an object saves of its own: name -> a function that makes the SaveableObject."""
    return {
        name: partial(value, name=name) if callable(value) else partial(VariableSaveable, value, "", name)
        for name, value in obj._gather_saveables_for_checkpoint().items()
    }
