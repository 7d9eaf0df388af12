"""Distributed datasets: their elements have a part for every replica."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.dataset_v1 import make_initializable_iterator, one_shot_iterator
from towerstrat.data.elements.optional import Optional
from towerstrat.data.elements.structure import Structure
from towerstrat.data.iterators.python_iterators import IteratorBase, OwnedIterator, opened
from towerstrat.data.iterators.session_iterators import Iterator
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.errors import UnsupportedError
from towerstrat.graph.autograph.iteration import StagedIterable, Test
from towerstrat.graph.autograph.loops import Variables
from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite_values import Argument
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.towers.distribute.per_replica_values import Layout
from towerstrat.towers.engine import tower_contexts


class DistributedOptional(Optional):
    """An element with a part for every replica, which may not be there."""

    def __init__(self, layout: Layout, structure: Structure, has_value: Tensor, components: list[Tensor]):
        super().__init__(structure, has_value, components)
        self._layout = layout

    def like(self, tensors: Sequence[Tensor]) -> Optional:
        return DistributedOptional(self._layout, self.structure, tensors[0], list(tensors[1:]))

    @property
    def key(self) -> Any:
        return (self.structure.key, self._layout.axis)

    def _packed(self, components: Sequence[Tensor]) -> Any:
        return self._layout.pack(self.structure, components)

    @property
    def element_spec(self) -> Any:
        return self._layout.specs(self.structure)


class DistributedIterator(OwnedIterator):
    """Goes through the elements of a distributed dataset: structures of per-replica values, of tensors for one replica.

    All of its methods raise ValueError in the function that ``strategy.run`` calls: it is all replicas' together.
    """

    def __init__(self, handle: Tensor, structure: Structure, layout: Layout | None):
        super().__init__(handle, structure)
        self._layout = layout
        self.axis = None if layout is None else layout.axis

    def like(self, handle: Tensor) -> DistributedIterator:
        return DistributedIterator(handle, self.structure, self._layout)

    @property
    def key(self) -> Any:
        return (self.structure.key, self.axis)

    @property
    def element_spec(self) -> Any:
        return self.structure.specs if self._layout is None else self._layout.specs(self.structure)

    def next(self) -> Any:
        """The next element, as ``next(iterator)``."""
        return self.__next__()

    def __next__(self) -> Any:
        _require_outside()
        return super().__next__()

    def get_next(self) -> Any:  # type: ignore[override]
        _require_outside()
        return super().get_next()

    def get_next_as_optional(self) -> Optional:
        _require_outside()
        return super().get_next_as_optional()

    def _packed(self, components: Sequence[Tensor]) -> Any:
        return super()._packed(components) if self._layout is None else self._layout.pack(self.structure, components)

    def _components(self, context: Any, arrays: Sequence[Any]) -> list[Tensor]:
        if self._layout is None:
            return super()._components(context, arrays)
        parts = zip(arrays, self.structure.dtypes, self.structure.dims, strict=True)
        return [ShardedTensor(context, a, t, self._layout.axis, d) for a, t, d in parts]

    def _optional(self, has_value: Tensor, components: list[Tensor]) -> Optional:
        if self._layout is None:
            return super()._optional(has_value, components)
        return DistributedOptional(self._layout, self.structure, has_value, components)


def _require_outside() -> None:
    """Raises ValueError in a replica's context."""
    if tower_contexts.has_distribution_strategy() and tower_contexts.get_tower_context() is not None:
        raise ValueError(
            "next(iterator) should be called from outside of replica_fn. e.g. strategy.run(replica_fn, "
            "args=(next(iterator),))"
        )


