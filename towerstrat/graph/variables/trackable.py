"""Trackable objects: each has named dependencies on others, and a checkpoint saves the graph that these make.

A variable is found by the path of names from the root, not by its own name, so that objects may be renamed. Values may
come before objects: what a restored checkpoint has for a name that is not there yet waits (``_deferred_dependencies``),
and is given to the object as soon as it is tracked under that name.

>>> root, child = Trackable(), Trackable()
>>> _ = root._track_trackable(child, "layer")
>>> root._lookup_dependency("layer") is child
True

Source: ``tensorflow/python/trackable/base.py``, in 1.12 ``training/checkpointable/base.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])
VARIABLE_VALUE = "VARIABLE_VALUE"
"""The key of a variable's value among the values that it saves."""


class TrackableReference(NamedTuple):
    """A dependency: the name that one object has for another."""

    name: str
    ref: Trackable


class Position(Protocol):
    """A node of a restored checkpoint that waits for its object in the program."""

    @property
    def restore_uid(self) -> int:
        """The number of the call of ``restore``; the latest one decides."""

    def restore(self, trackable: Trackable) -> None:
        """Restore an object, and its dependencies, from this node."""


class NamedValues(Protocol):
    """A checkpoint of variables by name that is restored into objects as they are made."""

    @property
    def restore_uid(self) -> int: ...

    def eager_restore(self, trackable: Trackable) -> None:
        """Restore an object from the values that the checkpoint has under its names."""


class Trackable:
    """An object with named dependencies that checkpoints save and restore. It declares them by ``_track_trackable``.

    An object with values of its own overrides ``_gather_saveables_for_checkpoint``, or ``_serialize_to_tensors`` and
    ``_restore_from_tensors``. Subclasses whose dependencies depend on the graph override ``_checkpoint_dependencies``
    and ``_lookup_dependency``, or ``_trackable_children``.
    """

    # Read before they are set, since most subclasses do not call an initializer of this class.
    _self_setattr_tracking = True
    _manual_tracking = True
    _self_unconditional_checkpoint_dependencies: list[TrackableReference]
    _self_unconditional_dependency_names: dict[str, Trackable]
    _self_unconditional_deferred_dependencies: dict[str, list[Position]]
    _self_name_based_restores: set[NamedValues]
    _self_update_uid: int

    @property
    def _setattr_tracking(self) -> bool:
        return self._self_setattr_tracking

    @_setattr_tracking.setter
    def _setattr_tracking(self, value: bool) -> None:
        object.__setattr__(self, "_self_setattr_tracking", value)

    @property
    def _update_uid(self) -> int:
        """The number of the call of ``restore`` that its values are from; -1: none."""
        return self._self_update_uid

    @_update_uid.setter
    def _update_uid(self, value: int) -> None:
        object.__setattr__(self, "_self_update_uid", value)

    @property
    def _unconditional_checkpoint_dependencies(self) -> list[TrackableReference]:
        return self._self_unconditional_checkpoint_dependencies

    @property
    def _unconditional_dependency_names(self) -> dict[str, Trackable]:
        return self._self_unconditional_dependency_names

    @property
    def _name_based_restores(self) -> set[NamedValues]:
        return self._self_name_based_restores

    def _maybe_initialize_trackable(self) -> None:
        """Make the empty lists of dependencies, unless they are there: subclasses need not call an initializer."""
        if hasattr(self, "_self_unconditional_checkpoint_dependencies"):
            return
        # Past ``__setattr__`` of subclasses, which tracks what is assigned.
        for name, value in (
            ("_self_unconditional_checkpoint_dependencies", []),
            ("_self_unconditional_dependency_names", {}),
            ("_self_unconditional_deferred_dependencies", {}),
            ("_self_name_based_restores", set()),
            ("_self_update_uid", -1),
        ):
            object.__setattr__(self, name, value)

    _maybe_initialize_checkpointable = _maybe_initialize_trackable

    # ---- dependencies ----------------------------------------------------------------------------------------

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """All dependencies, in the order in which they were added."""
        return self._self_unconditional_checkpoint_dependencies

    @property
    def _deferred_dependencies(self) -> dict[str, list[Position]]:
        """Name -> nodes of restored checkpoints that wait for a dependency of that name."""
        return self._self_unconditional_deferred_dependencies

    def _lookup_dependency(self, name: str, cached_dependencies: Mapping[str, Trackable] | None = None) -> Any:
        """The dependency of a name, None where there is none.

        Args:
          name: of the edge in the object graph, usually an attribute's.
          cached_dependencies: a result of ``_trackable_children``, to look in.
        """
        if cached_dependencies:
            return cached_dependencies.get(name)
        return self._self_unconditional_dependency_names.get(name)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Trackable]:
        """Name -> dependency. ``save_type`` is "checkpoint"."""
        self._maybe_initialize_trackable()
        return dict(self._checkpoint_dependencies)

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Add a dependency, and restore it from the checkpoints that wait for that name.

        Args:
          trackable: the object to save and restore with this one.
          name: of the edge in the object graph.
          overwrite: another object may have had the name.

        Returns:
          ``trackable``.

        Raises:
          TypeError: it is no ``Trackable``.
          ValueError: another object has that name.
        """
        self._maybe_initialize_trackable()
        if not isinstance(trackable, Trackable):
            raise TypeError(
                "Trackable._track_trackable() can only be used to track objects of type Trackable. Got type "
                f"{type(trackable)}."
            )
        if not self._manual_tracking:
            return trackable
        reference = TrackableReference(name, trackable)
        references = self._self_unconditional_checkpoint_dependencies
        current = self._lookup_dependency(name)
        if current is None:
            references.append(reference)
            self._handle_deferred_dependencies(name, trackable)
        elif current is not trackable:
            if not overwrite:
                raise ValueError(
                    f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is "
                    "already declared as a dependency. Names must be unique (or overwrite=True)."
                )
            references[:] = [reference if each.name == name else each for each in references]
        self._self_unconditional_dependency_names[name] = trackable
        return trackable

    def _track_checkpointable(self, checkpointable: Any, name: str, overwrite: bool = False) -> Any:
        """``_track_trackable`` by its older name."""
        return self._track_trackable(checkpointable, name, overwrite)

    def _delete_tracking(self, name: str) -> None:
        """Removes the dependency of a name, if there is one."""
        self._maybe_initialize_trackable()
        if self._self_unconditional_dependency_names.pop(name, None) is not None:
            references = self._self_unconditional_checkpoint_dependencies
            references[:] = [each for each in references if each.name != name]

    def _handle_deferred_dependencies(self, name: str, trackable: Trackable) -> None:
        """Restore a new dependency from checkpoints that wait for its name, the latest first."""
        self._maybe_initialize_trackable()
        trackable._maybe_initialize_trackable()
        waiting = self._deferred_dependencies.pop(name, ())
        for position in sorted(waiting, key=lambda p: p.restore_uid, reverse=True):
            position.restore(trackable)
        for values in sorted(self._self_name_based_restores, key=lambda v: v.restore_uid, reverse=True):
            trackable._name_based_attribute_restore(values)

    def _name_based_attribute_restore(self, checkpoint: NamedValues) -> None:
        """Restore its values from a checkpoint of variables by name, and later dependencies from it, too."""
        self._maybe_initialize_trackable()
        self._self_name_based_restores.add(checkpoint)
        if self._update_uid < checkpoint.restore_uid:
            checkpoint.eager_restore(self)
            self._update_uid = checkpoint.restore_uid

    def _add_variable_with_custom_getter(
        self, name: str, shape: Any = None, dtype: Any = "float32", initializer: Any = None,
        getter: Callable[..., Any] | None = None, overwrite: bool = False, **kwargs_for_getter: Any,
    ) -> Any:  # fmt: skip
        """Make a variable by ``getter``, add it as a dependency, and restore it from checkpoints that wait for it.

        Args:
          name: of the variable, and of the dependency.
          shape: passed to the getter, as are ``dtype`` and ``initializer``.
          dtype: default float32.
          initializer: as of ``get_variable``.
          getter: called with keywords, such as ``tf.get_variable``; returns the variable.
          overwrite: another object may have had the name; a getter's result need not be trackable.
          **kwargs_for_getter: further keywords of the getter.
        """
        assert getter is not None
        variable = getter(name=name, shape=shape, dtype=dtype, initializer=initializer, **kwargs_for_getter)
        if overwrite and not isinstance(variable, Trackable):
            return variable
        return self._track_trackable(variable, name, overwrite)

    def _no_dependency(self, value: Any) -> Any:
        """A value that is assigned without making it a dependency; as it is where assignments make none."""
        return value

    # ---- values ----------------------------------------------------------------------------------------------

    def _gather_saveables_for_checkpoint(self) -> Mapping[str, Any]:
        """The object's own values: name -> a variable, or a function of ``name`` that makes a SaveableObject.

        A function with a default for ``name`` is found by savers of variables by name as well.
        """
        return {}

    def _serialize_to_tensors(self) -> Mapping[str, Any]:
        """The object's own values as name -> tensor: the alternative protocol of later versions."""
        raise NotImplementedError(f"{type(self).__name__} saves no tensors of its own.")

    def _restore_from_tensors(self, restored_tensors: Mapping[str, Any]) -> Any:
        """The operation that restores the object from tensors as ``_serialize_to_tensors`` gave them."""
        raise NotImplementedError(f"{type(self).__name__} saves no tensors of its own.")


