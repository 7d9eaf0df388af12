"""Trackable lists, dictionaries and tuples: ``AutoTrackable`` puts them in the place of Python's own.

Checkpoints save objects by the names of attributes. So that ``model.layers = [a, b]`` saves a and b, as ``layers/0``
and ``layers/1``, the assigned list becomes a ``ListWrapper``, which equals the list, changes it, and keeps dependencies
up to date.

>>> class Model(AutoTrackable): pass
>>> model = Model()
>>> model.parts = [Model(), Model()]
>>> type(model.parts).__name__, [each.name for each in model.parts._checkpoint_dependencies]
('ListWrapper', ['0', '1'])

Source: ``tensorflow/python/trackable/data_structures.py``.
"""

from __future__ import annotations

import copy
from collections import OrderedDict, abc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeGuard

from towerstrat.graph.variables.trackable import Trackable
from towerstrat.graph.variables.variables import Variable

_UNSAVED = (
    "\n\nIf you don't need it checkpointed, wrap it in a tf.contrib.checkpoint.NoDependency object when it is "
    "assigned: it will be unwrapped and ignored."
)


class _Weighted(Protocol):
    """A layer, or what has variables as one."""

    @property
    def trainable_variables(self) -> Sequence[Variable]: ...

    @property
    def non_trainable_variables(self) -> Sequence[Variable]: ...


class NoDependency:
    """Wrapper of a value that is assigned to an attribute without becoming a dependency; it is unwrapped.

    >>> class Holder(AutoTrackable): pass
    >>> holder = Holder()
    >>> holder.names = NoDependency(["a", "b"])
    >>> type(holder.names).__name__
    'list'
    """

    __slots__ = ["value"]

    def __init__(self, value: object):
        self.value = value


def wrap(value: object) -> object:
    """A list, dictionary or tuple as a trackable one; the content of a ``NoDependency``; other values as they are."""
    if isinstance(value, NoDependency):
        return value.value
    if isinstance(value, Trackable):
        return value
    if type(value) in (dict, OrderedDict):
        return DictWrapper(value)
    if type(value) is list:
        return ListWrapper(value)
    if isinstance(value, tuple) and any(_is_tracked(element) for element in value):
        return TupleWrapper(value)
    return value


def _is_tracked(element: object) -> bool:
    """Whether an element makes a tuple worth wrapping: it is trackable, becomes so, or is to be unwrapped."""
    if isinstance(element, tuple) and not isinstance(element, Trackable):
        return any(_is_tracked(each) for each in element)
    return isinstance(element, NoDependency | Trackable) or type(element) in (dict, OrderedDict, list)


def sticky_attribute_assignment(trackable: Trackable, name: str, value: object) -> object:
    """Wrap a value for assignment to an attribute, and track it as a dependency if it is trackable."""
    wrapped = wrap(value)
    if isinstance(wrapped, Trackable) and not isinstance(value, NoDependency):
        trackable._track_trackable(wrapped, name, overwrite=True)
    return wrapped


