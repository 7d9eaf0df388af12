"""``iter(dataset)``: iterators that are values (TensorFlow's ``OwnedIterator``), for Python loops and functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.data.elements.optional import Optional
from towerstrat.data.elements.structure import RaggedParts, Structure, flatten, in_parts, map_leaves, over_units
from towerstrat.data.elements.types import Array
from towerstrat.data.iterators.collective_reads import gather_next
from towerstrat.data.iterators.iterator_resource import IteratorResource
from towerstrat.data.iterators.session_iterators import with_operation
from towerstrat.data.pipeline.arguments import structure_of_specs
from towerstrat.data.pipeline.dataset_variants import boxed, opening_of, reachable_nodes
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.errors import OutOfRangeError, UnsupportedError
from towerstrat.graph.autograph.builtins import Overloading
from towerstrat.graph.autograph.iteration import StagedIterable, Test
from towerstrat.graph.autograph.loops import Variables, staged_while
from towerstrat.graph.eager.context import EagerContext
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.composite_values import Argument
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.sparse_tensor import SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.type_specs import HasTypeSpec, TensorSpec, TypeSpec
from towerstrat.graph.ir.types import bool_, string, variant
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.ir.user_lines import unconverted, user_line
from towerstrat.graph.ops.control.branches import cond
from towerstrat.graph.ops.control.regions import EndOfLoop
from towerstrat.graph.ops.ragged.value import RaggedTensorValue
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.graph.variables.trackable import Trackable

_STATE = "ITERATOR_STATE"
"""The original's name for the position of an iterator in a checkpoint."""
_UNROLLED = 10_000
"""Elements that a Python loop may take while a function is traced, before it counts as endless."""


class IteratorBase(Iterator[Any]):
    """The base class of the iterators that ``iter(dataset)`` returns.

    Elements are structures of tensors: eager ones in eager code, symbolic ones in a function.
    """

    @property
    def element_spec(self) -> Any:
        """A ``TensorSpec`` for each component, in the structure of an element."""
        raise NotImplementedError

    def get_next(self) -> Any:
        """The next element.

        Raises (in a function: when it runs):
          OutOfRangeError: there is none.
        """
        raise NotImplementedError

    def get_next_as_optional(self) -> Optional:
        """The next element as an ``Optional``, which has no value at the end of the data."""
        raise NotImplementedError


