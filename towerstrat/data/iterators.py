"""Iterators of sessions: ``tf.data.Iterator``, its operations, and the positions in the data that a session owns."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator as PyIterator
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from towerstrat.data.pipeline import Array, Element, Node, Opening, Pull, ordinal
from towerstrat.data.sources import host_array
from towerstrat.data.structure import Structure, flatten
from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, OpError, OutOfRangeError, UnsupportedError
from towerstrat.graph.eager.context import EagerSession
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph, get_default_graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.registry import Signature, define, nothing
from towerstrat.graph.ir.types import string
from towerstrat.graph.runtime.program import Uninterrupted
from towerstrat.graph.runtime.session import BaseSession

Session: TypeAlias = BaseSession | EagerSession


class Lender(Protocol):
    """A step loop's buffer of elements that were taken ahead of their use."""

    def give_back(self, source: Any) -> None:
        """Returns the elements to the source they were taken from."""


class IteratorResource:
    """The position of one iterator in one session. It may be used from several threads.

    Attributes:
      structure: of the elements.
      initializations: how often it was initialized.
      lender: the buffer that holds elements taken ahead, or None. It gives them back before an element is taken.
      live: whether functions of the pipeline read variables when an element is made; no element is made ahead then.
    """

    def __init__(self, structure: Structure):
        self.structure = structure
        self.initializations = 0
        self.lender: Lender | None = None
        self.live = False
        self._source: PyIterator[Element] | None = None
        self._returned: list[Element] = []
        self._error: BaseException | None = None
        self._lock = threading.RLock()

    @property
    def initialized(self) -> bool:
        return self._source is not None

    def initialize(self, source: PyIterator[Element]) -> None:
        """Moves to the beginning of ``source``. Elements that were pushed back before are dropped."""
        with self._lock:
            if self.lender is not None:
                self.lender.give_back(self)
            self._source = source
            self._returned.clear()
            self._error = None
            self.initializations += 1

    def next(self) -> list[Array]:
        """The components of the next element.

        Raises:
          StopIteration: there is none.
          FailedPreconditionError: it was not initialized.
          Exception: the pipeline raised it for this element; the next call goes on after it.
        """
        with self._lock:
            if self.lender is not None:
                self.lender.give_back(self)
            if self._returned:
                return list(self._returned.pop())
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return list(next(self._started()))

    def fill(self, buffers: Sequence[Array], start: int, count: int) -> int:
        """Writes the next elements into rows ``start, start + 1, ...`` of buffers.

        Args:
          buffers: one per component, ``[n, ...]``.
          count: the number of elements wanted.

        Returns:
          The number written. It is smaller than ``count`` where the data ends, an element has another shape than the
          buffers, or the pipeline raises: ``next()`` then gives StopIteration, the element or the exception.
        """
        with self._lock:
            if self.lender is not None:
                self.lender.give_back(self)
            done = 0
            try:
                if count > 1 and isinstance(self._source, Pull):
                    with Uninterrupted():
                        done = self._write_many(self._source, buffers, start, count)
                while done < count:
                    out = [buffer[start + done] if buffer.ndim > 1 else buffer[start + done, ...] for buffer in buffers]
                    if not self._write(out):
                        break
                    done += 1
            except BaseException:
                # Interrupted (Ctrl-C): the caller never learns of these elements, so they must come again.
                self.push_back([[np.array(buffer[start + i]) for buffer in buffers] for i in range(done)])
                raise
            return done

    def _write_many(self, source: Pull, buffers: Sequence[Array], start: int, count: int) -> int:
        """Writes as many of the next elements as the pipeline produces in one batch; returns how many."""
        if self._returned or self._error is not None or not buffers:
            return 0
        try:
            return source.next_many([buffer[start : start + count] for buffer in buffers])
        except Exception as error:
            self._error = error
            return 0

    def _write(self, out: Sequence[Array]) -> bool:
        """Writes the next element into ``out``. False where there is none, it does not fit, or the pipeline raised."""
        if self._returned:
            element: Element | None = self._returned[-1]
            assert element is not None
            if any(np.shape(x) != b.shape for x, b in zip(element, out, strict=True)):
                return False
            for x, b in zip(element, out, strict=True):
                b[...] = x
            self._returned.pop()
            return True
        if self._error is not None:
            return False
        source = self._started()
        try:
            element = source.next_into(out) if isinstance(source, Pull) else Pull.next_into(source, out)  # type: ignore[arg-type]
        except StopIteration:
            return False
        except Exception as error:
            self._error = error
            return False
        if element is not None:
            self._returned.append(element)
            return False
        return True

    def push_back(self, elements: Sequence[Element]) -> None:
        """Returns elements that were taken ahead and not used; they are the next ones, in this order."""
        with self._lock:
            self._returned += reversed(elements)

    def push_error(self, error: BaseException) -> None:
        """Returns an exception that was met ahead; it is raised after the elements that were pushed back."""
        with self._lock:
            self._error = error

    def _started(self) -> PyIterator[Element]:
        if self._source is None:
            raise FailedPreconditionError(
                None, None, "The iterator was not initialized. Run its initializer first: "
                "session.run(iterator.initializer), or the operation of iterator.make_initializer(dataset)."
            )  # fmt: skip
        return self._source


