"""The graph of objects below one object: which there are, what each saves, and under which keys.

Source: ``tensorflow/python/checkpoint/graph_view.py`` and ``save_util.py``, in 1.12
``training/checkpointable/util.py``.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.variables.containers import TrackableDataStructure
from towerstrat.graph.variables.trackable import Trackable, TrackableReference
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import messages
from towerstrat.training.saving.saveables import SaveableObject, SaveSpec, VariableSaveable

_SLOTS = ".OPTIMIZER_SLOT"
_ATTRIBUTES = ".ATTRIBUTES"


def escaped(name: str) -> str:
    """A name as one part of a key, in which "/" separates parts."""
    return name.replace(".", "..").replace("/", ".S")


class Slot(NamedTuple):
    """A slot of an optimizer: the node of the variable that it is of, its name, and its own node."""

    original: int
    name: str
    node: int


class Node(NamedTuple):
    """An object, the beginning of its keys, its dependencies, and the slots that it keeps for others."""

    trackable: Trackable
    path: str
    children: Sequence[TrackableReference]
    slots: list[Slot]


class ObjectGraphView:
    """The objects below ``root``.

    Args:
      root: a ``Trackable``, or a weak reference to one.
      attached_dependencies: further dependencies of the root, which it does not have itself.
    """

    def __init__(self, root: Any, attached_dependencies: list[TrackableReference] | None = None):
        self._root = root
        self.attached_dependencies = attached_dependencies

    @property
    def root(self) -> Any:
        """The object itself. Raises ReferenceError where it is gone."""
        if not isinstance(self._root, weakref.ref):
            return self._root
        root = self._root()
        if root is None:
            raise ReferenceError("The object that was to be saved or restored has been deleted.")
        return root

    def children(self, obj: Trackable) -> dict[str, Trackable]:
        """Name -> dependency of an object, without containers that hold none: 1.12 would miss their objects."""
        obj._maybe_initialize_trackable()
        found = {name: ref for name, ref in obj._trackable_children().items() if not _is_empty(ref)}
        if obj is self.root and self.attached_dependencies:
            found |= dict(self.attached_dependencies)
        return found

    def list_objects(self) -> list[Any]:
        """All objects, breadth first, then the slots."""
        return [node.trackable for node in self.nodes()]

    def nodes(self) -> list[Node]:
        """All objects, each by a shortest path; then the slots of optimizers among them for variables among them.

        Raises:
          NotImplementedError: a slot is a dependency of an object as well.
        """
        found: list[Node] = []
        ids = {id(self.root)}
        queue: deque[tuple[Trackable, str]] = deque([(self.root, "")])
        while queue:
            obj, path = queue.popleft()
            children = [TrackableReference(name, ref) for name, ref in self.children(obj).items()]
            found.append(Node(obj, path, children, []))
            for name, ref in children:
                if id(ref) not in ids:
                    ids.add(id(ref))
                    queue.append((ref, f"{path}/{escaped(name)}" if path else escaped(name)))
        for node in tuple(found):
            if "get_slot_names" in dir(node.trackable):  # without asking a __getattr__ of its own
                _add_slots(node, found, ids)
        return found


def _is_empty(obj: Trackable) -> bool:
    return isinstance(obj, TrackableDataStructure) and all(map(_is_empty, obj._trackable_children().values()))


def _add_slots(optimizer: Node, nodes: list[Node], ids: set[int]) -> None:
    """Adds the slots of an optimizer to its own node, and as nodes at the end."""
    kept: Any = optimizer.trackable
    variables = [(i, node) for i, node in enumerate(nodes) if isinstance(node.trackable, Variable)]
    for name in kept.get_slot_names():
        for i, node in variables:
            slot = _slot(kept, node.trackable, name)
            if slot is None:
                continue
            if id(slot) in ids:
                raise NotImplementedError(
                    f"The slot {name!r} of {node.trackable!r} is saved already: by a second optimizer around the one "
                    "that made it, or as a dependency of an object. Leave one of them out of the checkpoint."
                )
            ids.add(id(slot))
            optimizer.slots.append(Slot(i, name, len(nodes)))
            nodes.append(Node(slot, f"{node.path}/{_SLOTS}/{optimizer.path}/{escaped(name)}", (), []))


def _slot(optimizer: Any, variable: Trackable, name: str) -> Any:
    """The slot of a variable, None where it has none; optimizers say that in several ways."""
    try:
        return optimizer.get_slot(variable, name)
    except (AttributeError, KeyError):
        return None


class TensorsSaveable(SaveableObject):
    """An object that says by tensors what it saves.

    Args:
      trackable: has ``_serialize_to_tensors`` and ``_restore_from_tensors``.
      start: the beginning of the keys of its tensors.
    """

    def __init__(self, trackable: Trackable, start: str):
        self._names = list(trackable._serialize_to_tensors())
        made = trackable._serialize_to_tensors
        specs = [
            SaveSpec(partial(_named, made, name), "", f"{start}{escaped(name)}", convert_to_tensor(tensor).dtype)
            for name, tensor in made().items()
        ]
        super().__init__(trackable, specs, start)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Sequence[Any] | None) -> Any:
        return self.op._restore_from_tensors(dict(zip(self._names, restored_tensors, strict=True)))


def _named(made: Any, name: str) -> Any:
    return made()[name]


def attributes(trackable: Trackable, path: str) -> Iterator[tuple[str, str, SaveableObject]]:
    """What an object saves of its own: (name, key, saveable object); one of several tensors comes with each name."""
    if type(trackable)._serialize_to_tensors is not Trackable._serialize_to_tensors:
        start = f"{path}/{_ATTRIBUTES}/"
        several = TensorsSaveable(trackable, start)
        for name, spec in zip(several._names, several.specs, strict=True):
            yield name, spec.name, several
        return
    for name, given in trackable._gather_saveables_for_checkpoint().items():
        key = f"{path}/{_ATTRIBUTES}/{escaped(name)}"
        yield name, key, saveable_of(given, key)


def saveable_of(given: Any, key: str) -> SaveableObject:
    """The saveable object of what ``_gather_saveables_for_checkpoint`` has: a variable, a function of ``name``."""
    made = given(name=key) if callable(given) and not isinstance(given, Variable) else given
    return VariableSaveable(made, "", key) if isinstance(made, Variable) else made


def serialized(nodes: Sequence[Node]) -> tuple[Mapping[str, SaveableObject], Any]:
    """Key -> what is saved there first, and the ``TrackableObjectGraph``.

    Raises:
      ValueError: the keys of a saveable object are not what its name says.
    """
    ids = {id(node.trackable): i for i, node in enumerate(nodes)}
    saved: dict[str, SaveableObject] = {}
    graph = messages.TrackableObjectGraph()
    for node in nodes:
        message = graph.nodes.add()
        for slot in node.slots:
            message.slot_variables.add(
                original_variable_node_id=slot.original, slot_name=slot.name, slot_variable_node_id=slot.node
            )
        for name, key, saveable in attributes(node.trackable, node.path):
            if not all(key in spec.name or spec.name.startswith(saveable.name) for spec in saveable.specs):
                raise ValueError(
                    f"{node.trackable!r} saves {name!r} under {[spec.name for spec in saveable.specs]}, which do not "
                    f"begin with {key!r}: a function of _gather_saveables_for_checkpoint must use the name it is given."
                )
            full = full_name(saveable.variable) if isinstance(saveable, VariableSaveable) else ""
            message.attributes.add(name=name, checkpoint_key=key, full_name=full)
            saved[key] = saveable
        for child in node.children:
            message.children.add(node_id=ids[id(child.ref)], local_name=child.name)
    return saved, graph


def full_name(variable: Variable) -> str:
    """The name that savers of variables by name have for a variable, or for what it is a part of."""
    info = variable._save_slice_info
    return str(variable._shared_name if info is None else info.full_name)


def node_names(graph: messages.TrackableObjectGraph) -> dict[int, str]:
    """Number of a node -> how messages call it: its path with dots, or whose slot it is."""
    names = {0: "(root)"}
    queue = deque([0])
    while queue:
        node = queue.popleft()
        for child in graph.nodes[node].children:
            if child.node_id not in names:
                names[child.node_id] = f"{names[node]}.{child.local_name}"
                queue.append(child.node_id)
    for i, optimizer in enumerate(graph.nodes):
        for slot in optimizer.slot_variables:
            of = names.get(slot.original_variable_node_id, "?")
            names[slot.slot_variable_node_id] = f"{names.get(i, '?')}'s state '{slot.slot_name}' for {of}"
    return names
