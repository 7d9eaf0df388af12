"""Transformations for ``Dataset.apply``: ``tf.contrib.data``, later ``tf.data.experimental``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data.api.dataset import AUTOTUNE, Dataset, checked_dataset
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.elements.structure import Structure
from towerstrat.data.pipeline import derived_transforms, ordering
from towerstrat.data.pipeline.arguments import scalar
from towerstrat.data.pipeline.windows import SlidingBatch
from towerstrat.graph.ir.types import int64

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


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Batches of elements of different sizes, as SparseTensors ``[batch, *row_shape]`` in which all entries are there.

    Args:
      row_shape: static; None for the largest size of a batch. A run raises DataLossError for larger elements.

    Raises (when it is applied):
      TypeError: elements of several components.
    """

    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: bool = False, row_splits_dtype: Any = int64
) -> Transformation:
    """Batches of elements of different sizes: components of which a size is not known become ragged tensors.

    Args:
      drop_remainder: leave out a smaller last batch.
      row_splits_dtype: int32 or int64.
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


# ---- elements ------------------------------------------------------------------------------------------------------


def unbatch() -> Transformation:
    """The rows of each element, one by one."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: Any = 0) -> Transformation:
    """Pairs of a number, counted from ``start`` on, and an element."""
    return lambda dataset: dataset.enumerate(start)


def ignore_errors() -> Transformation:
    """Leaves out the elements that cannot be computed."""
    return lambda dataset: dataset.ignore_errors()


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """``prefetch(buffer_size)``: a run moves its input to the device it runs on."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """The same elements: a run moves its input to the device it runs on."""
    return lambda dataset: dataset


def unique() -> Transformation:
    """The first of equal elements. They have to be single integers or strings."""
    return lambda dataset: dataset._made(derived_transforms.unique(dataset.node, "tf.data.experimental.unique()"))


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """The same elements, with their shapes made sure of and known.

    Raises:
      ValueError: the shapes that are known do not agree. InvalidArgumentError, when an element is taken: its do not.
    """

    def apply(dataset: Dataset) -> Dataset:
        structure = dataset.node.structure
        wanted = Structure.of_types(structure.types, expected_shapes)
        return dataset._made(ordering.Ensured(dataset.node, wanted.dims))

    return apply


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """``scan_func(state, element) -> (state, output)`` along the elements; the outputs are the new elements."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


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
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches of ``window_size`` elements that begin ``window_shift`` elements after each other; full ones only.

    Args:
      stride: ``window_shift`` by its old name; default 1.
      window_stride: how far apart the elements of a window are.

    Raises:
      ValueError: both ``stride`` and ``window_shift``.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((n for n in (window_shift, stride) if n is not None), 1)
    numbers = [scalar(n, "sliding_window_batch") for n in (window_size, shift, window_stride)]
    return lambda dataset: dataset._made(SlidingBatch(dataset.node, *numbers))


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None
) -> Transformation:
    """Pairs of a class and an element, some left out at random so that classes come in given proportions.

    Args:
      class_func: element -> integer scalar, its class.
      target_dist: ``[classes]`` floats, the proportions.
      initial_dist: ``[classes]``, those of the elements; None: estimated as they come.
      seed: of the random numbers.
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


# ---- several datasets ----------------------------------------------------------------------------------------------


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> DatasetV1:
    """Takes each element from the dataset whose number ``choice_dataset`` (int64 scalars) gives next."""
    return DatasetV1.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=False)


def sample_from_datasets(datasets: Sequence[Dataset], weights: Any = None, seed: Any = None) -> DatasetV1:
    """Takes each element from one of the datasets, drawn at random with ``weights`` (default: all alike)."""
    return DatasetV1.sample_from_datasets(datasets, weights, seed)


def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> DatasetV1:
    """``start, start + step, ...`` without end."""
    return DatasetV1(derived_transforms.counted(start, step, dtype, "Counter"))


def RandomDataset(seed: Any = None) -> DatasetV1:
    """Random integers below 2**32, as int64 scalars, without end."""
    return DatasetV1(derived_transforms.random_numbers(seed, False, "RandomDataset"))


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset, as tensors.

    Raises (when it runs):
      InvalidArgumentError: there is none, or more than one.
    """
    return checked_dataset(dataset, "get_single_element").get_single_element()
