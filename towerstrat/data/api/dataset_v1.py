"""The datasets of 1.x: as those of 2.x, with the arguments that they had, and iterators for sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.data.api.dataset import Dataset, checked_dataset
from towerstrat.data.elements.options import Options
from towerstrat.data.elements.structure import in_parts
from towerstrat.data.iterators.python_iterators import OwnedIterator
from towerstrat.data.iterators.session_iterators import Iterator, IteratorKey, make_iterator
from towerstrat.data.pipeline import sources
from towerstrat.data.pipeline.arguments import components
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue


class DatasetV1(Dataset):
    """A dataset with the arguments and members of 1.x. What its methods return is one again.

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
    def from_tensors(cls, tensors: Any) -> Any:  # type: ignore[override]
        """One element: ``tensors`` itself, a structure of values or graph tensors."""
        return super().from_tensors(tensors)

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Any:  # type: ignore[override]
        """The slices of ``tensors`` along the first dimension, in which all components must be alike."""
        return super().from_tensor_slices(tensors)

    @classmethod
    def from_sparse_tensor_slices(cls, sparse_tensor: Any) -> Any:
        """The rows of a SparseTensor, each as its indices ``[n, rank - 1]``, values ``[n]`` and shape ``[rank - 1]``.

        Raises:
          TypeError: no SparseTensor.
        """
        if not isinstance(sparse_tensor, SparseTensor | SparseTensorValue):
            raise TypeError(f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor}.")
        return cls._made(sources.SparseTriples(components(in_parts(sparse_tensor))))

    @classmethod
    def from_generator(  # type: ignore[override]
        cls, generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Any:
        """What ``generator(*args)`` yields. It is called for each pass. As in 2.x, without a signature."""
        return super().from_generator(generator, output_types, output_shapes, args)

    @classmethod
    def range(cls, *args: Any) -> Any:
        """The int64 scalars of ``range(*args)``."""
        return super().range(*args)

    @classmethod
    def zip(cls, datasets: Any) -> Any:  # type: ignore[override]
        """A structure of datasets as a dataset of structures. Ends with the shortest."""
        return super().zip(datasets=datasets)

    @classmethod
    def list_files(cls, file_pattern: Any, shuffle: bool | None = None, seed: Any = None) -> Any:  # type: ignore[override]
        """The names of the files that match a pattern (or one of several).

        Args:
          shuffle: in a random order (the default) rather than sorted.
          seed: as of ``shuffle``.

        Raises (when an iterator starts):
          InvalidArgumentError: nothing matches.
        """
        return super().list_files(file_pattern, shuffle, seed)

    # ---- order and selection -------------------------------------------------------------------------------------

    def concatenate(self, dataset: Dataset) -> Any:  # type: ignore[override]
        """These elements, then those of ``dataset``, which must have the same types and structure."""
        return super().concatenate(dataset)

    def prefetch(self, buffer_size: Any) -> Any:  # type: ignore[override]
        """The same, with up to ``buffer_size`` elements made ahead by a thread."""
        return super().prefetch(buffer_size)

    def shuffle(  # type: ignore[override]
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None
    ) -> Any:
        """A random order: each element is drawn from a buffer of the next ``buffer_size``.

        Args:
          seed: with it (or the graph's seed) the order is the same in every run of the program and after every
            initialization.
          reshuffle_each_iteration: whether each pass of a ``repeat`` has another order; default True.
        """
        return super().shuffle(buffer_size, seed, reshuffle_each_iteration)

    def cache(self, filename: Any = "") -> Any:  # type: ignore[override]
        """The same; the elements of the first complete pass are kept in memory and used again in later ones."""
        return super().cache(filename)

    def take(self, count: Any) -> Any:  # type: ignore[override]
        """The first ``count`` elements; all where it is -1."""
        return super().take(count)

    def skip(self, count: Any) -> Any:  # type: ignore[override]
        """All but the first ``count`` elements; none where it is -1."""
        return super().skip(count)

    def repeat(self, count: Any = None) -> Any:  # type: ignore[override]
        """``count`` passes; endless where it is None or -1."""
        return super().repeat(count)

    def shard(self, num_shards: Any, index: Any) -> Any:  # type: ignore[override]
        """Every ``num_shards``-th element, starting with element ``index``."""
        return super().shard(num_shards, index)

    # ---- batches -------------------------------------------------------------------------------------------------

    def batch(self, batch_size: Any, drop_remainder: bool = False) -> Any:  # type: ignore[override]
        """``batch_size`` consecutive elements as one, stacked along a new first dimension.

        Args:
          drop_remainder: leave out a smaller last batch; then the first dimension is known.

        Raises (when elements are taken):
          InvalidArgumentError: elements of different shapes.
        """
        return super().batch(batch_size, drop_remainder)

    def padded_batch(  # type: ignore[override]
        self, batch_size: Any, padded_shapes: Any, padding_values: Any = None, drop_remainder: bool = False
    ) -> Any:
        """Like ``batch``, with components of different sizes filled up.

        Args:
          padded_shapes: for each component a shape; None or -1 in it is the largest size in the batch.
          padding_values: for each component a scalar of its type; default 0 or the empty string.
        """
        return super().padded_batch(batch_size, padded_shapes, padding_values, drop_remainder)

    # ---- functions -----------------------------------------------------------------------------------------------

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Any:  # type: ignore[override]
        """``map_func`` of each element. Tuples are spread over its arguments.

        The function is traced once. It may use tensors from outside and variables, as they are when the iterator is
        initialized. ``num_parallel_calls`` elements may be taken ahead, to be made together; it changes no value.
        """
        return super().map(map_func, num_parallel_calls)

    def filter(self, predicate: Callable[..., Any]) -> Any:  # type: ignore[override]
        """The elements for which ``predicate`` returns true. Raises ValueError unless it returns a scalar bool."""
        return super().filter(predicate)

    def flat_map(self, map_func: Callable[..., Any]) -> Any:  # type: ignore[override]
        """The elements of the datasets that ``map_func`` makes from each element, one dataset after the other."""
        return super().flat_map(map_func)

    def interleave(  # type: ignore[override]
        self, map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, num_parallel_calls: Any = None
    ) -> Any:
        """The elements of the datasets that ``map_func`` makes, ``cycle_length`` of them open at a time.

        ``block_length`` consecutive elements are taken from one at a time; ``num_parallel_calls`` changes no value.
        """
        return super().interleave(map_func, cycle_length, block_length)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:  # type: ignore[override]
        """``reduce_func(state, element)`` along all elements: tensors of the last state.

        Args:
          initial_state: a structure of values.
          reduce_func: returns a state of the same structure, types and shapes.
        """
        return super().reduce(initial_state, reduce_func)

    def window(  # type: ignore[override]
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False
    ) -> Any:
        return super().window(size, shift, stride, drop_remainder)

    def with_options(self, options: Options) -> Any:  # type: ignore[override]
        """The same elements. Options tune the original's execution and change no value."""
        return super().with_options(options)


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
