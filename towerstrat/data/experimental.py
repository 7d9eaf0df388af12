"""Transformations for ``Dataset.apply``: ``tf.contrib.data``, later ``tf.data.experimental``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data import mapping, sources, transforms
from towerstrat.data.batching import Unbatch
from towerstrat.data.dataset import Dataset, checked_dataset, scalar
from towerstrat.data.function import Function
from towerstrat.data.pipeline import Seeds
from towerstrat.data.reduction import only_element
from towerstrat.data.structure import Structure, flatten, flatten_like, map_leaves
from towerstrat.errors import UnsupportedError
from towerstrat.graph.convert import convert_to_tensor
from towerstrat.graph.core import get_default_graph
from towerstrat.graph.elements import Tensor
from towerstrat.graph.shapes import as_shape
from towerstrat.graph.types import as_dtype, int64

AUTOTUNE = -1
Transformation = Callable[[Dataset], Dataset]


# ---- fused forms ---------------------------------------------------------------------------------------------------


def map_and_batch(
    map_func: Callable[..., Any], batch_size: Any, num_parallel_batches: Any = None, drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:  # fmt: skip
    """``map(map_func)``, then ``batch(batch_size, drop_remainder)``. The numbers of parallel calls change no value."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive.")
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """``shuffle(buffer_size, seed)``, then ``repeat(count)``."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Batches of exactly ``batch_size`` elements."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: Any, padded_shapes: Any, padding_values: Any = None) -> Transformation:
    """Padded batches of exactly ``batch_size`` elements."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, sloppy: Any = False,
    buffer_output_elements: Any = None, prefetch_input_elements: Any = None,
) -> Transformation:  # fmt: skip
    """``interleave(map_func, cycle_length, block_length)``.

    ``sloppy`` allows another order and is not used: the order is always the same. The buffer sizes change no value.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def sloppy_interleave(map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1) -> Transformation:
    """The same as ``parallel_interleave(sloppy=True)``."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


# ---- elements ------------------------------------------------------------------------------------------------------


def unbatch() -> Transformation:
    """The rows of each element, one by one."""
    return lambda dataset: Dataset(Unbatch(dataset.node))


def enumerate_dataset(start: Any = 0) -> Transformation:
    """Pairs of a number, counted from ``start`` on, and an element."""
    return lambda dataset: Dataset.zip((Counter(start), dataset))


