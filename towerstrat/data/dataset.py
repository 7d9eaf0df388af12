"""Datasets: the public face of the pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from towerstrat.data import sources, transforms
from towerstrat.data.background import Prefetch
from towerstrat.data.batching import Batch, PaddedBatch, default_filling
from towerstrat.data.function import Function
from towerstrat.data.iterators import Iterator, Position, make_iterator
from towerstrat.data.mapping import Filter, Interleave, Map
from towerstrat.data.options import Options
from towerstrat.data.pipeline import Node, Seeds
from towerstrat.data.records import Matching
from towerstrat.data.reduction import reduced
from towerstrat.data.structure import Structure, flatten, flatten_like, map_leaves
from towerstrat.errors import UnsupportedError
from towerstrat.graph.convert import convert_to_tensor, numpy_value
from towerstrat.graph.core import get_default_graph
from towerstrat.graph.elements import Operation, Tensor
from towerstrat.graph.shapes import Dimension, TensorShape, as_shape
from towerstrat.graph.types import bool_, int64


class Dataset:
    """A sequence of elements, each a structure of components of the same types.

    A dataset describes; elements are made when an iterator is run. Made by ``from_tensor_slices`` and its like, and by
    the methods below, each of which returns a new dataset.
    """

    node: Node

    def __init__(self, node: Node):
        self.node = node

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

    def __iter__(self) -> Any:
        raise RuntimeError(
            "A dataset cannot be iterated over in Python while a graph is built: use "
            "make_one_shot_iterator().get_next() and session.run."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that needs no initializer. Each session goes through the data once.

        Raises:
          ValueError: the dataset depends on a placeholder or a variable, which have no value yet.
        """
        _check_capturable(self.node)
        structure = self.node.structure
        position = Position(get_default_graph(), structure, node=self.node)
        return Iterator(position, None, structure.types, structure.shapes, structure.classes)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that starts at the beginning whenever its ``initializer`` is run.

        Args:
          shared_name: iterators of one session with the same name share their position.
        """
        structure = self.node.structure
        position = Position(get_default_graph(), structure, shared_name)
        initializer = make_iterator(position, self.node)
        return Iterator(position, initializer, structure.types, structure.shapes, structure.classes)

    # ---- where elements come from --------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element: ``tensors`` itself, a structure of values or graph tensors."""
        return Dataset(sources.Whole(_components(tensors)))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The slices of ``tensors`` along the first dimension, in which all components must be alike."""
        return Dataset(sources.Slices(_components(tensors)))

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        raise UnsupportedError(
            "Dataset.from_sparse_tensor_slices: sparse components are not supported; use dense ones."
        )

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Dataset:
        """What ``generator(*args)`` yields. It is called for each pass.

        Args:
          generator: returns an iterable; its elements have the structure of ``output_types``.
          output_types, output_shapes: of the components; shapes that are not given are unknown.
          args: values or tensors, which the generator gets as numpy values.

        Raises (when elements are taken):
          TypeError, ValueError: an element does not fit. What the generator raises comes out as it is.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        structure = Structure.of_types(output_types, output_shapes)
        return Dataset(sources.Generated(generator, structure, [sources.component(a) for a in args or ()]))

    @staticmethod
    def from_iterable(iterable: Any) -> Dataset:
        """A dataset of any Python iterable (a list of batches, a loader), or of a function that returns one.

        The first element is taken at once: it tells the types and shapes of all.

        Raises:
          TypeError: it is no iterable. ValueError: it is empty.
        """
        return Dataset(sources.iterated(iterable))

    @staticmethod
    def range(*args: Any) -> Dataset:
        """The int64 scalars of ``range(*args)``."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Dataset.range: expected 1 to 3 arguments (start, stop, step), got {len(args)}.")
        numbers = [scalar(a, "range") for a in args]
        start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
        return Dataset(sources.Range(start, stop, numbers[2] if len(numbers) == 3 else 1))

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """A structure of datasets as a dataset of structures. Ends with the shortest."""
        for leaf in flatten(datasets):
            if isinstance(leaf, list):
                raise TypeError("Dataset.zip: expected a structure of datasets, got a list. Use a tuple.")
            checked_dataset(leaf, "Dataset.zip")
        return Dataset(transforms.Zip(map_leaves(lambda d: d.node, datasets)))

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: Any = None) -> Dataset:
        """The names of the files that match a pattern (or one of several).

        Args:
          shuffle: in a random order (the default) rather than sorted.
          seed: as of ``shuffle``.

        Raises (when an iterator starts):
          InvalidArgumentError: nothing matches.
        """
        patterns = sources.component(file_pattern)
        dataset = Dataset(Matching(patterns))
        return dataset.shuffle(1 << 30, seed) if shuffle or shuffle is None else dataset

    # ---- order and selection -------------------------------------------------------------------------------------

    def concatenate(self, dataset: Dataset) -> Dataset:
        """These elements, then those of ``dataset``, which must have the same types and structure."""
        checked_dataset(dataset, "concatenate")
        self.node.structure.check_types(dataset.node.structure, "a dataset to concatenate")
        return Dataset(transforms.Concatenate(self.node, dataset.node))

    def prefetch(self, buffer_size: Any) -> Dataset:
        """The same, with up to ``buffer_size`` elements made ahead by a thread."""
        return Dataset(Prefetch(self.node, scalar(buffer_size, "prefetch", none=-1)))

    def shuffle(self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None) -> Dataset:
        """A random order: each element is drawn from a buffer of the next ``buffer_size``.

        Args:
          seed: with it (or the graph's seed) the order is the same in every run of the program and after every
            initialization.
          reshuffle_each_iteration: whether each pass of a ``repeat`` has another order; default True.
        """
        seeds = Seeds(get_default_graph(), None if seed is None else scalar(seed, "shuffle"))
        again = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        return Dataset(transforms.Shuffle(self.node, scalar(buffer_size, "shuffle"), seeds, again))

    def cache(self, filename: Any = "") -> Dataset:
        """The same; the elements of the first complete pass are kept in memory and used again in later ones."""
        if filename not in ("", b"", None):
            raise UnsupportedError(f"Dataset.cache(filename={filename!r}): only memory is supported; leave it out.")
        return Dataset(transforms.Cache(self.node))

    def take(self, count: Any) -> Dataset:
        """The first ``count`` elements; all where it is -1."""
        return Dataset(transforms.Take(self.node, scalar(count, "take")))

    def skip(self, count: Any) -> Dataset:
        """All but the first ``count`` elements; none where it is -1."""
        return Dataset(transforms.Skip(self.node, scalar(count, "skip")))

    def repeat(self, count: Any = None) -> Dataset:
        """``count`` passes; endless where it is None or -1."""
        return Dataset(transforms.Repeat(self.node, scalar(count, "repeat", none=-1)))

    def shard(self, num_shards: Any, index: Any) -> Dataset:
        """Every ``num_shards``-th element, starting with element ``index``."""
        number, place = scalar(num_shards, "shard"), scalar(index, "shard")
        if isinstance(number, int) and number < 1:
            raise ValueError(f"Dataset.shard: num_shards must be >= 1, got {number}.")
        if isinstance(place, int) and (place < 0 or (isinstance(number, int) and place >= number)):
            raise ValueError(f"Dataset.shard: expected 0 <= index < num_shards, got {place} of {number}.")
        return Dataset(transforms.Shard(self.node, number, place))

    # ---- batches -------------------------------------------------------------------------------------------------

    def batch(self, batch_size: Any, drop_remainder: bool = False) -> Dataset:
        """``batch_size`` consecutive elements as one, stacked along a new first dimension.

        Args:
          drop_remainder: leave out a smaller last batch; then the first dimension is known.

        Raises (when elements are taken):
          InvalidArgumentError: elements of different shapes.
        """
        return Dataset(Batch(self.node, scalar(batch_size, "batch"), bool(drop_remainder)))

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any, padding_values: Any = None, drop_remainder: bool = False
    ) -> Dataset:
        """Like ``batch``, with components of different sizes filled up.

        Args:
          padded_shapes: for each component a shape; None or -1 in it is the largest size in the batch.
          padding_values: for each component a scalar of its type; default 0 or the empty string.
        """
        structure = self.node.structure
        given = flatten_like(structure.template, padded_shapes, "padded_shapes")
        names = list(structure.names())
        shapes = [_padded_shape(s, d, n) for s, d, n in zip(given, structure.dims, names, strict=True)]
        if padding_values is None:
            fillings: list[Any] = [default_filling(t) for t in structure.dtypes]
        else:
            values = flatten_like(structure.template, padding_values, "padding_values")
            fillings = [_filling(v, t) for v, t in zip(values, structure.dtypes, strict=True)]
        size = scalar(batch_size, "padded_batch")
        return Dataset(PaddedBatch(self.node, size, shapes, fillings, bool(drop_remainder)))

    # ---- functions -----------------------------------------------------------------------------------------------

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        """``map_func`` of each element. Tuples are spread over its arguments.

        The function is traced once. It may use tensors from outside and variables, as they are when the iterator is
        initialized. ``num_parallel_calls`` changes no value.
        """
        function = Function(map_func, [self.node.structure], "Dataset.map", get_default_graph())
        return Dataset(Map(self.node, function, function.structure))

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which ``predicate`` returns true. Raises ValueError unless it returns a scalar bool."""
        return Dataset(Filter(self.node, predicate_of(self, predicate, "Dataset.filter"), self.node.structure))

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the datasets that ``map_func`` makes from each element, one dataset after the other."""
        return self._interleaved(map_func, 1, 1, "Dataset.flat_map")

    def interleave(
        self, map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, num_parallel_calls: Any = None
    ) -> Dataset:
        """The elements of the datasets that ``map_func`` makes, ``cycle_length`` of them open at a time.

        ``block_length`` consecutive elements are taken from one at a time; ``num_parallel_calls`` changes no value.
        """
        cycle, block = scalar(cycle_length, "interleave"), scalar(block_length, "interleave")
        return self._interleaved(map_func, cycle, block, "Dataset.interleave")

    def _interleaved(self, map_func: Callable[..., Any], cycle: Any, block: Any, name: str) -> Dataset:
        function = Function(map_func, [self.node.structure], name, get_default_graph(), Dataset)
        if function.dataset is None:
            raise TypeError(f"{name}: `map_func` must return a `Dataset` object, got {function.structure.types}.")
        numbers = [t for t in (cycle, block) if isinstance(t, Tensor)]
        return Dataset(Interleave(self.node, function, function.dataset.node, cycle, block, numbers))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """``reduce_func(state, element)`` along all elements: tensors of the last state.

        Args:
          initial_state: a structure of values.
          reduce_func: returns a state of the same structure, types and shapes.
        """
        return reduced(self.node, initial_state, reduce_func)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """``transformation_func(self)``. Raises TypeError unless that is a dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError("`transformation_func` must return a Dataset.")
        return dataset

    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False) -> Dataset:
        raise UnsupportedError("Dataset.window: datasets as elements are not supported; use batch, or from_generator.")

    # ---- options -------------------------------------------------------------------------------------------------

    def options(self) -> Options:
        """How it may be executed. Options change no value."""
        return Options()

    def with_options(self, options: Options) -> Dataset:
        """The same dataset. Options tune the original's execution and change no value."""
        if not isinstance(options, Options):
            raise TypeError(f"Expected tf.data.Options, got {options!r}.")
        return self


