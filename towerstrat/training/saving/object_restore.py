"""Restoring objects from a checkpoint: now where they are there, and as they are made where they are not.

Source: ``tensorflow/python/checkpoint/restore.py`` and ``checkpoint.py``.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.checkpoints.checkpoint_file import Checkpoint
from towerstrat.checkpoints.object_graph_keys import OBJECT_GRAPH
from towerstrat.errors import EagerArgumentError, InvalidArgumentError
from towerstrat.graph.eager.context import context
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.default_graph import init_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, placeholder
from towerstrat.graph.ir.types import HostArray
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.graph.variables.trackable import VARIABLE_VALUE, Trackable
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import logs, messages
from towerstrat.training.saving import resume_state
from towerstrat.training.saving.object_graph import attributes, full_name, node_names, saveable_of
from towerstrat.training.saving.python_state import PythonStateSaveable
from towerstrat.training.saving.save_restore_ops import store
from towerstrat.training.saving.saveables import SaveableObject, VariableSaveable
from towerstrat.training.saving.tower_values import take_own_values

_UIDS = itertools.count(1)
_CONFIGURATION = "OBJECT_CONFIG_JSON"
"""What 1.12 saved of objects beside their values; nothing is restored from it."""


def new_restore_uid() -> int:
    """The number of a call of ``restore``: later ones have higher numbers."""
    return next(_UIDS)


class SlotOf(NamedTuple):
    """A slot in a checkpoint: the nodes of the optimizer that keeps it and of its own, and its name."""

    optimizer: int
    node: int
    name: str


class Assigned(NamedTuple):
    """The operation of a graph that restores a saveable object, and what its tensors are fed into."""

    saveable: weakref.ref[Any]
    operation: Operation
    inputs: Sequence[Tensor]


class Restoration:
    """One call of ``restore``: a checkpoint, and which object each of its nodes turned out to be.

    Args:
      path: the prefix of the checkpoint. checkpoint: where the values are. graph: its graph of objects.
      operations: key -> what restores it in a graph, shared by the calls of one saver.

    Attributes:
      objects: node -> object, while that lives. matched: the nodes that had one.
      unused: node -> names of its values that its object does not have.
      slots: node of a variable that is not there yet -> its slots.
      waiting_slots: node of an optimizer that is not there yet -> (node of a variable that is, slot).
      expect_partial: True: nothing is said about values that were not used.
    """

    def __init__(
        self, path: str, checkpoint: Checkpoint, graph: messages.TrackableObjectGraph, operations: dict[str, Assigned]
    ):
        self._path = path
        self._taken = {OBJECT_GRAPH}
        self.checkpoint = checkpoint
        self.graph = graph
        self.restore_uid = new_restore_uid()
        self.objects: weakref.WeakValueDictionary[int, Trackable] = weakref.WeakValueDictionary()
        self.matched: set[int] = set()
        self.unused: dict[int, list[str]] = {}
        self.slots: dict[int, list[SlotOf]] = {}
        self.waiting_slots: dict[int, list[tuple[int, SlotOf]]] = {}
        self.session: SessionLike | None = None
        self._operations = operations
        self._pending: dict[str, SaveableObject] = {}
        for i, node in enumerate(graph.nodes):
            for slot in node.slot_variables:
                of = SlotOf(i, slot.slot_variable_node_id, slot.slot_name)
                self.slots.setdefault(slot.original_variable_node_id, []).append(of)
        self._partial = [False]
        weakref.finalize(self, _say_unused, graph, self.matched, self.unused, self._partial)

    @property
    def expect_partial(self) -> bool:
        return self._partial[0]

    @expect_partial.setter
    def expect_partial(self, value: bool) -> None:
        self._partial[0] = value

    def __deepcopy__(self, memo: Any) -> Restoration:
        """Itself: a copy of an object waits for the same values."""
        return self

    def take(self, found: Mapping[str, SaveableObject]) -> None:
        """Restores what is saved under keys: eagerly at once, in a graph when a session runs it.

        Raises:
          EagerArgumentError: eagerly, a variable has another shape or type in the checkpoint. Nothing has changed then.
        """
        self._taken |= found.keys()
        python = {key: each for key, each in found.items() if isinstance(each, PythonStateSaveable)}
        for state in python.values():
            state.python_restore([self.checkpoint.read(spec.name).item() for spec in state.specs])
        rest = {key: each for key, each in found.items() if key not in python}
        if get_default_graph().executing_eagerly:
            self._restore_eagerly(rest)
            return
        for key, each in rest.items():
            if not isinstance(each, VariableSaveable):
                self._operation(key, each)
        self._pending |= rest
        if self.session is not None:
            self._restore_into(self.session, rest)

    def _restore_eagerly(self, found: Mapping[str, SaveableObject]) -> None:
        try:
            values = self._values(found)
        except InvalidArgumentError as error:
            raise EagerArgumentError(None, None, error.message) from None
        store(context().session, None, values)
        for each in found.values():
            if not isinstance(each, VariableSaveable):
                each.restore([convert_to_tensor(self.checkpoint.read(s.name), s.dtype) for s in each.specs], None)

    def run(self, session: SessionLike) -> None:
        """Restores all that was found so far into a session.

        Raises:
          InvalidArgumentError: a variable has another shape or type in the checkpoint. No variable has changed then.
        """
        self._restore_into(session, self._pending)
        if isinstance(session, Runner):
            resume_state.resume(self._path, session, self._taken)

    def _restore_into(self, session: SessionLike, found: Mapping[str, SaveableObject]) -> None:
        store(session, None, self._values(found))
        operations: list[Operation] = []
        feeds: dict[Tensor, HostArray] = {}
        for key, each in found.items():
            if not isinstance(each, VariableSaveable):
                assigned = self._operation(key, each)
                operations.append(assigned.operation)
                feeds |= {p: self.checkpoint.read(s.name) for p, s in zip(assigned.inputs, each.specs, strict=True)}
        if operations:
            session.run(operations, feeds)

    def _values(self, found: Mapping[str, SaveableObject]) -> list[tuple[StateVariable, HostArray]]:
        """The values of variables, after a check of all of them."""
        variables = [(key, each) for key, each in found.items() if isinstance(each, VariableSaveable)]
        values = [(each, self.checkpoint.read(key)) for key, each in variables]
        for each, value in values:
            each.check(value)
        return [(each.variable.cell, value) for each, value in values]

    def _operation(self, key: str, saveable: SaveableObject) -> Assigned:
        """The operation of a graph that restores a saveable object, made when it is asked for first."""
        known = self._operations.get(key)
        if known is None or known.saveable() is not saveable.op:
            inputs = [placeholder(spec.dtype) for spec in saveable.specs]
            known = Assigned(_reference(saveable.op), saveable.restore(inputs, None), inputs)
            self._operations[key] = known
        return known


def _reference(obj: Any) -> Any:
    """A weak reference to an object, or a function that gives one of which there are none."""
    try:
        return weakref.ref(obj)
    except TypeError:
        return lambda: obj


def _say_unused(
    graph: messages.TrackableObjectGraph, matched: set[int], unused: Mapping[int, list[str]], partial: list[bool]
) -> None:
    """Warns of values that were restored into nothing, when nothing more can be restored."""
    missing = [i for i, node in enumerate(graph.nodes) if node.attributes and i not in matched]
    if partial[0] or not (missing or unused):
        return
    names = node_names(graph)
    logs.warning(
        "Detecting that an object or model or tf.train.Checkpoint is being deleted with unrestored values. See the "
        "following logs for the specific values in question. To silence these warnings, use `status.expect_partial()`."
    )
    for i in missing:
        logs.warning("Value in checkpoint could not be found in the restored object: %s", names.get(i, i))
    for i, left in unused.items():
        for name in left:
            logs.warning(
                "An attribute in the restored object could not be found in the checkpoint. Object: %s, attribute: %s",
                names.get(i, i), name,
            )  # fmt: skip


class CheckpointPosition:
    """A node of the graph of objects in a checkpoint, to be restored into an object.

    Args:
      checkpoint: the call of ``restore``. proto_id: the number of the node.
    """

    def __init__(self, checkpoint: Restoration, proto_id: int):
        self.checkpoint = checkpoint
        self.proto_id = proto_id

    @property
    def restore_uid(self) -> int:
        return self.checkpoint.restore_uid

    @property
    def object_proto(self) -> messages.TrackableObjectGraph.TrackableObject:
        """The node: its children, values and slots."""
        return self.checkpoint.graph.nodes[self.proto_id]

    def is_simple_variable(self) -> bool:
        """Whether its one value is a variable's, which may be the first one that it gets."""
        node = self.object_proto
        return [a.name for a in node.attributes] == [VARIABLE_VALUE] and not node.children

    def value(self) -> HostArray:
        """The value of a variable. Raises NotFoundError, DataLossError."""
        return self.checkpoint.checkpoint.read(self.object_proto.attributes[0].checkpoint_key)

    def value_shape(self) -> TensorShape | None:
        """The shape of a variable's value; None of a node that is no variable."""
        keys = [a.checkpoint_key for a in self.object_proto.attributes if a.name == VARIABLE_VALUE]
        return TensorShape(self.checkpoint.checkpoint.entries[keys[0]].shape) if keys else None

    def restore(self, trackable: Trackable, reader: Any = None) -> None:
        """Restores an object and what it depends on; what is not there yet waits for it.

        ``reader`` changes nothing: the checkpoint is open.
        """
        with init_scope():
            if self.bind_object(trackable):
                self._descend(trackable)

    def bind_object(self, trackable: Trackable) -> bool:
        """Notes that the node is an object; False where it is known already, with a warning if it was another."""
        self.checkpoint.matched.add(self.proto_id)
        known = self.checkpoint.objects.get(self.proto_id)
        if known is None:
            self.checkpoint.objects[self.proto_id] = trackable
            return True
        if known is not trackable:
            logs.warning(
                "Inconsistent references when loading the checkpoint into this object graph. For example, in the saved "
                "checkpoint object, `model.layer.weight` and `model.layer_copy.weight` reference the same variable, "
                "while in the current object these are two different variables. The referenced variables are:(%s and "
                "%s).", known, trackable,
            )  # fmt: skip
        return False

    def _descend(self, trackable: Trackable) -> None:
        """Restores the object and all that can be reached from it, breadth first, in one go."""
        found: dict[str, SaveableObject] = {}
        variables: list[StateVariable] = []
        queue: deque[tuple[CheckpointPosition, Trackable]] = deque([(self, trackable)])
        while queue:
            position, obj = queue.popleft()
            if isinstance(obj, Variable):
                variables.append(obj.cell)
            obj._maybe_initialize_trackable()
            if position.restore_uid > obj._update_uid:
                found |= position._own(obj)
                obj._update_uid = position.restore_uid
            queue.extend(position._next_children(obj))
            queue.extend(position._next_slots(obj))
        self.checkpoint.take(found)
        if get_default_graph().executing_eagerly:
            take_own_values(context().session.state, variables)

    def _own(self, obj: Trackable) -> dict[str, SaveableObject]:
        """Key -> saveable object of what the object saves of its own, as far as the checkpoint has it."""
        wanted = {a.name: a.checkpoint_key for a in self.object_proto.attributes}
        found: dict[str, SaveableObject] = {}
        if not wanted:
            return found
        start = next(iter(wanted.values())).partition("/.ATTRIBUTES/")[0]
        for name, _, saveable in attributes(obj, start):
            # What several tensors save, some originals enter once, and others with a name for each.
            for other in [w for w in wanted if w == name or w.startswith(name) or name.startswith(w)]:
                found[wanted.pop(other)] = saveable
        left = [name for name in wanted if name != _CONFIGURATION]
        if left:
            self.checkpoint.unused[self.proto_id] = left
        # One that saves several tensors is restored once.
        first = {id(each): key for key, each in reversed(found.items())}
        return {key: each for key, each in found.items() if first[id(each)] == key}

    def _next_children(self, obj: Trackable) -> Iterable[tuple[CheckpointPosition, Trackable]]:
        """Dependencies that are there and new; the others are put in the object's list of those that wait."""
        children = obj._trackable_children()
        for child in self.object_proto.children:
            if child.node_id in self.checkpoint.objects:
                continue
            position = CheckpointPosition(self.checkpoint, child.node_id)
            local = children.get(child.local_name)
            if local is None:
                local = obj._lookup_dependency(child.local_name)
            if local is not None:
                if position.bind_object(local):
                    yield position, local
                continue
            node = position.object_proto
            if node.children or node.attributes or node.slot_variables:
                obj._deferred_dependencies.setdefault(child.local_name, []).append(position)

    def _next_slots(self, obj: Trackable) -> Iterable[tuple[CheckpointPosition, Trackable]]:
        """The slots that an optimizer has for variables that are there, or of a variable in optimizers that are."""
        checkpoint = self.checkpoint
        for node, slot in checkpoint.waiting_slots.pop(self.proto_id, ()):
            yield from self._slot(obj, checkpoint.objects.get(node), slot)
        for slot in checkpoint.slots.pop(self.proto_id, ()):
            optimizer = checkpoint.objects.get(slot.optimizer)
            if optimizer is None:
                checkpoint.waiting_slots.setdefault(slot.optimizer, []).append((self.proto_id, slot))
            else:
                yield from self._slot(optimizer, obj, slot)

    def _slot(self, optimizer: Any, variable: Any, slot: SlotOf) -> Iterable[tuple[CheckpointPosition, Trackable]]:
        """The slot of an optimizer, where it has it or makes it now; otherwise it waits for it."""
        # Another object may stand for an optimizer of which only some attributes are wanted.
        if variable is None or not hasattr(optimizer, "_create_or_restore_slot_variable"):
            return
        position = CheckpointPosition(self.checkpoint, slot.node)
        made = optimizer._create_or_restore_slot_variable(
            slot_variable_position=position, slot_name=slot.name, variable=variable
        )
        if made is not None and position.bind_object(made):
            yield position, made

    def __repr__(self) -> str:
        return repr(self.object_proto)