class OwnedIterator(IteratorBase, Argument, HasTypeSpec, StagedIterable, Overloading, Trackable):
    """An iterator over a dataset. It lives as long as its handle. A checkpoint that has it saves where it is.

    Args:
      handle: a scalar variant tensor whose element is an ``IteratorResource``, the position in the data.
      structure: of the elements.
    """

    converted_builtins = {next: lambda iterator, *default: _next(iterator, *default)}
    axis: Axis | None = None
    """The mesh axis whose positions each get a part of every element, or None."""

    def __init__(self, handle: Tensor, structure: Structure):
        self.handle = handle
        self.structure = structure
        self._asked = 0

    @classmethod
    def over(cls, node: DatasetNode) -> OwnedIterator:
        """An iterator at the beginning of a pipeline."""
        return cls(opened(node), node.structure)

    def like(self, handle: Tensor) -> OwnedIterator:
        """An iterator of the same kind with another handle."""
        return type(self)(handle, self.structure)

    @property
    def key(self) -> Hashable:
        """Part of the key of traces: equal for iterators whose elements have the same structure."""
        return self.structure.key

    def _tensors(self) -> list[Tensor]:
        return [self.handle]

    def _like(self, tensors: Sequence[Tensor]) -> OwnedIterator:
        return self.like(tensors[0])

    def _argument_key(self) -> Hashable:
        return self.key

    @property
    def _type_spec(self) -> TypeSpec:
        return IteratorSpec(self.element_spec)

    def _staged_loop(self, body: Callable[[Any], Any], variables: Variables, goes_on: Test) -> None:
        """Stages ``for element in iterator`` as a loop whose body first takes an element, which ends it at the end."""

        def advance() -> None:
            body(self.get_next_or_end())

        def test() -> Tensor:
            return convert_to_tensor(True) if goes_on is None else convert_to_tensor(goes_on())

        staged_while(test, advance, variables, "for loop", body)

    def _packed(self, components: Sequence[Tensor]) -> Any:
        """An element from its components."""
        return self.structure.values(components)

    def _components(self, context: EagerContext, arrays: Sequence[Any]) -> list[Tensor]:
        """The components of an element as eager tensors."""
        pairs = zip(arrays, self.structure.dtypes, strict=True)
        return [EagerTensor(context, array, dtype) for array, dtype in pairs]

    def _optional(self, has_value: Tensor, components: list[Tensor]) -> Optional:
        return Optional(self.structure, has_value, components)

    def _add(self, type: str, attrs: dict[str, Any], name: str | None = None, before: int = 0) -> list[Tensor]:
        """Adds an operation that takes an element. ``before``: the number of its outputs before the components."""
        attrs = {"structure": self.structure, **attrs}
        if self.axis is not None:
            attrs["varying_outputs"] = (False,) * before + (True,) * len(self.structure)
        return get_default_graph().add(type, [self.handle], attrs, name, axis=self.axis).outputs

    def __iter__(self) -> OwnedIterator:
        return self

    def _position(self) -> IteratorResource:
        if not isinstance(self.handle, EagerTensor):
            raise UnsupportedError(
                "A checkpoint saves and restores the position of an iterator where operations run at once; this one is "
                "of a function or graph. Savers keep positions beside the checkpoint without being asked."
            )
        found: IteratorResource = self.handle.array.item()
        return found

    def _serialize_to_tensors(self) -> dict[str, Tensor]:
        return {_STATE: constant(self._position().state_bytes(), string)}

    def _restore_from_tensors(self, restored_tensors: Mapping[str, Any]) -> None:
        self._position().resume_bytes(np.asarray(restored_tensors[_STATE]).item())

    @property
    def element_spec(self) -> Any:
        return self.structure.specs

    @property
    def output_types(self) -> Any:
        return self.structure.types

    @property
    def output_shapes(self) -> Any:
        return self.structure.shapes

    @property
    def output_classes(self) -> Any:
        return self.structure.classes

    def next(self) -> Any:
        """``__next__``, as Python 2 calls it."""
        return self.__next__()

    def __next__(self) -> Any:
        """The next element.

        Raises:
          StopIteration: eagerly, at the end of the data. A function raises OutOfRangeError when it runs.
          UnsupportedError: a Python loop over the iterator does not end while a function is traced.
        """
        if isinstance(self.handle, EagerTensor) and get_default_graph().executing_eagerly:
            resource: IteratorResource = self.handle.array.item()
            return self._packed(self._components(self.handle._graph, gather_next(resource, self.axis)))
        self._asked += 1
        if self._asked > _UNROLLED:
            raise UnsupportedError(
                f"A Python loop at {user_line()} takes elements of a dataset while a function is traced, where no "
                "element is the last one. Write it as a `for` statement in code that autograph converts, or take a "
                f"fixed number of elements.{unconverted()}"
            )
        return self._taken()

    def get_next(self, name: str | None = None) -> Any:
        if not get_default_graph().executing_eagerly:
            return self._taken(name=name)
        try:
            return self.__next__()
        except StopIteration as end:
            raise OutOfRangeError(None, None, f"End of sequence{end.value or ''}") from None

    def get_next_or_end(self) -> Any:
        """The next element; at the end of the data it ends the staged loop whose body contains it."""
        return self._taken(ends=True)

    def get_next_as_optional(self) -> Optional:
        if isinstance(self.handle, EagerTensor) and get_default_graph().executing_eagerly:
            there, *arrays = _optional_parts(self.handle.array.item(), self.axis)
            return self._optional(constant(there, bool_), self._components(self.handle._graph, arrays))
        attrs = {"takes": "optional", "source": _optionals}
        has_value, *components = self._add("OwnedIteratorGetOptional", attrs, before=1)
        return self._optional(has_value, components)

    def _taken(self, ends: bool = False, name: str | None = None) -> Any:
        attrs = {"ends": ends, "takes": "element", "source": _resource}
        return self._packed(self._add("OwnedIteratorGetNext", attrs, name or "IteratorGetNext"))


def _next(iterator: OwnedIterator, *default: Any) -> Any:
    """``next(iterator[, default])`` in code that autograph converted."""
    if not default or get_default_graph().executing_eagerly:
        return next(iterator, *default)
    found = iterator.get_next_as_optional()
    wanted = map_leaves(lambda spec: spec, iterator.element_spec)
    if default[0] is None or len(flatten(default[0])) != len(flatten(wanted)):
        raise TypeError(
            f"next(iterator, default) in a function: the default has to be like an element, {wanted!r}, got "
            f"{default[0]!r}."
        )
    return cond(found.has_value(), found.get_value, lambda: map_leaves(convert_to_tensor, default[0]), strict=True)


class IteratorSpec(TypeSpec):
    """The ``TypeSpec`` of an iterator.

    Args:
      element_spec: a structure of ``TensorSpec``.
    """

    def __init__(self, element_spec: Any):
        self._element_spec = element_spec

    @property
    def value_type(self) -> type[OwnedIterator]:
        return OwnedIterator

    @staticmethod
    def from_value(value: OwnedIterator) -> IteratorSpec:
        """The specification of an iterator."""
        return IteratorSpec(value.element_spec)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec((), variant)

    def _to_components(self, value: OwnedIterator) -> Tensor:
        return value.handle

    def _from_components(self, components: Tensor) -> OwnedIterator:
        return OwnedIterator(components, structure_of_specs(self._element_spec, "element_spec"))


def opened(node: DatasetNode) -> Tensor:
    """The handle of a new iterator at the beginning of a pipeline."""
    return get_default_graph().add("OpenIterator", node.inputs(), {"node": node}).outputs[0]