def as_dataset(value: Any) -> Dataset:
    """``value`` itself, or a dataset of a Python iterable or of a function that returns one."""
    if callable(value) and not hasattr(value, "__iter__"):
        made = value()
        if isinstance(made, Dataset):
            return made
        return Dataset(sources.iterated(value, made))
    return value if isinstance(value, Dataset) else Dataset.from_iterable(value)


def scalar(value: Any, what: str, none: int | None = None) -> Any:
    """An integer argument of a dataset: a number, or a scalar tensor that is evaluated when an iterator starts.

    Raises:
      TypeError: it is neither.
    """
    if value is None and none is not None:
        return none
    if isinstance(value, Dimension):
        value = value.value
    if isinstance(value, Tensor) or hasattr(value, "initializer"):
        tensor = convert_to_tensor(value)
        if not tensor.dtype.is_integer or tensor.dims not in ((), None):
            raise TypeError(f"{what}: expected an integer or an integer scalar tensor, got {tensor!r}.")
        return int(tensor.op.attrs["value"]) if tensor.op.type == "Const" else tensor
    array = np.asarray(value)
    if array.ndim == 0 and array.dtype.kind in "iu":
        return int(array)
    raise TypeError(f"{what}: expected an integer, got {value!r}.")


def predicate_of(dataset: Dataset, predicate: Callable[..., Any], name: str) -> Function:
    """A function of elements that returns one truth value."""
    function = Function(predicate, [dataset.node.structure], name, get_default_graph())
    structure = function.structure
    if len(structure) != 1 or structure.dtypes[0] is not bool_ or structure.dims[0] not in ((), None):
        raise ValueError("`predicate` must return a scalar boolean tensor.")
    return function