TRACKING_ATTRIBUTES = frozenset({*Trackable.__annotations__, "_self_setattr_tracking", "_manual_tracking"})
"""Where objects keep their dependencies; whoever looks through attributes leaves these out."""


class TrackableVariable(Trackable):
    """An object that has one value of its own: a variable."""

    def _gather_saveables_for_checkpoint(self) -> Mapping[str, Any]:
        return {VARIABLE_VALUE: self}


def no_automatic_dependency_tracking(method: _Method) -> _Method:
    """Decorator of a method: values that it assigns to attributes do not become dependencies."""

    @functools.wraps(method)
    def without(self: Trackable, *args: Any, **kwargs: Any) -> Any:
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)

    return without  # type: ignore[return-value]


@contextmanager
def no_automatic_dependency_tracking_scope(obj: Trackable) -> Iterator[None]:
    """Context in which values assigned to attributes of an object do not become dependencies."""
    # Past properties of subclasses: an object that delegates to another is not made yet when its __init__ begins.
    before = obj._self_setattr_tracking
    object.__setattr__(obj, "_self_setattr_tracking", False)
    try:
        yield
    finally:
        object.__setattr__(obj, "_self_setattr_tracking", before)


@contextmanager
def no_manual_dependency_tracking_scope(obj: Trackable) -> Iterator[None]:
    """Context in which ``_track_trackable`` of an object adds nothing."""
    before = obj._manual_tracking
    object.__setattr__(obj, "_manual_tracking", False)
    try:
        yield
    finally:
        object.__setattr__(obj, "_manual_tracking", before)
