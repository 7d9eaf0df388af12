"""Iterators of sessions: ``tf.data.Iterator``, its operations, and the positions in the data that a session owns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from towerstrat.data.elements.optional import Optional
from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array
from towerstrat.data.iterators.collective_reads import gather_next
from towerstrat.data.iterators.iterator_resource import IteratorResource
from towerstrat.data.pipeline.iterator_state import taken_again
from towerstrat.data.pipeline.nodes import DatasetNode, IteratorContext, next_seed_ordinal
from towerstrat.data.pipeline.sources import host_array
from towerstrat.errors import InvalidArgumentError, OpError, OutOfRangeError, UnsupportedError
from towerstrat.graph.eager.context import EagerSession
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.op_registry import Signature, define_op, nothing
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import bool_, string
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.platform import logs
from towerstrat.platform.plain import State

Session: TypeAlias = BaseSession | EagerSession


class IteratorKey:
    """The key of an iterator in sessions: each session owns an ``IteratorResource`` per name.

    Args:
      structure: of the elements.
      shared_name: iterators of one session with the same name share their position.
      node: of a one-shot iterator: the pipeline, which is opened when the first element is taken.
    """

    _NUMBERS = itertools.count()

    def __init__(
        self, graph: Graph, structure: Structure, shared_name: str | None = None, node: DatasetNode | None = None
    ):
        self.structure = structure
        self.shared_name = shared_name
        self.node = node
        self.ordinal = next_seed_ordinal(graph)
        self.name = f"shared iterator {shared_name}" if shared_name else graph.state_name("iterator")
        self.handle = f"towerstrat.iterator.{next(self._NUMBERS)}".encode()

    def resource(self, session: Session) -> IteratorResource:
        """The session's position; that of a one-shot iterator is initialized first."""
        resource = self._of(session)
        if self.node is not None and not resource.initialized:
            tensors = self.node.inputs()
            values = session.run(tensors) if tensors else []
            pairs = zip(tensors, values, strict=True)
            self.initialize(session, self.node, {t: host_array(v, t.dtype) for t, v in pairs})
        return resource

    def _of(self, session: Session) -> IteratorResource:
        return session.position(self.name, lambda: IteratorResource(self.structure, session.waiting))

    def initialize(self, session: Session, node: DatasetNode, values: Mapping[Tensor, Array]) -> None:
        """Moves the session's position to the beginning of a pipeline, with these values of its tensors.

        Where a state waits for this iterator it goes there instead.
        """
        resource = self._of(session)
        state = session.waiting.take(self.name, always=self.node is not None)
        if state is not None and "place" not in state:
            resource.resume(state)
        resource.initialize(IteratorContext(session, node, values, (resource.initializations, self.ordinal)))
        if state is not None and "place" in state:
            resume_iterator(self.name, resource, state)


def resume_iterator(name: str, resource: IteratorResource, state: State) -> bool:
    """Whether an iterator has gone to a state, which is logged."""
    try:
        resource.resume(state)
    except (ValueError, KeyError, IndexError, TypeError, OpError) as error:
        logs.warning("The position of %s is not taken: %s.", name, error)
        return False
    again = taken_again(state)
    logs.info("%s goes on where it was%s.", name, f"; {again} elements were taken again" if again else "")
    return True


class NamedPosition:
    """The key of an iterator that is named by a string tensor when the program runs."""

    def __init__(self, structure: Structure, handle: Tensor):
        self.structure = structure
        self.handle = handle


def iterator_resource(session: Session, op: Operation, values: Sequence[Array] = ()) -> IteratorResource:
    """The position from which an ``IteratorGetNext`` takes its elements.

    Args:
      values: of the operation's inputs: the string handle, where it has one.

    Raises:
      InvalidArgumentError: the string is no handle of this session, or of an iterator of another structure.
    """
    position = op.attrs["iterator"]
    if isinstance(position, IteratorKey):
        return position.resource(session)
    handle = np.asarray(values[0], object).item()
    found = session.resource("iterator handles", dict).get(handle)
    if found is None:
        raise InvalidArgumentError(
            None, op, f"{handle!r} is no handle of an iterator of this session; "
            "feed what session.run(iterator.string_handle()) gives."
        )  # fmt: skip
    try:
        position.structure.check_accepts(found.structure, "an iterator")
    except TypeError as error:
        raise InvalidArgumentError(None, op, str(error)) from None
    return found.resource(session)


def with_operation(error: BaseException, op: Operation) -> BaseException:
    """Adds to a pipeline's exception the operation that was taking an element."""
    if isinstance(error, OpError):
        if error.op is not None:
            return error
        kind: Any = type(error)
        return kind(None, op, error.message)
    if not isinstance(error, OpError | UnsupportedError | KeyboardInterrupt):
        error.add_note(f"  while operation {op.name} (created at {op.line}) took an element from its dataset")
    return error


def _get_next(session: Session, op: Operation, values: Sequence[Array]) -> list[Array]:
    try:
        return gather_next(iterator_resource(session, op, values), op.axis)
    except StopIteration as end:
        raise OutOfRangeError(None, op, f"End of sequence{end.value or ''}") from None
    except Exception as error:
        raise with_operation(error, op) from error.__cause__


def _get_optional(session: Session, op: Operation, values: Sequence[Array]) -> list[Array]:
    try:
        return [np.asarray(True), *iterator_resource(session, op, values).next()]
    except StopIteration:
        return [np.asarray(False), *op.attrs["structure"].blank()]
    except Exception as error:
        raise with_operation(error, op) from error.__cause__


def _make_iterator(session: Session, op: Operation, values: Sequence[Array]) -> list[Array]:
    try:
        node = op.attrs["node"]
        op.attrs["iterator"].initialize(session, node, dict(zip(node.inputs(), values, strict=True)))
    except Exception as error:
        raise with_operation(error, op) from error.__cause__
    return []