class DistributedDataset(Argument, StagedIterable):
    """What ``Strategy.experimental_distribute_dataset`` gives: elements are structures of per-replica values.

    With a single replica they are plain tensors. Nothing can be added to the pipeline.

    Args:
      node: the pipeline; its elements have a part for every replica where there is a layout.
      layout: the replicas, None for a single one.
    """

    def __init__(self, node: DatasetNode, layout: Layout | None):
        self._node = node
        self._layout = layout

    @property
    def element_spec(self) -> Any:
        """A ``TensorSpec`` for each component, or what is known of a per-replica value."""
        structure = self._node.structure
        return structure.specs if self._layout is None else self._layout.specs(structure)

    def __iter__(self) -> IteratorBase:
        """A pass over its elements.

        Raises:
          RuntimeError: while a graph is built that is no function's.
        """
        graph = get_default_graph()
        if not graph.executing_eagerly and not graph.building_function:
            raise RuntimeError(
                "__iter__() is only supported inside of tf.function or when eager execution is enabled. In a graph use "
                "make_initializable_iterator() and session.run."
            )
        return DistributedIterator(opened(self._node), self._node.structure, self._layout)

    def _tensors(self) -> list[Tensor]:
        return [Dataset._made(self._node).handle()]

    def _like(self, tensors: Sequence[Tensor]) -> DistributedDataset:
        return type(self)(Dataset.from_handle(tensors[0], self._node.structure).node, self._layout)

    def _argument_key(self) -> Any:
        return self._node.structure.key, None if self._layout is None else self._layout.axis

    def _staged_loop(self, body: Callable[[Any], Any], variables: Variables, goes_on: Test) -> None:
        iterator: Any = iter(self)
        iterator._staged_loop(body, variables, goes_on)

    @property
    def cardinality(self) -> np.int64:
        """How many elements there are: ``tf.data.INFINITE_CARDINALITY``, or ``UNKNOWN_CARDINALITY``, below 0."""
        return np.int64(self._node.cardinality())

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """``reduce_func(state, element)`` along all elements: the last state.

        Args:
          initial_state: a structure of values.
          reduce_func: calls ``strategy.run`` or ``strategy.reduce`` for an element, and returns a state of the same
            structure, types and shapes.
        """
        state = nest.map_structure(convert_to_tensor, initial_state)
        if get_default_graph().executing_eagerly:
            for element in self:
                state = reduce_func(state, element)
            return state

        def step(element: Any) -> None:
            nonlocal state
            state = reduce_func(state, element)

        def put(values: Any) -> None:
            nonlocal state
            (state,) = values

        self._staged_loop(step, Variables(lambda: (state,), put, ("state",), {}), None)
        return state

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self.element_spec}>"


class DistributedDatasetV1(DistributedDataset):
    """A distributed dataset of 1.14 and 1.15, with iterators of graphs besides."""

    def make_one_shot_iterator(self) -> InputIterator:
        """An iterator that is ready at once."""
        return InputIterator(one_shot_iterator(Dataset._made(self._node)), self._layout)

    def make_initializable_iterator(self) -> InputIterator:
        """An iterator whose ``initializer`` is run first."""
        return InputIterator(make_initializable_iterator(Dataset._made(self._node)), self._layout)


class InputIterator:
    """An iterator of a graph over elements with a part for every replica."""

    def __init__(self, iterator: Iterator, layout: Layout | None):
        self.iterator = iterator
        self.layout = layout

    @property
    def initializer(self) -> Operation:
        """The operation that starts it at the beginning."""
        return self.iterator.initializer

    def initialize(self) -> list[Operation]:
        """The operations to run before the first element."""
        return [self.iterator.initializer]

    def get_next(self, name: str | None = None) -> Any:
        """The next element: a structure of per-replica values."""
        if self.layout is None:
            return self.iterator.get_next(name)
        return self.layout.pack(self.iterator.structure, self.iterator.components(self.layout.axis, name))

    def __next__(self) -> Any:
        return self.get_next()

    def next(self) -> Any:
        """``get_next``, as Python 2 calls it."""
        return self.get_next()

    def get_next_as_optional(self) -> Any:
        raise UnsupportedError(
            "get_next_as_optional() of an iterator of a graph is not supported: run get_next() and catch "
            "tf.errors.OutOfRangeError."
        )

    @property
    def element_spec(self) -> Any:
        structure = self.iterator.structure
        return structure.specs if self.layout is None else self.layout.specs(structure)

    @property
    def output_types(self) -> Any:
        return self.iterator.output_types

    @property
    def output_shapes(self) -> Any:
        return self.iterator.output_shapes

    @property
    def output_classes(self) -> Any:
        return self.iterator.output_classes
