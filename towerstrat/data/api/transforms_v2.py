"""``tf.data.experimental`` of 2.x, where its arguments are not those of 1.x."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towerstrat.data.api.dataset import Dataset, checked_dataset
from towerstrat.data.api.dataset_reductions import element_at
from towerstrat.data.api.transforms_v1 import Transformation
from towerstrat.data.elements.optional import Optional
from towerstrat.data.pipeline import derived_transforms, ordering, sources
from towerstrat.data.pipeline.arguments import structure_of_specs
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import int64
from towerstrat.graph.ops.array.arrays import zeros


class RandomDataset(Dataset):
    """Random integers below 2**32, as int64 scalars, without end.

    Args:
      rerandomize_each_iteration: whether another pass has other numbers.
    """

    def __init__(self, seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None):
        super().__init__(derived_transforms.random_numbers(seed, bool(rerandomize_each_iteration), "RandomDataset"))


def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Dataset:
    """``start, start + step, ...`` without end."""
    return Dataset.counter(start, step, dtype)


def ignore_errors(log_warning: bool = False) -> Transformation:
    """Leaves out the elements that cannot be computed.

    Args:
      log_warning: says so of each.
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first for which ``predicate`` is false."""
    return lambda dataset: dataset.take_while(predicate)


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any], bucket_boundaries: Sequence[int], bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None, padding_values: Any = None, pad_to_bucket_boundary: bool = False,
    no_padding: bool = False, drop_remainder: bool = False,
) -> Transformation:  # fmt: skip
    """Batches of elements of similar length: ``Dataset.bucket_by_sequence_length``."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values,
        pad_to_bucket_boundary, no_padding, drop_remainder,
    )  # fmt: skip


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Takes each element from the dataset whose number ``choice_dataset`` (int64 scalars) gives next."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Takes each element from one of the datasets, drawn at random with ``weights`` (default: all alike)."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """A dataset of the elements of a list, which must be alike in structure, types and shapes.

    Raises:
      ValueError: the list is empty.
    """
    if not isinstance(elements, list) or not elements:
        raise ValueError("Invalid `elements`. `elements` should be a non-empty list.")
    return Dataset(sources.iterated(elements))


def cardinality(dataset: Dataset) -> Tensor:
    """The number of a dataset's elements, or INFINITE_CARDINALITY, UNKNOWN_CARDINALITY."""
    return checked_dataset(dataset, "cardinality").cardinality()


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """The same elements, of which there are said to be so many.

    Raises (when elements are taken):
      FailedPreconditionError: there are fewer or more.
    """
    return lambda dataset: dataset._made(ordering.Counted(dataset.node, int(expected_cardinality)))


def at(dataset: Dataset, index: Any) -> Any:
    """The element of a dataset with a number, from 0. The elements before it are made too.

    Raises (when it runs):
      OutOfRangeError: there are fewer.
    """
    return element_at(checked_dataset(dataset, "at").node, index)


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Transformation:
    """The elements, dictionaries, and after them as many of zeros as make ``cardinality``.

    Args:
      mask_key: a further key of all elements, bool: True for those of the dataset.

    Raises (when it is applied):
      ValueError: other elements, or a dataset that is longer or whose length is not known.
    """

    def apply(dataset: Dataset) -> Dataset:
        count, specs = dataset.node.cardinality(), dataset.element_spec
        if count < 0 or count > cardinality:
            raise ValueError(
                "The dataset passed into `pad_to_cardinality` must have a known cardinality of at most "
                f"{cardinality}, but has cardinality {count}."
            )
        if not isinstance(specs, Mapping):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        filler = {key: zeros(spec.shape, spec.dtype) for key, spec in specs.items()} | {mask_key: False}
        fillers = dataset.from_tensors(filler).repeat(cardinality - count)
        padded: Dataset = dataset.map(lambda element: {**element, mask_key: True}).concatenate(fillers)
        return padded

    return apply


def to_variant(dataset: Dataset) -> Tensor:
    """A scalar variant tensor that stands for a dataset."""
    return checked_dataset(dataset, "to_variant").handle()


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """The dataset that a variant tensor stands for.

    Args:
      structure: a specification for each component of its elements.
    """
    found: Dataset = Dataset.from_handle(variant, structure_of_specs(structure, "structure"))
    return found


def save(
    dataset: Dataset, path: Any, compression: Any = None, shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> Any:  # fmt: skip
    """``Dataset.save``."""
    return checked_dataset(dataset, "save").save(path, compression, shard_func, checkpoint_args)


def load(
    path: Any, element_spec: Any = None, compression: Any = None, reader_func: Callable[[Any], Any] | None = None
) -> Dataset:
    """``Dataset.load``."""
    found: Dataset = Dataset.load(path, element_spec, compression, reader_func)
    return found


def snapshot(
    path: Any, compression: Any = "AUTO", reader_func: Any = None, shard_func: Any = None
) -> Transformation:  # fmt: skip
    """``Dataset.snapshot``."""
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


SHARD_HINT = -1
"""The arguments of ``shard`` for a number of shards that is that of the workers: there is one, which gets all."""


def get_next_as_optional(iterator: Any) -> Optional:
    """The next element of an iterator, or that there is none."""
    return iterator.get_next_as_optional()


def get_structure(dataset_or_iterator: Any) -> Any:
    """A ``TensorSpec`` for each component of a dataset's or iterator's elements, in their structure."""
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            f"`get_structure()` expected a dataset or an iterator, got {type(dataset_or_iterator).__name__}."
        ) from None
