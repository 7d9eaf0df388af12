"""Datasets: the public face of the pipelines, with the arguments of 2.x."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Self

from towerstrat.data.api.dataset_reductions import only_element, reduced
from towerstrat.data.api.graph_defs import graph_def
from towerstrat.data.elements.options import Options
from towerstrat.data.elements.structure import Structure, flatten, in_parts, map_leaves
from towerstrat.data.files.element_files import FileCache, Snapshot
from towerstrat.data.files.record_nodes import Matching
from towerstrat.data.files.snapshots import compression_of, loaded, saved
from towerstrat.data.iterators.python_iterators import NumpyIterator, OwnedIterator
from towerstrat.data.pipeline import derived_transforms, ordering, sources
from towerstrat.data.pipeline.arguments import components, padding, predicate_of, scalar, structure_of_specs
from towerstrat.data.pipeline.batching import Batch, PaddedBatch, SparseBatch, ToRagged, Unbatch
from towerstrat.data.pipeline.dataset_variants import VariantNode, handle_of
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.mapping import Filter, Interleave, Map
from towerstrat.data.pipeline.nodes import INFINITE, UNKNOWN, DatasetNode, Seeds
from towerstrat.data.pipeline.prefetch import Prefetch
from towerstrat.data.pipeline.rejection_resampling import rejection_resampled
from towerstrat.data.pipeline.windows import Window
from towerstrat.errors import UnsupportedError
from towerstrat.graph.autograph.builtins import Overloading
from towerstrat.graph.autograph.iteration import StagedIterable, Test
from towerstrat.graph.autograph.loops import Variables
from towerstrat.graph.ir.composite_values import Argument
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.type_specs import HasTypeSpec, TensorSpec, TypeSpec
from towerstrat.graph.ir.types import as_dtype, int64, variant

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = INFINITE, UNKNOWN
_CYCLE, _ALL_WORKERS = 16, -1
"""The arguments of ``shard`` for as many shards as there are workers: one, here."""


class Dataset(Argument, HasTypeSpec, StagedIterable, Overloading):
    """A sequence of elements, each a structure of components of the same types.

    A dataset describes; elements are made when it is gone through: by a Python loop where operations are executed
    eagerly, by a ``for`` loop of a ``tf.function``, or by an iterator. Made by ``from_tensor_slices`` and its like, and
    by the methods below, each of which returns a new dataset.

    In all of them ``num_parallel_calls`` and ``deterministic`` change no value: the order is always that of one call
    after the other. ``name`` names nothing. Functions are converted by autograph, traced once, and see variables as
    they are when an element is made.
    """

    node: DatasetNode
    converted_builtins = {
        builtins.enumerate: lambda dataset, start=0: dataset.enumerate(start),
        builtins.zip: lambda *datasets: type(datasets[0]).zip(datasets=datasets),
        builtins.map: lambda function, *datasets: _mapped(function, datasets),
        builtins.filter: lambda function, dataset: dataset.filter(function),
    }

    def __init__(self, variant_tensor: DatasetNode):
        self.node = variant_tensor
        self._handle: Tensor | None = None

    @classmethod
    def _made(cls, node: DatasetNode) -> Any:
        """A dataset of this surface."""
        return Dataset(node)

    @classmethod
    def spec_of(cls, structure: Structure) -> DatasetSpec:
        """What is known of a dataset of such elements."""
        return DatasetSpec(structure.specs)

    # ---- what it is ----------------------------------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """A ``TensorSpec`` for each component, in the structure of an element."""
        return self.node.structure.specs

    def __iter__(self) -> OwnedIterator:
        """A pass over its elements.

        Raises:
          RuntimeError: while a graph is built that is no function's.
        """
        graph = get_default_graph()
        if graph.executing_eagerly or graph.building_function:
            return OwnedIterator.over(self.node)
        raise RuntimeError(
            "A dataset cannot be iterated over in Python while a graph is built: use "
            "make_one_shot_iterator().get_next() and session.run."
        )

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """The number of elements.

        Raises:
          TypeError: there is no end, the number cannot be told without making them, or a graph is being built.
        """
        if not get_default_graph().executing_eagerly:
            raise TypeError(
                "len() of a dataset is for eager execution; in graphs and functions use dataset.cardinality()."
            )
        count = self.node.cardinality()
        if count < 0:
            raise TypeError("The dataset is infinite." if count == INFINITE else "The dataset length is unknown.")
        return count

    def cardinality(self) -> Tensor:
        """The number of elements as an int64 scalar, or INFINITE_CARDINALITY, UNKNOWN_CARDINALITY."""
        return constant(self.node.cardinality(), int64)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self.element_spec}>"

    def _as_serialized_graph(self) -> Tensor:
        """A ``GraphDef`` with a node for each transformation, as a string scalar; see ``graph_defs.graph_def``."""
        return constant(graph_def(self.node).SerializeToString())

    def as_numpy_iterator(self) -> NumpyIterator:
        """A pass over its elements as structures of numpy values. Raises RuntimeError where they have none."""
        return NumpyIterator(self)

    def handle(self) -> Tensor:
        """A scalar that stands for the dataset: what functions take in its place."""
        if not get_default_graph().executing_eagerly:
            return handle_of(self.node)
        if self._handle is None:
            self._handle = handle_of(self.node)
        return self._handle

    @classmethod
    def from_handle(cls, handle: Tensor, structure: Structure) -> Any:
        """The dataset that a handle stands for when the program runs."""
        return cls._made(VariantNode(handle, structure))

    def _tensors(self) -> list[Tensor]:
        return [self.handle()]

    def _tensor_count(self) -> int:
        return 1

    def _like(self, tensors: Sequence[Tensor]) -> Any:
        return type(self).from_handle(tensors[0], self.node.structure)

    def _argument_key(self) -> Any:
        return self.node.structure.key

    @property
    def _type_spec(self) -> TypeSpec:
        return DatasetSpec(self.element_spec)

    def _staged_loop(self, body: Callable[[Any], Any], variables: Variables, goes_on: Test) -> None:
        iter(self)._staged_loop(body, variables, goes_on)

    # ---- where elements come from --------------------------------------------------------------------------------

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Any:
        """One element: ``tensors`` itself, a structure of values or graph tensors."""
        return cls._made(sources.Whole(components(in_parts(tensors))))

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Any:
        """The slices of ``tensors`` along the first dimension, in which all components must be alike."""
        return cls._made(sources.slices(components(in_parts(tensors))))

    @classmethod
    def from_generator(
        cls, generator: Callable[..., Any], output_types: Any = None, output_shapes: Any = None, args: Any = None,
        output_signature: Any = None, name: str | None = None,
    ) -> Any:  # fmt: skip
        """What ``generator(*args)`` yields. It is called for each pass.

        Args:
          generator: returns an iterable; its elements have the structure of ``output_types`` or ``output_signature``.
          output_types, output_shapes: of the components; shapes that are not given are unknown.
          args: values or tensors, which the generator gets as numpy values.
          output_signature: a ``TensorSpec`` for each component, instead of types and shapes.

        Raises:
          TypeError: neither signature nor types, or both.
        Raises (when elements are taken):
          InvalidArgumentError: an element does not fit. What the generator raises comes out as it is.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        if output_signature is None:
            if output_types is None:
                raise TypeError("from_generator: expected output_signature, or output_types.")
            structure = Structure.of_types(output_types, output_shapes)
        elif output_types is not None or output_shapes is not None:
            raise TypeError("from_generator: output_types and output_shapes cannot be used with output_signature.")
        else:
            structure = structure_of_specs(output_signature, "output_signature")
        return cls._made(sources.Generated(generator, structure, [sources.component(a) for a in args or ()]))

    @classmethod
    def from_iterable(cls, iterable: Any) -> Any:
        """A dataset of any Python iterable (a list of batches, a loader), or of a function that returns one.

        The first element is taken at once: it tells the types and shapes of all.

        Raises:
          TypeError: it is no iterable. ValueError: it is empty.
        """
        return cls._made(sources.iterated(iterable))

    @classmethod
    def range(cls, *args: Any, **kwargs: Any) -> Any:
        """The numbers of ``range(*args)``.

        Args:
          output_type: their type, int64 by default. ``name`` names nothing.
        """
        dtype = as_dtype(kwargs.pop("output_type", int64))
        kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"Dataset.range: unknown arguments {sorted(kwargs)}.")
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Dataset.range: expected 1 to 3 arguments (start, stop, step), got {len(args)}.")
        numbers = [scalar(a, "range") for a in args]
        start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
        return cls._made(sources.Range(start, stop, numbers[2] if len(numbers) == 3 else 1, dtype))

    @classmethod
    def counter(cls, start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None) -> Any:
        """``start, start + step, ...`` without end."""
        return cls._made(derived_transforms.counted(start, step, dtype, "counter"))

    @classmethod
    def random(cls, seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None) -> Any:
        """Random integers below 2**32, as int64 scalars, without end.

        Args:
          rerandomize_each_iteration: whether another pass has other numbers.
        """
        return cls._made(derived_transforms.random_numbers(seed, bool(rerandomize_each_iteration), "random"))

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Any:
        """A structure of datasets (or several datasets) as a dataset of structures. Ends with the shortest."""
        if not args and datasets is None:
            raise TypeError("Dataset.zip: expected datasets.")
        if args and datasets is not None:
            raise TypeError("Dataset.zip: expected datasets as arguments or datasets=, not both.")
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        for leaf in flatten(given):
            if isinstance(leaf, list):
                raise TypeError("Dataset.zip: expected a structure of datasets, got a list. Use a tuple.")
            checked_dataset(leaf, "Dataset.zip")
        return cls._made(ordering.Zip(map_leaves(lambda d: d.node, given)))

    @classmethod
    def list_files(
        cls, file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Any:
        """The names of the files that match a pattern (or one of several).

        Args:
          shuffle: in a random order (the default) rather than sorted.
          seed: as of ``shuffle``.

        Raises (when an iterator starts):
          InvalidArgumentError: nothing matches.
        """
        patterns = sources.component(file_pattern)
        dataset = cls._made(Matching(patterns))
        return dataset.shuffle(1 << 30, seed) if shuffle or shuffle is None else dataset

    @classmethod
    def choose_from_datasets(
        cls, datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Any:
        """Takes each element from the dataset whose number ``choice_dataset`` (int64 scalars) gives next."""
        nodes = [checked_dataset(d, "choose_from_datasets").node for d in datasets]
        return cls._made(derived_transforms.chosen(nodes, choice_dataset.node, stop_on_empty_dataset))

    @classmethod
    def sample_from_datasets(
        cls, datasets: Sequence[Dataset], weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Any:  # fmt: skip
        """Takes each element from one of the datasets, drawn at random with ``weights`` (default: all alike)."""
        nodes = [checked_dataset(d, "sample_from_datasets").node for d in datasets]
        again = bool(rerandomize_each_iteration)
        return cls._made(derived_transforms.sampled(nodes, weights, seed, stop_on_empty_dataset, again))

    # ---- order and selection -------------------------------------------------------------------------------------

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Any:
        """These elements, then those of ``dataset``, which must have the same types and structure."""
        checked_dataset(dataset, "concatenate")
        self.node.structure.check_types(dataset.node.structure, "a dataset to concatenate")
        return self._made(ordering.Concatenate(self.node, dataset.node))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Any:
        """The same, with up to ``buffer_size`` elements made ahead by a thread."""
        return self._made(Prefetch(self.node, scalar(buffer_size, "prefetch", none=-1)))

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None, name: str | None = None
    ) -> Any:
        """A random order: each element is drawn from a buffer of the next ``buffer_size``.

        Args:
          seed: with it (or the seed of ``tf.random.set_seed``) the orders are the same in every run of the program.
          reshuffle_each_iteration: whether each pass has another order; default True.
        """
        seeds = Seeds(get_default_graph(), None if seed is None else scalar(seed, "shuffle"))
        again = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        return self._made(ordering.Shuffle(self.node, scalar(buffer_size, "shuffle"), seeds, again))

    def cache(self, filename: Any = "", name: str | None = None) -> Any:
        """The same; the elements of the first complete pass are kept, and used again in later ones.

        Args:
          filename: the file that they are kept in, also for other runs of the program; "": in memory. The original's
            files are others, and not read.
        """
        if not isinstance(filename, Tensor) and filename in ("", b"", None):
            return self._made(ordering.Cache(self.node))
        return self._made(FileCache(self.node, filename))

    def take(self, count: Any, name: str | None = None) -> Any:
        """The first ``count`` elements; all where it is -1."""
        return self._made(ordering.Take(self.node, scalar(count, "take")))

    def skip(self, count: Any, name: str | None = None) -> Any:
        """All but the first ``count`` elements; none where it is -1."""
        return self._made(ordering.Skip(self.node, scalar(count, "skip")))

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False, name: str | None = None
    ) -> Any:
        """Windows of elements: each component of an element is a dataset of that component.

        Args:
          size: elements in a window.
          shift: how far a window begins after the one before; default ``size``.
          stride: how far apart the elements of a window are.
          drop_remainder: whether windows at the end that are not full are left out.

        Raises:
          ValueError: ``size``, ``shift`` or ``stride`` is not above 0.
        """
        size, stride = scalar(size, "window"), scalar(stride, "window")
        shift = size if shift is None else scalar(shift, "window")
        return self._made(Window(self.node, size, shift, stride, bool(drop_remainder), type(self)))

    def repeat(self, count: Any = None, name: str | None = None) -> Any:
        """``count`` passes; endless where it is None or -1."""
        return self._made(ordering.Repeat(self.node, scalar(count, "repeat", none=-1)))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Any:
        """Every ``num_shards``-th element, starting with element ``index``."""
        number, place = scalar(num_shards, "shard"), scalar(index, "shard")
        if number == place == _ALL_WORKERS:
            return self
        if isinstance(number, int) and number < 1:
            raise ValueError(f"Dataset.shard: num_shards must be >= 1, got {number}.")
        if isinstance(place, int) and (place < 0 or (isinstance(number, int) and place >= number)):
            raise ValueError(f"Dataset.shard: expected 0 <= index < num_shards, got {place} of {number}.")
        return self._made(ordering.Shard(self.node, number, place))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Any:
        """Pairs of a number (int64), counted from ``start`` on, and an element."""
        numbers = derived_transforms.counted(start, 1, int64, "enumerate")
        return self._made(ordering.Zip((numbers, self.node)))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """The elements before the first for which ``predicate`` is false."""
        return self._made(derived_transforms.taken_while(self.node, predicate))

    def unique(self, name: str | None = None) -> Any:
        """The first of equal elements. They have to be single integers or strings."""
        return self._made(derived_transforms.unique(self.node, "tf.data.Dataset.unique"))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Any:
        """Leaves out the elements that cannot be computed.

        Args:
          log_warning: says so of each.
        """
        return self._made(ordering.IgnoreErrors(self.node, log_warning))

    # ---- batches -------------------------------------------------------------------------------------------------

    def batch(
        self, batch_size: Any, drop_remainder: bool = False, num_parallel_calls: Any = None, deterministic: Any = None,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """``batch_size`` consecutive elements as one, stacked along a new first dimension.

        Args:
          drop_remainder: leave out a smaller last batch; then the first dimension is known.

        Raises (when elements are taken):
          InvalidArgumentError: elements of different shapes.
        """
        return self._made(Batch(self.node, scalar(batch_size, "batch"), bool(drop_remainder)))

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any = None, padding_values: Any = None, drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """Like ``batch``, with components of different sizes filled up.

        Args:
          padded_shapes: for each component a shape; None or -1 in it is the largest size in the batch. Default: the
            largest sizes, where the ranks are known.
          padding_values: for each component a scalar of its type, or one for all; default 0 or the empty string.
        """
        shapes, fillings = padding(self.node.structure, padded_shapes, padding_values)
        size = scalar(batch_size, "padded_batch")
        return self._made(PaddedBatch(self.node, size, shapes, fillings, bool(drop_remainder)))

    def ragged_batch(
        self, batch_size: Any, drop_remainder: bool = False, row_splits_dtype: Any = int64, name: str | None = None
    ) -> Any:  # fmt: skip
        """Like ``batch``; components of which a size is not known become ragged tensors, and their sizes may differ.

        Args:
          drop_remainder: leave out a smaller last batch.
          row_splits_dtype: int32 or int64.
        """
        kind = as_dtype(row_splits_dtype)
        return self._made(ToRagged(self.node, kind)).batch(batch_size, drop_remainder)

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Any:
        """Tensors of different sizes, ``batch_size`` at a time, as SparseTensors ``[batch, *row_shape]``.

        Args:
          row_shape: static; None for the largest size of a batch.

        Raises:
          TypeError: elements of several components.
        Raises (when elements are taken):
          DataLossError: an element is larger.
        """
        if len(self.node.structure) != 1:
            raise TypeError(f"Expected elements of one component, got {self.node.structure.types}.")
        return self._made(SparseBatch(self.node, scalar(batch_size, "sparse_batch"), TensorShape(row_shape)))

    def unbatch(self, name: str | None = None) -> Any:
        """The rows of each element, one by one."""
        return self._made(Unbatch(self.node))

    def rebatch(self, batch_size: Any, drop_remainder: bool = False, name: str | None = None) -> Any:
        """The rows of the elements in batches of another size."""
        return self.unbatch().batch(batch_size, drop_remainder)

    def bucket_by_sequence_length(
        self, element_length_func: Callable[..., Any], bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int], padded_shapes: Any = None, padding_values: Any = None,
        pad_to_bucket_boundary: bool = False, no_padding: bool = False, drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """Batches of elements of similar length.

        Args:
          element_length_func: element -> int32 scalar, its length.
          bucket_boundaries: the lengths at which the next bucket begins.
          bucket_batch_sizes: one for each bucket, ``len(bucket_boundaries) + 1``.
          padded_shapes, padding_values: as of ``padded_batch``.
          pad_to_bucket_boundary: pad unknown sizes to the bucket's boundary minus 1 rather than to the longest element;
            elements of the last bucket are then not allowed.
          no_padding: the elements of a batch are alike already.
          drop_remainder: leave out smaller batches at the end.
        """
        node = derived_transforms.bucketed(
            self.node, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values,
            pad_to_bucket_boundary, no_padding, drop_remainder,
        )  # fmt: skip
        return self._made(node)

    # ---- functions -----------------------------------------------------------------------------------------------

    def map(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None, deterministic: Any = None,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """``map_func`` of each element. Tuples are spread over its arguments.

        Args:
          num_parallel_calls: how many elements may be taken ahead, to be made together.
        """
        function = Function(map_func, [self.node.structure], "Dataset.map", get_default_graph())
        ahead = scalar(num_parallel_calls, "map", none=1)
        return self._made(Map(self.node, function, function.structure, ahead))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """The elements for which ``predicate`` returns true. Raises ValueError unless it returns a scalar bool."""
        return self._made(Filter(self.node, predicate_of(self.node, predicate, "Dataset.filter"), self.node.structure))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Any:
        """The elements of the datasets that ``map_func`` makes from each element, one dataset after the other."""
        return self._interleaved(map_func, 1, 1, "Dataset.flat_map")

    def interleave(
        self, map_func: Callable[..., Any], cycle_length: Any = None, block_length: Any = None,
        num_parallel_calls: Any = None, deterministic: Any = None, name: str | None = None,
    ) -> Any:  # fmt: skip
        """The elements of the datasets that ``map_func`` makes, ``cycle_length`` of them open at a time.

        Args:
          cycle_length: default (and for AUTOTUNE) 16, on every machine.
          block_length: consecutive elements that are taken from one at a time; default 1.
        """
        cycle, block = scalar(cycle_length, "interleave", AUTOTUNE), scalar(block_length, "interleave", 1)
        return self._interleaved(map_func, _CYCLE if cycle == AUTOTUNE else cycle, block, "Dataset.interleave")

    def _interleaved(self, map_func: Callable[..., Any], cycle: Any, block: Any, name: str) -> Any:
        function = Function(map_func, [self.node.structure], name, get_default_graph(), Dataset)
        if function.dataset is None:
            raise TypeError(f"{name}: `map_func` must return a `Dataset` object, got {function.structure.types}.")
        numbers = [t for t in (cycle, block) if isinstance(t, Tensor)]
        return self._made(Interleave(self.node, function, function.dataset.node, cycle, block, numbers))

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Any:
        """``scan_func(state, element) -> (state, output)`` along the elements; the outputs are the new elements."""
        return self._made(derived_transforms.scanned(self.node, initial_state, scan_func))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """``reduce_func(state, element)`` along all elements: tensors of the last state.

        Args:
          initial_state: a structure of values.
          reduce_func: returns a state of the same structure, types and shapes.
        """
        return reduced(self.node, initial_state, reduce_func)

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element, as tensors.

        Raises (when it runs):
          InvalidArgumentError: there is none, or more than one.
        """
        return only_element(self.node)

    def group_by_window(
        self, key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None, name: str | None = None,
    ) -> Any:  # fmt: skip
        """Collects ``window_size`` elements of one key and makes a dataset of them.

        Args:
          key_func: element -> int64 scalar.
          reduce_func: (key, dataset of the window's elements) -> dataset.
          window_size, window_size_func: the size, or key -> size; exactly one of them.
        """
        return self._made(
            derived_transforms.grouped(
                self.node, key_func, reduce_func, window_size, window_size_func, Dataset, self._made
            )
        )

    def apply(self, transformation_func: Callable[[Self], Any]) -> Any:
        """``transformation_func(self)``. Raises TypeError unless that is a dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError("`transformation_func` must return a Dataset.")
        return dataset

    # ---- options -------------------------------------------------------------------------------------------------

    def options(self) -> Options:
        """The options that it was given, all together."""
        return ordering.options_of(self.node)

    def with_options(self, options: Options, name: str | None = None) -> Any:
        """The same elements. Options tune the original's execution and change no value."""
        if not isinstance(options, Options):
            raise TypeError(f"Expected tf.data.Options, got {options!r}.")
        return self._made(ordering.WithOptions(self.node, options))

    def rejection_resample(
        self, class_func: Any, target_dist: Any, initial_dist: Any = None, seed: Any = None, name: str | None = None
    ) -> Any:
        """Pairs of a class and an element, some left out at random so that classes come in given proportions.

        Args:
          class_func: element -> integer scalar, its class.
          target_dist: ``[classes]`` floats, the proportions.
          initial_dist: ``[classes]``, those of the elements; None: estimated as they come.
          seed: of the random numbers.
        """
        return rejection_resampled(self, class_func, target_dist, initial_dist, seed)

    # ---- in files ------------------------------------------------------------------------------------------------

    def save(
        self, path: Any, compression: Any = None, shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> Any:  # fmt: skip
        """Writes the elements to a folder, for ``load``. In a graph this is the operation that does.

        Args:
          compression: None or "GZIP".
          shard_func: element -> int64 scalar, the file that it goes to; default: one file.

        Raises:
          TypeError: datasets in elements. UnsupportedError: another compression, or ``checkpoint_args``.
        """
        return saved(self.node, path, compression, shard_func, checkpoint_args)

    @classmethod
    def load(
        cls, path: Any, element_spec: Any = None, compression: Any = None,
        reader_func: Callable[[Any], Any] | None = None,
    ) -> Any:  # fmt: skip
        """The elements that ``save`` wrote; the original's files are others, and not read.

        Args:
          element_spec: what they look like; None: what the files say.
          reader_func: dataset of datasets, one for each file -> dataset; default: an element of each in turn.

        Raises:
          NotFoundError: there are none.
        """
        return loaded(cls, path, element_spec, compression, reader_func)

    def snapshot(
        self, path: Any, compression: Any = "AUTO", reader_func: Any = None, shard_func: Any = None,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """The same; the first whole pass writes the elements to a folder, later ones, also of other runs, read them.

        A pipeline of other parts, functions or arrays has another file; what files hold that it reads is not looked at.

        Args:
          compression: "AUTO", None or "GZIP".

        Raises:
          UnsupportedError: another compression, or a ``reader_func`` or ``shard_func``: there is one file.
        """
        if reader_func is not None or shard_func is not None:
            raise UnsupportedError("Dataset.snapshot takes no reader_func and shard_func here; use save and load.")
        used = compression_of(compression, "Dataset.snapshot")
        return self._made(Snapshot(self.node, path, used))


def checked_dataset(value: Any, what: str) -> Dataset:
    """``value``. Raises TypeError unless it is a dataset."""
    if not isinstance(value, Dataset):
        raise TypeError(f"{what}: expected a tf.data.Dataset, got {type(value).__name__}: {value!r}.")
    return value


def _mapped(function: Callable[..., Any], datasets: Sequence[Dataset]) -> Any:
    first = datasets[0]
    return (first if len(datasets) == 1 else type(first).zip(datasets=tuple(datasets))).map(function)


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