def ignore_errors() -> Transformation:
    """Leaves out the elements that cannot be computed."""
    return lambda dataset: Dataset(transforms.IgnoreErrors(dataset.node))


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """``prefetch(buffer_size)``: a run moves its input to the device it runs on."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """The same elements: a run moves its input to the device it runs on."""
    return lambda dataset: dataset


def unique() -> Transformation:
    """The first of equal elements. They have to be single integers or strings."""

    def apply(dataset: Dataset) -> Dataset:
        dtypes = dataset.node.structure.dtypes
        if len(dtypes) != 1 or dtypes[0].name not in ("int32", "int64", "string"):
            raise TypeError("`tf.data.experimental.unique()` only supports inputs with a single component of type "
                            f"int32, int64 or string, got {dataset.output_types}.")  # fmt: skip
        return Dataset(transforms.Unique(dataset.node))

    return apply


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """The same elements, with their shapes made sure of and known.

    Raises:
      ValueError: the shapes that are known do not agree. InvalidArgumentError, when an element is taken: its do not.
    """

    def apply(dataset: Dataset) -> Dataset:
        structure = dataset.node.structure
        wanted = Structure.of_types(structure.types, expected_shapes)
        return Dataset(transforms.Ensured(dataset.node, wanted.dims))

    return apply


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """``scan_func(state, element) -> (state, output)`` along the elements; the outputs are the new elements."""

    def apply(dataset: Dataset) -> Dataset:
        state = map_leaves(convert_to_tensor, initial_state)
        before = Structure.of_tensors(state)
        spread = lambda s, e: scan_func(s, e)  # noqa: E731
        outer = get_default_graph()
        function = Function(spread, [before, dataset.node.structure], "scan", outer)
        result = function.value
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError("The scan function must return a pair comprising the new state and the output value.")
        after = Structure.of_tensors(result[0])
        before.check_types(after, "the scan function's new state")
        if any(b is not None and a != b for a, b in zip(after.dims, before.dims, strict=True)):
            before = before.relaxed(after)
            function = Function(spread, [before, dataset.node.structure], "scan", outer)
        return Dataset(mapping.Scan(dataset.node, function, Structure.of_tensors(function.value[1]), flatten(state)))

    return apply


# ---- windows -------------------------------------------------------------------------------------------------------


def group_by_window(
    key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:  # fmt: skip
    """Collects ``window_size`` elements of one key and makes a dataset of them.

    Args:
      key_func: element -> int64 scalar.
      reduce_func: (key, dataset of the window's elements) -> dataset.
      window_size, window_size_func: the size, or key -> size; exactly one of them.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func, and not both.")

    def apply(dataset: Dataset) -> Dataset:
        outer, structure = get_default_graph(), dataset.node.structure
        key = Function(key_func, [structure], "key_func", outer)
        if key.structure.dtypes != (int64,) or key.structure.dims[0] not in ((), None):
            raise ValueError(f"`key_func` must return a single tf.int64 tensor. Got type={key.structure.types}.")
        scalar_key = Structure(None, [int64], [()])
        reduce = Function(
            lambda k: reduce_func(k, Dataset(mapping.Elements(structure))), [scalar_key], "reduce_func", outer, Dataset
        )
        if reduce.dataset is None:
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        size: Any
        if window_size_func is None:
            size = scalar(window_size, "group_by_window")
        else:
            size = Function(window_size_func, [scalar_key], "window_size_func", outer)
        return Dataset(mapping.GroupByWindow(dataset.node, key, reduce, reduce.dataset.node, size))

    return apply


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any], bucket_boundaries: Sequence[int], bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None, padding_values: Any = None, pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
) -> Transformation:  # fmt: skip
    """Batches of elements of similar length.

    Args:
      element_length_func: element -> int32 scalar, its length.
      bucket_boundaries: the lengths at which the next bucket begins.
      bucket_batch_sizes: one for each bucket, ``len(bucket_boundaries) + 1``.
      padded_shapes, padding_values: as of ``padded_batch``.
      pad_to_bucket_boundary: pad unknown sizes to the bucket's boundary minus 1 rather than to the longest element;
        elements of the last bucket are then not allowed.
      no_padding: the elements of a batch are alike already.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    sizes = [int(n) for n in bucket_batch_sizes]

    boundaries = [int(n) for n in bucket_boundaries]

    def apply(dataset: Dataset) -> Dataset:
        structure = dataset.node.structure
        length = Function(element_length_func, [structure], "element_length_func", get_default_graph())
        shapes = dataset.output_shapes if padded_shapes is None else padded_shapes
        given = [as_shape(s).raw for s in flatten_like(structure.template, shapes, "padded_shapes")]

        def batched(number: int) -> Dataset:
            window = Dataset(mapping.Elements(structure))
            if no_padding:
                return window.batch(sizes[number])
            dims = given
            if pad_to_bucket_boundary and number < len(boundaries):
                limit = boundaries[number] - 1
                dims = [None if d is None else tuple(limit if n is None else n for n in d) for d in given]
            wanted = structure.with_dims(dims).shapes
            return window.padded_batch(sizes[number], wanted, padding_values)

        windows = [batched(number).node for number in range(len(sizes))]
        forbidden = len(boundaries) if pad_to_bucket_boundary and not no_padding else None
        return Dataset(mapping.Buckets(dataset.node, length, boundaries, sizes, windows, forbidden))

    return apply


# ---- several datasets ----------------------------------------------------------------------------------------------


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Takes each element from the dataset whose number ``choice_dataset`` (int64 scalars) gives next."""
    if choice_dataset.node.structure.dtypes != (int64,) or choice_dataset.node.structure.dims != ((),):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    _check_alike(datasets, "choose_from_datasets")
    return Dataset(mapping.ChooseFrom([d.node for d in datasets], choice_dataset.node))


def sample_from_datasets(datasets: Sequence[Dataset], weights: Any = None, seed: Any = None) -> Dataset:
    """Takes each element from one of the datasets, drawn at random with ``weights`` (default: all alike)."""
    if isinstance(weights, Dataset | Tensor):
        raise UnsupportedError(
            "sample_from_datasets(weights=): only fixed weights are supported; pass a list of numbers."
        )
    if weights is not None and len(weights) != len(datasets):
        raise ValueError("`weights` must be a vector of length `len(datasets)`.")
    _check_alike(datasets, "sample_from_datasets")
    seeds = Seeds(get_default_graph(), None if seed is None else scalar(seed, "sample_from_datasets"))
    chances = [1.0] * len(datasets) if weights is None else list(weights)
    return Dataset(mapping.SampleFrom([d.node for d in datasets], chances, seeds))


def _check_alike(datasets: Sequence[Dataset], name: str) -> None:
    if not datasets:
        raise ValueError(f"{name}: expected at least one dataset.")
    for dataset in datasets:
        checked_dataset(dataset, name).node.structure.check_types(datasets[0].node.structure, "datasets alike")


def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Dataset:
    """``start, start + step, ...`` without end."""
    kind = as_dtype(dtype)
    return Dataset(sources.Range(scalar(start, "Counter"), None, scalar(step, "Counter"), kind))


def RandomDataset(seed: Any = None) -> Dataset:
    """Random integers below 2**32, as int64 scalars, without end."""
    return Dataset(sources.Random(Seeds(get_default_graph(), None if seed is None else scalar(seed, "RandomDataset"))))


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset, as tensors.

    Raises (when it runs):
      InvalidArgumentError: there is none, or more than one.
    """
    return only_element(checked_dataset(dataset, "get_single_element").node)