class AutoTrackable(Trackable):
    """An object that tracks each trackable value assigned to an attribute, under the attribute's name."""

    def __setattr__(self, name: str, value: object) -> None:
        if self._self_setattr_tracking and vars(self).get(name) is not value:
            value = sticky_attribute_assignment(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._delete_tracking(name)
        super().__delattr__(name)

    def _no_dependency(self, value: object) -> NoDependency:
        return NoDependency(value)


class TrackableDataStructure(Trackable):
    """The base of trackable containers. Like layers, they list the variables of their elements.

    Attributes:
      trainable: False takes all variables out of ``trainable_variables``.
    """

    def __init__(self) -> None:
        self.trainable = True

    @property
    def _values(self) -> Iterable[object]:
        raise NotImplementedError

    def _track_value(self, value: object, name: str) -> object:
        """Add a dependency; returns the value as it is stored. Raises ValueError where it is not trackable."""
        value = sticky_attribute_assignment(self, name, value)
        if not isinstance(value, Trackable):
            raise ValueError(
                "Only trackable objects (such as Layers or Optimizers) may be stored in a List object. Got "
                f"{value}, which does not inherit from Trackable."
            )
        return value

    @property
    def layers(self) -> list[object]:
        """The layers in it, and in containers in it."""
        layers: list[object] = []
        for value in self._values:
            if isinstance(value, TrackableDataStructure):
                layers += value.layers
            elif _has_weights(value):
                layers.append(value)
        return layers

    def _collect(self, trainable: bool) -> list[Variable]:
        held = [v for v in self._values if not isinstance(v, Variable) and _has_weights(v)]
        inner = [v for each in held for v in (each.trainable_variables if trainable else each.non_trainable_variables)]
        return inner + [v for v in self._values if isinstance(v, Variable) and v.trainable is trainable]

    @property
    def trainable_weights(self) -> list[Variable]:
        return self._collect(True) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Variable]:
        return ([] if self.trainable else self._collect(True)) + self._collect(False)

    @property
    def weights(self) -> list[Variable]:
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def updates(self) -> list[object]:
        """The updates of its layers."""
        return [update for layer in self.layers for update in getattr(layer, "updates", ())]

    @property
    def losses(self) -> list[object]:
        """The losses of its layers."""
        return [loss for layer in self.layers for loss in getattr(layer, "losses", ())]

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _has_weights(value: object) -> TypeGuard[_Weighted]:
    return hasattr(value, "trainable_variables") and hasattr(value, "non_trainable_variables")


class _Copied:
    """Mixin: a wrapper of a list or dictionary is copied and pickled as the object that it wraps."""

    _storage: list[object] | dict[Any, object]

    def copy(self) -> Any:
        return copy.copy(self)

    def __copy__(self) -> Any:
        kind: Any = type(self)
        return kind(copy.copy(self._storage))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        kind: Any = type(self)
        return kind(copy.deepcopy(self._storage, memo))

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return type(self), (self._storage,)


class List(_Copied, TrackableDataStructure, abc.Sequence[Any]):
    """A sequence of trackable objects that only grows. Arguments are those of ``list``.

    Raises:
      ValueError: an element is not trackable.
    """

    _storage: list[object]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        self._storage = self._make_storage(*args, **kwargs)
        for i, element in enumerate(self._storage):
            self._storage[i] = self._track_value(element, str(i))

    def _make_storage(self, *args: Any, **kwargs: Any) -> list[object]:
        return list(*args, **kwargs)

    @property
    def _values(self) -> Iterable[object]:
        return self._storage

    def append(self, value: object) -> None:
        self._storage.append(self._track_value(value, str(len(self._storage))))

    def extend(self, values: Iterable[object]) -> None:
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def __add__(self, other: Any) -> Any:
        return self._storage + getattr(other, "_storage", other)

    def __radd__(self, other: Any) -> Any:
        return other + self._storage

    def __mul__(self, n: int) -> list[object]:
        return self._storage * n

    __rmul__ = __mul__

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"List({self._storage!r})"


if TYPE_CHECKING:
    _PythonList = object
else:
    _PythonList = list  # an instance to C code too, which takes no other sequence everywhere


