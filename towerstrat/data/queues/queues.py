"""Queues of a graph: operations of the host that add elements, and wait for them.

Sources: ``tensorflow/python/ops/data_flow_ops.py``, ``tensorflow/core/kernels/queue_op.cc``.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.data.queues.queue_state import Element, FirstInFirstOut, Prioritized, QueueState, Shuffled
from towerstrat.errors import CancelledError, InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, nothing, scalar
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, DType, as_dtype, bool_, int32, int64, resource, string
from towerstrat.graph.ops.host.python_calls import check_place
from towerstrat.graph.ops.random.stateful import seeds
from towerstrat.graph.runtime.plans.runner import Runner


def _types(dtypes: Any) -> list[DType]:
    return [as_dtype(t) for t in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]


def _shapes(shapes: Any, partial: bool = False) -> list[TensorShape] | None:
    """Shapes of components; ``partial`` allows unknown sizes."""
    if shapes is None and not partial:
        return None
    if isinstance(shapes, TensorShape) and not partial:
        shapes = [shapes]
    if not isinstance(shapes, list | tuple):
        raise (ValueError if partial else TypeError)(f"shapes must be a list or tuple of shapes, got {shapes!r}.")
    if all(s is None or isinstance(s, int) for s in shapes):
        if partial:
            raise ValueError(f"When providing partial shapes, a list of shapes must be provided, got {shapes!r}.")
        shapes = [shapes]
    found = [as_shape(s) for s in shapes]
    if any(s.ndims is None for s in found) or not (partial or all(s.is_fully_defined() for s in found)):
        raise ValueError(f"All shapes must {'have a defined rank' if partial else 'be fully defined'}: {found}")
    return found


class QueueBase:
    """What queues share. Each session has elements of its own, each server those of a shared name.

    Operations run on the host: not inside towers or step loops. A run that has to wait lets other runs of its session
    go on.

    Args:
      dtypes: of the components of an element.
      shapes: of the components; None where they may differ by element.
      names: of the components: elements are then dicts.
      queue_ref: the tensor that stands for the queue in its graph.
    """

    _type = "QueueBase"

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor | None):
        self._dtypes = list(dtypes)
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(self._dtypes):
                raise ValueError(f"Queue {what} must have the same length as dtypes, got {given} and {self._dtypes}.")
        self._specified = shapes is not None
        self._shapes = [TensorShape(None)] * len(self._dtypes) if shapes is None else [as_shape(s) for s in shapes]
        self._names = names
        self._queue_ref = queue_ref
        self._capacity = -1
        self._shared_name: str | None = None
        self._name = self._type if queue_ref is None else queue_ref.op.name

    def _make(self, dtypes: Any, shapes: Any, names: Any, capacity: int, shared_name: str | None, name: str) -> None:
        graph = get_default_graph()
        eagerly = graph.executing_eagerly
        if not eagerly:
            check_place(f"tf.{self._type}")
        ref = None if eagerly else graph.add("Queue", (), {"type": self._type}, name).outputs[0]
        QueueBase.__init__(self, dtypes, shapes, names, ref)
        self._name = name if eagerly else self._name
        self._capacity = int(capacity)
        self._shared_name = None if eagerly else shared_name

    def _elements(self) -> FirstInFirstOut:
        """A new container of elements."""
        return FirstInFirstOut()

    def _keep(self) -> int:
        return 0

    def _state(self, session: Runner, op: Operation) -> QueueState:
        """The queue's elements in a session."""
        if session.closed:
            raise CancelledError(None, op, "Session has been closed.")
        key = ("queue", self._shared_name or self)
        capacity = self._capacity if self._capacity >= 0 else 2**31 - 1

        def make() -> QueueState:
            return QueueState(f"{self._type} '{self._name}'", capacity, self._elements(), self._keep())

        owned = session.resource if self._shared_name is None else session.named_resource
        found: QueueState = owned(key, make)
        return found

    # ---- what it is ------------------------------------------------------------------------------------------

    @staticmethod
    def from_list(index: Any, queues: Any) -> Any:
        raise UnsupportedError("QueueBase.from_list: a queue that is chosen at run time is not supported; use tf.case.")

    @property
    def queue_ref(self) -> Tensor | None:
        """The tensor that stands for the queue in its graph; None eagerly."""
        return self._queue_ref

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        return self._shapes

    @property
    def names(self) -> Any:
        return self._names

    # ---- operations ------------------------------------------------------------------------------------------

    def _add(self, type: str, inputs: Sequence[Tensor], what: str, name: str | None, **attrs: Any) -> Any:
        check_place(f"tf.{self._type}.{what}")
        name = name or f"{self._name.rpartition('/')[2]}_{what}"
        return get_default_graph().add(type, inputs, {"_queue": self, **attrs}, name)

    def _components(self, vals: Any) -> list[Tensor]:
        """The tensors of one element or of several.

        Raises:
          ValueError: a dict and a queue without names, or the other way round; other keys; too few or too many.
        """
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            vals = [vals[k] for k in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"Queue {self._name} has {len(self._dtypes)} components, got {len(vals)} to enqueue.")
        return [
            convert_to_tensor(v, t, name=f"component_{i}")
            for i, (v, t) in enumerate(zip(vals, self._dtypes, strict=True))
        ]

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Adds an element, as soon as there is room.

        Args:
          vals: a tensor, a list of tensors, or a dict of them for a queue with names.

        Raises:
          CancelledError: from ``Session.run``: the queue was closed.
        """
        tensors = self._components(vals)
        for tensor, shape in zip(tensors, self._shapes, strict=True):
            tensor.shape.assert_is_compatible_with(shape)
        return self._add("QueueEnqueueV2", tensors, "enqueue", name)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Adds the rows of ``vals``, each as soon as there is room for it. See ``enqueue``."""
        tensors = self._components(vals)
        rows = TensorShape([None])
        for tensor, shape in zip(tensors, self._shapes, strict=True):
            tensor.shape.with_rank_at_least(1)
            if tensor.shape.ndims is not None:
                rows = rows.merge_with(tensor.shape[:1])
                tensor.shape[1:].assert_is_compatible_with(shape)
        return self._add("QueueEnqueueManyV2", tensors, "EnqueueMany", name)

    def _taken(self, op: Any) -> Any:
        outputs = list(op.outputs)
        if self._names:
            return dict(zip(self._names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs

    def dequeue(self, name: str | None = None) -> Any:
        """Takes an element, as soon as there is one: a tensor, a list, or a dict for a queue with names.

        Raises:
          OutOfRangeError: from ``Session.run``: the queue is closed and empty.
          CancelledError: the session was closed.
        """
        dims = tuple(s.raw for s in self._shapes)
        return self._taken(self._add("QueueDequeueV2", (), "Dequeue", name, dims=dims))

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes ``n`` elements, each as soon as it is there, stacked along a first dimension. See ``dequeue``."""
        return self._several("QueueDequeueManyV2", n, "DequeueMany", name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """``dequeue_many`` that takes what is left where the queue is closed and has fewer elements."""
        return self._several("QueueDequeueUpToV2", n, "DequeueUpTo", name)

    def _several(self, type: str, n: Any, what: str, name: str | None) -> Any:
        count = convert_to_tensor(n, int32, name="n")
        known = constant_value(count) if type == "QueueDequeueManyV2" else None
        rows = None if known is None else int(known)
        dims = tuple(TensorShape([rows]).concatenate(s).raw for s in self._shapes)
        return self._taken(self._add(type, [count], what, name, dims=dims))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Closes the queue: what it has can be taken, nothing is added any more.

        Args:
          cancel_pending_enqueues: whether what waits to be added is given up; else this waits for it.
        """
        return self._add("QueueCloseV2", (), "Close", name, cancel_pending_enqueues=bool(cancel_pending_enqueues))

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed."""
        found: Tensor = self._add("QueueIsClosedV2", (), "Is_Closed", name).outputs[0]
        return found

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        found: Tensor = self._add("QueueSizeV2", (), "Size", name).outputs[0]
        return found

    # ---- when they run ---------------------------------------------------------------------------------------

    def _check(self, op: Operation, values: Sequence[Array], lead: tuple[int, ...]) -> Element:
        """Values of components as arrays. Raises InvalidArgumentError where one has another shape."""
        arrays = [np.asarray(v, t.np) for v, t in zip(values, self._dtypes, strict=True)]
        for i, (array, shape) in enumerate(zip(arrays, self._shapes, strict=True)):
            expected = TensorShape(lead).concatenate(shape)
            if not expected.is_compatible_with(array.shape):
                raise InvalidArgumentError(
                    None,
                    op,
                    f"Shape mismatch in tuple component {i}. Expected {expected}, got {TensorShape(array.shape)}",
                )
        return arrays

    def _stacked(self, op: Operation, elements: Sequence[Element]) -> list[Array]:
        """The components of elements, stacked."""
        if not self._specified:
            raise InvalidArgumentError(
                None,
                op,
                f"{self._type}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
            )
        return [self._batch([e[i] for e in elements], i) for i in range(len(self._dtypes))]

    def _batch(self, rows: Sequence[Array], component: int) -> Array:
        if rows:
            return np.stack(rows)
        return np.zeros([0, *(d or 0 for d in self._shapes[component].raw or ())], self._dtypes[component].np)


def _enqueue(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    queue: QueueBase = op.attrs["_queue"]
    element = queue._check(op, values, ())
    state = queue._state(session, op)
    with session.unlocked():
        state.put([element], op, session)
    return []


def _enqueue_many(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    queue: QueueBase = op.attrs["_queue"]
    size = len(np.atleast_1d(values[0]))
    columns = queue._check(op, values, (size,))
    state = queue._state(session, op)
    with session.unlocked():
        state.put([[c[i, ...] for c in columns] for i in range(size)], op, session)
    return []


def _dequeue(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    state = op.attrs["_queue"]._state(session, op)
    with session.unlocked():
        return list(state.take(1, False, op, session)[0])


def _dequeue_many(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    queue: QueueBase = op.attrs["_queue"]
    count = int(values[0])
    if count < 0:
        raise InvalidArgumentError(None, op, f"DequeueManyOp requested {count} < 0 elements")
    state = queue._state(session, op)
    with session.unlocked():
        return queue._stacked(op, state.take(count, op.type == "QueueDequeueUpToV2", op, session))


def _close(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    state = op.attrs["_queue"]._state(session, op)
    with session.unlocked():
        state.close(op.attrs["cancel_pending_enqueues"], op, session)
    return []


def _components_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    return [Signature(t, d) for t, d in zip(attrs["_queue"].dtypes, attrs["dims"], strict=True)]


def _define(type: str, rule: Any, host: Any) -> None:
    define_op(type, rule, host=host, stateful=True, differentiable=False, hidden=("_queue",))


define_op("Queue", scalar(resource), differentiable=False)
_define("QueueEnqueueV2", nothing, _enqueue)
_define("QueueEnqueueManyV2", nothing, _enqueue_many)
_define("QueueDequeueV2", _components_rule, _dequeue)
_define("QueueDequeueManyV2", _components_rule, _dequeue_many)
_define("QueueDequeueUpToV2", _components_rule, _dequeue_many)
_define("QueueCloseV2", nothing, _close)
_define(
    "QueueIsClosedV2",
    scalar(bool_),
    lambda session, op, values: [np.asarray(op.attrs["_queue"]._state(session, op).closed)],
)
_define(
    "QueueSizeV2",
    scalar(int32),
    lambda session, op, values: [np.asarray(len(op.attrs["_queue"]._state(session, op)), np.int32)],
)


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order in which they came.

    Args:
      capacity: the most elements that it holds; negative: any number.
      dtypes: of the components of an element.
      shapes: of the components, fully known; None where they differ by element (then one is taken at a time).
      names: of the components: elements are then dicts.
      shared_name: queues of one name in a session share their elements.
      name: of the operation that stands for it.

    >>> from towerstrat.graph.runtime.sessions.session import Session
    >>> queue = FIFOQueue(10, int32, [[]])
    >>> fill, two = queue.enqueue_many([[1, 2, 3]]), queue.dequeue_many(2)
    >>> with Session() as session:
    ...     session.run(fill)
    ...     session.run(two)
    array([1, 2], dtype=int32)
    """

    _type = "FIFOQueue"

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "fifo_queue",
    ):  # fmt: skip
        self._make(_types(dtypes), _shapes(shapes), names, capacity, shared_name, name)


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements in random order.

    Args:
      min_after_dequeue: so many elements stay, to be mixed with those to come, until the queue is closed.
      seed: of the order.
      capacity, dtypes, shapes, names, shared_name, name: see ``FIFOQueue``.
    """

    _type = "RandomShuffleQueue"

    def __init__(
        self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None, names: Any = None,
        seed: int | None = None, shared_name: str | None = None, name: str = "random_shuffle_queue",
    ):  # fmt: skip
        self._make(_types(dtypes), _shapes(shapes), names, capacity, shared_name, name)
        self._least = int(min_after_dequeue)
        of_graph, own = seeds(seed)
        if own is None:
            own = zlib.crc32(self._name.encode())
        self._seed = [(of_graph or 0) % 2**32, own % 2**32]

    def _elements(self) -> FirstInFirstOut:
        return Shuffled(self._seed)

    def _keep(self) -> int:
        return self._least


class PaddingFIFOQueue(QueueBase):
    """A ``FIFOQueue`` whose components may differ in size where ``shapes`` has None; stacked, they are padded.

    Several elements at a time are padded with zeros (or empty strings) to the largest of them.
    """

    _type = "PaddingFIFOQueue"

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any, names: Any = None, shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ):  # fmt: skip
        known = _shapes(shapes, partial=True) or []
        kinds = _types(dtypes)
        if len(kinds) != len(known):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(kinds)} dtypes and {len(known)} shapes."
            )
        self._make(kinds, known, names, capacity, shared_name, name)

    def _batch(self, rows: Sequence[Array], component: int) -> Array:
        if not rows:
            return super()._batch(rows, component)
        kind = self._dtypes[component]
        size = np.max([np.shape(r) for r in rows], axis=0).astype(int)
        batch = np.full((len(rows), *size), b"" if kind is string else 0, kind.np)
        for i, row in enumerate(rows):
            place: Any = (i, *(slice(n) for n in np.shape(row)))
            batch[place] = row[()]
        return batch


class PriorityQueue(QueueBase):
    """A queue that gives elements by priority, the smallest first; of equal ones, the one that came first.

    Elements have one more component, the first: the priority, an int64 scalar.

    Args:
      types, shapes: of the other components.
      capacity, names, shared_name, name: see ``FIFOQueue``.
    """

    _type = "PriorityQueue"

    def __init__(
        self, capacity: int, types: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "priority_queue",
    ):  # fmt: skip
        given = _shapes(shapes)
        self._make(
            [int64, *_types(types)], [TensorShape(()), *given] if given else given, names, capacity, shared_name, name
        )

    def _elements(self) -> FirstInFirstOut:
        return Prioritized()