class CheckpointInitialValueCallable:
    """An initializer that gives the value of a variable in a checkpoint.

    Args:
      checkpoint_position: the node of the variable.
    """

    def __init__(self, checkpoint_position: CheckpointPosition):
        self.checkpoint_position = checkpoint_position

    @property
    def restore_uid(self) -> int:
        return self.checkpoint_position.restore_uid

    def __call__(self, shape: Any = None, dtype: Any = None, shard_info: Any = None) -> Tensor:
        """The value; ``shape`` and ``dtype`` are those that it has. ``shard_info``: offset and shape of a part."""
        value = self.checkpoint_position.value()
        if shard_info is not None:
            parts = zip(shard_info.offset, shard_info.shape, strict=True)
            value = value[tuple(slice(start, start + size) for start, size in parts)]
        return convert_to_tensor(np.array(value))


class NamedRestoration:
    """One call of ``restore`` with a checkpoint of variables by name: objects take what has their names.

    Attributes:
      unused: (object, names of its values that have no name there).
    """

    def __init__(self, path: str, checkpoint: Checkpoint):
        self.path = path
        self.checkpoint = checkpoint
        self.restore_uid = new_restore_uid()
        self.unused: list[tuple[Trackable, str]] = []

    def __deepcopy__(self, memo: Any) -> NamedRestoration:
        return self

    def saveables(self, trackable: Trackable) -> list[SaveableObject]:
        """What the object saves of its own, under the names that savers of variables by name have for it."""
        found = []
        for name, given in trackable._gather_saveables_for_checkpoint().items():
            if isinstance(given, Variable):
                found.append(saveable_of(given, full_name(given)))
                continue
            try:
                found.append(given() if callable(given) else given)
            except TypeError:  # it has no name of its own
                self.unused.append((trackable, name))
        return found

    def eager_restore(self, trackable: Trackable) -> None:
        """Gives an object the values that are there; it keeps those that are not."""
        with init_scope():
            for each in self.saveables(trackable):
                if all(spec.name in self.checkpoint for spec in each.specs):
                    values = [self.checkpoint.read(spec.name) for spec in each.specs]
                    each.restore([convert_to_tensor(np.array(value)) for value in values], None)