class ListWrapper(List, abc.MutableSequence[Any], _PythonList):
    """Stands for a list that is an attribute of a trackable object, and changes that list itself.

    Elements need not be trackable. A change that gives a trackable element another index is remembered, and saving
    raises ValueError: what is restored later would go to another object.
    """

    def __init__(self, wrapped_list: list[object]):
        self._moved = False
        super().__init__(wrapped_list)
        self._seen: list[object] | None = list(self._storage)

    __class__ = property(lambda self: list)

    def _make_storage(self, wrapped_list: Iterable[object]) -> list[object]:
        return wrapped_list if type(wrapped_list) is list else list(wrapped_list)

    def _track_value(self, value: object, name: str) -> object:
        return sticky_attribute_assignment(self, name, value)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Trackable]:
        if not self._moved and _same(self._storage, self._seen):
            return super()._trackable_children(save_type, **kwargs)
        # Its text has all values, which are taken off the devices for it.
        reason = (
            f"Unable to save the object {self!r} (a list wrapper constructed to track trackable TensorFlow objects). "
        )
        if self._moved:
            raise ValueError(
                f"{reason}A list element was replaced (__setitem__, __setslice__), deleted (__delitem__, "
                "__delslice__), or moved (sort). In order to support restoration on object creation, tracking "
                f"is exclusively for append-only data structures.{_UNSAVED}"
            )
        raise ValueError(
            f"{reason}The wrapped list was modified outside the wrapper (its final value was {self._storage}, its "
            f"value when a checkpoint dependency was added was {self._seen}), which breaks restoration on object "
            f"creation.{_UNSAVED}"
        )

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Context of a change through this object: tracks new elements, notes whether tracked ones have moved."""
        before, known = list(self._storage), _same(self._storage, self._seen)
        yield
        now = self._storage
        for i, each in enumerate(before):
            if isinstance(each, Trackable) and (i >= len(now) or now[i] is not each):
                self._moved = True
        for i, each in enumerate(now):
            if i >= len(before) or each is not before[i]:
                now[i] = self._track_value(each, str(i))
        if known:
            self._seen = list(now)

    def append(self, value: object) -> None:
        self.insert(len(self._storage), value)

    def insert(self, index: int, value: object) -> None:
        with self._change():
            self._storage.insert(index, value)

    def sort(self, **kwargs: Any) -> None:
        with self._change():
            self._storage.sort(**kwargs)

    def reverse(self) -> None:
        with self._change():
            self._storage.reverse()

    def __setitem__(self, key: Any, value: Any) -> None:
        with self._change():
            self._storage[key] = value

    def __delitem__(self, key: Any) -> None:
        with self._change():
            del self._storage[key]

    def __imul__(self, n: int) -> Any:
        for value in self._storage * (n - 1):
            self.append(value)
        if n <= 0:
            del self[:]
        return self

    def __eq__(self, other: object) -> bool:
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._storage < _list_of(other)

    def __le__(self, other: Any) -> bool:
        return self._storage <= _list_of(other)

    def __gt__(self, other: Any) -> bool:
        return self._storage > _list_of(other)

    def __ge__(self, other: Any) -> bool:
        return self._storage >= _list_of(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ListWrapper({self._storage!r})"


def _list_of(other: Any) -> list[Any]:
    """The list that a wrapper stands for; another operand as it is."""
    wrapped: list[Any] = getattr(other, "_storage", other)
    return wrapped


def _same(one: Iterable[object], two: Iterable[object] | None) -> bool:
    """Whether two lists have the same objects: comparing them might compare tensors."""
    return two is not None and [id(each) for each in one] == [id(each) for each in two]


class Mapping(TrackableDataStructure, abc.Mapping[str, Any]):
    """A dictionary of trackable objects by strings that only grows. Arguments are those of ``dict``.

    Raises:
      TypeError: a key is no string. ValueError: a value is not trackable, or a key is there already.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        self._storage: dict[str, object] = {}
        self.update(*args, **kwargs)

    @property
    def _values(self) -> Iterable[object]:
        return [self._storage[key] for key in sorted(self._storage)]

    def __setitem__(self, key: str, value: object) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        if key in self._storage and self._storage[key] is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value {value}, "
                f"but it already contains {self._storage[key]}"
            )
        self._storage[key] = self._track_value(value, key)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __copy__(self) -> Any:
        return type(self)(copy.copy(self._storage))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._storage, memo))

    def __getitem__(self, key: str) -> Any:
        return self._storage[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._storage)

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"


