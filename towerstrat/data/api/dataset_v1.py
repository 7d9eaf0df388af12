"""The datasets of 1.x: as those of 2.x, with the members that they had, and iterators for sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.data.api.dataset import Dataset, checked_dataset
from towerstrat.data.elements.structure import in_parts
from towerstrat.data.iterators.python_iterators import OwnedIterator
from towerstrat.data.iterators.session_iterators import Iterator, IteratorKey, make_iterator
from towerstrat.data.pipeline import sources
from towerstrat.data.pipeline.arguments import components
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue


class DatasetV1(Dataset):
    """A dataset with the members of 1.x. What its methods return is one again.

    Functions see variables as they are when the iterator is initialized.
    """

    def __init__(self, node: DatasetNode | None = None):
        if node is None:
            raise TypeError("A dataset is made by Dataset.from_tensor_slices, from_generator, range and their like.")
        super().__init__(node)

    @classmethod
    def _made(cls, node: DatasetNode) -> DatasetV1:
        return DatasetV1(node)

    # ---- what it is ----------------------------------------------------------------------------------------------

    @property
    def output_types(self) -> Any:
        """The element types of the components, in the structure of an element."""
        return self.node.structure.types

    @property
    def output_shapes(self) -> Any:
        """The partially known shapes of the components, in the structure of an element."""
        return self.node.structure.shapes

    @property
    def output_classes(self) -> Any:
        """``tf.Tensor`` for each component, in the structure of an element."""
        return self.node.structure.classes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    def make_one_shot_iterator(self) -> Iterator | OwnedIterator:
        """An iterator that needs no initializer. Each session goes through the data once.

        Eagerly it is what ``iter`` gives: its ``get_next`` takes elements, and a checkpoint saves where it is.

        Raises:
          ValueError: the dataset depends on a placeholder or a variable, which have no value yet.
        """
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that starts at the beginning whenever its ``initializer`` is run.

        Args:
          shared_name: iterators of one session with the same name share their position.
        """
        return make_initializable_iterator(self, shared_name)

    # ---- where elements come from --------------------------------------------------------------------------------

    @classmethod
    def zip(cls, datasets: Any, name: str | None = None) -> Any:  # type: ignore[override]
        """A structure of datasets as a dataset of structures. Ends with the shortest."""
        return super().zip(datasets=datasets)

    @classmethod
    def from_sparse_tensor_slices(cls, sparse_tensor: Any) -> Any:
        """The rows of a SparseTensor, each as its indices ``[n, rank - 1]``, values ``[n]`` and shape ``[rank - 1]``.

        Raises:
          TypeError: no SparseTensor.
        """
        if not isinstance(sparse_tensor, SparseTensor | SparseTensorValue):
            raise TypeError(f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor}.")
        return cls._made(sources.SparseTriples(components(in_parts(sparse_tensor))))

    # ---- names of 1.13 to 1.15 -----------------------------------------------------------------------------------

    def map_with_legacy_function(
        self, map_func: Callable[..., object], num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
    ) -> DatasetV1:  # fmt: skip
        """``map``: there is one kind of functions here, which may do what only those of 1.x could."""
        mapped: DatasetV1 = self.map(map_func, num_parallel_calls, deterministic)
        return mapped

    def filter_with_legacy_function(self, predicate: Callable[..., object]) -> DatasetV1:
        """``filter``, as ``map_with_legacy_function`` is ``map``."""
        filtered: DatasetV1 = self.filter(predicate)
        return filtered


# ---- iterators for sessions --------------------------------------------------------------------------------------


def make_one_shot_iterator(dataset: Dataset) -> Iterator | OwnedIterator:
    """An iterator over a dataset that needs no initializer. Each session goes through the data once; see ``DatasetV1``.

    Raises:
      ValueError: the dataset depends on a placeholder or a variable, which have no value yet.
    """
    if get_default_graph().executing_eagerly:
        return OwnedIterator.over(checked_dataset(dataset, "make_one_shot_iterator").node)
    return one_shot_iterator(dataset)


def one_shot_iterator(dataset: Dataset) -> Iterator:
    """An iterator whose position sessions have, also where operations are executed eagerly."""
    node = checked_dataset(dataset, "make_one_shot_iterator").node
    _check_capturable(node)
    structure = node.structure
    position = IteratorKey(get_default_graph(), structure, node=node)
    return Iterator(position, None, structure.types, structure.shapes, structure.classes)


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """An iterator over a dataset that starts at the beginning whenever its ``initializer`` is run.

    Args:
      shared_name: iterators of one session with the same name share their position.

    Raises:
      RuntimeError: where operations are executed eagerly.
    """
    if get_default_graph().executing_eagerly:
        raise RuntimeError(
            "dataset.make_initializable_iterator is not supported when eager execution is enabled. Iterate over the "
            "dataset (`for element in dataset`), or use dataset.make_one_shot_iterator()."
        )
    structure = checked_dataset(dataset, "make_initializable_iterator").node.structure
    position = IteratorKey(get_default_graph(), structure, shared_name)
    initializer = make_iterator(position, dataset.node)
    return Iterator(position, initializer, structure.types, structure.shapes, structure.classes)


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The element types of the components of a dataset's or iterator's elements."""
    return _structure(dataset_or_iterator).types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The partially known shapes of the components of a dataset's or iterator's elements."""
    return _structure(dataset_or_iterator).shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """``tf.Tensor`` for each component of a dataset's or iterator's elements."""
    return _structure(dataset_or_iterator).classes


def _structure(value: Any) -> Any:
    return value.node.structure if isinstance(value, Dataset) else value.structure


def as_dataset(value: Any) -> Dataset:
    """``value`` itself, or a dataset of a Python iterable or of a function that returns one."""
    if callable(value) and not hasattr(value, "__iter__"):
        made = value()
        if isinstance(made, Dataset):
            return made
        return DatasetV1(sources.iterated(value, made))
    return value if isinstance(value, Dataset) else DatasetV1.from_iterable(value)


def _check_capturable(node: DatasetNode) -> None:
    variables = node.variables()
    seen: set[Operation] = set()
    stack = [t.op for t in node.inputs()]
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type == "Placeholder":
            raise ValueError(
                f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value. Use "
                "make_initializable_iterator() and feed it when the initializer is run."
            )
        if op.reads and not op.definition.random:
            variables += op.reads
        stack += [t.op for t in op.inputs]
    if variables:
        raise ValueError(
            "Failed to create a one-shot iterator for a dataset: it depends on the variable "
            f"{variables[0].name}. Use Dataset.make_initializable_iterator() and initialize it after the variable."
        )
