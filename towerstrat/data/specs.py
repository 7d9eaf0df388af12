"""Datasets and iterators in functions: as arguments, as results, and in ``for`` statements."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data.arguments import structure_of_specs
from towerstrat.data.dataset import Dataset
from towerstrat.data.optional import Optional
from towerstrat.data.owned_iterator import OwnedIterator
from towerstrat.data.structure import flatten, map_leaves
from towerstrat.graph.autograph.builtins import register_builtin
from towerstrat.graph.autograph.iteration import register_iterable
from towerstrat.graph.autograph.loops import Variables, staged_while
from towerstrat.graph.functions.arguments import register_argument
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.specs import TensorSpec, TypeSpec, register_type_spec
from towerstrat.graph.ir.types import variant
from towerstrat.graph.ops.control_flow import cond
from towerstrat.graph.ops.regions import register_composite


class DatasetSpec(TypeSpec):
    """What is known of a dataset.

    Args:
      element_spec: a structure of ``TensorSpec``.
      dataset_shape: ``[]``; there are no tensors of datasets.
    """

    def __init__(self, element_spec: Any, dataset_shape: Any = ()):
        self._element_spec = element_spec
        self._dataset_shape = tuple(dataset_shape)

    @property
    def value_type(self) -> type[Dataset]:
        return Dataset

    @property
    def element_spec(self) -> Any:
        return self._element_spec

    @staticmethod
    def from_value(value: Dataset) -> DatasetSpec:
        """What is known of a dataset."""
        return DatasetSpec(value.element_spec)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec, self._dataset_shape)

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec((), variant)

    def _to_components(self, value: Dataset) -> Tensor:
        return value.handle()

    def _from_components(self, components: Tensor) -> Any:
        return Dataset.from_handle(components, structure_of_specs(self._element_spec, "element_spec"))


class IteratorSpec(TypeSpec):
    """What is known of an iterator.

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
        """What is known of an iterator."""
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


register_type_spec(Dataset, DatasetSpec.from_value)
register_type_spec(OwnedIterator, IteratorSpec.from_value)


def _dataset_like(dataset: Dataset, tensors: Sequence[Tensor]) -> Any:
    return type(dataset).from_handle(tensors[0], dataset.node.structure)


def _iterator_like(iterator: OwnedIterator, tensors: Sequence[Tensor]) -> OwnedIterator:
    return iterator.like(tensors[0])


register_composite(Dataset, lambda dataset: [dataset.handle()], _dataset_like, lambda dataset: 1)
register_argument(Dataset, lambda dataset: dataset.node.structure.key, lambda d: [d.handle()], _dataset_like)
register_composite(OwnedIterator, lambda iterator: [iterator.handle], _iterator_like)
register_argument(OwnedIterator, lambda iterator: iterator.key, lambda i: [i.handle], _iterator_like)
register_argument(
    Optional,
    lambda value: value.key,
    lambda value: [value._has_value, *value._components],
    lambda value, tensors: value.like(tensors),
)


# ---- for statements ----------------------------------------------------------------------------------------------


def over_elements(
    iterable: Dataset | OwnedIterator, body: Callable[[Any], Any], variables: Variables,
    goes_on: Callable[[], Any] | None,
) -> None:  # fmt: skip
    """A ``for`` statement: a loop whose first operation takes the next element, and ends it where there is none."""
    iterator = iter(iterable) if isinstance(iterable, Dataset) else iterable

    def advance() -> None:
        body(iterator.get_next_or_end())

    def test() -> Any:
        return convert_to_tensor(True) if goes_on is None else convert_to_tensor(goes_on())

    staged_while(test, advance, variables, "for loop", body)


register_iterable((Dataset, OwnedIterator), over_elements)


# ---- Python's functions ------------------------------------------------------------------------------------------


def _next(iterator: OwnedIterator, *default: Any) -> Any:
    """``next`` in converted code."""
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


register_builtin(next, OwnedIterator, _next)
register_builtin(builtins.enumerate, Dataset, lambda dataset, start=0: dataset.enumerate(start))
register_builtin(builtins.zip, Dataset, lambda *datasets: type(datasets[0]).zip(datasets=datasets))
register_builtin(builtins.map, Dataset, lambda function, *datasets: _mapped(function, datasets))
register_builtin(builtins.filter, Dataset, lambda function, dataset: dataset.filter(function))


def _mapped(function: Callable[..., Any], datasets: Sequence[Dataset]) -> Any:
    first = datasets[0]
    return (first if len(datasets) == 1 else type(first).zip(datasets=tuple(datasets))).map(function)