class DictWrapper(_Copied, TrackableDataStructure, abc.MutableMapping[Any, Any]):
    """Stands for a dictionary that is an attribute of a trackable object, and changes that dictionary itself.

    Values need not be trackable, and keys no strings. Where a trackable value has a key that is no string, or the
    dictionary was changed behind its back, saving raises ValueError.
    """

    _storage: dict[Any, object]

    def __init__(self, wrapped_dict: Any = ()):
        super().__init__()
        self._storage = wrapped_dict if isinstance(wrapped_dict, dict) else dict(wrapped_dict)
        self._odd_key: object = None
        for key, value in self._storage.items():
            self._storage[key] = self._track_entry(key, value)
        self._seen: dict[Any, object] = dict(self._storage)

    __class__ = property(lambda self: type(self._storage))

    @property
    def _values(self) -> Iterable[object]:
        return self._storage.values()

    def _track_entry(self, key: object, value: object) -> object:
        if isinstance(key, str):
            return sticky_attribute_assignment(self, key, value)
        wrapped = wrap(value)
        if isinstance(wrapped, Trackable) and not isinstance(value, NoDependency):
            self._odd_key = key
        return wrapped

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Trackable]:
        if self._odd_key is None and self._is_known():
            return super()._trackable_children(save_type, **kwargs)
        reason = f"Unable to save the object {self!r} (a dictionary wrapper constructed automatically on attribute "
        reason += "assignment). "
        if self._odd_key is not None:
            raise ValueError(
                f"{reason}The wrapped dictionary contains a non-string key ({self._odd_key!r}) which maps to a "
                f"trackable object or mutable data structure.{_UNSAVED}"
            )
        raise ValueError(
            f"{reason}The wrapped dictionary was modified outside the wrapper (its final value was {self._storage}, "
            f"its value when a checkpoint dependency was added was {self._seen}), which breaks restoration on "
            f"object creation.{_UNSAVED}"
        )

    def _is_known(self) -> bool:
        """Whether the dictionary is as it was left."""
        return list(self._storage) == list(self._seen) and _same(self._storage.values(), self._seen.values())

    def __setitem__(self, key: Any, value: object) -> None:
        known = self._is_known()
        self._storage[key] = self._track_entry(key, value)
        if known:
            self._seen = dict(self._storage)

    def __delitem__(self, key: Any) -> None:
        known = self._is_known()
        del self._storage[key]
        if isinstance(key, str):
            self._delete_tracking(key)
        if known:
            self._seen = dict(self._storage)

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._storage)

    def __len__(self) -> int:
        return len(self._storage)

    def __or__(self, other: Any) -> dict[Any, object]:
        return self._storage | dict(other)

    def __ror__(self, other: Any) -> dict[Any, object]:
        return dict(other) | self._storage

    def __eq__(self, other: object) -> bool:
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"DictWrapper({self._storage!r})"


class TupleWrapper(TrackableDataStructure, abc.Sequence[Any]):
    """Stands for a tuple, named or not, with trackable elements. They are dependencies by index, and by field."""

    _storage: tuple[object, ...]

    def __init__(self, wrapped_tuple: Any):
        super().__init__()
        elements = [wrap(element) for element in wrapped_tuple]
        fields = getattr(wrapped_tuple, "_fields", None)
        kind = wrapped_tuple.__class__
        self._storage = kind(elements) if fields is None else kind(*elements)
        for i, element in enumerate(wrapped_tuple):
            if isinstance(elements[i], Trackable) and not isinstance(element, NoDependency):
                for name in ([] if fields is None else [fields[i]]) + [str(i)]:
                    self._track_trackable(elements[i], name)

    __class__ = property(lambda self: type(self._storage))

    @property
    def _values(self) -> Iterable[object]:
        return self._storage

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "_fields":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._storage, name)

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __add__(self, other: Any) -> Any:
        return self._storage + getattr(other, "_storage", other)

    def __radd__(self, other: Any) -> Any:
        return other + self._storage

    def __copy__(self) -> Any:
        return type(self)(self._storage)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._storage, memo))

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return type(self), (self._storage,)

    def __eq__(self, other: object) -> bool:
        return bool(self._storage == getattr(other, "_storage", other))

    def __hash__(self) -> int:
        return hash(self._storage)

    def __repr__(self) -> str:
        return f"TupleWrapper({self._storage!r})"