class Position:
    """The key of an iterator in sessions: each session owns an ``IteratorResource`` per name.

    Args:
      structure: of the elements.
      shared_name: iterators of one session with the same name share their position.
      node: of a one-shot iterator: the pipeline, which is opened when the first element is taken.
    """

    _NUMBERS = itertools.count()

    def __init__(self, graph: Graph, structure: Structure, shared_name: str | None = None, node: Node | None = None):
        self.structure = structure
        self.shared_name = shared_name
        self.node = node
        self.ordinal = ordinal(graph)
        self.name = f"shared iterator {shared_name}" if shared_name else graph.state_name("iterator")
        self.handle = f"towerstrat.iterator.{next(self._NUMBERS)}".encode()

    def resource(self, session: Session) -> IteratorResource:
        """The session's position; that of a one-shot iterator is initialized first."""
        resource: IteratorResource = session.position(self.name, lambda: IteratorResource(self.structure))
        if self.node is not None and not resource.initialized:
            tensors = self.node.inputs()
            values = session.run(tensors) if tensors else []
            pairs = zip(tensors, values, strict=True)
            self.initialize(session, self.node, {t: host_array(v, t.dtype) for t, v in pairs})
        return resource

    def initialize(self, session: Session, node: Node, values: Mapping[Tensor, Array]) -> None:
        """Moves the session's position to the beginning of a pipeline, with these values of its tensors."""
        resource = session.position(self.name, lambda: IteratorResource(self.structure))
        opening = Opening(session, values, (resource.initializations, self.ordinal))
        resource.initialize(node.open(opening))


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
    if isinstance(position, Position):
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
        return iterator_resource(session, op, values).next()
    except StopIteration:
        raise OutOfRangeError(None, op, "End of sequence") from None
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
define("IteratorGetNext", _components, host=_get_next, stateful=True, differentiable=False, hidden=_HIDDEN)
define("MakeIterator", nothing, host=_make_iterator, stateful=True, hidden=_HIDDEN)
define(
    "IteratorToStringHandle", lambda inputs, attrs: [Signature(string, ())], host=_string_handle, differentiable=False,
    hidden=_HIDDEN,
)  # fmt: skip


class Iterator:
    """An iterator of a graph: each run of a ``get_next()`` operation takes one element.

    Made by ``Dataset.make_one_shot_iterator``, ``Dataset.make_initializable_iterator``, ``Iterator.from_structure`` and
    ``Iterator.from_string_handle``.
    """

    def __init__(
        self, iterator_resource: Position | NamedPosition, initializer: Operation | None, output_types: Any,
        output_shapes: Any, output_classes: Any,
    ):  # fmt: skip
        self._position = iterator_resource
        self._initializer = initializer
        self._structure = Structure.of_types(output_types, output_shapes)

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """A reinitializable iterator: the operations of ``make_initializer`` move it to datasets of one structure."""
        structure = Structure.of_types(output_types, output_shapes)
        _only_tensors(output_classes)
        position = Position(get_default_graph(), structure, shared_name)
        return Iterator(position, None, structure.types, structure.shapes, structure.classes)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """A feedable iterator: the value of ``string_handle`` names the iterator when the program runs."""
        structure = Structure.of_types(output_types, output_shapes)
        _only_tensors(output_classes)
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
    def position(self) -> Position | NamedPosition:
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
        if not isinstance(self._position, Position):
            raise ValueError("An iterator from a string handle cannot be initialized; initialize the one it names.")
        node = dataset.node
        self._structure.check_accepts(node.structure, "a dataset")
        return make_iterator(self._position, node, name or "make_initializer")

    def get_next(self, name: str | None = None) -> Any:
        """The next element as symbolic tensors. A run takes one element, however many operations use them.

        Raises (when it runs):
          OutOfRangeError: there are no more elements.
        """
        return self._structure.pack(self.components(None, name))

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


def _only_tensors(classes: Any) -> None:
    """Raises UnsupportedError where ``output_classes`` names anything but tensors."""
    if classes is not None and any(c is not Tensor for c in flatten(classes)):
        raise UnsupportedError(f"output_classes={classes!r}: only dense tensors are supported as components.")


def make_iterator(position: Position, node: Node, name: str | None = None) -> Operation:
    """The operation that moves an iterator to the beginning of a pipeline."""
    return get_default_graph().add("MakeIterator", node.inputs(), {"iterator": position, "node": node}, name)