class NumpyIterator(Iterator[Any]):
    """An iterator over a dataset with elements as numpy values.

    Raises:
      RuntimeError: it is made inside a graph or function.
    """

    def __init__(self, dataset: Any):
        if not get_default_graph().executing_eagerly:
            raise RuntimeError("as_numpy_iterator() is not supported while tracing functions or building graphs.")
        self._iterator = iter(dataset)

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        parts = map_leaves(lambda t: t.numpy(), in_parts(next(self._iterator)))
        return over_units(lambda sparse: SparseTensorValue(*sparse), _ragged_value, parts)

    def next(self) -> Any:
        return self.__next__()


def _ragged_value(parts: RaggedParts) -> Any:
    return RaggedTensorValue.nested(parts).numpy() if len(parts) > 1 else parts[0]


# ---- operations --------------------------------------------------------------------------------------------------


def _open(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    node = op.attrs["node"]
    resource = IteratorResource(node.structure, session.waiting)
    try:
        opening = opening_of(session, op, node, values)
        resource.live = opening.live and any(n.cells for n in reachable_nodes(node, opening.values))
        resource.initialize(opening)
    except Exception as error:
        raise with_operation(error, op) from error.__cause__
    return [boxed(resource)]


def _resource(session: Runner, op: Operation, values: Sequence[Array]) -> IteratorResource:
    """The source from which a fed loop takes the elements of an operation."""
    return values[0].item()


class _Optionals:
    """The elements of an iterator as optionals: an endless source whose elements begin with ``has_value``.

    At the end of the data the other components are zeros of the last element's shapes, so that a loop whose shapes
    are compiled goes on.
    """

    def __init__(self, resource: IteratorResource, axis: Axis | None):
        self.resource = resource
        self.lender = None
        self.live = resource.live
        self._last = _nothing(resource.structure, axis)
        if axis is not None and axis.is_multi_process:
            self._last = [part if part.dtype.hasobject else part[: len(axis.local_indices)] for part in self._last]

    def next(self) -> list[Array]:
        """``[has_value, *components]`` of the next element."""
        try:
            element = self.resource.next()
        except StopIteration:
            arrays = (part.padded if isinstance(part, UnevenShards) else part for part in self._last)
            return [np.asarray(False), *(np.zeros_like(array) for array in arrays)]
        self._last = element
        return [np.asarray(True), *element]

    def fill(self, buffers: Sequence[Array], start: int, count: int) -> int:
        """As of ``IteratorResource``."""
        for done in range(count):
            element = self.next()
            if any(part.shape != buffer.shape[1:] for part, buffer in zip(element, buffers, strict=True)):
                self.push_back([element])
                return done
            for part, buffer in zip(element, buffers, strict=True):
                buffer[start + done, ...] = part
        return count

    def push_back(self, elements: list[list[Array]]) -> None:
        self.resource.push_back([element[1:] for element in elements if element[0]])

    def push_error(self, error: BaseException) -> None:
        self.resource.push_error(error)

    def skip_failed(self) -> None:
        self.resource.skip_failed()


def _optionals(session: Runner, op: Operation, values: Sequence[Array]) -> _Optionals:
    return _Optionals(values[0].item(), op.axis)


def _nothing(structure: Structure, axis: Axis | None) -> list[Array]:
    """Zeros in the place of the components of an element, at the end of the data."""
    blank = structure.blank()
    return blank if axis is None else [np.stack([part] * axis.size) for part in blank]


def _optional_parts(resource: IteratorResource, axis: Axis | None) -> list[Array]:
    """``[has_value, *components]`` of the next element."""
    try:
        return [np.asarray(True), *gather_next(resource, axis)]
    except StopIteration:
        return [np.asarray(False), *_nothing(resource.structure, axis)]


def _get_next(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    try:
        return gather_next(values[0].item(), op.axis)
    except StopIteration as end:
        if op.attrs["ends"]:
            raise EndOfLoop from None
        raise OutOfRangeError(None, op, f"End of sequence{end.value or ''}") from None
    except Exception as error:
        raise with_operation(error, op) from error.__cause__


def _get_optional(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    try:
        return _optional_parts(values[0].item(), op.axis)
    except Exception as error:
        raise with_operation(error, op) from error.__cause__


def _components(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    structure = attrs["structure"]
    return [Signature(t, d) for t, d in zip(structure.dtypes, structure.dims, strict=True)]


define_op(
    "OpenIterator", lambda inputs, attrs: [Signature(variant, ())], host=_open, stateful=True, differentiable=False,
    hidden=("node",),
)  # fmt: skip
define_op(
    "OwnedIteratorGetNext", _components, host=_get_next, stateful=True, differentiable=False,
    hidden=("structure", "ends", "takes", "source", "varying_outputs"),
)  # fmt: skip
define_op(
    "OwnedIteratorGetOptional", lambda inputs, attrs: [Signature(bool_, ()), *_components(inputs, attrs)],
    host=_get_optional, stateful=True, differentiable=False, hidden=("structure", "takes", "source", "varying_outputs"),
)  # fmt: skip