def _string_handle(session: Session, op: Operation, values: Sequence[Array]) -> list[Array]:
    position = op.attrs["iterator"]
    if isinstance(position, NamedPosition):
        return [values[0]]
    session.resource("iterator handles", dict)[position.handle] = position
    return [np.array(position.handle, object)]


def _components(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    structure = attrs["structure"]
    return [Signature(t, d) for t, d in zip(structure.dtypes, structure.dims, strict=True)]


_HIDDEN = ("iterator", "structure", "node", "takes", "source", "varying_outputs")
define_op("IteratorGetNext", _components, host=_get_next, stateful=True, differentiable=False, hidden=_HIDDEN)
define_op(
    "IteratorGetNextAsOptional", lambda inputs, attrs: [Signature(bool_, ()), *_components(inputs, attrs)],
    host=_get_optional, stateful=True, differentiable=False, hidden=_HIDDEN,
)  # fmt: skip
define_op("MakeIterator", nothing, host=_make_iterator, stateful=True, hidden=_HIDDEN)
define_op(
    "IteratorToStringHandle", lambda inputs, attrs: [Signature(string, ())], host=_string_handle, differentiable=False,
    hidden=_HIDDEN,
)  # fmt: skip


class Iterator:
    """An iterator of a graph: each run of a ``get_next()`` operation takes one element.

    Made by ``Dataset.make_one_shot_iterator``, ``Dataset.make_initializable_iterator``, ``Iterator.from_structure`` and
    ``Iterator.from_string_handle``.

    Attributes:
      in_parts: whether its elements have a part for each tower, so that a step takes one and not one for each tower.
    """

    in_parts = False

    def __init__(
        self, iterator_resource: IteratorKey | NamedPosition, initializer: Operation | None, output_types: Any,
        output_shapes: Any, output_classes: Any,
    ):  # fmt: skip
        self._position = iterator_resource
        self._initializer = initializer
        self._structure = iterator_resource.structure

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """A reinitializable iterator: the operations of ``make_initializer`` move it to datasets of one structure."""
        structure = Structure.of_types(output_types, output_shapes, output_classes)
        position = IteratorKey(get_default_graph(), structure, shared_name)
        return Iterator(position, None, structure.types, structure.shapes, structure.classes)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """A feedable iterator: the value of ``string_handle`` names the iterator when the program runs."""
        structure = Structure.of_types(output_types, output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, string)
        return Iterator(NamedPosition(structure, handle), None, structure.types, structure.shapes, structure.classes)

    @property
    def initializer(self) -> Operation:
        """The operation that moves it to the beginning of its dataset. Raises ValueError where there is none."""
        if self._initializer is None:
            raise ValueError(
                "This iterator has no initializer: a one-shot iterator needs none, and an iterator made from a "
                "structure is initialized by the operations of make_initializer(dataset)."
            )
        return self._initializer

    @property
    def position(self) -> IteratorKey | NamedPosition:
        """Its key in sessions."""
        return self._position

    def handles(self) -> list[Tensor]:
        """The inputs of its operations: the string handle, where it has one."""
        return [self._position.handle] if isinstance(self._position, NamedPosition) else []

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """An operation that moves this iterator to the beginning of ``dataset``.

        Raises:
          TypeError: the dataset's types or shapes are not the iterator's.
          ValueError: the iterator was made from a string handle.
        """
        if not isinstance(self._position, IteratorKey):
            raise ValueError("An iterator from a string handle cannot be initialized; initialize the one it names.")
        node = dataset.node
        self._structure.check_accepts(node.structure, "a dataset")
        return make_iterator(self._position, node, name or "make_initializer")

    def get_next(self, name: str | None = None) -> Any:
        """The next element as symbolic tensors. A run takes one element, however many operations use them.

        Raises (when it runs):
          OutOfRangeError: there are no more elements.
        """
        return self._structure.values(self.components(None, name))

    def get_next_as_optional(self) -> Optional:
        """The next element as an ``Optional``, which has no value at the end of the data."""
        attrs: dict[str, Any] = {"iterator": self._position, "structure": self._structure}
        found = get_default_graph().add("IteratorGetNextAsOptional", self.handles(), attrs).outputs
        return Optional(self._structure, found[0], found[1:])

    def components(self, axis: Axis | None, name: str | None = None) -> list[Tensor]:
        """The components of the next element; along ``axis``, if given, each position gets a part."""
        attrs: dict[str, Any] = {
            "iterator": self._position,
            "structure": self._structure,
            "takes": "element",
            "source": iterator_resource,
        }
        if axis is not None:
            attrs["varying_outputs"] = (True,) * len(self._structure)
        return get_default_graph().add("IteratorGetNext", self.handles(), attrs, name, axis=axis).outputs

    def string_handle(self, name: str | None = None) -> Tensor:
        """A scalar string tensor whose value names this iterator, to be fed to one made by ``from_string_handle``."""
        attrs = {"iterator": self._position}
        return get_default_graph().add("IteratorToStringHandle", self.handles(), attrs, name).outputs[0]

    @property
    def structure(self) -> Structure:
        """The structure of the elements."""
        return self._structure

    @property
    def output_types(self) -> Any:
        return self._structure.types

    @property
    def output_shapes(self) -> Any:
        return self._structure.shapes

    @property
    def output_classes(self) -> Any:
        return self._structure.classes


def make_iterator(position: IteratorKey, node: DatasetNode, name: str | None = None) -> Operation:
    """The operation that moves an iterator to the beginning of a pipeline."""
    return get_default_graph().add("MakeIterator", node.inputs(), {"iterator": position, "node": node}, name)