def _components(value: Any) -> Any:
    def convert(leaf: Any) -> Any:
        if isinstance(leaf, Dataset):
            raise UnsupportedError("Datasets as components of elements are not supported; use Dataset.zip or flat_map.")
        return sources.component(leaf)

    return map_leaves(convert, value)


def checked_dataset(value: Any, what: str) -> Dataset:
    """``value``. Raises TypeError unless it is a dataset."""
    if not isinstance(value, Dataset):
        raise TypeError(f"{what}: expected a tf.data.Dataset, got {type(value).__name__}: {value!r}.")
    return value


def _padded_shape(shape: Any, dims: Any, name: str) -> Any:
    if isinstance(shape, Tensor):
        if shape.dtype is not int64:
            raise TypeError(f"padded_shapes: expected an int64 tensor for {name}, got {shape!r}.")
        return shape
    if not isinstance(shape, TensorShape | Dimension) and shape is not None:
        entries = [shape] if isinstance(shape, int) else list(shape)
        shape = [None if isinstance(d, int | np.integer) and d < 0 else d for d in entries]
    wanted = as_shape(shape)
    if dims is not None and wanted.raw is not None:
        fits = len(dims) == len(wanted.raw) and all(
            w is None or d is None or d <= w for d, w in zip(dims, wanted.raw, strict=True)
        )
        if not fits:
            raise ValueError(
                f"The padded shape {wanted} is not compatible with the shape {TensorShape(dims)} of {name}."
            )
    return wanted


def _filling(value: Any, dtype: Any) -> Any:
    if isinstance(value, Tensor):
        if value.dtype is not dtype:
            raise TypeError(f"padding_values: expected {dtype.name}, got {value!r}.")
        return value
    array = numpy_value(value, dtype)
    if array.ndim:
        raise ValueError(f"padding_values: expected a scalar, got {value!r}.")
    return array


def _check_capturable(node: Node) -> None:
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
